//! A queue of jobs that take no more room in it than they need.

use std::mem::MaybeUninit;

use heist_deque::Queue;

use crate::base::job::DetachedJob;

/// Jobs one behind the other, first in, first out, each as some words: an empty one as one.
#[derive(Default)]
pub(crate) struct JobQueue(Queue<MaybeUninit<u64>>);

impl JobQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, job: DetachedJob) {
        job.into_words(|word| self.0.push(word));
    }

    /// The oldest job.
    pub(crate) fn take(&mut self) -> Option<DetachedJob> {
        if self.is_empty() {
            return None;
        }
        let next = || self.0.take().0.expect("jobs are there as a whole");
        // SAFETY: the words of jobs come out in the order in which they were put in.
        Some(unsafe { DetachedJob::from_words(next) })
    }

    /// Gives back the memory of a burst, if the queue is empty.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink();
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::sync::Arc;

    use heist_sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A job that counts what it has brought along.
    fn job<const LEN: usize>(sum: &Arc<AtomicU64>, n: u8) -> DetachedJob {
        let (sum, bytes) = (Arc::clone(sum), [n; LEN]);
        let run = move || {
            let all = bytes.iter().map(|&byte| u64::from(byte)).sum();
            sum.fetch_add(all, Ordering::Relaxed);
        };
        // SAFETY: it borrows nothing, and does not unwind.
        unsafe { DetachedJob::new(run) }
    }

    #[test]
    fn jobs_of_all_sizes_come_out_whole_and_in_order() {
        let (mut queue, sum) = (JobQueue::default(), Arc::new(AtomicU64::new(0)));
        for round in 0..3_000 {
            queue.push(job::<0>(&sum, 1));
            queue.push(job::<1>(&sum, 1));
            queue.push(job::<7>(&sum, 2));
            queue.push(job::<48>(&sum, 3));
            queue.push(job::<200>(&sum, 4));
            if round % 3 == 0 {
                // SAFETY: each comes out once.
                unsafe { queue.take().expect("one is there").execute() };
            }
        }
        while let Some(job) = queue.take() {
            // SAFETY: as above.
            unsafe { job.execute() };
        }
        assert_eq!(sum.load(Ordering::Relaxed), 3_000 * (1 + 14 + 144 + 800));
        assert_eq!(Arc::strong_count(&sum), 1);
        queue.shrink();
        assert!(queue.is_empty() && queue.take().is_none());
    }

    #[test]
    fn an_empty_job_takes_one_word() {
        let mut queue = JobQueue::default();
        // SAFETY: it borrows nothing, and does not unwind.
        queue.push(unsafe { DetachedJob::new(|| ()) });
        assert_eq!(queue.0.len(), 1);
    }
}
