//! The sequence of an idle worker: from running out of work, through searches and sleep, to a job
//! or to a latch that is set.

use super::protocol::{Jobs, Sleep, Sleeper};
use crate::base::latch::CoreLatch;

/// A worker that looks for a job.
pub(crate) trait Searcher {
    type Job;

    /// Looks everywhere once.
    fn find(&self) -> Option<Self::Job>;

    /// Passes some time after a look that found nothing. True if it should sleep now; `wants_place`
    /// says that a caller is waiting for that.
    fn pause(&mut self, wants_place: bool) -> bool;

    /// True if the worker is to stop searching, because it is recalled.
    fn is_recalled(&self) -> bool;

    /// It is about to sleep. The last moment in which it may touch the worker's local state.
    fn begins_to_sleep(&self);

    /// It really sleeps. A caller may have its place by now.
    fn sleeps(&self);

    /// It is awake again.
    fn has_woken(&self);
}

impl Sleep {
    /// Searches until there is a job, the latch is set or the worker is recalled. The caller counts
    /// as searching when this returns, and must [stop](Self::stop_search).
    ///
    /// `vacates`: a caller may take the place while the worker sleeps.
    pub(crate) fn search<S: Searcher>(
        &self,
        searcher: &mut S,
        jobs: &impl Jobs,
        parker: Sleeper,
        vacates: bool,
        latch: &CoreLatch,
    ) -> Option<S::Job> {
        self.start_search();
        loop {
            if latch.probe() || searcher.is_recalled() {
                return None;
            }
            if let Some(job) = searcher.find() {
                return Some(job);
            }
            if searcher.pause(vacates && self.is_a_place_wanted()) {
                self.fall_asleep(searcher, jobs, parker, vacates, latch);
            }
        }
    }

    /// Sleeps until the latch is set or there may be a job.
    fn fall_asleep(
        &self,
        searcher: &impl Searcher,
        jobs: &impl Jobs,
        parker: Sleeper,
        vacates: bool,
        latch: &CoreLatch,
    ) {
        let worker = parker.index();
        // Before the parker is armed: from then on a caller may have the place, and with it the
        // local state.
        searcher.begins_to_sleep();
        match self.announce(parker, vacates, latch, jobs) {
            None => {}
            Some(rest) if jobs.are_beyond(worker) || searcher.is_recalled() => {
                self.cancel(parker, rest);
            }
            Some(rest) => {
                searcher.sleeps();
                // As the lookout it looks at its own deque as well, for a caller's jobs.
                self.block(parker, rest, jobs, || {
                    jobs.are_at(worker) || jobs.are_beyond(worker)
                });
            }
        }
        latch.wake_up();
        searcher.has_woken();
    }
}
