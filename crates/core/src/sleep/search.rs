//! The search: from running out of work to a job, or to a latch that is set, with all
//! sleep in between.

use super::protocol::{Bell, Jobs, Sleep};
use crate::latch::CoreLatch;

/// A worker that looks for a job.
pub(crate) trait Searcher {
    type Job;

    /// Looks everywhere once.
    fn find(&self) -> Option<Self::Job>;

    /// Passes some time after a look that found nothing. True if it should sleep now;
    /// `wants_seat` says that a guest is waiting for that.
    fn pause(&mut self, wants_seat: bool) -> bool;

    /// It is about to sleep. The last moment in which it may touch what is the sitting
    /// thread's alone.
    fn begins_to_sleep(&self);

    /// It really sleeps. Somebody else may sit on its seat by now.
    fn sleeps(&self);

    /// It is awake again.
    fn has_woken(&self);
}

impl Sleep {
    /// Searches until there is a job or the latch is set. The caller counts as
    /// searching when this returns, and must [stop](Self::stop_search).
    ///
    /// `vacates`: a guest may take the seat while the worker sleeps.
    pub(crate) fn search<S: Searcher>(
        &self,
        searcher: &mut S,
        jobs: &impl Jobs,
        bell: Bell,
        vacates: bool,
        latch: &CoreLatch,
    ) -> Option<S::Job> {
        self.start_search();
        loop {
            if latch.probe() {
                return None;
            }
            if let Some(job) = searcher.find() {
                return Some(job);
            }
            if searcher.pause(vacates && self.is_a_seat_wanted()) {
                self.fall_asleep(searcher, jobs, bell, vacates, latch);
            }
        }
    }

    /// Sleeps until the latch is set or there may be a job.
    fn fall_asleep(
        &self,
        searcher: &impl Searcher,
        jobs: &impl Jobs,
        bell: Bell,
        vacates: bool,
        latch: &CoreLatch,
    ) {
        let seat = bell.seat();
        // Before the bell is armed: from then on a guest may sit here, and what only
        // the sitting thread touches is the guest's.
        searcher.begins_to_sleep();
        match self.announce(bell, vacates, latch, jobs) {
            None => {}
            Some(rest) if jobs.are_beyond(seat) => self.cancel(bell, rest),
            Some(rest) => {
                searcher.sleeps();
                // As the lookout it looks at its own deque as well, for a guest's jobs.
                self.block(bell, rest, || jobs.are_at(seat) || jobs.are_beyond(seat));
            }
        }
        latch.wake_up();
        searcher.has_woken();
    }
}
