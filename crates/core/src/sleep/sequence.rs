//! The sequence of an idle worker: from running out of work, through searches and sleep, to a job
//! or to a latch that is set.

use super::protocol::{Jobs, Rest, Sleep, Sleeper, Sleeps};
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
        let place = if vacates {
            Sleeps::Vacant
        } else {
            Sleeps::Held
        };
        self.start_search();
        loop {
            match self.search_awake(searcher, jobs, parker, place, latch) {
                Ok(found) => return found,
                Err(rest) => {
                    // As the lookout it looks at its own deque as well, for a caller's jobs.
                    self.block(parker, rest, jobs, || sees_a_job(jobs, parker));
                    self.has_slept(searcher, latch);
                }
            }
        }
    }

    /// As [`search`](Self::search), for somebody who searches already, up to its next sleep, which
    /// is announced then: it has to rest so, and to say that it [has slept](Self::has_slept).
    pub(super) fn search_awake<S: Searcher>(
        &self,
        searcher: &mut S,
        jobs: &impl Jobs,
        parker: Sleeper,
        place: Sleeps,
        latch: &CoreLatch,
    ) -> Result<Option<S::Job>, Rest> {
        loop {
            if latch.probe() || searcher.is_recalled() {
                return Ok(None);
            }
            if let Some(job) = searcher.find() {
                return Ok(Some(job));
            }
            let is_wanted = place == Sleeps::Vacant && self.is_a_place_wanted();
            if searcher.pause(is_wanted) {
                // Before the parker is armed: from then on a caller may have the place, and with it
                // the local state.
                searcher.begins_to_sleep();
                match self.announce(parker, place, latch, jobs) {
                    None => {}
                    Some(rest) if jobs.are_beyond(parker.index()) || searcher.is_recalled() => {
                        self.cancel(parker, rest);
                    }
                    Some(rest) => {
                        searcher.sleeps();
                        return Err(rest);
                    }
                }
                self.has_slept(searcher, latch);
            }
        }
    }

    /// The sleep is over, whatever came of it.
    pub(crate) fn has_slept(&self, searcher: &impl Searcher, latch: &CoreLatch) {
        latch.wake_up();
        searcher.has_woken();
    }
}

/// True if there is a job anywhere, also in the worker's own deque.
pub(super) fn sees_a_job(jobs: &impl Jobs, parker: Sleeper) -> bool {
    jobs.are_at(parker.index()) || jobs.are_beyond(parker.index())
}
