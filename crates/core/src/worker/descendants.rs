//! Descendants: the jobs that a frame has pushed, when its waits may run no others.

use std::cell::Cell;
use std::ptr;

use crate::base::region::Watch;
use crate::base::waiting::{WaitMode, Waiting};
use crate::worker::Worker;

impl Worker {
    /// Calls `op`, a whole job or a part of one that waits for its jobs, and notes the jobs that it
    /// pushes.
    pub(crate) fn watched<R>(&self, is_job: bool, op: impl FnOnce() -> R) -> R {
        struct End<'a>(&'a Worker, &'a Watch, bool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let Self(worker, watch, was_watched) = self;
                let local = worker.local();
                local.frames.watch.set(watch.outer);
                local.frames.is_watched.set(*was_watched);
                // SAFETY: the frames around this one have not ended.
                let outer = unsafe { watch.outer.as_ref() };
                local
                    .frames
                    .base
                    .set(outer.unwrap_or(watch).from(outer.is_some()));
            }
        }
        let (local, next_slot) = (self.local(), self.next_slot());
        self.note(next_slot);
        let watch = Watch {
            is_job,
            lowest: Cell::new(next_slot),
            before: Cell::new(local.frames.base.replace(next_slot)),
            outer: local.frames.watch.get(),
        };
        local.frames.watch.set(ptr::from_ref(&watch));
        let _end = End(self, &watch, local.frames.is_watched.replace(true));
        op()
    }

    /// True if jobs are watched for the meter or the stall watchdog alone, which need no notes of
    /// pushes.
    pub(crate) fn is_only_seen(&self) -> bool {
        let (local, pool) = (self.local(), self.pool());
        (pool.metered || self.state().frames.is_some())
            && self.is_unwatched()
            && !local.frames.is_strict.get()
            && !pool.alert.is_raised()
            && self.state().recorder.is_none()
    }

    /// True if no frame notes what it pushes.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.local().frames.watch.get().is_null()
    }

    /// Notes that a job is about to be pushed into this slot, or one above.
    #[inline(always)]
    pub(crate) fn note(&self, slot: usize) {
        if slot < self.local().frames.base.get() {
            self.lower(slot);
        }
    }

    /// Notes where the next job will lie, which may be lent, and then notes nothing itself: a look
    /// for a job has found that others have taken the noted ones, or older jobs were popped.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_what_is_gone(&self) {
        if self.local().frames.is_watched.get() {
            self.note(self.next_slot());
        }
    }

    /// Extends the present frame's note down to this slot.
    #[cold]
    #[inline(never)]
    pub(crate) fn lower(&self, slot: usize) {
        let local = self.local();
        local.frames.base.set(slot);
        let mut watch = local.frames.watch.get();
        // SAFETY: the frames that watch have not ended.
        while let Some(inner) = unsafe { watch.as_ref() } {
            inner.lowest.set(inner.lowest.get().min(slot));
            inner.before.set(inner.before.get().min(slot));
            watch = inner.outer;
        }
        self.state().regions.lower(slot, self.deque());
    }

    /// The lowest slot that the present scope may have pushed, or the present job if there is no
    /// scope.
    pub(crate) fn pushed_from(&self) -> usize {
        self.local().frames.base.get()
    }

    /// The lowest slot that the present job may have pushed.
    pub(crate) fn pushed_in_job_from(&self) -> usize {
        let mut watch = self.local().frames.watch.get();
        // SAFETY: as above.
        while let Some(inner) = unsafe { watch.as_ref() } {
            if inner.is_job || inner.outer.is_null() {
                return inner.from(inner.is_job);
            }
            watch = inner.outer;
        }
        self.local().frames.base.get()
    }

    /// Calls `op`, in which every wait is of this kind.
    pub(crate) fn with_waiting<R>(&self, waiting: Waiting, op: impl FnOnce() -> R) -> R {
        let mode = self.wait_mode().with(waiting);
        self.in_mode(mode, || self.as_a_job(mode, op))
    }

    /// Calls `op`, in which waits are of this mode. Strict waits there run no job that the present
    /// job has pushed before.
    pub(crate) fn as_a_job<R>(&self, mode: WaitMode, op: impl FnOnce() -> R) -> R {
        if mode.is_strict() {
            self.watched(true, op)
        } else {
            op()
        }
    }

    /// The way in which the frame on top waits.
    pub(crate) fn wait_mode(&self) -> WaitMode {
        self.state().regions.present()
    }

    /// Calls `op`, in which every wait is of this mode.
    pub(crate) fn in_mode<R>(&self, mode: WaitMode, op: impl FnOnce() -> R) -> R {
        self.in_region(mode, self.context().cloned(), op)
    }

    /// Calls `op`, which belongs to a job stolen from a frame that waits in this mode.
    pub(crate) fn as_there<R>(&self, mode: WaitMode, op: impl FnOnce() -> R) -> R {
        if mode.is_plain() {
            op()
        } else {
            let around = self.wait_mode();
            self.in_mode(mode, || self.and_leaves(mode, around, op))
        }
    }

    /// True if jobs may be queued in an order other than the deque's: not if a frame waits, or
    /// will, for descendants only, because the oldest job may not be one of them.
    pub(crate) fn keeps_order(&self) -> bool {
        !self.is_strict() && !self.state().regions.is_strict_anywhere()
    }

    /// True if only descendants may run while this worker waits here.
    #[inline]
    pub(crate) fn is_strict(&self) -> bool {
        self.local().frames.is_strict.get()
    }
}
