//! How a sleeper waits on its parker, and how the lookout watches meanwhile.

use std::time::Duration;

use heist_sync::atomic::Ordering;
use heist_sync::fault;

use super::lookout::Lookout;
use super::protocol::{yield_in_a_model, Jobs, Rest, Sleep, Sleeper, AWAKE};

/// A watch of the lookout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// The callers that had come.
    callers: u32,
    /// The time to its next look.
    period: Duration,
}

impl Sleep {
    /// S5: sleeps until it is unparked. It searches again afterwards. The lookout wakes somebody if
    /// it `sees_a_job`.
    pub(super) fn block(
        &self,
        parker: Sleeper,
        rest: Rest,
        jobs: &impl Jobs,
        sees_a_job: impl Fn() -> bool,
    ) {
        let mut rest = rest;
        loop {
            match rest {
                Rest::UntilUnparked => break,
                Rest::AsLookout => self.keep_watch(parker, jobs, &sees_a_job),
                Rest::Briefly => self.wait_a_period(parker, Lookout::PERIOD),
            }
            rest = self.passes_barrier(parker, jobs, &sees_a_job);
        }
        self.park(parker);
    }

    fn wait_a_period(&self, parker: Sleeper, period: Duration) {
        let parker = self.parker(parker);
        // Relaxed: `park` looks once more.
        match parker.load(Ordering::Relaxed) {
            AWAKE => {}
            // A wake-up for no reason only makes it look early.
            state => parker.wait_timeout(state, period),
        }
    }

    /// The lookout looks again and again, until it is unparked or there is nothing to watch. It
    /// wakes somebody, who may be itself, if it `sees_a_job`.
    fn keep_watch(&self, parker: Sleeper, jobs: &impl Jobs, sees_a_job: impl Fn() -> bool) {
        let mut watch = self.begin_watch();
        while self.watches_on(&mut watch, parker, jobs, &sees_a_job) {
            yield_in_a_model();
        }
    }

    pub(super) fn begin_watch(&self) -> Watch {
        Watch {
            callers: self.lookout.callers.load(Ordering::Relaxed),
            period: Lookout::PERIOD,
        }
    }

    /// One period of a watch. False if it has ended, and with it the role.
    pub(super) fn watches_on(
        &self,
        watch: &mut Watch,
        parker: Sleeper,
        jobs: &impl Jobs,
        sees_a_job: impl Fn() -> bool,
    ) -> bool {
        let lookout = &self.lookout;
        // Relaxed: `park` looks once more.
        if self.parker(parker).load(Ordering::Relaxed) == AWAKE {
            lookout.leave_role();
            return false;
        }
        self.wait_a_period(parker, watch.period);
        // Relaxed: if the job is not to be seen yet, there is another look, a period later.
        let had_left = lookout.has_left.swap(false, Ordering::Relaxed);
        let relies_on_it = self.relies_on_the_lookout();
        let has_found = self.counts().wants_a_wake_up() && sees_a_job();
        if has_found {
            self.wake_one(jobs);
        }
        watch.period = if has_found || relies_on_it {
            Lookout::PERIOD
        } else {
            Lookout::LONGEST_PERIOD.min(2 * watch.period)
        };
        let callers = lookout.callers.load(Ordering::Relaxed);
        let before = std::mem::replace(&mut watch.callers, callers);
        if had_left || callers != before || relies_on_it {
            return true;
        }
        lookout.seen.store(callers, Ordering::Relaxed);
        lookout.leave_role();
        // Pairs with the fence in `leave`; without a heavy barrier with that of whoever begins to
        // work, or has sat down, and pushes.
        fault::fence("sleep.keep_watch.fence", Ordering::SeqCst);
        let is_wanted = lookout.has_left.load(Ordering::Relaxed) || self.relies_on_the_lookout();
        is_wanted && lookout.take_role()
    }

    /// True if somebody works whose pushes no sleeper would see.
    fn relies_on_the_lookout(&self) -> bool {
        self.lookout.jobs_may_be_missed.load(Ordering::Relaxed)
            && self.counts().somebody_works(self.workers())
    }
}
