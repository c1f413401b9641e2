//! Which build of which remote functions and jobs this is, and in what it differs from another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// How many differences are named.
const NAMED_MAX: usize = 4;

/// Which build of which remote functions and jobs a program has.
///
/// A worker refuses whatever comes from a program with another one: bytes that mean one
/// thing here might mean another there, and a function might be an older one. It covers
///
/// - the version of this crate, and the system and processor that it was built for;
/// - of each function and job what stands below its attribute, and the form of its arguments or
///   state and of its result: the names and the order of fields and variants, as serde reads
///   them, whatever package they come from;
/// - the sources of each package with such functions, and of all packages that it needs and
///   names by a path: what lies below `src`, the manifest and the build script;
/// - what `Cargo.lock` says of the other packages that it needs.
///
/// So it is one of sources, and two builds of the same sources have the same one: a debug driver
/// works with a release library, and a test with the program that it tests. The bytes of programs
/// could not be compared, as Ray's workers load another file than the one that drives them.
///
/// Features of packages count only as far as they change a form; what a build script or a
/// macro reads outside of `src` does not count. A refusal says what differs.
///
/// # Examples
///
/// ```
/// use heist_cluster::Fingerprint;
///
/// let here = Fingerprint::of_this_program();
/// assert_eq!(Fingerprint::parse(&here.to_string()), Ok(here));
/// assert!(Fingerprint::parse("yesterday's").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// One that was [shown](fmt::Display) before; [`Fingerprint`] has an example.
    ///
    /// # Errors
    ///
    /// Says what was expected if `text` is not 16 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        let digits = (text.len() == 16).then(|| u64::from_str_radix(text, 16));
        match digits {
            Some(Ok(digits)) => Ok(Self(digits)),
            _ => Err(format!(
                "{text:?} is no fingerprint; one has 16 hexadecimal digits"
            )),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A number that changes with something of which a build consists.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Of what.
    pub what: &'static str,
    /// The number.
    pub hash: u64,
}

/// The parts of a fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Build {
    parts: BTreeMap<String, u64>,
}

impl Build {
    /// Without any function or job.
    pub(crate) fn new() -> Self {
        let mut build = Self::default();
        build.add("the version of heist-cluster", &env!("CARGO_PKG_VERSION"));
        let system = (std::env::consts::ARCH, std::env::consts::OS);
        let words = (usize::BITS, cfg!(target_endian = "big"));
        build.add("the system or the processor", &(system, words));
        build
    }

    /// Adds a part, or to one.
    pub(crate) fn add(&mut self, what: impl Into<String>, value: &impl Hash) {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let hash = hasher.finish();
        self.add_hash(what, hash);
    }

    /// As [`add`](Self::add), of a number. One that comes again is no news.
    pub(crate) fn add_hash(&mut self, what: impl Into<String>, hash: u64) {
        let known = self.parts.entry(what.into()).or_insert(hash);
        if *known != hash {
            let mut hasher = DefaultHasher::new();
            (*known, hash).hash(&mut hasher);
            *known = hasher.finish();
        }
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut hasher = DefaultHasher::new();
        self.parts.hash(&mut hasher);
        Fingerprint(hasher.finish())
    }

    /// The parts in which a driver's build, this one, and a worker's differ. Versions and sources
    /// come first, which say more than what follows from them.
    pub(crate) fn differences(&self, worker: &Self) -> Vec<String> {
        let all: BTreeSet<_> = self.parts.keys().chain(worker.parts.keys()).collect();
        let differs = |what: &&String| self.parts.get(*what) != worker.parts.get(*what);
        let say = |what: &String| match (self.parts.get(what), worker.parts.get(what)) {
            (Some(_), Some(_)) => what.clone(),
            (Some(_), None) => format!("{what} (only the driver has it)"),
            _ => format!("{what} (only the worker has it)"),
        };
        // Their names begin late in the alphabet.
        all.into_iter().rev().filter(differs).map(say).collect()
    }
}

/// The differences, as a part of a sentence.
pub(crate) fn list(differences: &[String]) -> String {
    match differences {
        [] => String::new(),
        all => {
            let named = all.get(..NAMED_MAX).unwrap_or(all);
            let more = match all.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(" and differs in {}{more}", named.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol;
    use crate::protocol::refusal::Refusal;

    fn build(parts: &[(&str, u64)]) -> Build {
        let mut build = Build::default();
        for (what, hash) in parts {
            build.add_hash(*what, *hash);
        }
        build
    }

    #[test]
    fn differences_are_named() {
        let driver = build(&[("a", 1), ("b", 2), ("c", 3)]);
        let worker = build(&[("a", 1), ("b", 3), ("d", 3)]);
        assert_eq!(driver.differences(&driver), Vec::<String>::new());
        assert_eq!(
            driver.differences(&worker),
            [
                "d (only the worker has it)",
                "c (only the driver has it)",
                "b"
            ]
        );
        assert_ne!(driver.fingerprint(), worker.fingerprint());
    }

    #[test]
    fn the_order_and_repetition_of_parts_do_not_matter() {
        let once = build(&[("a", 1), ("b", 2)]);
        assert_eq!(once, build(&[("b", 2), ("a", 1), ("b", 2)]));
    }

    /// Two fields were swapped in another package, to which an argument's type belongs.
    #[test]
    fn a_refusal_says_what_differs_and_what_to_do() {
        let worker = Build::new();
        let mut driver = worker.clone();
        driver.add("the sources of the package shapes", &"b, a");
        let refusal = Refusal::WrongFingerprint {
            driver: driver.fingerprint(),
            worker: worker.fingerprint(),
            differences: Vec::new(),
        };
        assert_ne!(driver.fingerprint(), worker.fingerprint());
        let payload = protocol::encode(&worker).expect("a build can be written");
        let said = refusal.explained(&driver, &payload).to_string();
        assert!(
            said.contains("differs in the sources of the package shapes"),
            "{said}"
        );
        assert!(said.contains("build and ship the worker again"), "{said}");
    }

    #[test]
    fn many_differences_are_counted() {
        let all: Vec<_> = (0..9).map(|number| number.to_string()).collect();
        assert_eq!(list(&all), " and differs in 0, 1, 2, 3 and 5 more");
        assert_eq!(list(&[]), "");
    }
}
