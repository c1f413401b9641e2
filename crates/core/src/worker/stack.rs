//! The use of a worker's stack, and the guard that keeps foreign jobs off its last part.
//!
//! A worker that waits runs other jobs on top of the frame that waits, and those may wait in turn:
//! frames pile up that have nothing to do with each other, and a stack that has room for each of
//! them has none for all. So a join that waits where little of the stack is left runs no foreign
//! job (oneTBB draws the line at the half of the stack, too). Scopes, groups and handles are not
//! guarded: they may wait for jobs that nobody has begun, and only a worker that takes foreign jobs
//! would find.
//!
//! **SG-1** No pool stands still for the guard. A join that waits has had its job stolen, and a
//! thief begins at once with what it takes. So a guarded frame waits for a job that has begun, and
//! later than the job which the frame is of. Of all jobs of the process that have begun and not
//! ended, look at the one that began last. Nothing lies on top of it, for that would have begun
//! later; and it is not in a guarded wait, for what it would wait for would have begun later, too.
//! So it runs, or waits in another way, and then its worker runs whatever there is, wherever it
//! lies. That holds on any thread: a compensation worker's, an external caller's, whose call is a
//! job here, that of `use_current_thread`, one in the place of a serial pool. To wait for a job
//! from outside, or of another pool, is no join. A broadcast reaches a guarded frame, which takes
//! its mail. The rest is as without the guard: frames that wait for descendants only, because they
//! were told to, may need a worker that is free of such frames ([`Waiting`](crate::Waiting)).

use crate::state::Marks;
use crate::worker::Worker;

/// The divisor for the part of the stack that may be in use where an unrelated job begins.
const DEEP: usize = 4;

/// The divisor for the part of the stack that is guarded by default.
const GUARDED: usize = 2;

/// An address in the caller's frame, or nearly so.
#[inline(always)]
fn address_of_frame() -> usize {
    let here = 0_u8;
    &raw const here as usize
}

impl Worker {
    /// Gives the worker the stack of this thread, from here downwards. Returns the marks of its
    /// former stack, to which a thread that leaves its place [returns](Self::return_to_stack) it.
    pub(crate) fn begin_stack(&self, size: usize) -> Marks {
        let here = address_of_frame();
        let guarded = self.pool().stack_guard.unwrap_or(size / GUARDED);
        let open = size.saturating_sub(guarded);
        self.local().frames.base.set(self.next_slot());
        self.local().frames.marks.replace(Marks {
            deep: here.saturating_sub(size / DEEP),
            guarded: here.saturating_sub(open),
        })
    }

    /// Gives the worker back the stack with these marks.
    pub(crate) fn return_to_stack(&self, marks: Marks) {
        self.local().frames.marks.set(marks);
    }

    /// True if so much of the stack is in use that an unrelated job should not begin here.
    pub(crate) fn is_deep(&self) -> bool {
        address_of_frame() < self.local().frames.marks.get().deep
    }

    /// True if a join that waits here must not run a foreign job.
    pub(crate) fn is_guarded(&self) -> bool {
        address_of_frame() < self.local().frames.marks.get().guarded
    }
}
