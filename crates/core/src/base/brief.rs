//! A detached job in two words, for queues in which most are polls of futures.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use heist_deque::PAYLOAD;

use crate::base::job::{DetachedJob, Kind};
use crate::base::task::Task;
use crate::base::unwind;

/// A [`DetachedJob`] as its kind and the one word of its content. If the content has more, the word
/// is the address of a box around the job.
///
/// A whole job is moved by copying its slot, eight words, whatever is in them; so a queue of those
/// costs more than the poll of a small future.
pub(crate) struct Brief {
    kind: &'static Kind,
    word: MaybeUninit<u64>,
}

// SAFETY: made of jobs that may run anywhere.
unsafe impl Send for Brief {}

impl Brief {
    /// True if the content of such a job is one word.
    const fn fits<T>() -> bool {
        size_of::<T>() <= size_of::<u64>() && align_of::<T>() <= align_of::<u64>()
    }

    /// As [`DetachedJob::new`].
    ///
    /// # Safety
    ///
    /// 1. The task's borrows live until it has run or is discarded.
    /// 2. The task does not unwind.
    #[inline(always)]
    pub(crate) unsafe fn new<T: Task>(task: T) -> Self {
        if !Self::fits::<T>() {
            // SAFETY: handed on.
            return Self::from(unsafe { DetachedJob::new(task) });
        }
        let mut word = MaybeUninit::<u64>::uninit();
        // SAFETY: it fits.
        unsafe { word.as_mut_ptr().cast::<T>().write(task) };
        let kind = DetachedJob::kind_of::<T>();
        Self { kind, word }
    }

    /// True if the word is the address of a box, for a job of this kind.
    #[inline(always)]
    fn is_boxed(kind: &Kind) -> bool {
        kind.words > 1
    }

    /// Runs the job by [`Task::run_in_turn`], or drops it if it is cancelled.
    ///
    /// # Safety
    ///
    /// 1. This is its one run.
    #[inline(always)]
    pub(crate) unsafe fn finish_in_turn(mut self) {
        if Self::is_boxed(self.kind) {
            // SAFETY: by 1.
            return unsafe { DetachedJob::from(self).finish(None) };
        }
        let content = NonNull::from(&mut self.word).cast();
        // SAFETY: the content is that of the kind.
        if unsafe { (self.kind.is_cancelled)(content) } {
            // SAFETY: the content is that of the kind; 1. is handed on.
            unsafe { (self.kind.discard)(content, unwind::cancellation()) }
        } else {
            // SAFETY: as above.
            unsafe { (self.kind.run_in_turn)(content) }
        }
    }
}

impl From<DetachedJob> for Brief {
    fn from(job: DetachedJob) -> Self {
        let (kind, mut word) = (job.kind, job.content[0]);
        if Self::is_boxed(kind) {
            let boxed = Box::into_raw(Box::new(job));
            // SAFETY: an address fits a word.
            unsafe { word.as_mut_ptr().cast::<*mut DetachedJob>().write(boxed) };
        }
        Self { kind, word }
    }
}

impl From<Brief> for DetachedJob {
    fn from(brief: Brief) -> Self {
        let Brief { kind, word } = brief;
        if Brief::is_boxed(kind) {
            // SAFETY: the word is the address of a box that was leaked for this.
            return *unsafe { Box::from_raw(word.as_ptr().cast::<*mut Self>().read()) };
        }
        let mut content = [MaybeUninit::uninit(); PAYLOAD / size_of::<u64>()];
        content[0] = word;
        Self { kind, content }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use heist_sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_job_of_any_size_is_the_same_afterwards() {
        fn sum_after_the_move<const N: usize>() -> usize {
            static SUM: AtomicUsize = AtomicUsize::new(0);
            let numbers = [1; N];
            SUM.store(0, Ordering::Relaxed);
            let task = move || {
                SUM.fetch_add(numbers.iter().sum::<usize>(), Ordering::Relaxed);
            };
            // SAFETY: 1. it borrows nothing. 2. It does not panic.
            let job = unsafe { DetachedJob::new(task) };
            let job = DetachedJob::from(Brief::from(job));
            // SAFETY: its one run.
            unsafe { job.execute() };
            // SAFETY: as above, of another job.
            unsafe { Brief::from(DetachedJob::new(task)).finish_in_turn() };
            SUM.load(Ordering::Relaxed)
        }
        assert_eq!(sum_after_the_move::<0>(), 0);
        assert_eq!(sum_after_the_move::<1>(), 2);
        assert_eq!(sum_after_the_move::<2>(), 4);
        assert_eq!(sum_after_the_move::<7>(), 14);
        assert_eq!(sum_after_the_move::<20>(), 40);
    }
}
