//! Cycles: workers of which each waits for the next one.
//!
//! A worker that waits for a half is waiting for the worker that runs it. A worker that is blocked
//! in the program's code waits for whoever holds the lock, which the system does not tell. But only
//! a frame that waits, or one below it, can hold a lock for long: so it is *probably* that of a
//! worker which waits.

use super::seen::Seen;
use crate::state::Wait;

/// A step from a worker to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It waits for something that this worker does.
    Awaits(usize),
    /// It is blocked; this worker probably has a frame that holds the lock.
    Locked(usize),
}

/// A cycle that begins and ends at the same worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) first: usize,
    pub(super) steps: Vec<Step>,
}

impl Cycle {
    /// The same cycle, begun at the worker that probably has a lock, if one does.
    fn told_from_its_lock(mut self) -> Self {
        let is_lock = |step: &Step| matches!(step, Step::Locked(_));
        if let Some(at) = self.steps.iter().position(is_lock) {
            self.first = self.steps[at].to();
            self.steps.rotate_left(at + 1);
        }
        self
    }
}

impl Step {
    pub(super) fn to(self) -> usize {
        match self {
            Self::Awaits(worker) | Self::Locked(worker) => worker,
        }
    }
}

/// A cycle among these workers, if there is one: the longest of the shortest from each worker,
/// since every worker with a frame that waits may be the one with the lock that it wants itself.
pub(super) fn find(workers: &[Seen]) -> Option<Cycle> {
    let cycles = workers.iter().filter_map(|worker| from(workers, worker));
    // Of equals, the first one.
    let longest = cycles.fold(None, |longest: Option<Cycle>, cycle| match longest {
        Some(longest) if longest.steps.len() >= cycle.steps.len() => Some(longest),
        _ => Some(cycle),
    });
    longest.map(Cycle::told_from_its_lock)
}

/// The shortest cycle through this worker; if it goes by another one, rather that.
fn from(workers: &[Seen], first: &Seen) -> Option<Cycle> {
    let mut reached: Vec<usize> = Vec::new();
    let mut ways = vec![Vec::new()];
    let mut alone = None;
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let at = way.last().map_or(first.index, |step: &Step| step.to());
            let Some(seen) = workers.iter().find(|seen| seen.index == at) else {
                continue;
            };
            for step in steps(workers, seen) {
                let mut steps: Vec<Step> = way.clone();
                steps.push(step);
                if step.to() == first.index {
                    let cycle = Cycle {
                        first: first.index,
                        steps,
                    };
                    if cycle.steps.len() > 1 {
                        return Some(cycle);
                    }
                    alone = Some(cycle);
                } else if !reached.contains(&step.to()) {
                    reached.push(step.to());
                    longer.push(steps);
                }
            }
        }
        ways = longer;
    }
    alone
}

/// The steps from this worker.
fn steps(workers: &[Seen], from: &Seen) -> Vec<Step> {
    let mut steps = Vec::new();
    for wait in from.waits() {
        let others = workers.iter().filter(|other| other.index != from.index);
        let makers = others.filter(|other| match wait {
            // It is not told which jobs.
            Wait::Jobs => other.is_in_futex(),
            _ => other.makes(wait),
        });
        steps.extend(makers.map(|maker| Step::Awaits(maker.index)));
    }
    if from.is_in_futex() {
        let holders = workers
            .iter()
            .filter(|holder| holder.waits().next().is_some());
        steps.extend(holders.map(|holder| Step::Locked(holder.index)));
    }
    steps
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;
    use crate::stall::seen::tests::{blocked, half, runs, seen, waits};

    #[test]
    fn a_half_that_wants_the_lock_of_its_own_frame_is_a_cycle_of_two() {
        let workers = [
            seen(0, &[runs(None), waits(half(8))], None),
            seen(1, &[runs(Some(8))], Some(blocked(0xa8))),
        ];
        let cycle = find(&workers).expect("each waits for the other");
        assert_eq!(
            (cycle.first, cycle.steps),
            (0, vec![Step::Awaits(1), Step::Locked(0)])
        );
    }

    #[test]
    fn the_worker_that_runs_the_half_may_be_blocked_on_top_of_it() {
        let workers = [
            seen(
                2,
                &[runs(None), waits(half(8)), runs(Some(4))],
                Some(blocked(0xa8)),
            ),
            seen(3, &[runs(Some(8))], Some(blocked(0xa8))),
        ];
        let cycle = find(&workers).expect("each waits for the other");
        assert_eq!(
            (cycle.first, cycle.steps),
            (2, vec![Step::Awaits(3), Step::Locked(2)])
        );
    }

    #[test]
    fn a_worker_can_wait_for_itself() {
        let workers = [seen(
            5,
            &[runs(None), waits(half(8)), runs(None)],
            Some(blocked(0xa8)),
        )];
        let cycle = find(&workers).expect("it waits for itself");
        assert_eq!((cycle.first, cycle.steps), (5, vec![Step::Locked(5)]));
    }

    #[test]
    fn workers_that_wait_for_others_than_each_other_are_no_cycle() {
        let in_a_file = [
            seen(0, &[runs(None), waits(half(8))], None),
            seen(1, &[runs(Some(8))], None),
        ];
        assert_eq!(find(&in_a_file), None);
        let without_a_wait = [
            seen(0, &[runs(None)], Some(blocked(0xa8))),
            seen(1, &[runs(None)], Some(blocked(0xa8))),
        ];
        assert_eq!(find(&without_a_wait), None);
    }
}
