//! A schedule as text: a line for each deviation, and for each time that the baton was taken away.
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

use super::chooser::Deviation;

/// The first line.
pub(super) const HEAD: &str = "heist schedule 1";

/// A schedule that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) deviations: Vec<Deviation>,
    /// The points behind which a runner blocked, if they are known.
    pub(crate) blocks: Option<Vec<u64>>,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.choice, self.option)
    }
}

/// The schedule in this text.
///
/// # Errors
///
/// Says which line is malformed.
pub(super) fn parse(text: &str) -> Result<Schedule, String> {
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(line, _)| line != HEAD) {
        return Err(format!("its first line is not `{HEAD}`"));
    }
    let mut schedule = Schedule::default();
    for (line, number) in lines {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let is_read = match line.split_once(' ') {
            None if line == "recorded" => {
                schedule.blocks.get_or_insert_with(Vec::new);
                true
            }
            Some(("blocked", point)) => match (point.parse(), &mut schedule.blocks) {
                (Ok(point), Some(blocks)) => {
                    blocks.push(point);
                    true
                }
                _ => false,
            },
            Some((choice, option)) => match (choice.parse(), option.parse()) {
                (Ok(choice), Ok(option)) => {
                    let last = schedule.deviations.last();
                    let is_later = last.is_none_or(|last: &Deviation| last.choice < choice);
                    schedule.deviations.push(Deviation { choice, option });
                    is_later && option > 0
                }
                _ => false,
            },
            None => false,
        };
        if !is_read {
            return Err(format!(
                "line {number} is {line:?}; accepted are the number of a choice, above that of the \
                 line before, and of an option from 1; `recorded`, and below that `blocked` and the \
                 number of a point; and `#` with anything"
            ));
        }
    }
    Ok(schedule)
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_written() {
        let text = "heist schedule 1\n# of a seed\nrecorded\n17 1\nblocked 24\n40 2\n";
        let schedule = parse(text).unwrap();
        assert_eq!(schedule.blocks, Some(vec![24]));
        let told: Vec<String> = schedule
            .deviations
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told, ["17 1", "40 2"]);
        assert_eq!(parse("heist schedule 1\n"), Ok(Schedule::default()));
    }

    #[test]
    fn a_malformed_line_is_told_with_its_number() {
        for line in [
            "17",
            "17 0",
            "17 x",
            "-1 1",
            "3 1 2",
            "blocked 3",
            "blocked",
            "replay",
        ] {
            let error = parse(&format!("heist schedule 1\n5 1\n{line}\n")).unwrap_err();
            let told = format!("line 3 is {line:?}");
            assert!(error.contains(&told), "{error}");
        }
        let error = parse("heist schedule 1\n5 1\n5 1\n").unwrap_err();
        assert!(error.contains("above that of the line before"), "{error}");
        assert!(parse("17 1\n").unwrap_err().contains("first line"));
        assert!(parse("").unwrap_err().contains("first line"));
    }
}
