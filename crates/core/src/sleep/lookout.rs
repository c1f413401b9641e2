//! The lookout: one sleeper that looks for jobs now and then.
//!
//! It is there for jobs for which nobody was woken: those that a guest has pushed
//! whose work is brief, and, where the system has no heavy barrier, one that was
//! pushed in the moment in which a worker fell asleep. The role is given up as soon
//! as neither can happen, so that no timer runs for nothing.

use super::protocol::{yield_in_a_model, Bell, Sleep, AWAKE};
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::fault;
use std::time::Duration;

/// The role, and what it goes by.
#[derive(Debug)]
pub(super) struct Lookout {
    is_there: AtomicBool,
    /// A guest has left a job to the lookout since that looked last.
    has_left: AtomicBool,
    /// How often a guest has sat down.
    visits: AtomicU32,
    /// How many visits the last lookout had seen when it gave up.
    seen: AtomicU32,
    /// The system has refused a heavy barrier: workers push jobs that no sleeper sees.
    jobs_may_be_missed: AtomicBool,
}

impl Lookout {
    /// How long a job may lie unseen that was left to the lookout, at first.
    pub(super) const PERIOD: Duration = Duration::from_millis(1);
    /// The same for a lookout that has found nothing for a while.
    const LONGEST_PERIOD: Duration = Duration::from_millis(16);

    pub(super) fn new() -> Self {
        Self {
            is_there: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            visits: AtomicU32::new(0),
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

    /// A guest has sat down.
    pub(super) fn count_visit(&self) {
        self.visits.fetch_add(1, Ordering::Relaxed);
    }

    /// True if guests have come since there was a lookout: whoever falls asleep next
    /// should be one.
    pub(super) fn has_news(&self) -> bool {
        self.visits.load(Ordering::Relaxed) != self.seen.load(Ordering::Relaxed)
    }

    /// There is no heavy barrier, or no more: without a lookout, sleepers may miss
    /// what workers push.
    pub(super) fn expect_missed_jobs(&self) {
        self.jobs_may_be_missed.store(true, Ordering::Relaxed);
    }

    /// Leaves the job that the caller has just published to the lookout. False if
    /// there is none.
    pub(super) fn leave(&self) -> bool {
        // Relaxed: see `keep_watch`. A swap, because loom orders plain stores with those of
        // others too little.
        self.has_left.swap(true, Ordering::Relaxed);
        // Pairs with the fence in `keep_watch`: either the lookout sees that something
        // was left and stays, or we see that there is none.
        fault::fence("sleep.leave.fence", Ordering::SeqCst);
        self.is_there()
    }
}

impl Sleep {
    /// The lookout looks again and again, until its bell rings or there is nothing to
    /// watch. It wakes somebody, who may be itself, if it `sees_a_job`.
    pub(super) fn keep_watch(&self, bell: Bell, sees_a_job: impl Fn() -> bool) {
        let (bell, lookout) = (self.bell(bell), &self.lookout);
        let mut visits = lookout.visits.load(Ordering::Relaxed);
        let mut period = Lookout::PERIOD;
        loop {
            // Relaxed: `wait_for_the_bell` looks once more.
            match bell.load(Ordering::Relaxed) {
                AWAKE => break,
                // A wake-up for no reason only makes it look early.
                state => bell.wait_timeout(state, period),
            }
            // Relaxed: if the job is not to be seen yet, there is another look, a period
            // later.
            let had_left = lookout.has_left.swap(false, Ordering::Relaxed);
            let relies_on_it = self.relies_on_the_lookout();
            let has_found = self.counts().wants_a_wake_up() && sees_a_job();
            if has_found {
                self.wake_one();
            }
            period = if has_found || relies_on_it {
                Lookout::PERIOD
            } else {
                Lookout::LONGEST_PERIOD.min(2 * period)
            };
            let before = std::mem::replace(&mut visits, lookout.visits.load(Ordering::Relaxed));
            if had_left || visits != before || relies_on_it {
                yield_in_a_model();
                continue;
            }
            lookout.seen.store(visits, Ordering::Relaxed);
            lookout.leave_role();
            // Pairs with the fence in `leave`; without a heavy barrier with that of
            // whoever begins to work, or has sat down, and pushes.
            fault::fence("sleep.keep_watch.fence", Ordering::SeqCst);
            let is_wanted =
                lookout.has_left.load(Ordering::Relaxed) || self.relies_on_the_lookout();
            if !is_wanted || !lookout.take_role() {
                return;
            }
        }
        lookout.leave_role();
    }

    /// True if somebody works whose pushes no sleeper would see.
    fn relies_on_the_lookout(&self) -> bool {
        self.lookout.jobs_may_be_missed.load(Ordering::Relaxed)
            && self.counts().somebody_works(self.workers())
    }
}
