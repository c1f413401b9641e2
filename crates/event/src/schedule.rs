//! A schedule: the one that `HEIST_SCHEDULE` asks for, and the text of one that was recorded.
//!
//! ```text
//! heist schedule 1
//! # HEIST_SCHEDULE=random:17
//! recorded
//! 17 1
//! blocked 24
//! 40 2
//! ```
//!
//! `17 1` is option 1 at choice 17. `blocked 24` says that the runner which had come to point 24
//! blocked behind it. The line `recorded` says that all such points are there; without it they are
//! found by time. Lines that begin with `#` are for people.

use std::fmt;

/// The first line of a schedule.
pub const HEAD: &str = "heist schedule 1";

/// The greatest depth: the most changes of priorities that there may be, and one.
pub const DEPTH_MAX: usize = 1000;

/// The value of `HEIST_SCHEDULE` for the schedule without a deviation.
pub const DEFAULT: &str = "default";

/// The values of `HEIST_SCHEDULE` that are accepted.
pub const ACCEPTED: &str =
    "random:SEED with a whole number from 0 to 18446744073709551615, pct:SEED:d=DEPTH with a depth \
     from 1 to 1000, replay:FILE with the name of a file in which a schedule was recorded, or default";

/// The value of `HEIST_SCHEDULE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Without a deviation.
    Default,
    /// Each choice is random, by this seed.
    Random {
        /// The seed.
        seed: u64,
    },
    /// By priorities that change a few times.
    Pct {
        /// The seed.
        seed: u64,
        /// How many changes there are, and one.
        depth: usize,
    },
    /// By the schedule in this file.
    Replay {
        /// Its name.
        file: &'a str,
    },
}

impl<'a> Wanted<'a> {
    /// Reads the value; `None` if it is malformed. The file is not looked at.
    #[must_use]
    pub fn parse(value: &'a str) -> Option<Self> {
        if value == DEFAULT {
            return Some(Self::Default);
        }
        let (kind, rest) = value.split_once(':')?;
        match kind {
            "random" => Some(Self::Random {
                seed: rest.parse().ok()?,
            }),
            "pct" => {
                let (seed, depth) = rest.split_once(":d=")?;
                let (seed, depth) = (seed.parse().ok()?, depth.parse().ok()?);
                let is_accepted = (1..=DEPTH_MAX).contains(&depth);
                is_accepted.then_some(Self::Pct { seed, depth })
            }
            "replay" if !rest.is_empty() => Some(Self::Replay { file: rest }),
            _ => None,
        }
    }
}

/// A choice that was not the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The number of the choice, from 0.
    pub choice: u64,
    /// The number of the option, from 1.
    pub option: usize,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.choice, self.option)
    }
}

/// A schedule that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The deviations from the default one, by the numbers of their choices.
    pub deviations: Vec<Deviation>,
    /// The points behind which a runner blocked, if they are known.
    pub blocks: Option<Vec<u64>>,
}

impl Schedule {
    /// The schedule in this text.
    ///
    /// # Errors
    ///
    /// Says which line is malformed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(line, _)| line != HEAD) {
            return Err(format!("its first line is not `{HEAD}`"));
        }
        let mut schedule = Self::default();
        for (line, number) in lines {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if !schedule.read(line) {
                return Err(format!(
                    "line {number} is {line:?}; accepted are the number of a choice, above that of \
                     the line before, and of an option from 1; `recorded`, and below that \
                     `blocked` and the number of a point; and `#` with anything"
                ));
            }
        }
        Ok(schedule)
    }

    /// True if the line is well-formed.
    fn read(&mut self, line: &str) -> bool {
        match line.split_once(' ') {
            None if line == "recorded" => {
                self.blocks.get_or_insert_with(Vec::new);
                true
            }
            Some(("blocked", point)) => match (point.parse(), &mut self.blocks) {
                (Ok(point), Some(blocks)) => {
                    blocks.push(point);
                    true
                }
                _ => false,
            },
            Some((choice, option)) => match (choice.parse(), option.parse()) {
                (Ok(choice), Ok(option)) => {
                    let last = self.deviations.last();
                    let is_later = last.is_none_or(|last| last.choice < choice);
                    self.deviations.push(Deviation { choice, option });
                    is_later && option > 0
                }
                _ => false,
            },
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_whole_number() {
        assert_eq!(
            Wanted::parse("random:17"),
            Some(Wanted::Random { seed: 17 })
        );
        let pct = Wanted::Pct { seed: 3, depth: 4 };
        assert_eq!(Wanted::parse("pct:3:d=4"), Some(pct));
        assert_eq!(Wanted::parse(DEFAULT), Some(Wanted::Default));
        let replay = Wanted::Replay { file: "a:b" };
        assert_eq!(Wanted::parse("replay:a:b"), Some(replay));
        for text in [
            "",
            "1",
            "random",
            "random:",
            "random:x",
            "random:-1",
            "random:18446744073709551616",
            "pct:1",
            "pct:1:3",
            "pct:1:d=0",
            "pct:1:d=1001",
            "pct:x:d=3",
            "replay:",
            "default:",
        ] {
            assert_eq!(Wanted::parse(text), None, "{text:?}");
        }
        assert!(ACCEPTED.contains(&format!("from 1 to {DEPTH_MAX}")));
        assert!(ACCEPTED.contains(&format!("from 0 to {}", u64::MAX)));
    }

    #[test]
    fn a_schedule_is_read_as_it_is_written() {
        let text = "heist schedule 1\n# of a seed\nrecorded\n17 1\nblocked 24\n40 2\n";
        let schedule = Schedule::parse(text).unwrap();
        assert_eq!(schedule.blocks, Some(vec![24]));
        let told: Vec<String> = schedule
            .deviations
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told, ["17 1", "40 2"]);
        assert_eq!(
            Schedule::parse("heist schedule 1\n"),
            Ok(Schedule::default())
        );
    }

    #[test]
    fn a_malformed_line_is_told_with_its_number() {
        for line in [
            "17",
            "17 0",
            "17 x",
            "-1 1",
            "3 1",
            "3 1 2",
            "blocked 3",
            "blocked",
            "replay",
        ] {
            let error = Schedule::parse(&format!("heist schedule 1\n5 1\n{line}\n")).unwrap_err();
            let told = format!("line 3 is {line:?}");
            assert!(error.contains(&told), "{error}");
        }
        let error = Schedule::parse("heist schedule 1\n5 1\n5 1\n").unwrap_err();
        assert!(error.contains("above that of the line before"), "{error}");
        assert!(Schedule::parse("17 1\n")
            .unwrap_err()
            .contains("first line"));
        assert!(Schedule::parse("").unwrap_err().contains("first line"));
    }
}
