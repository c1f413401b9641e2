//! Waking workers: for a latch, a job from outside, mail, or the end.

use std::ptr;

use crate::base::job::DetachedJob;
use crate::base::job_ref::JobRef;
use crate::base::latch::{BlockingLatch, CoreLatch, Latch};
use crate::base::mail::Mail;
use crate::policy::Priority;
use crate::schedule::{self, Point};
use crate::state::Pool;
use crate::worker::needed;
use crate::worker::Worker;

impl Pool {
    /// The calling thread, if it is a worker of this pool.
    #[inline]
    pub(crate) fn current_worker<'job>(&self) -> Option<&'job Worker> {
        Worker::current().filter(|worker| ptr::eq(worker.pool(), self))
    }

    /// Wakes the worker with this index, if it sleeps.
    pub(crate) fn unpark(&self, index: usize) {
        if self.sleep.unpark(index) {
            self.count_wakes(1);
        }
    }

    /// Wakes all workers that have withdrawn in the middle of a job, for something that was
    /// published for some of them.
    pub(crate) fn wake_withdrawn(&self) {
        // The parker of a worker without a thread looks as if it had withdrawn.
        let has_thread = |index| index < self.len() || self.compensation.has_thread(index);
        let all = (0..self.workers.len()).filter(|&index| has_thread(index));
        let woke = all.filter(|&index| self.sleep.unpark_withdrawn(index));
        self.count_wakes(woke.count());
    }

    /// Counts wake-ups for the calling worker; an outside thread has no counters.
    pub(crate) fn count_wakes(&self, woke: usize) {
        if let Some(worker) = self.current_worker() {
            self.worker(worker.index()).counters.wakes.add(woke as u64);
        }
    }

    /// The calling thread, a worker or not, has come to a point, if the pool is scheduled.
    fn point(&self) {
        if self.members.is_some() {
            schedule::point(Point::Work);
        }
    }

    /// Queues a job for any worker.
    pub(crate) fn inject(&self, lane: Priority, job: DetachedJob) {
        self.point();
        self.lanes.push(lane, job);
        if self.sleep.published(self) == 0 && self.waits_for_a_worker() {
            self.signal_owners();
        }
        self.serve();
    }

    /// Queues a job that this worker should run. Wakes it if it sleeps; otherwise wakes another,
    /// which takes the job if this one is late.
    pub(crate) fn hint(&self, worker: usize, job: DetachedJob) {
        self.point();
        self.worker(worker)
            .hinted
            .push(job, self.now_ns(), &self.lanes);
        self.count_wakes(self.sleep.published_for(worker, self));
        self.serve();
    }

    /// Queues a job that only this worker may run.
    pub(crate) fn mail(&self, worker: usize, job: JobRef) {
        self.point();
        let is_needed = needed::is_needed_here();
        self.worker(worker).mailbox.push(Mail { job, is_needed });
        let woke = self.sleep.unpark_for_mail(worker);
        self.count_wakes(usize::from(woke));
        self.serve();
    }

    /// Posts one job to each worker's mailbox, in the order of their indices. Takes a share of the
    /// pool, which the caller returns.
    ///
    /// # Panics
    ///
    /// As [`keep_alive`](Self::keep_alive): in an exit handler, some of the workers are gone.
    pub(crate) fn post(&self, jobs: impl ExactSizeIterator<Item = JobRef>) {
        self.demand_workers("post a job to each worker of");
        self.keep_alive();
        assert_eq!(jobs.len(), self.len());
        self.point();
        let is_needed = needed::is_needed_here();
        let posting = self.posting.lock();
        for (worker, job) in self.workers.iter().zip(jobs) {
            worker.mailbox.push(Mail { job, is_needed });
        }
        drop(posting);
        let woke = (0..self.len()).filter(|&worker| self.sleep.unpark_for_mail(worker));
        self.count_wakes(woke.count());
        self.serve();
    }

    /// As [`post`](Self::post), of jobs that have shares of their own.
    ///
    /// # Panics
    ///
    /// As there.
    pub(crate) fn post_detached(&self, jobs: impl ExactSizeIterator<Item = JobRef>) {
        self.post(jobs);
        self.release();
    }

    /// Returns a share of the pool. With the last one the workers end.
    pub(crate) fn release(&self) {
        self.release_shares(1);
    }

    /// As [`release`](Self::release), for so many shares.
    #[inline(always)]
    pub(crate) fn release_shares(&self, shares: usize) {
        // In a forked child there are no workers to end.
        if self.live.release(shares) && !self.born.is_past() {
            for (index, worker) in self.workers.iter().enumerate() {
                // SAFETY: the pool holds the latch.
                if unsafe { CoreLatch::set(&raw const worker.end) } {
                    self.unpark(index);
                }
            }
            if self.serial.is_some() {
                // SAFETY: as above. All that needed the worker has run.
                unsafe { BlockingLatch::set(&raw const self.worker(0).ended) };
            }
        }
    }
}
