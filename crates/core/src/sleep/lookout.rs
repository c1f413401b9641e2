//! The lookout: one sleeper that looks for jobs now and then.
//!
//! It is there for jobs for which nobody was woken: those that a caller has pushed whose work is
//! brief, and, where the system has no heavy barrier, one that was pushed in the moment in which a
//! worker fell asleep. The role is given up as soon as neither can happen, so that no timer runs
//! for nothing.

use std::time::Duration;

use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::fault;

/// The role, and what it goes by.
#[derive(Debug)]
pub(super) struct Lookout {
    is_there: AtomicBool,
    /// A caller has left a job to the lookout since that looked last.
    pub(super) has_left: AtomicBool,
    /// How many callers have come.
    pub(super) callers: AtomicU32,
    /// How many the last lookout had seen when it gave up.
    pub(super) seen: AtomicU32,
    /// The system has refused a heavy barrier: workers push jobs that no sleeper sees.
    pub(super) jobs_may_be_missed: AtomicBool,
}

impl Lookout {
    /// How long a job may lie unseen that was left to the lookout, at first.
    pub(super) const PERIOD: Duration = Duration::from_millis(1);
    /// The same for a lookout that has found nothing for a while.
    pub(super) const LONGEST_PERIOD: Duration = Duration::from_millis(16);

    pub(super) fn new() -> Self {
        Self {
            is_there: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            callers: AtomicU32::new(0),
            seen: AtomicU32::new(0),
            jobs_may_be_missed: AtomicBool::new(false),
        }
    }

    /// True if some sleeper has the role. A hint, but for [`leave`](Self::leave).
    pub(super) fn is_there(&self) -> bool {
        // Relaxed: a role, which hands nothing over.
        self.is_there.load(Ordering::Relaxed)
    }

    /// True if the caller has the role from now on.
    pub(super) fn take_role(&self) -> bool {
        !self.is_there.swap(true, Ordering::Relaxed)
    }

    pub(super) fn leave_role(&self) {
        self.is_there.store(false, Ordering::Relaxed);
    }

    /// A caller has come.
    pub(super) fn count_caller(&self) {
        self.callers.fetch_add(1, Ordering::Relaxed);
    }

    /// True if callers have come since there was a lookout: whoever falls asleep next should be
    /// one.
    pub(super) fn has_news(&self) -> bool {
        self.callers.load(Ordering::Relaxed) != self.seen.load(Ordering::Relaxed)
    }

    /// There is no heavy barrier, or no more: without a lookout, sleepers may miss what workers
    /// push.
    pub(super) fn expect_missed_jobs(&self) {
        self.jobs_may_be_missed.store(true, Ordering::Relaxed);
    }

    /// Leaves the job that the caller has just published to the lookout. False if there is none.
    pub(super) fn leave(&self) -> bool {
        // Relaxed: see `keep_watch`. A swap, because loom orders plain stores with those of others
        // too little.
        self.has_left.swap(true, Ordering::Relaxed);
        // Pairs with the fence in `keep_watch`: either the lookout sees that something was left and
        // stays, or we see that there is none.
        // Equivalent (sleep.leave.fence): a lookout that gives up while somebody works passes the
        // heavy barrier and looks once more, and so finds the job as well. It should not have to.
        fault::fence("sleep.leave.fence", Ordering::SeqCst);
        self.is_there()
    }
}
