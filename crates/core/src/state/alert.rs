//! The word of a pool that workers look at before each job: whether they are in a forked child, or
//! some jobs may have been cancelled.
//!
//! One word serves both, so that scopes that are never cancelled cost their jobs nothing.

use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::process::Generation;
use heist_sync::Mutex;

/// A number that no process has.
const RAISED: u32 = u32::MAX;

pub(crate) struct Alert {
    /// The number of the process in which the pool was built, or [`RAISED`]. Relaxed: it hands
    /// nothing over, and a worker that sees it late runs what it might have dropped.
    state: AtomicU32,
    /// The number of cancelled scopes that have not ended.
    cancelled: Mutex<usize>,
}

impl Alert {
    /// The word of a pool that is being built.
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(Generation::present().count()),
            cancelled: Mutex::new(0),
        }
    }

    /// True if a worker has something to check before a job runs.
    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.state.load(Ordering::Relaxed) != Generation::present().count()
    }

    /// Notes that a scope is cancelled.
    pub(crate) fn raise(&self) {
        let mut cancelled = self.cancelled.lock();
        *cancelled += 1;
        self.state.store(RAISED, Ordering::Relaxed);
    }

    /// Notes that such a scope has ended, in a pool that was built in this process.
    pub(crate) fn lower(&self, born: Generation) {
        let mut cancelled = self.cancelled.lock();
        *cancelled -= 1;
        if *cancelled == 0 {
            self.state.store(born.count(), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use heist_sync::process::Generation;

    use super::Alert;

    #[test]
    fn it_is_raised_as_long_as_a_cancelled_scope_has_not_ended() {
        let (alert, born) = (Alert::new(), Generation::present());
        assert!(!alert.is_raised());
        alert.raise();
        alert.raise();
        alert.lower(born);
        assert!(alert.is_raised());
        alert.lower(born);
        assert!(!alert.is_raised());
    }
}
