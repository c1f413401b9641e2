//! Tallies: what one thread has counted for one site.

use heist_sync::atomic::{AtomicU64, Ordering};

use crate::insight::site::SiteId;

/// Strands are counted by the power of two of their ticks, up to this one.
pub(crate) const LENGTHS: usize = 48;

/// The counts of one thread for the jobs of one site. That thread alone writes, and any may
/// read: relaxed throughout, since a reader only wants some recent value.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) site: SiteId,
    pub(crate) forks: Tick,
    pub(crate) stolen: Tick,
    pub(crate) longest: Tick,
    /// By length.
    pub(crate) strands: [Strands; LENGTHS],
}

/// Strands of about one length.
#[derive(Debug)]
pub(crate) struct Strands {
    pub(crate) count: Tick,
    /// The sum of their ticks, signed.
    pub(crate) work: Tick,
}

/// A number that one thread changes.
#[derive(Debug)]
pub(crate) struct Tick(AtomicU64);

impl Tick {
    pub(crate) fn new(n: u64) -> Self {
        Self(AtomicU64::new(n))
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, to: u64) {
        self.0.store(to, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    #[inline]
    fn raise(&self, to: u64) {
        if self.get() < to {
            self.0.store(to, Ordering::Relaxed);
        }
    }
}

/// The index among lengths of a strand that took so many ticks: it took less than 2 to the power of
/// that, and not less than half of that.
#[inline]
pub(crate) fn length(ticks: u64) -> usize {
    ((u64::BITS - ticks.leading_zeros()) as usize).min(LENGTHS - 1)
}

impl Tally {
    pub(crate) fn new(site: SiteId) -> Self {
        let strands = |_| Strands {
            count: Tick::new(0),
            work: Tick::new(0),
        };
        Self {
            site,
            forks: Tick::new(0),
            stolen: Tick::new(0),
            longest: Tick::new(0),
            strands: std::array::from_fn(strands),
        }
    }

    /// Counts a strand: its ticks by the clock, and without the price of the measurement.
    #[inline]
    pub(crate) fn count(&self, ticks: u64, took: i64) {
        let strands = &self.strands[length(ticks)];
        strands.count.add(1);
        strands.work.add(took as u64);
        self.longest.raise(ticks);
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn strands_are_counted_by_the_power_of_two_that_they_stay_below() {
        for (ticks, index) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 3),
            (1023, 10),
            (1024, 11),
        ] {
            assert_eq!(length(ticks), index, "{ticks}");
        }
        assert_eq!(length(u64::MAX), LENGTHS - 1);
        let tally = Tally::new(0);
        tally.count(5, -2);
        tally.count(7, 1);
        let strands = &tally.strands[3];
        assert_eq!(strands.count.get(), 2);
        assert_eq!(strands.work.get() as i64, -1);
        assert_eq!(tally.longest.get(), 7);
    }
}
