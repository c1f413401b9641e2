//! The time for which a worker that has run out of work should stay awake.

/// The lengths of the last gaps between two pieces of work, which say for how long it pays to stay
/// awake in the next one.
///
/// Staying awake burns a processor; sleeping and being woken takes time, and work of other threads.
/// A worker stays awake up to the limit that would have been cheapest in the gaps that it remembers
/// (Karlin and others, "Competitive randomized algorithms for nonuniform problems", Algorithmica
/// 1994, on spinning and blocking).
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::Gaps;
///
/// let mut gaps = Gaps::new();
/// (0..10).for_each(|_| gaps.count(1_000_000));
/// let awake_ns = gaps.awake_ns();
/// (0..20).for_each(|_| gaps.count(30_000));
/// assert!(gaps.awake_ns() > awake_ns, "after 30 us there is work again");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    /// The number of gaps shorter than each limit and not than the one before it; the last entry
    /// counts those longer than all. Older gaps count less.
    counts: [u16; LIMITS + 1],
    /// The cost of sleeping and being woken.
    wake_up_ns: u64,
}

/// Each limit is twice the one before.
const SHORTEST_NS: u64 = 4_096;
const LIMITS: usize = 6;
/// The longest that a worker stays awake.
pub(super) const LONGEST_NS: u64 = SHORTEST_NS << (LIMITS - 1);
/// The cost of sleeping and being woken.
const WAKE_UP_NS: u64 = 50_000;
/// The same where the program waits for the worker meanwhile.
const LATE_WAKE_UP_NS: u64 = 2 * WAKE_UP_NS;
/// The limit of a worker that remembers no gap.
const AT_FIRST_NS: u64 = 4 * SHORTEST_NS;
/// When so many gaps are remembered, all counts are halved.
const MOST_GAPS: u16 = 64;

impl Gaps {
    /// No gaps yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counts: [0; LIMITS + 1],
            wake_up_ns: WAKE_UP_NS,
        }
    }

    /// No gaps yet, of a worker that waits for others so that its job can go on: to be woken costs
    /// it the processor time, and the job as much again.
    #[must_use]
    pub const fn of_waits() -> Self {
        Self {
            wake_up_ns: LATE_WAKE_UP_NS,
            ..Self::new()
        }
    }

    /// Notes a gap of this length.
    pub fn count(&mut self, gap_ns: u64) {
        // Gaps below the shortest limit make no difference.
        let Some(doublings) = (gap_ns / SHORTEST_NS).checked_ilog2() else {
            return;
        };
        self.counts[LIMITS.min(1 + doublings as usize)] += 1;
        if self.counts.iter().sum::<u16>() >= MOST_GAPS {
            self.counts.iter_mut().for_each(|count| *count /= 2);
        }
    }

    /// The time to stay awake: the limit that would have been cheapest.
    #[must_use]
    pub fn awake_ns(&self) -> u64 {
        let all: u64 = self.counts.iter().copied().map(u64::from).sum();
        if all == 0 {
            return AT_FIRST_NS;
        }
        let (mut awake_ns, mut longer) = (0, all);
        let costs = self.counts[..LIMITS]
            .iter()
            .enumerate()
            .map(|(step, &count)| {
                let limit_ns = SHORTEST_NS << step;
                awake_ns += u64::from(count) * limit_ns;
                longer -= u64::from(count);
                (awake_ns + longer * (limit_ns + self.wake_up_ns), limit_ns)
            });
        costs.min().map_or(AT_FIRST_NS, |(_, limit_ns)| limit_ns)
    }
}

impl Default for Gaps {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(gaps_ns: impl IntoIterator<Item = u64>) -> u64 {
        let mut gaps = Gaps::new();
        gaps_ns.into_iter().for_each(|gap_ns| gaps.count(gap_ns));
        gaps.awake_ns()
    }

    #[test]
    fn a_worker_that_waits_a_millisecond_each_time_soon_sleeps() {
        assert_eq!(after([1_000_000; 5]), SHORTEST_NS);
    }

    #[test]
    fn a_worker_that_finds_work_after_some_time_stays_awake_for_it() {
        for gap_ns in [5_000, 10_000, 30_000] {
            let awake_ns = after([gap_ns; 5]);
            assert!((gap_ns..2 * gap_ns + SHORTEST_NS).contains(&awake_ns));
        }
    }

    #[test]
    fn a_gap_that_costs_more_than_to_be_woken_is_slept_through() {
        assert_eq!(after([100_000; 20]), SHORTEST_NS);
    }

    #[test]
    fn a_worker_for_which_the_program_waits_stays_awake_for_longer() {
        let after = |gap_ns| {
            let mut gaps = Gaps::of_waits();
            (0..20).for_each(|_| gaps.count(gap_ns));
            gaps.awake_ns()
        };
        assert!((40_000..80_000).contains(&after(40_000)));
        assert_eq!(after(150_000), SHORTEST_NS);
    }

    #[test]
    fn short_gaps_are_neither_here_nor_there() {
        assert_eq!(after([100; 1_000]), AT_FIRST_NS);
        let mixed = [100; 1_000].into_iter().chain([1_000_000; 3]);
        assert_eq!(after(mixed), SHORTEST_NS);
    }

    #[test]
    fn a_worker_changes_its_mind_within_some_gaps() {
        let changed = [1_000_000; 1_000].into_iter().chain([10_000; 200]);
        assert_eq!(after(changed), 4 * SHORTEST_NS);
        let back = [10_000; 1_000].into_iter().chain([1_000_000; 200]);
        assert_eq!(after(back), SHORTEST_NS);
    }

    /// Each limit is one of those that there are, and the longest stays near what a wake-up costs.
    #[test]
    fn the_limit_is_never_beyond_what_it_can_save_several_times() {
        let longest = SHORTEST_NS << (LIMITS - 1);
        for gap_ns in (0..100).map(|n| n * 3_000) {
            assert!((SHORTEST_NS..=longest).contains(&after([gap_ns; 50])));
        }
        assert!(longest < 3 * WAKE_UP_NS);
    }
}
