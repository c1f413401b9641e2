//! How many workers search, sleep and have withdrawn, in one word.

use std::fmt;

/// How many workers search, how many sleep, and how many sleep and would take no job. A worker in
/// neither number works.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts(u64);

/// Twenty bits for each number: a pool has at most 65,535 workers and as many compensation.
const BITS: u32 = 20;

impl Counts {
    pub(super) const ONE_SLEEPING: u64 = 1;
    pub(super) const ONE_WITHDRAWN: u64 = 1 << BITS;
    pub(super) const ONE_SEARCHING: u64 = 1 << (2 * BITS);

    pub(super) fn new(word: u64) -> Self {
        Self(word)
    }

    fn number(self, one: u64) -> usize {
        (self.0 / one % (1 << BITS)) as usize
    }

    pub(super) fn searching(self) -> usize {
        self.number(Self::ONE_SEARCHING)
    }

    pub(super) fn sleeping(self) -> usize {
        self.number(Self::ONE_SLEEPING)
    }

    pub(super) fn withdrawn(self) -> usize {
        self.number(Self::ONE_WITHDRAWN)
    }

    /// Somebody sleeps, and nobody is awake and looking.
    pub(super) fn wants_a_wake_up(self) -> bool {
        self.searching() == 0 && self.sleeping() > 0
    }

    /// No worker would come for a job: all work, or have withdrawn.
    pub(super) fn no_worker_is_free(self) -> bool {
        self.searching() == 0 && self.sleeping() == 0
    }

    /// Some of so many workers is neither searching nor asleep.
    pub(super) fn somebody_works(self, workers: usize) -> bool {
        self.searching() + self.sleeping() + self.withdrawn() < workers
    }

    /// None of so many workers is awake.
    pub(super) fn all_sleep(self, workers: usize) -> bool {
        self.sleeping() + self.withdrawn() == workers
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts")
            .field("searching", &self.searching())
            .field("sleeping", &self.sleeping())
            .field("withdrawn", &self.withdrawn())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 2 * u16::MAX as u64;

    fn counts(searching: u64, sleeping: u64, withdrawn: u64) -> Counts {
        Counts::new(
            searching * Counts::ONE_SEARCHING
                + sleeping * Counts::ONE_SLEEPING
                + withdrawn * Counts::ONE_WITHDRAWN,
        )
    }

    #[test]
    fn the_numbers_do_not_run_into_each_other() {
        for (searching, sleeping, withdrawn) in [(0, 0, 0), (1, 2, 3), (MOST, MOST, MOST)] {
            let counts = counts(searching, sleeping, withdrawn);
            assert_eq!(counts.searching() as u64, searching);
            assert_eq!(counts.sleeping() as u64, sleeping);
            assert_eq!(counts.withdrawn() as u64, withdrawn);
        }
    }

    #[test]
    fn a_wake_up_is_wanted_if_somebody_sleeps_and_nobody_searches() {
        for (searching, sleeping, wanted) in [
            (0, 0, false),
            (0, 1, true),
            (0, MOST, true),
            (1, 0, false),
            (1, 1, false),
            (MOST, MOST, false),
        ] {
            assert_eq!(
                counts(searching, sleeping, 1).wants_a_wake_up(),
                wanted,
                "{searching} search, {sleeping} sleep"
            );
        }
    }

    #[test]
    fn a_withdrawn_worker_is_neither_free_nor_at_work() {
        assert!(counts(0, 0, 3).no_worker_is_free());
        assert!(!counts(0, 0, 3).somebody_works(3));
        assert!(counts(0, 1, 2).all_sleep(3));
        assert!(!counts(1, 0, 2).no_worker_is_free());
        assert!(counts(0, 0, 2).somebody_works(3));
    }
}
