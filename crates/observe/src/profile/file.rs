//! The profile that a process writes when `HEIST_PROFILE` is set, as it is read back.
//!
//! The process writes it by hand, so that no program carries a JSON library for it; the fields are
//! those of version 1. Fields that this reader does not know are left out.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::syntax;

/// The version of the file that is read here.
const VERSION: u64 = 1;

/// A run of a program, as its pools saw it. Times are whole nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Profile {
    /// The version of heist in the program.
    #[serde(default)]
    pub heist: String,
    /// The program and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// Whether there was a file in the place of this one: that of another run, or of another
    /// program in the same run.
    #[serde(default)]
    pub has_replaced: bool,
    /// The workers of the largest pool.
    pub workers: u64,
    /// The pools that did something.
    #[serde(default)]
    pub pools: u64,
    /// The processors that the process could use, 0 if unknown.
    #[serde(default)]
    pub processors: u64,
    /// From the start of the process to its end.
    pub wall_ns: u64,
    /// The wall time in which no pool had a job under way.
    pub outside_ns: u64,
    /// The wall time in which workers of several pools ran jobs at once.
    #[serde(default)]
    pub pools_at_once_ns: u64,
    /// The time of all workers of those pools in it.
    #[serde(default)]
    pub workers_at_once_ns: u64,
    /// The sum of all strands: T1.
    pub work_ns: u64,
    /// The longest path through the strands: Tinf.
    pub span_ns: u64,
    /// The longest path if each fork on it cost a steal.
    pub burdened_span_ns: u64,
    /// The time from the push of a job to its start on a thief.
    #[serde(default)]
    pub steal_ns: u64,
    /// Whether that was measured in this run; else it is assumed.
    #[serde(default)]
    pub steal_ns_measured: bool,
    /// The work of jobs that nobody joins, and of strands that were under way at the end: if
    /// there is any, the span is a lower bound.
    #[serde(default)]
    pub unjoined_work_ns: u64,
    /// Stretches of code between a fork, a join and their like.
    #[serde(default)]
    pub strands: u64,
    /// The time that the profile adds to a strand, which is taken off all others here.
    #[serde(default)]
    pub empty_strand_ns: f64,
    /// Joins, spawns and splits of loops.
    #[serde(default)]
    pub forks: u64,
    /// The jobs that ran on another worker than the one that forked them.
    #[serde(default)]
    pub stolen: u64,
    /// The strands by length.
    #[serde(default)]
    pub grain: Vec<Grain>,
    /// The places that fork.
    #[serde(default)]
    pub sites: Vec<Site>,
    /// How many more places there were than can be told apart.
    #[serde(default)]
    pub other_sites: u64,
    /// The time in which workers had nothing to do, by cause.
    #[serde(default)]
    pub idle_ns: Idle,
    /// [`Idle::sequential`] by the fork that ended it.
    #[serde(default)]
    pub sequential: Vec<Sequential>,
    /// The time that other programs and the host took away.
    #[serde(default)]
    pub interference: Interference,
}

/// The strands of one octave of length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Grain {
    /// They are shorter than this, and not shorter than half of it.
    pub below_ns: u64,
    /// Their number.
    pub strands: u64,
    /// The sum of their lengths.
    pub work_ns: u64,
}

/// A place in the program that forks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Site {
    /// The type of the closure that is forked.
    pub name: String,
    /// The operation: `join`, `scope`, `loop`.
    #[serde(default)]
    pub kind: String,
    /// How often it forked.
    #[serde(default)]
    pub forks: u64,
    /// How many of its jobs were stolen.
    #[serde(default)]
    pub stolen: u64,
    /// The sum of its strands.
    #[serde(default)]
    pub work_ns: u64,
    /// The part of the longest path that ran in its strands.
    #[serde(default)]
    pub span_ns: u64,
    /// Its longest strand.
    #[serde(default)]
    pub longest_ns: u64,
    /// Its strands by length.
    #[serde(default)]
    pub grain: Vec<Grain>,
}

/// The time in which workers had nothing to do, added up over them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Idle {
    /// One worker had a job, and had forked nothing.
    #[serde(default)]
    pub sequential: u64,
    /// Some workers had a job each, and no job was left for the others.
    #[serde(default)]
    pub narrow: u64,
    /// A worker waited for a job that another one ran.
    #[serde(default)]
    pub joins: u64,
    /// There were jobs, and a worker looked for them.
    #[serde(default)]
    pub stealing: u64,
    /// There were jobs, and a worker was being woken.
    #[serde(default)]
    pub waking: u64,
}

/// A stretch in which one worker ran alone, until it forked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Sequential {
    /// The site that forked.
    pub before: String,
    /// How long the other workers had nothing to do, added up over them.
    pub ns: u64,
}

/// The time that other programs, and the host of a virtual machine, took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Interference {
    /// The time of processors that the threads of the process had.
    #[serde(default)]
    pub cpu_ns: u64,
    /// The time that they waited for a processor, ready to run.
    #[serde(default)]
    pub run_delay_ns: u64,
    /// The time of all processors that the host gave to other machines.
    #[serde(default)]
    pub host_steal_ns: u64,
    /// The time of all processors.
    #[serde(default)]
    pub host_ns: u64,
}

impl Profile {
    /// Reads the text of a profile.
    ///
    /// # Errors
    ///
    /// Fails if the text is no profile, is one of another version, or if a field has a value that
    /// cannot be; the error says which.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_observe::profile::Profile;
    ///
    /// let error = Profile::parse(r#"{"heist_profile": 7}"#).unwrap_err();
    /// assert!(error.to_string().contains("version 7"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        #[derive(Deserialize)]
        struct Version {
            heist_profile: Option<serde_json::Value>,
        }
        let syntax = |error: serde_json::Error| {
            let why = syntax::fault(text, &error);
            match text.trim_start().strip_prefix('{') {
                Some(begin) if begin.trim_start().starts_with("\"heist_profile\"") => {
                    ProfileError::Damaged(why)
                }
                _ => ProfileError::NoProfile(why),
            }
        };
        let version: Version = serde_json::from_str(text).map_err(syntax)?;
        match version.heist_profile {
            None => {
                let why = "it has no field `heist_profile`".to_owned();
                return Err(ProfileError::NoProfile(why));
            }
            Some(version) if version.as_u64() != Some(VERSION) => {
                return Err(ProfileError::Version(version.to_string()));
            }
            Some(_) => {}
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let profile: Self = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            let why = error.into_inner().to_string();
            match path.as_str() {
                "." => ProfileError::NoProfile(why),
                _ => ProfileError::Field { path, why },
            }
        })?;
        profile.checked()
    }

    /// Refuses values that no run can have, and with which arithmetic would go astray.
    fn checked(self) -> Result<Self, ProfileError> {
        let refuse = |path: &str, why: String| {
            let path = path.to_owned();
            Err(ProfileError::Field { path, why })
        };
        if self.workers == 0 {
            return refuse("workers", "it is 0, and a pool has at least 1".to_owned());
        }
        if self.outside_ns > self.wall_ns {
            let (outside, wall) = (self.outside_ns, self.wall_ns);
            return refuse(
                "outside_ns",
                format!("{outside} is more than wall_ns, {wall}"),
            );
        }
        if self.span_ns > self.work_ns {
            let (span, work) = (self.span_ns, self.work_ns);
            return refuse("span_ns", format!("{span} is more than work_ns, {work}"));
        }
        if self.empty_strand_ns < 0.0 {
            let why = format!("{} is below 0", self.empty_strand_ns);
            return refuse("empty_strand_ns", why);
        }
        let empty = |grain: &Grain| grain.below_ns == 0;
        if self.grain.iter().any(empty)
            || self.sites.iter().any(|site| site.grain.iter().any(empty))
        {
            return refuse(
                "grain",
                "a below_ns is 0, and no strand is shorter".to_owned(),
            );
        }
        Ok(self)
    }
}

/// A text that cannot be used as a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfileError {
    /// It is no JSON, or other JSON; with the reason.
    NoProfile(String),
    /// It begins as a profile and is no JSON, as a file that was cut off; with the reason.
    Damaged(String),
    /// It is of that version.
    Version(String),
    /// A field is wrong.
    Field {
        /// The way to the field, such as `sites[3].forks`.
        path: String,
        /// The reason.
        why: String,
    },
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProfile(why) => write!(f, "it is no profile of heist: {why}"),
            Self::Damaged(why) => write!(f, "the profile is damaged: {why}"),
            Self::Version(found) => write!(
                f,
                "it is a profile of version {found}, and this heist reads version {VERSION}; use \
                 the heist that the program was built with"
            ),
            Self::Field { path, why } => write!(f, "the field {path} cannot be used: {why}"),
        }
    }
}

impl Error for ProfileError {}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"{"heist_profile": 1, "workers": 2, "wall_ns": 10, "outside_ns": 1,
        "work_ns": 9, "span_ns": 3, "burdened_span_ns": 4}"#;

    fn refusal(text: &str) -> String {
        Profile::parse(text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_profile_needs_few_fields_and_may_have_more_than_are_known() {
        let least = Profile::parse(LEAST).expect("a profile");
        assert_eq!((least.workers, least.work_ns, least.span_ns), (2, 9, 3));
        assert_eq!(least.sites, []);
        let more = LEAST.replacen(
            '{',
            r#"{"news": [1], "idle_ns": {"narrow": 5, "else": 1},"#,
            1,
        );
        assert_eq!(Profile::parse(&more).expect("a profile").idle_ns.narrow, 5);
    }

    #[test]
    fn texts_that_are_no_profile_are_refused_with_the_reason() {
        assert!(refusal("").contains("no profile of heist: it is empty"));
        assert!(refusal("[1, 2]").contains("no profile of heist"));
        assert!(refusal("{}").contains("no field `heist_profile`"));
        assert!(refusal(r#"{"heist_profile": "1"}"#).contains("version \"1\""));
        assert!(refusal(r#"{"heist_profile": 2}"#).contains("version 2"));
        assert!(refusal(r#"{"heist_profile": 1}"#).contains("missing field `workers`"));
        let cut = refusal(&LEAST[..LEAST.len() - 3]);
        assert!(cut.contains("damaged: it is cut off (EOF"), "{cut}");
        assert!(cut.contains("line 2"), "{cut}");
    }

    #[test]
    fn a_wrong_field_is_named_with_its_place_and_value() {
        let with = |field: &str| LEAST.replacen('{', &format!("{{{field},"), 1);
        let named = refusal(&with(
            r#""sites": [{"name": "a"}, {"name": "b", "forks": -3}]"#,
        ));
        assert!(named.contains("sites[1].forks"), "{named}");
        assert!(named.contains("-3"), "{named}");
        let grain = r#""grain": [{"below_ns": 0, "strands": 1, "work_ns": 0}]"#;
        assert!(refusal(&with(grain)).contains("grain"));
        let none = refusal(&LEAST.replace(r#""workers": 2"#, r#""workers": 0"#));
        assert!(
            none.contains("workers") && none.contains("at least 1"),
            "{none}"
        );
        let outside = refusal(&LEAST.replace(r#""outside_ns": 1"#, r#""outside_ns": 11"#));
        assert!(outside.contains("11 is more than wall_ns, 10"), "{outside}");
        let span = refusal(&LEAST.replace(r#""span_ns": 3"#, r#""span_ns": 10"#));
        assert!(span.contains("10 is more than work_ns, 9"), "{span}");
    }
}
