//! The idle ladder: the steps of a worker that finds no job, down to sleep.

use crate::policy::Gaps;
#[cfg(doc)]
use crate::policy::Yields;

/// The step before the next round of searching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleStep {
    /// Spin this many times.
    Spin(u32),
    /// Let another thread run.
    Yield,
    /// Sleep until woken.
    Sleep,
}

/// The steps from searching to sleep: short spins that grow, for as long as [that has paid](Gaps),
/// some yields if [those cost little](Yields), sleep.
///
/// With more workers than processors, spinning would keep a processor from a worker that has work,
/// so there a worker only yields, and soon sleeps.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::{Gaps, IdleLadder, IdleStep};
///
/// let gaps = Gaps::new();
/// let mut ladder = IdleLadder::new(false);
/// assert!(matches!(ladder.step(0, || gaps, true), IdleStep::Spin(_)));
/// let mut later = (1..).map(|ms| ladder.step(ms * 1_000_000, || gaps, true));
/// assert!(later.any(|step| step == IdleStep::Sleep));
/// ```
#[derive(Clone, Debug)]
pub struct IdleLadder {
    /// The spins so far, and the yields since.
    spins: u32,
    yields: u32,
    /// The time when it began, and for how long to spin, once that is known.
    began_ns: u64,
    awake_ns: Option<u64>,
    oversubscribed: bool,
}

/// The rounds before the gaps are asked: most searches are shorter.
const FIRST_ROUNDS: u32 = 6;
/// A bound for systems without a clock: more rounds than fit into the longest time that may pay.
const MOST_ROUNDS: u32 = 2_000;
/// The longest spin of a round.
const SPIN_MAX: u32 = 20;
/// Rounds that yield, after those that spin.
const YIELD_ROUNDS: u32 = 4;

impl IdleLadder {
    /// The top of the ladder: the worker has just run out of work.
    #[must_use]
    pub fn new(oversubscribed: bool) -> Self {
        Self {
            spins: 0,
            yields: 0,
            began_ns: 0,
            awake_ns: None,
            oversubscribed,
        }
    }

    /// The step to take after one more round that found nothing, at this time.
    pub fn step(&mut self, now_ns: u64, gaps: impl FnOnce() -> Gaps, may_yield: bool) -> IdleStep {
        if self.spins == 0 {
            self.began_ns = now_ns;
        }
        if !self.oversubscribed && self.stays_awake(now_ns, gaps) {
            let longer = 1 << self.spins.min(SPIN_MAX);
            self.spins += 1;
            return IdleStep::Spin(SPIN_MAX.min(longer));
        }
        if may_yield && self.yields < YIELD_ROUNDS {
            self.yields += 1;
            return IdleStep::Yield;
        }
        // Once awake again the worker starts at the top.
        *self = Self::new(self.oversubscribed);
        IdleStep::Sleep
    }

    fn stays_awake(&mut self, now_ns: u64, gaps: impl FnOnce() -> Gaps) -> bool {
        if self.spins < FIRST_ROUNDS {
            return true;
        }
        let awake_ns = *self.awake_ns.get_or_insert_with(|| gaps().awake_ns());
        self.spins < MOST_ROUNDS && now_ns.saturating_sub(self.began_ns) < awake_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a worker whose rounds take half a microsecond, after such gaps.
    fn until_sleep(oversubscribed: bool, gap_ns: u64) -> Vec<IdleStep> {
        let mut gaps = Gaps::new();
        (0..10).for_each(|_| gaps.count(gap_ns));
        let mut ladder = IdleLadder::new(oversubscribed);
        let times = (0..).map(|round| 7_000 + 500 * round);
        times
            .map(|now_ns| ladder.step(now_ns, || gaps, true))
            .take_while(|&step| step != IdleStep::Sleep)
            .collect()
    }

    /// A20 and A29 of the errata: a back-off that grows with the number of workers, or without
    /// bound.
    #[test]
    fn a20_a29_the_time_before_sleep_is_bounded() {
        for gap_ns in (0..200).map(|us| us * 1_000) {
            assert!(until_sleep(false, gap_ns).len() < 300);
        }
    }

    #[test]
    fn a_worker_stays_awake_as_long_as_that_has_paid() {
        let spins = |gap_ns| until_sleep(false, gap_ns).len() - YIELD_ROUNDS as usize;
        assert_eq!(spins(1_000_000), 9, "some 4 us");
        assert!((60..80).contains(&spins(30_000)), "some 32 us");
    }

    #[test]
    fn without_a_clock_it_sleeps_in_the_end() {
        let mut ladder = IdleLadder::new(false);
        let mut steps = std::iter::repeat_with(|| ladder.step(0, Gaps::new, true));
        assert!(steps
            .by_ref()
            .take(3_000)
            .any(|step| step == IdleStep::Sleep));
    }

    #[test]
    fn no_worker_spins_when_there_are_more_workers_than_processors() {
        let steps = until_sleep(true, 30_000);
        assert_eq!(steps, [IdleStep::Yield; YIELD_ROUNDS as usize]);
    }

    #[test]
    fn where_yields_are_dear_it_sleeps_without_one() {
        let mut ladder = IdleLadder::new(true);
        assert_eq!(ladder.step(0, Gaps::new, false), IdleStep::Sleep);
        let mut ladder = IdleLadder::new(false);
        let steps = (0..).map(|ms| ladder.step(ms * 1_000_000, Gaps::new, false));
        let mut steps = steps.take_while(|&step| step != IdleStep::Sleep).take(100);
        assert!(steps.all(|step| step != IdleStep::Yield));
    }

    #[test]
    fn after_sleep_the_ladder_starts_at_the_top() {
        let mut ladder = IdleLadder::new(false);
        let mut step = |now_ns| ladder.step(now_ns, Gaps::new, true);
        let first = step(0);
        let slept = (1..100).find(|ms| step(ms * 1_000_000) == IdleStep::Sleep);
        assert!(slept.is_some());
        assert_eq!(step(1 << 40), first);
    }
}
