//! The reserve: workers that have withdrawn, and come back when a job is seen for which no other is
//! free.
//!
//! They count as asleep, but none is woken before it is certain that there is a job, because that
//! may take a thread.

use heist_sync::atomic::Ordering;
use heist_sync::fault;

use super::counts::Counts;
use super::protocol::{Jobs, Sleep, Sleeper, RESERVE, WITHDRAWN};

/// One that has withdrawn is in reserve.
const PUT: u64 = Counts::ONE_SLEEPING.wrapping_sub(Counts::ONE_WITHDRAWN);

impl Sleep {
    /// Somebody who has withdrawn is in reserve from now on, and the caller must
    /// [look around](Self::look_around) for it; but if it is awake, it looks for jobs itself.
    pub(crate) fn put_in_reserve(&self, worker: usize) {
        // As S1 and S2.
        self.change(PUT);
        let parker = self.parker(Sleeper::Worker(worker));
        // Release: pairs with the acquire in `unpark_if`.
        // Equivalent (sleep.reserve.parker): to loom, as in `withdraw_until`.
        let order = fault::ordering("sleep.reserve.parker", Ordering::Release);
        if !parker.replace(WITHDRAWN, RESERVE, order) {
            self.change(PUT.wrapping_neg());
        }
    }

    /// Somebody was put in reserve by this worker, which publishes nothing from now on: looks for
    /// jobs that nobody comes for. Returns how many it has called for them.
    pub(crate) fn look_around(&self, worker: usize, jobs: &impl Jobs) -> usize {
        // S3. Pairs with the fence of P2; and with that in `wake_sleeper`, as in `leave_place`.
        fault::fence("sleep.look_around.fence", Ordering::SeqCst);
        let sees_a_job = || jobs.are_at(worker) || jobs.are_beyond(worker);
        let is_wanted = sees_a_job()
            || self.counts().somebody_works(self.workers())
                && (!self.is_seen_by_those_who_work(jobs) || sees_a_job());
        if is_wanted {
            self.published(jobs)
        } else {
            0
        }
    }

    /// The last searcher has stopped: wakes somebody, or calls one in reserve, if there is a job.
    pub(super) fn pass_on(&self, jobs: &impl Jobs) -> usize {
        if self.wake_sleeper() {
            return 1;
        }
        let mut workers = 0..self.workers();
        let is_called = workers
            .find(|&worker| self.is_in_reserve(worker))
            .is_some_and(|reserve| {
                // S3 and S4 in its place, after the fence in `wake_sleeper`.
                !jobs.want_reserve()
                    || !self.is_seen_by_those_who_work(jobs)
                    || jobs.are_at(reserve)
                    || jobs.are_beyond(reserve)
            });
        usize::from(is_called && self.call_reserve(jobs))
    }

    /// Calls somebody in reserve though others search, if those are fewer than `most`. Returns how
    /// many were called or woken.
    pub(crate) fn call_another(&self, most: usize, jobs: &impl Jobs) -> usize {
        usize::from(self.counts().searching() < most && self.call_reserve(jobs))
    }

    /// Calls somebody in reserve. True if one comes, or somebody else was woken.
    pub(super) fn call_reserve(&self, jobs: &impl Jobs) -> bool {
        let is_there = |worker: &usize| self.is_in_reserve(*worker);
        while let Some(reserve) = (0..self.workers()).find(is_there) {
            if jobs.call(reserve) {
                return true;
            }
            // It is no more, and may have counted as searching, so that others relied on it.
            if !self.counts().wants_a_wake_up() {
                return false;
            }
            if self.wake_sleeper() {
                return true;
            }
        }
        false
    }

    fn is_in_reserve(&self, worker: usize) -> bool {
        // Relaxed: a hint.
        self.parker(Sleeper::Worker(worker)).load(Ordering::Relaxed) == RESERVE
    }

    /// Somebody in reserve comes out, unless it has already: it searches.
    pub(crate) fn comes_out(&self, worker: usize) -> bool {
        self.unpark_if(worker, |state| state == RESERVE)
    }

    /// Somebody who was to come out, and has no thread, has withdrawn again.
    pub(crate) fn stays_away(&self, worker: usize) {
        // Relaxed: nothing is handed over.
        let parker = self.parker(Sleeper::Worker(worker));
        parker.store(WITHDRAWN, Ordering::Relaxed);
        self.change(Counts::ONE_WITHDRAWN.wrapping_sub(Counts::ONE_SEARCHING));
    }

    /// Somebody in reserve is wanted no more, and has withdrawn again, unless it is awake.
    pub(crate) fn leaves_reserve(&self, worker: usize) -> bool {
        let parker = self.parker(Sleeper::Worker(worker));
        // Acquire: pairs with the release in `put_in_reserve`, as that in `unpark_if`.
        // Equivalent (sleep.leaves_reserve): to loom, as there.
        let order = fault::ordering("sleep.leaves_reserve", Ordering::Acquire);
        let has_left = parker.replace(RESERVE, WITHDRAWN, order);
        if has_left {
            self.change(PUT.wrapping_neg());
        }
        has_left
    }
}
