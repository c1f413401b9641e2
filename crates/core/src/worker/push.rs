//! Pushing jobs that nobody waits for in this frame.

use crate::base::job::{is_void, DetachedJob, Job, JobSlot, Kind};
use crate::base::job_ref::JobRef;
use crate::base::task::Task;
use crate::policy::Priority;
use crate::state::limits::RESERVED_SLOTS;
use crate::worker::Worker;

/// The most jobs that are moved to make room.
pub(super) const FEW_WAITING: usize = 128;

/// The most slots that the workers of an idle pool keep together: 16 MiB. Of bursts that take more,
/// all but the first slots go back to the system.
const KEPT_SLOTS: usize = 1 << 18;

impl Worker {
    /// Pushes a job that nobody waits for in this frame, to be popped back or stolen, and wakes an
    /// idle worker for it if need be.
    ///
    /// # Safety
    ///
    /// 1. The task's borrows live until it has run or is discarded.
    /// 2. The task does not unwind.
    #[inline]
    pub(crate) unsafe fn push<T: Task>(&self, task: T) {
        if !DetachedJob::fits::<T>() {
            // SAFETY: as for this function.
            return self.push_detached(unsafe { DetachedJob::new(task) });
        }
        if !self.deque().has_room() && !self.make_room() {
            // SAFETY: as for this function.
            return self.overflow(unsafe { DetachedJob::new(task) });
        }
        let slot = self.deque().vacant();
        self.note(slot.as_ptr() as usize);
        if T::WOKEN {
            self.note_woken();
        }
        // SAFETY: the slot is vacant, and the task fits; 1. and 2. are handed on.
        let kind = unsafe { DetachedJob::put(slot, task) };
        // SAFETY: the slot holds what the kind says, which may run anywhere.
        if unsafe { self.deque().push(slot, kind) } {
            self.service();
        }
    }

    /// As [`push`](Self::push), after a look for jobs at the top that others have claimed.
    ///
    /// # Safety
    ///
    /// As for that.
    #[inline]
    pub(crate) unsafe fn push_task<T: Task>(&self, task: T) {
        if self.local().pushes.holds_void.replace(false) {
            self.drop_void();
        }
        // SAFETY: handed on.
        unsafe { self.push(task) };
    }

    /// As [`push`](Self::push), for a job that is in no slot yet.
    pub(crate) fn push_detached(&self, job: DetachedJob) {
        if self.local().pushes.holds_void.replace(false) {
            self.drop_void();
        }
        if self.deque().has_room() || self.make_room() {
            self.put(job);
        } else {
            self.overflow(job);
        }
    }

    /// Queues a job of the present region elsewhere, because there is no room for it.
    #[cold]
    fn overflow(&self, job: DetachedJob) {
        let job = self.inheriting(job);
        if self.keeps_order() {
            self.pool().inject(Priority::Normal, job);
        } else {
            self.gather(vec![job]);
        }
    }

    /// Pushes the reference to a job, which is of no region.
    pub(crate) fn push_reference(&self, job: JobRef) {
        self.push_detached(job.into());
    }

    /// Makes room for jobs that could go to the injector instead. False if there is none: the last
    /// slots are for joins.
    ///
    /// Slots whose jobs were stolen become vacant again when the owner pops; but a worker may go on
    /// pushing without a pop. So if few jobs wait, they are moved down to the first of those slots,
    /// unless a frame has noted their places.
    #[cold]
    fn make_room(&self) -> bool {
        if self.is_unwatched() && self.deque().waiting() <= FEW_WAITING {
            let mut waiting = Vec::new();
            while let Some((kind, slot)) = self.pop_detached() {
                // SAFETY: just popped.
                waiting.push(unsafe { DetachedJob::move_from(slot, kind) });
            }
            self.put_back(waiting);
        }
        self.deque().make_room(RESERVED_SLOTS)
    }

    /// Puts jobs back into the deque that were popped, newest first.
    pub(crate) fn put_back(&self, jobs: Vec<DetachedJob>) {
        jobs.into_iter().rev().for_each(|job| self.put(job));
    }

    /// Puts a job into the deque, in which there is room for it.
    pub(crate) fn put(&self, job: DetachedJob) {
        let slot = self.deque().vacant();
        self.note(slot.as_ptr() as usize);
        // SAFETY: the slot is vacant.
        let kind = unsafe { job.put_back(slot) };
        if kind.is_woken() {
            self.note_woken();
        }
        // SAFETY: the slot holds such a job, and those may run anywhere.
        if unsafe { self.deque().push(slot, kind) } {
            self.service();
        }
    }

    /// Drops the newest jobs of the deque if other threads have claimed them. True if there was
    /// one.
    pub(crate) fn drop_void(&self) -> bool {
        let mut has_dropped = false;
        // SAFETY: a thief moves such a job out of its slot when it claims it.
        while let Some((kind, slot)) = unsafe { self.deque().pop_if(Kind::is_claimed) } {
            // SAFETY: just popped.
            if unsafe { is_void(slot) } {
                self.state().counters.pops.add(1);
                self.execute(Job::Popped { slot, kind });
                has_dropped = true;
                continue;
            }
            // SAFETY: it lies there still, in the slot that is vacant again.
            if unsafe { self.deque().push(slot, kind) } {
                self.service();
            }
            break;
        }
        // They may be older than the present frame's.
        self.note_what_is_gone();
        has_dropped
    }

    /// Gives back the memory of a burst of jobs, and mail that was set aside, before the thread
    /// leaves or sleeps.
    pub(crate) fn tidy_up(&self) {
        self.return_mail();
        if !self.state().has_a_job() {
            // Makes the slots of stolen jobs vacant again.
            let left = self.pop_detached();
            debug_assert!(left.is_none(), "all jobs were taken");
        }
        let kept = match self.pool().is_compensating(self.index()) {
            true => 0,
            false => KEPT_SLOTS / self.pool().len(),
        };
        self.deque().shrink(kept);
        let yielded = &self.state().yielded;
        // SAFETY: under the lock.
        self.deque().locked(|| unsafe { yielded.shrink() });
    }

    #[inline]
    pub(crate) fn pop_detached(&self) -> Option<(&'static Kind, JobSlot)> {
        // SAFETY: a thief moves such a job out of its slot when it claims it.
        let popped = unsafe { self.deque().pop_if(Kind::is_detached) };
        if popped.is_none() {
            self.note_what_is_gone();
        }
        popped
    }
}
