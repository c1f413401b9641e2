//! Probabilistic concurrency testing: the runner with the highest priority runs, and priorities
//! change a few times only.
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatti, "A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs" (ASPLOS 2010): each runner has a random priority, and at `depth - 1`
//! random steps the runner that would go on falls below all others. A fault that takes `depth`
//! ordered steps is then found with a probability that falls with the number of steps only, instead
//! of exponentially.
//!
//! There the number of steps is known. Here it is not: the steps are drawn so that each doubling of
//! the length is as likely as the others.

use crate::policy::Rng;

/// A change comes before 2 to this many choices.
const LENGTH_LOG2: usize = 16;

/// The priorities, and where they change.
#[derive(Debug)]
pub(super) struct Pct {
    rng: Rng,
    /// Those of the runners that have been seen, by number. Higher ones run first.
    priorities: Vec<u64>,
    /// The choices before which the runner that would go on falls, the last one first.
    changes: Vec<u64>,
    /// The next priority below all others.
    lowest: u64,
}

impl Pct {
    pub(super) fn new(seed: u64, depth: usize) -> Self {
        let mut rng = Rng::new(seed);
        let changes = (1..depth).map(|_| {
            let length = 1 << rng.below(LENGTH_LOG2);
            (length + rng.below(length)) as u64
        });
        let mut changes: Vec<u64> = changes.collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            rng,
            priorities: Vec::new(),
            changes,
            lowest: u64::from(u32::MAX),
        }
    }

    /// The number of the option to take at this choice, among these runners.
    pub(super) fn choose(&mut self, choice: u64, runners: &[usize]) -> usize {
        if self.changes.last().is_some_and(|&change| change <= choice) {
            self.changes.pop();
            let first = self.first(runners);
            self.fall(runners[first]);
        }
        self.first(runners)
    }

    /// This runner has searched in vain again and again: it falls below all others, or it would
    /// keep them from running for ever.
    pub(super) fn fall(&mut self, runner: usize) {
        self.priority(runner);
        self.lowest -= 1;
        self.priorities[runner] = self.lowest;
    }

    /// The number of any of so many options, for a choice that is not between runners.
    pub(super) fn any(&mut self, options: usize) -> usize {
        self.rng.below(options)
    }

    fn first(&mut self, runners: &[usize]) -> usize {
        let priorities = runners.iter().map(|&runner| self.priority(runner));
        let priorities: Vec<u64> = priorities.collect();
        let options = 0..runners.len();
        options
            .max_by_key(|&option| priorities[option])
            .unwrap_or(0)
    }

    /// That of a new runner is above all that have fallen.
    fn priority(&mut self, runner: usize) -> u64 {
        while self.priorities.len() <= runner {
            self.priorities.push(self.rng.next_u64() | 1 << 63);
        }
        self.priorities[runner]
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_runner_goes_on_until_a_change_and_then_comes_last() {
        let runners = [0, 1, 2];
        for seed in 0..100 {
            let mut pct = Pct::new(seed, 2);
            let change = pct.changes[0];
            assert!((1..1 << LENGTH_LOG2).contains(&change), "seed {seed}");
            let first = pct.choose(0, &runners);
            assert_eq!(pct.choose(change - 1, &runners), first, "seed {seed}");
            let second = pct.choose(change, &runners);
            assert_ne!(second, first, "seed {seed}");
            assert_eq!(pct.choose(u64::MAX, &runners), second, "seed {seed}");
            assert_eq!(pct.choose(u64::MAX, &[first]), 0, "seed {seed}");
        }
    }

    #[test]
    fn each_runner_comes_first_for_some_seed() {
        let first = (0..50).map(|seed| Pct::new(seed, 1).choose(0, &[0, 1, 2]));
        let first: Vec<usize> = first.collect();
        assert!((0..3).all(|runner| first.contains(&runner)), "{first:?}");
    }

    #[test]
    fn a_runner_that_searches_in_vain_falls_below_those_that_fell_before() {
        let mut pct = Pct::new(1, 1);
        pct.fall(0);
        pct.fall(1);
        assert_eq!(pct.choose(0, &[0, 1]), 0);
        assert_eq!(pct.choose(1, &[0, 1, 2]), 2);
    }
}
