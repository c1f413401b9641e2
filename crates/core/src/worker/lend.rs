//! Lending the second closure of a join to thieves, and taking it back.

use std::mem::ManuallyDrop;

use crate::base::argument::FnContext;
use crate::base::job::{DetachedJob, JobSlot, NOWHERE};
use crate::base::slot_job::SlotJob;
use crate::base::unwind::AbortOnUnwind;
use crate::worker::Worker;

impl Worker {
    /// Lends the second closure of a join to thieves. If there is no slot for it, that is
    /// [`NOWHERE`], and no thief has it.
    ///
    /// # Safety
    ///
    /// 1. The closure stays where it is until the job was taken back or is done. Of the two copies
    ///    one is used, once: if the job was taken back, either of them, and if it lies nowhere, the
    ///    one that stays.
    /// 2. It may run on another thread, and its result come back.
    #[inline(always)]
    pub(crate) unsafe fn lend<B, R>(&self, closure: &ManuallyDrop<B>) -> JobSlot
    where
        B: FnOnce(FnContext) -> R,
    {
        let slot = self.deque().vacant();
        // SAFETY: the slot is vacant; 1. is handed on.
        unsafe { SlotJob::<B, R, FnContext>::put(slot, closure) };
        // SAFETY: the slot holds a job of this kind; by 2. other threads may run it.
        let is_signalled = unsafe { self.deque().push(slot, SlotJob::<B, R, FnContext>::KIND) };
        if is_signalled && !self.service_at_join() {
            return NOWHERE;
        }
        slot
    }

    /// As [`service`](Self::service), for a join that has just lent a job, and between two grains
    /// of a loop: in a prompt pool the signal may announce a job from outside, which runs here.
    /// False if the lent job has found no slot.
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

    /// Services the deque in the middle of a long job that pushes rarely. True if the deque is
    /// empty afterwards, and there is another worker that could take a push.
    #[inline]
    pub(crate) fn poll_for_thieves(&self) -> bool {
        if self.deque().is_signalled() {
            self.service_at_join();
        }
        !self.has_pending() && self.pool().workers.len() > 1
    }

    /// As [`poll_for_thieves`](Self::poll_for_thieves), but a signal waits for the next push if
    /// there is nothing to give, and nobody else has to hear of it.
    #[inline]
    pub(crate) fn looks_around(&self) -> bool {
        let pool = self.pool();
        let is_heard = self.has_pending()
            || pool.prompt
            || pool.members.is_some()
            || self.state().frames.is_some();
        if is_heard {
            self.poll_for_thieves()
        } else {
            pool.workers.len() > 1
        }
    }

    /// Takes a lent job back, also from [`NOWHERE`]. False if a thief has it, and will set its
    /// latch.
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

    /// As `take_back`, after it has run the jobs that the first closure left behind, newest first.
    ///
    /// # Safety
    ///
    /// As for `take_back`.
    #[cold]
    #[inline(never)]
    unsafe fn take_back_slowly(&self, slot: JobSlot) -> bool {
        if slot == NOWHERE {
            return true;
        }
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let is_ours = self.on_top(|| {
            while !self.deque().is_newest(slot) {
                self.run(self.pop());
            }
            // Before the frame takes over what has yielded, which lies above the slot then.
            // SAFETY: it is the newest.
            let is_ours = unsafe { self.deque().retract(slot) };
            let is_taken_over = self.local().frames.yield_level.get() > 0;
            if is_ours && is_taken_over && !self.state().yielded.is_empty() {
                // SAFETY: just retracted.
                unsafe { self.occupy(slot) };
            }
            is_ours
        });
        abort.defuse();
        is_ours
    }

    /// Pushes a job that does nothing into the slot of a lent one that was taken back, whose
    /// closure the caller has yet to read there. It writes no byte, and nothing moves it before:
    /// where only descendants run, a frame has noted its place.
    ///
    /// # Safety
    ///
    /// 1. The slot is the vacant one.
    #[cold]
    unsafe fn occupy(&self, slot: JobSlot) {
        self.note(slot.as_ptr() as usize);
        // SAFETY: 1. and 2. vacant, and it fits and borrows nothing. 3. It does not unwind.
        let kind = unsafe { DetachedJob::put(slot, || ()) };
        // SAFETY: the slot holds what the kind says, which may run anywhere.
        if unsafe { self.deque().push(slot, kind) } {
            self.service();
        }
    }

    /// Makes the slot of a lent job vacant again, when its thief is done with it.
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
        // SAFETY: by 1. for the slot itself; those above it are vacant.
        unsafe { self.deque().reclaim(slot) };
        self.put_back(newer);
        if self.pool().waits_for_a_worker() {
            self.signal_self();
        }
    }
}
