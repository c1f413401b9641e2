//! External callers: how one takes the place of a worker that sleeps, and gives it back.

use heist_sync::atomic::Ordering;
use heist_sync::fault;

use super::counts::Counts;
use super::protocol::{Jobs, Sleep, Sleeper, TAKEN, VACANT};

impl Sleep {
    /// A caller takes the place of a worker that sleeps, if there is one, which then sleeps on. It
    /// counts as working. Returns the worker's index.
    pub(crate) fn take_place(&self) -> Option<usize> {
        // Acquire: pairs with the release in `announce` and in `leave_place`: what was done in this
        // place has happened.
        let order = fault::ordering("sleep.take_place", Ordering::Acquire);
        // The last ones: whoever wakes a worker begins with the first.
        let place = (0..self.workers()).rev().find(|&worker| {
            let parker = self.parker(Sleeper::Worker(worker));
            parker.load(Ordering::Relaxed) == VACANT && parker.replace(VACANT, TAKEN, order)
        });
        let Some(place) = place else {
            self.place_wanted.store(true, Ordering::Relaxed);
            return None;
        };
        self.change(Counts::ONE_SLEEPING.wrapping_neg());
        self.lookout.count_caller();
        Some(place)
    }

    /// True, once, if a caller has found no place: an idle worker that still spins should then
    /// sleep. Or else a caller that comes back at once would find it spinning each time.
    pub(crate) fn is_a_place_wanted(&self) -> bool {
        let is_wanted = self.place_wanted.load(Ordering::Relaxed);
        if is_wanted {
            self.place_wanted.store(false, Ordering::Relaxed);
        }
        is_wanted
    }

    /// The caller leaves the place of this worker, which sleeps on, unless it is recalled, or there
    /// is a job that it could take, also one that the caller has left behind: then it is woken. The
    /// caller must not touch the worker's state any more.
    pub(crate) fn leave_place(&self, worker: usize, jobs: &impl Jobs) {
        // As S1 to S4.
        self.change(Counts::ONE_SLEEPING);
        // Release: pairs with the acquire of the next thread in this place.
        let order = fault::ordering("sleep.leave_place.parker", Ordering::Release);
        self.parker(Sleeper::Worker(worker)).store(VACANT, order);
        // Pairs with that in `set_active`; with the fence of P2, for whoever published outside of
        // the pool; and with that in `wake_one`: a worker that still searches below will find the
        // parker armed when it passes the search on, and so will all that it wakes.
        fault::fence("sleep.leave_place.fence", Ordering::SeqCst);
        // Looked at here and not when the counts were changed: who has stopped searching in between
        // was not obliged to wake anybody.
        let others_work = self.counts().somebody_works(self.workers())
            && !fault::planted("sleep.leave_place.works");
        let is_seen = !others_work || self.is_seen_by_those_who_work(jobs);
        let is_wanted = jobs.are_at(worker) || jobs.are_beyond(worker) || self.is_recalled(worker);
        if !is_seen || is_wanted {
            self.unpark(worker);
        }
    }

    /// S3 and S4. False if a job that one of them pushes may go unseen.
    pub(super) fn is_seen_by_those_who_work(&self, jobs: &impl Jobs) -> bool {
        jobs.signal_all();
        let is_ordered = self.barrier.heavy("sleep.leave_place.heavy");
        if !is_ordered {
            self.lookout.expect_missed_jobs();
        }
        // A lookout sees jobs that nobody is signalled for.
        is_ordered || self.lookout.is_there()
    }
}
