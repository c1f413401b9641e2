//! The judge: when a pool has stalled.

use std::time::Duration;

/// The patience with threads that may go on by themselves, as a multiple.
const SLEEPERS: u32 = 6;

/// A pool at one look of the watchdog, compared with the look before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Something has moved.
    pub(super) moved: bool,
    /// A frame waits for jobs, or a job for a worker.
    pub(super) waits: bool,
    /// A thread may go on by itself.
    pub(super) sleeps: bool,
}

/// How long a pool has stood still.
#[derive(Debug)]
pub(super) struct Judge {
    patience: Duration,
    still: Duration,
    has_spoken: bool,
}

impl Judge {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience,
            still: Duration::ZERO,
            has_spoken: false,
        }
    }

    /// True if the pool has stalled, and that has been said.
    pub(super) fn has_stalled(&self) -> bool {
        self.has_spoken
    }

    /// Hears of a look, so long after the last one. For how long the pool has stalled, if that is
    /// to be said now.
    pub(super) fn hear(&mut self, look: Look, passed: Duration) -> Option<Duration> {
        if look.moved || !look.waits {
            (self.still, self.has_spoken) = (Duration::ZERO, false);
            return None;
        }
        self.still += passed;
        let patience = self.patience * if look.sleeps { SLEEPERS } else { 1 };
        if self.has_spoken || self.still < patience {
            return None;
        }
        self.has_spoken = true;
        Some(self.still)
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    const STILL: Look = Look {
        moved: false,
        waits: true,
        sleeps: false,
    };

    /// The looks, one a second, at which the judge speaks.
    fn speaks_at(looks: impl Iterator<Item = Look>) -> Vec<usize> {
        let mut judge = Judge::new(Duration::from_secs(10));
        let mut speaks = |look| judge.hear(look, Duration::from_secs(1)).is_some();
        let looks = (1..).zip(looks);
        looks
            .filter_map(|(at, look)| speaks(look).then_some(at))
            .collect()
    }

    #[test]
    fn a_stall_is_said_once_when_the_patience_is_over() {
        assert_eq!(speaks_at([STILL; 100].into_iter()), [10]);
    }

    #[test]
    fn the_next_stall_is_said_again() {
        let moves = Look {
            moved: true,
            ..STILL
        };
        let looks = [STILL; 20].into_iter().chain([moves]).chain([STILL; 20]);
        assert_eq!(speaks_at(looks), [10, 31]);
        let often = [STILL; 9].into_iter().chain([moves]).cycle().take(200);
        assert_eq!(speaks_at(often), [0; 0], "it moves now and then");
    }

    #[test]
    fn a_pool_in_which_nobody_waits_is_idle() {
        let idle = Look {
            waits: false,
            ..STILL
        };
        assert_eq!(speaks_at([idle; 100].into_iter()), [0; 0]);
    }

    #[test]
    fn threads_that_may_go_on_by_themselves_have_six_times_as_long() {
        let sleeps = Look {
            sleeps: true,
            ..STILL
        };
        assert_eq!(speaks_at([sleeps; 100].into_iter()), [60]);
    }
}
