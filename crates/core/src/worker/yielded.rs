//! Jobs that let others go first: behind all other jobs of a worker, and before nothing but those
//! of low priority.

use crate::base::job::{DetachedJob, Job};
use crate::worker::Worker;

impl Worker {
    /// Queues a job behind the worker's other ones.
    pub(crate) fn push_behind(&self, job: DetachedJob) {
        let yielded = &self.state().yielded;
        // SAFETY: under the lock.
        self.deque().locked(|| unsafe { yielded.push(job) });
        // P1.
        if self.deque().hears_a_signal() {
            self.service();
        }
    }

    /// The oldest of the worker's own.
    #[inline]
    pub(crate) fn take_yielded(&self) -> Option<Job> {
        let yielded = &self.state().yielded;
        if yielded.is_empty() {
            return None;
        }
        // SAFETY: under the lock.
        let (job, emptied) = self.deque().locked(|| unsafe { yielded.take() });
        // Not under the lock: the system takes its time.
        drop(emptied);
        Some(self.injected(job?, self.local().serving.get()))
    }

    /// The oldest of another worker's. This one keeps some more. One that is alone is left to its
    /// worker, which may be about to take it, until the second look.
    pub(crate) fn steal_yielded(&self) -> Option<Job> {
        let pool = self.pool();
        let (above, below) = (self.index() + 1.., 0..self.index());
        let all = pool.workers().len();
        let mut jobs = above
            .take_while(|&victim| victim < all)
            .chain(below)
            .map(|victim| (victim, pool.worker(victim)))
            .find_map(|(index, victim)| {
                let alone = (index, victim.yielded.taken());
                match victim.yielded.len() {
                    0 => return None,
                    1 if self.local().alone.replace(alone) != alone => return None,
                    _ => (),
                }
                let thief = victim.deque().thief();
                // SAFETY: under the lock.
                let taken = thief.try_locked(|| unsafe { victim.yielded.take_half() })?;
                (!taken.is_empty()).then(|| taken.into_iter())
            })?;
        let job = jobs.next()?;
        if jobs.len() > 0 {
            let yielded = &self.state().yielded;
            // SAFETY: under the lock.
            self.deque()
                .locked(|| jobs.for_each(|job| unsafe { yielded.push(job) }));
            // They were nowhere to be seen.
            let woke = pool.sleep.published(pool);
            self.state().counters.wakes.add(woke as u64);
        }
        Some(self.injected(job, self.local().serving.get()))
    }
}
