//! How a worker that finds nothing passes the time until it sleeps.

/// What to do before the next round of searching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleStep {
    /// Spin this many times.
    Spin(u32),
    /// Let another thread run.
    Yield,
    /// Sleep until woken.
    Sleep,
}

/// The steps from busy searching down to sleep: short spins that grow, some
/// yields, sleep. About 10 us in all on a machine of today.
///
/// With more workers than processors a spinning worker keeps a processor from
/// one that has work, so there it only yields, and soon sleeps.
///
/// # Examples
///
/// ```
/// use heist_core::policy::{IdleLadder, IdleStep};
///
/// let mut ladder = IdleLadder::new(false);
/// assert!(matches!(ladder.step(), IdleStep::Spin(_)));
/// assert!(std::iter::repeat_with(|| ladder.step()).any(|step| step == IdleStep::Sleep));
/// ```
#[derive(Clone, Debug)]
pub struct IdleLadder {
    round: u32,
    oversubscribed: bool,
}

/// Rounds that spin, and the longest spin of a round.
const SPIN_ROUNDS: u32 = 24;
const SPIN_MAX: u32 = 20;
/// Rounds that yield, after those that spin.
const YIELD_ROUNDS: u32 = 4;

impl IdleLadder {
    /// At the top: the worker has just run out of work.
    #[must_use]
    pub fn new(oversubscribed: bool) -> Self {
        Self {
            round: 0,
            oversubscribed,
        }
    }

    /// The step after one more round that found nothing.
    pub fn step(&mut self) -> IdleStep {
        let spins = if self.oversubscribed { 0 } else { SPIN_ROUNDS };
        let round = self.round;
        self.round += 1;
        if round < spins {
            IdleStep::Spin(SPIN_MAX.min(1 << round.min(16)))
        } else if round < spins + YIELD_ROUNDS {
            IdleStep::Yield
        } else {
            // Once awake again the worker starts at the top.
            self.round = 0;
            IdleStep::Sleep
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_sleep(oversubscribed: bool) -> Vec<IdleStep> {
        let mut ladder = IdleLadder::new(oversubscribed);
        std::iter::repeat_with(|| ladder.step())
            .take_while(|&step| step != IdleStep::Sleep)
            .collect()
    }

    /// A20 and A29 of the errata: a back-off that grows with the number of
    /// workers, or without bound.
    #[test]
    fn a20_a29_the_time_before_sleep_is_bounded() {
        let spins: u32 = until_sleep(false)
            .iter()
            .map(|step| match step {
                IdleStep::Spin(n) => *n,
                _ => 0,
            })
            .sum();
        assert!(spins < 1_000);
    }

    #[test]
    fn nobody_spins_when_there_are_more_workers_than_processors() {
        let steps = until_sleep(true);
        assert!(steps.iter().all(|&step| step == IdleStep::Yield));
    }

    #[test]
    fn after_sleep_the_ladder_starts_at_the_top() {
        let mut ladder = IdleLadder::new(false);
        let first = ladder.step();
        while ladder.step() != IdleStep::Sleep {}
        assert_eq!(ladder.step(), first);
    }
}
