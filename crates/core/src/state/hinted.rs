//! The queue of hinted jobs, which one worker should run, and others take if it is late.

use std::collections::VecDeque;

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::{fault, Mutex};

use crate::base::job::DetachedJob;
use crate::state::lanes::Lanes;

/// A worker's queue of hinted jobs, first in, first out.
///
/// The worker takes them one by one. When the oldest has waited for [`LATE_NS`](Self::LATE_NS),
/// another worker may take half of the jobs at once: it runs one and keeps the rest in its own
/// queue.
#[derive(Debug)]
pub(crate) struct Hinted<T: Send = DetachedJob> {
    jobs: Mutex<VecDeque<Queued<T>>>,
    /// The time when the oldest job was queued, in nanoseconds plus one; 0 if there is none.
    /// Written under the lock.
    oldest_ns: AtomicU64,
}

/// A job, and the time when it was queued.
#[derive(Debug)]
pub(crate) struct Queued<T = DetachedJob> {
    since_ns: u64,
    job: T,
}

/// The most jobs that are taken at once.
const MOST_AT_ONCE: usize = 32;
/// A queue that was longer gives its memory back when it is empty.
const ROOM_KEPT: usize = 1024;

impl<T: Send> Hinted<T> {
    /// The time that a job waits for its worker before others may take it, in nanoseconds.
    pub(crate) const LATE_NS: u64 = 50_000;

    pub(crate) fn new() -> Self {
        Self {
            jobs: Mutex::new(VecDeque::new()),
            oldest_ns: AtomicU64::new(0),
        }
    }

    /// The time since which the oldest job has waited, if there was one at some moment during the
    /// call.
    #[inline]
    pub(crate) fn since_ns(&self) -> Option<u64> {
        // Relaxed: a hint; a worker that goes to sleep because of it runs a barrier before.
        self.oldest_ns.load(Ordering::Relaxed).checked_sub(1)
    }

    /// True if others may take the oldest job.
    pub(crate) fn is_late(&self, now_ns: u64) -> bool {
        let since_ns = self.since_ns();
        since_ns.is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= Self::LATE_NS)
    }

    /// Queues a job.
    pub(crate) fn push(&self, job: T, now_ns: u64, lanes: &Lanes<T>) {
        let queued = Queued {
            since_ns: now_ns,
            job,
        };
        self.put([queued], lanes);
    }

    /// Queues jobs that have waited elsewhere.
    pub(crate) fn put(&self, jobs: impl IntoIterator<Item = Queued<T>>, lanes: &Lanes<T>) {
        self.change(lanes, |queue| queue.extend(jobs));
    }

    /// The oldest job, for the worker.
    pub(crate) fn take(&self, lanes: &Lanes<T>) -> Option<T> {
        self.since_ns()?;
        let oldest = self.change(lanes, VecDeque::pop_front);
        oldest.map(|queued| queued.job)
    }

    /// The oldest job, for another worker, and as many more as make half of them.
    pub(crate) fn take_half(&self, lanes: &Lanes<T>) -> Option<(T, Vec<Queued<T>>)> {
        self.since_ns()?;
        self.change(lanes, |queue| {
            let half = queue.len().div_ceil(2).min(MOST_AT_ONCE);
            let mut jobs = queue.drain(..half);
            let oldest = jobs.next()?;
            Some((oldest.job, jobs.collect()))
        })
    }

    /// Changes the queue, and the word that others see.
    fn change<R>(&self, lanes: &Lanes<T>, op: impl FnOnce(&mut VecDeque<Queued<T>>) -> R) -> R {
        let mut queue = self.jobs.lock();
        let held_jobs = !queue.is_empty();
        let result = op(&mut queue);
        let oldest_ns = queue.front().map_or(0, |oldest| oldest.since_ns + 1);
        self.oldest_ns.store(oldest_ns, Ordering::Relaxed);
        if queue.is_empty() && queue.capacity() > ROOM_KEPT {
            *queue = VecDeque::new();
        }
        let holds_jobs = !queue.is_empty();
        if fault::planted("hinted.lock") {
            drop(queue);
        }
        // Under the lock, so that changes are published in the order in which they are made.
        if holds_jobs != held_jobs {
            lanes.hint(holds_jobs);
        }
        result
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_lanes_know_whether_jobs_are_queued_and_the_queue_since_when() {
        let (lanes, queue) = (Lanes::new(), Hinted::new());
        queue.push(1, 100, &lanes);
        queue.push(2, 200, &lanes);
        assert!(lanes.are_hinted());
        let late_ns = Hinted::<u32>::LATE_NS;
        assert!(!queue.is_late(99 + late_ns));
        assert!(queue.is_late(100 + late_ns));
        assert_eq!(queue.take(&lanes), Some(1));
        assert!(lanes.are_hinted() && !queue.is_late(100 + late_ns));
        assert_eq!(queue.take(&lanes), Some(2));
        assert!(lanes.is_empty());
        assert_eq!((queue.take(&lanes), queue.since_ns()), (None, None));
    }

    #[test]
    fn others_take_half_of_the_jobs_the_oldest_first_and_keep_their_order() {
        let (lanes, queue, own) = (Lanes::new(), Hinted::new(), Hinted::new());
        for (jobs, taken) in [(1, 1), (2, 1), (5, 3), (64, 32), (1_000, 32)] {
            (0..jobs).for_each(|job| queue.push(job, 0, &lanes));
            let (first, rest) = queue.take_half(&lanes).expect("there are some");
            own.put(rest, &lanes);
            let all = std::iter::once(first).chain(std::iter::from_fn(|| own.take(&lanes)));
            assert!(all.eq(0..taken), "of {jobs}");
            let left = std::iter::from_fn(|| queue.take(&lanes));
            assert!(left.eq(taken..jobs));
            assert!(lanes.is_empty() && queue.take_half(&lanes).is_none());
        }
    }
}

/// A model under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::thread;

    use super::*;

    /// A worker puts jobs into its queue, from which another takes some.
    #[test]
    fn the_lanes_know_of_each_queue_that_holds_jobs_when_all_is_still() {
        loom::model(|| {
            let shared = Arc::new((Lanes::new(), Hinted::new()));
            let other = thread::spawn({
                let shared = Arc::clone(&shared);
                move || shared.1.take_half(&shared.0).map_or(0, |(job, _)| job)
            });
            shared.1.push(1, 0, &shared.0);
            shared.1.push(2, 0, &shared.0);
            let mut taken = other.join().unwrap();
            assert_eq!(shared.0.are_hinted(), shared.1.since_ns().is_some());
            while let Some(job) = shared.1.take(&shared.0) {
                taken += job;
            }
            assert_eq!(taken, 3);
            assert!(shared.0.is_empty());
        });
    }
}
