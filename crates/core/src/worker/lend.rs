//! How a worker lends the second closure of a join, and takes it back.

use std::mem::ManuallyDrop;

use crate::base::argument::FnContext;
use crate::base::job::{DetachedJob, JobSlot};
use crate::base::slot_job::SlotJob;
use crate::base::unwind::AbortOnUnwind;
use crate::worker::Worker;

impl Worker {
    /// Lends the second closure of a join to thieves. `None` if there is no slot for it: then no
    /// thief has it.
    ///
    /// # Safety
    ///
    /// 1. If there is one, the closure stays where it is until the job was taken back or is done.
    ///    There are two copies then, of which one is used, once: if the job was taken back, either
    ///    of them.
    /// 2. It may run on another thread, and its result come back.
    #[inline(always)]
    pub(crate) unsafe fn lend<B, R>(&self, closure: &ManuallyDrop<B>) -> Option<JobSlot>
    where
        B: FnOnce(FnContext) -> R,
    {
        let slot = self.deque().vacant();
        // SAFETY: the slot is vacant; 1. is handed on.
        unsafe { SlotJob::<B, R, FnContext>::put(slot, closure) };
        // SAFETY: the slot holds what the kind says; by 2. others may run it.
        let is_signalled = unsafe { self.deque().push(slot, SlotJob::<B, R, FnContext>::KIND) };
        (!is_signalled || self.service_at_join()).then_some(slot)
    }

    /// As [`service`](Self::service), where a join has just lent a job, or between two grains of a
    /// loop: in a prompt pool the signal may be for a job from outside, which runs here. False if
    /// the lent job has found no slot.
    #[cold]
    #[inline(never)]
    pub(crate) fn service_at_join(&self) -> bool {
        let stays = self.make_public();
        let pool = self.pool();
        if !pool.prompt || self.is_strict() {
            return stays;
        }
        self.on_top(|| self.run(self.take_urgent()));
        if pool.waits_for_a_worker() {
            self.signal_self();
        }
        stays
    }

    /// Services the deque in the middle of a long job that pushes rarely. True if it is empty then.
    #[inline]
    pub(crate) fn poll_for_thieves(&self) -> bool {
        if self.deque().is_signalled() {
            self.service_at_join();
        }
        !self.has_pending()
    }

    /// Takes a lent job back. False if a thief has it, and its latch will be set.
    ///
    /// # Safety
    ///
    /// 1. The worker lent the job, and has taken back all that it lent since.
    #[inline(always)]
    pub(crate) unsafe fn take_back(&self, slot: JobSlot) -> bool {
        if !self.deque().is_newest(slot) {
            // SAFETY: 1. is handed on.
            return unsafe { self.take_back_slowly(slot) };
        }
        // SAFETY: it is the newest.
        unsafe { self.deque().retract(slot) }
    }

    /// Runs what the first closure of a join left behind, newest first; then as `take_back`.
    ///
    /// # Safety
    ///
    /// As for `take_back`.
    #[cold]
    #[inline(never)]
    unsafe fn take_back_slowly(&self, slot: JobSlot) -> bool {
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        self.on_top(|| {
            while !self.deque().is_newest(slot) {
                self.run(self.pop());
            }
        });
        abort.defuse();
        // SAFETY: it is the newest now.
        unsafe { self.deque().retract(slot) }
    }

    /// The slot of a lent job, which its thief is done with, is vacant again.
    ///
    /// # Safety
    ///
    /// 1. The thief has set the latch, and the result was taken.
    pub(crate) unsafe fn reclaim(&self, slot: JobSlot) {
        // Jobs that were pushed while the worker waited keep their order.
        let mut newer = Vec::new();
        while !self.deque().is_newest(slot) {
            if let Some((kind, slot)) = self.pop_detached() {
                // SAFETY: just popped.
                newer.push(unsafe { DetachedJob::move_from(slot, kind) });
            }
        }
        // SAFETY: by 1. for the slot itself; those above it are free.
        unsafe { self.deque().reclaim(slot) };
        self.put_back(newer);
        if self.pool().waits_for_a_worker() {
            self.signal_self();
        }
    }
}
