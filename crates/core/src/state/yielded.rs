//! The queue of a worker's yielded jobs, which let others go first.

use heist_deque::{Block, Queue};
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::cell::UnsafeCell;

use crate::base::brief::Brief;

/// A worker's jobs that come after its other ones, first in, first out. Other workers may take them
/// at once.
///
/// A frame whose wait runs descendants only may run those that have yielded on top of it, and no
/// older ones: so each such wait has a level of its own, which is a queue while there is anything
/// in it.
///
/// Only the worker adds to it. The lock of the worker's deque protects it, which costs the worker
/// one read-modify-write, and for which a thief never waits.
pub(crate) struct Yielded<T: Send = Brief> {
    /// Touched by the holder of the lock.
    levels: UnsafeCell<Levels<T>>,
    /// The number of jobs, written under the lock.
    len: AtomicUsize,
    /// The number of jobs taken so far, written under the lock.
    taken: AtomicUsize,
}

struct Levels<T> {
    /// The level of the jobs for which no such frame waits.
    lowest: Queue<T>,
    /// The levels above it by their depths, the lowest first. None is empty.
    above: Vec<(usize, Queue<T>)>,
}

// SAFETY: the levels are touched by the holder of the lock only, as each of the functions demands.
unsafe impl<T: Send> Sync for Yielded<T> {}

/// The most jobs that another worker takes at once.
const MOST_AT_ONCE: usize = 32;

impl<T> Levels<T> {
    fn push(&mut self, level: usize, job: T) {
        if level == 0 {
            return self.lowest.push(job);
        }
        match self.above.last_mut() {
            Some((last, queue)) if *last == level => queue.push(job),
            last => {
                debug_assert!(last.is_none_or(|(last, _)| *last < level));
                let mut queue = Queue::new();
                queue.push(job);
                self.above.push((level, queue));
            }
        }
    }

    /// The oldest job of the lowest level.
    fn take(&mut self) -> (Option<T>, Option<Block<T>>) {
        if !self.lowest.is_empty() {
            return self.lowest.take();
        }
        self.take_above(0)
    }

    /// The oldest job of the highest level, if that is this one.
    fn take_at(&mut self, level: usize) -> (Option<T>, Option<Block<T>>) {
        match self.above.last() {
            Some((last, _)) if *last == level => self.take_above(self.above.len() - 1),
            _ => (None, None),
        }
    }

    fn take_above(&mut self, index: usize) -> (Option<T>, Option<Block<T>>) {
        let Some((_, queue)) = self.above.get_mut(index) else {
            return (None, None);
        };
        let taken = queue.take();
        if queue.is_empty() {
            self.above.remove(index);
        }
        taken
    }
}

impl<T: Send> Yielded<T> {
    pub(crate) fn new() -> Self {
        Self {
            levels: UnsafeCell::new(Levels {
                lowest: Queue::new(),
                above: Vec::new(),
            }),
            len: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    // Relaxed, here and below: hints; a worker that goes to sleep because of them runs a barrier
    // before.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of jobs taken so far, which identifies a single job.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Puts a job at the end of a level, above which there are none.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    pub(crate) unsafe fn push(&self, level: usize, job: T) {
        // SAFETY: by 1.
        self.levels
            .with_mut(|levels| unsafe { (*levels).push(level, job) });
        self.len.store(self.len() + 1, Ordering::Relaxed);
    }

    /// The oldest job, and memory to be dropped when the lock is free.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    pub(crate) unsafe fn take(&self) -> (Option<T>, Option<Block<T>>) {
        // SAFETY: by 1.
        self.count(self.levels.with_mut(|levels| unsafe { (*levels).take() }))
    }

    /// Puts a job at the end of the lowest level, and takes the oldest job of that.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    #[inline]
    pub(crate) unsafe fn exchange(&self, job: T) -> (T, Option<Block<T>>) {
        let so_far = self.taken().wrapping_add(1);
        self.taken.store(so_far, Ordering::Relaxed);
        // SAFETY: by 1.
        self.levels
            .with_mut(|levels| unsafe { (*levels).lowest.exchange(job) })
    }

    /// As [`take`](Self::take), of this level, above which there are none.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    pub(crate) unsafe fn take_at(&self, level: usize) -> (Option<T>, Option<Block<T>>) {
        // SAFETY: by 1.
        self.count(
            self.levels
                .with_mut(|levels| unsafe { (*levels).take_at(level) }),
        )
    }

    /// Counts a job that was taken, if one was. Called under the lock.
    fn count(&self, taken: (Option<T>, Option<Block<T>>)) -> (Option<T>, Option<Block<T>>) {
        if taken.0.is_some() {
            self.len.store(self.len() - 1, Ordering::Relaxed);
            let so_far = self.taken().wrapping_add(1);
            self.taken.store(so_far, Ordering::Relaxed);
        }
        taken
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
        self.levels
            .with_mut(|levels| unsafe { (*levels).lowest.shrink() });
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
            (0..jobs).for_each(|job| unsafe { queue.push(0, job) });
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

    #[test]
    fn an_exchange_takes_the_oldest_job_and_counts_as_one_that_was_taken() {
        let queue = Yielded::new();
        // SAFETY: here and below, nobody else is there.
        (0..3).for_each(|job| unsafe { queue.push(0, job) });
        for job in 0..5 {
            // SAFETY: as above.
            assert_eq!(unsafe { queue.exchange(job + 3) }.0, job);
            assert_eq!((queue.len(), queue.taken()), (3, job + 1));
        }
    }

    #[test]
    fn a_level_is_a_queue_of_its_own_and_others_begin_with_the_lowest() {
        let queue = Yielded::new();
        // SAFETY: here and below, nobody else is there.
        let take_at = |level| unsafe { queue.take_at(level) }.0;
        for (job, level) in [0, 0, 2, 2, 5, 5].into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { queue.push(level, job) };
        }
        assert_eq!(take_at(3), None);
        assert_eq!(
            (take_at(5), take_at(5), take_at(5)),
            (Some(4), Some(5), None)
        );
        assert_eq!(take_at(2), Some(2));
        // SAFETY: as above.
        assert!(unsafe { queue.take_half() }.into_iter().eq([0, 1]));
        assert_eq!((take_at(2), take_at(2), queue.len()), (Some(3), None, 0));
    }
}
