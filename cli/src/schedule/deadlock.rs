//! The deadlock that a program has reported: who waits for what, without what differs from run to
//! run.

use std::collections::BTreeSet;
use std::fmt;

use heist_run::terminal::harmless;

/// Where the threads of a deadlock wait: each of them once, whichever workers they are.
///
/// Of a thread it is the innermost frame that counts, and those that are blocked by the program,
/// if there are any: workers that wait for them in heist may be some or others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Deadlock {
    waits: BTreeSet<String>,
}

impl Deadlock {
    /// The first one in what a program said.
    pub(super) fn told(said: &str) -> Option<Self> {
        let (_, report) = said.split_once(": deadlock: nothing can run any more")?;
        let lines = report.lines().skip(1);
        let lines = lines.take_while(|line| line.starts_with("  "));
        let waits = lines.filter_map(wait);
        let (blocked, others): (Vec<_>, Vec<_>) = waits.partition(|&(is_blocked, _)| is_blocked);
        let waits = if blocked.is_empty() { others } else { blocked };
        Some(Self {
            waits: waits.into_iter().map(|(_, wait)| wait).collect(),
        })
    }

    /// True if nobody waits elsewhere than in the other one.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.waits.is_subset(&other.waits) && self.waits.is_empty() == other.waits.is_empty()
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a deadlock")?;
        for (nth, wait) in self.waits.iter().enumerate() {
            f.write_str(if nth == 0 { ": " } else { "; " })?;
            f.write_str(&harmless(wait))?;
        }
        Ok(())
    }
}

/// The wait of a worker, as its line in the report says it, and whether it is in the program.
fn wait(line: &str) -> Option<(bool, String)> {
    let (_, told) = line
        .trim_start()
        .strip_prefix("worker ")?
        .split_once("  ")?;
    let mut frames = told.split("; below that ");
    let innermost = frames.next()?;
    if let Some(awaited) = innermost.strip_prefix("waits for ") {
        let (_, awaited) = awaited.split_once(" for ")?;
        let awaited = awaited.split(", which worker ").next()?;
        return Some((false, format!("waits for {awaited}")));
    }
    let place = innermost.split(" 0x").next()?;
    let runs = frames.next().and_then(|frame| {
        let runs = frame.strip_prefix("it runs ")?;
        Some(runs.rsplit_once(" for ")?.0)
    });
    Some((true, format!("{place} in {}", runs.unwrap_or("a job"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
words
heist: HEIST_SCHEDULE=random:24: deadlock: nothing can run any more, at point 142
  worker 1  is blocked in futex 0x7fbe; below that it runs `prog::count` for 0.0 s; below that it \
waits for 0.0 s for the second half of a join, `prog::main`, which worker 2 runs
  worker 2  is blocked in futex 0x7f11; below that it runs `prog::sum` for 0.0 s
  worker 3  waits for 0.0 s for the second half of a join, `prog::main`, which worker 2 runs; \
below that it runs a job for 0.0 s
  1 more: idle, without a job
  hint: a lock, ..
more words
  worker 9  is blocked in futex 0x1; below that it runs `prog::other` for 0.0 s
";

    fn told(report: &str) -> Deadlock {
        Deadlock::told(report).expect("it reports one")
    }

    #[test]
    fn blocked_threads_count_by_the_closure_in_which_they_are() {
        let deadlock = told(REPORT);
        assert_eq!(
            deadlock.to_string(),
            "a deadlock: is blocked in futex in `prog::count`; is blocked in futex in `prog::sum`"
        );
        let elsewhere = REPORT
            .replace("0x7fbe", "0x1234")
            .replace("worker 1", "worker 4");
        assert_eq!(told(&elsewhere), deadlock);
        assert_eq!(Deadlock::told("heist: nothing has moved"), None);
    }

    #[test]
    fn without_blocked_threads_the_waits_in_heist_count() {
        let waits =
            "x: deadlock: nothing can run any more, at point 3\n  worker 0  waits for 0.0 s \
                     for the value of a Once; below that it runs `a::b` for 0.0 s\n";
        assert_eq!(
            told(waits).to_string(),
            "a deadlock: waits for the value of a Once"
        );
    }

    #[test]
    fn a_part_of_a_deadlock_is_within_it_and_another_is_not() {
        let whole = told(REPORT);
        let part = told(&REPORT.replace("`prog::count`", "`prog::sum`"));
        let other = told(&REPORT.replace("`prog::count`", "`prog::merge`"));
        assert!(whole.is_within(&whole) && part.is_within(&whole));
        assert!(!whole.is_within(&part) && !other.is_within(&whole));
        let untold = told("x: deadlock: nothing can run any more, at point 3\n");
        assert!(untold.is_within(&untold));
        assert!(!untold.is_within(&whole) && !whole.is_within(&untold));
    }
}
