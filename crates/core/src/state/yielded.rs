//! The jobs of a worker that let others go first.

use heist_deque::{Block, Queue};
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::cell::UnsafeCell;

use crate::base::job::DetachedJob;

/// A worker's queue of jobs that come after its other ones, first in, first out. Other workers may
/// take them at once.
///
/// Only the worker adds to it. It lies under the lock of the worker's deque, which costs the worker
/// one read-modify-write, and which a thief never waits for.
pub(crate) struct Yielded<T: Send = DetachedJob> {
    /// Touched by the holder of the lock.
    queue: UnsafeCell<Queue<T>>,
    /// The queue's length, written under the lock.
    len: AtomicUsize,
    /// How many jobs have been taken, written under the lock.
    taken: AtomicUsize,
}

// SAFETY: the queue is touched by the holder of the lock only, as each of the functions demands.
unsafe impl<T: Send> Sync for Yielded<T> {}

/// No more jobs than that are taken at once by another worker.
const MOST_AT_ONCE: usize = 32;

impl<T: Send> Yielded<T> {
    pub(crate) fn new() -> Self {
        Self {
            queue: UnsafeCell::new(Queue::new()),
            len: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    // Relaxed, here and below: hints; whoever sleeps on them runs a barrier before.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many jobs have been taken: of a queue of one job, which one it is.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Puts a job at the end.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    pub(crate) unsafe fn push(&self, job: T) {
        // SAFETY: by 1.
        self.queue.with_mut(|queue| unsafe { (*queue).push(job) });
        self.len.store(self.len() + 1, Ordering::Relaxed);
    }

    /// The oldest job, and memory to be dropped when the lock is free.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    pub(crate) unsafe fn take(&self) -> (Option<T>, Option<Block<T>>) {
        // SAFETY: by 1.
        let (job, emptied) = self.queue.with_mut(|queue| unsafe { (*queue).take() });
        if job.is_some() {
            self.len.store(self.len() - 1, Ordering::Relaxed);
            self.taken
                .store(self.taken().wrapping_add(1), Ordering::Relaxed);
        }
        (job, emptied)
    }

    /// The oldest half of the jobs, in their order, for another worker.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    pub(crate) unsafe fn take_half(&self) -> Vec<T> {
        let half = self.len().div_ceil(2).min(MOST_AT_ONCE);
        // SAFETY: handed on.
        let taken = (0..half).map_while(|_| unsafe { self.take() }.0);
        taken.collect()
    }

    /// Gives back the memory of a burst.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    pub(crate) unsafe fn shrink(&self) {
        // SAFETY: by 1.
        self.queue.with_mut(|queue| unsafe { (*queue).shrink() });
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn others_take_half_of_the_jobs_the_oldest_first() {
        for (jobs, taken) in [(0, 0), (1, 1), (2, 1), (5, 3), (64, 32), (1_000, 32)] {
            let queue = Yielded::new();
            // SAFETY: here and below, nobody else is there.
            (0..jobs).for_each(|job| unsafe { queue.push(job) });
            // SAFETY: as above.
            let half = unsafe { queue.take_half() };
            assert!(half.into_iter().eq(0..taken), "of {jobs}");
            assert_eq!((queue.len(), queue.taken()), (jobs - taken, taken));
            // SAFETY: as above.
            let left = std::iter::from_fn(|| unsafe { queue.take() }.0);
            assert!(left.eq(taken..jobs));
            assert!(queue.is_empty() && queue.taken() == jobs);
        }
    }
}
