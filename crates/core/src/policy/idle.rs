//! The idle ladder: the steps of a worker that finds no job, down to sleep.

use crate::policy::Gaps;
#[cfg(doc)]
use crate::policy::Yields;

/// The step before the next round of searching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleStep {
    /// Spin this many times.
    Spin(u32),
    /// Let other threads run, if there are any.
    Yield,
    /// Sleep until woken.
    Sleep,
}

/// The steps from searching to sleep: the worker stays awake for as long as [that has
/// paid](Gaps), and then sleeps.
///
/// Awake, it spins for part of a microsecond, in which most searches end, and then yields. Where
/// nobody else wants its processor that is a way to pass time like any other; and a thread that
/// does, such as the one that has waited for the last job, comes at once: the system need not
/// interrupt the worker for it, which takes ten microseconds and more in a virtual machine. Where
/// [yields are dear](Yields), the worker goes on to spin.
///
/// With more workers than processors, staying awake would keep a processor from a worker that has
/// work, so there a worker only yields for some rounds, and soon sleeps.
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
/// let mut soon = (1..16).map(|ns| ladder.step(ns, || gaps, true));
/// assert!(soon.any(|step| step == IdleStep::Yield));
/// assert_eq!(ladder.step(1_000_000, || gaps, true), IdleStep::Sleep);
/// ```
#[derive(Clone, Debug)]
pub struct IdleLadder {
    /// The rounds so far.
    rounds: u32,
    /// The time when it began, and for how long to stay awake, once that is known.
    began_ns: u64,
    awake_ns: Option<u64>,
    oversubscribed: bool,
}

/// The rounds that spin, before the gaps are asked: most searches are shorter.
const FIRST_ROUNDS: u32 = 4;
/// A bound for systems without a clock: more rounds than fit into the longest time that may pay.
const MOST_ROUNDS: u32 = 2_000;
/// The longest spin of a round.
const SPIN_MAX: u32 = 20;
/// The rounds with more workers than processors.
const ROUNDS_OVERSUBSCRIBED: u32 = 4;

impl IdleLadder {
    /// The top of the ladder: the worker has just run out of work.
    #[must_use]
    pub fn new(oversubscribed: bool) -> Self {
        Self {
            rounds: 0,
            began_ns: 0,
            awake_ns: None,
            oversubscribed,
        }
    }

    /// The step to take after one more round that found nothing, at this time.
    pub fn step(&mut self, now_ns: u64, gaps: impl FnOnce() -> Gaps, may_yield: bool) -> IdleStep {
        if self.rounds == 0 {
            self.began_ns = now_ns;
        }
        let stays_awake = match self.oversubscribed {
            true => may_yield && self.rounds < ROUNDS_OVERSUBSCRIBED,
            false => self.stays_awake(now_ns, gaps),
        };
        if !stays_awake {
            // Once awake again the worker starts at the top.
            *self = Self::new(self.oversubscribed);
            return IdleStep::Sleep;
        }
        let longer = 1 << self.rounds.min(SPIN_MAX);
        self.rounds += 1;
        if may_yield && (self.oversubscribed || self.rounds > FIRST_ROUNDS) {
            IdleStep::Yield
        } else {
            IdleStep::Spin(SPIN_MAX.min(longer))
        }
    }

    fn stays_awake(&mut self, now_ns: u64, gaps: impl FnOnce() -> Gaps) -> bool {
        if self.rounds < FIRST_ROUNDS {
            return true;
        }
        let awake_ns = *self.awake_ns.get_or_insert_with(|| gaps().awake_ns());
        self.rounds < MOST_ROUNDS && now_ns.saturating_sub(self.began_ns) < awake_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a worker whose rounds take half a microsecond, after such gaps.
    fn until_sleep(oversubscribed: bool, gap_ns: u64, may_yield: bool) -> Vec<IdleStep> {
        let mut gaps = Gaps::new();
        (0..10).for_each(|_| gaps.count(gap_ns));
        let mut ladder = IdleLadder::new(oversubscribed);
        let times = (0..).map(|round| 7_000 + 500 * round);
        times
            .map(|now_ns| ladder.step(now_ns, || gaps, may_yield))
            .take_while(|&step| step != IdleStep::Sleep)
            .collect()
    }

    /// A20 and A29 of the errata: a back-off that grows with the number of workers, or without
    /// bound.
    #[test]
    fn a20_a29_the_time_before_sleep_is_bounded() {
        for gap_ns in (0..200).map(|us| us * 1_000) {
            for may_yield in [false, true] {
                assert!(until_sleep(false, gap_ns, may_yield).len() < 300);
            }
        }
    }

    #[test]
    fn a_worker_stays_awake_as_long_as_that_has_paid() {
        for may_yield in [false, true] {
            let rounds = |gap_ns| until_sleep(false, gap_ns, may_yield).len();
            assert_eq!(rounds(1_000_000), 9, "some 4 us");
            assert!((60..80).contains(&rounds(30_000)), "some 32 us");
        }
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
        let steps = until_sleep(true, 30_000, true);
        assert_eq!(steps, [IdleStep::Yield; ROUNDS_OVERSUBSCRIBED as usize]);
        assert_eq!(until_sleep(true, 30_000, false), []);
    }

    #[test]
    fn a_worker_that_is_awake_spins_for_long_only_where_yields_are_dear() {
        let steps = until_sleep(false, 30_000, true);
        let (first, later) = steps.split_at(FIRST_ROUNDS as usize);
        assert!(first.iter().all(|step| matches!(step, IdleStep::Spin(_))));
        assert!(later.iter().all(|&step| step == IdleStep::Yield));
        let mut steps = until_sleep(false, 30_000, false).into_iter();
        assert!(steps.all(|step| matches!(step, IdleStep::Spin(1..=SPIN_MAX))));
    }

    #[test]
    fn after_sleep_the_ladder_starts_at_the_top() {
        let mut ladder = IdleLadder::new(false);
        let mut step = |now_ns| ladder.step(now_ns, Gaps::new, false);
        let first = step(0);
        let slept = (1..100).find(|ms| step(ms * 1_000_000) == IdleStep::Sleep);
        assert!(slept.is_some());
        assert_eq!(step(1 << 40), first);
    }
}
