//! How much of its stack a worker has used.

use crate::worker::Worker;

/// One part in so many of the stack may be in use where a job begins that has nothing to do with
/// what is there.
const DEEP: usize = 4;

/// An address in the caller's frame, or nearly so.
#[inline(always)]
fn address_of_frame() -> usize {
    let here = 0_u8;
    &raw const here as usize
}

impl Worker {
    /// From here on downwards the stack of the thread is this worker's.
    pub(crate) fn begin_stack(&self, size: usize) {
        let here = address_of_frame();
        self.local().deep.set(here.saturating_sub(size / DEEP));
        self.local().base.set(self.next_slot());
    }

    /// True if much of the stack is in use, so that a job that has nothing to do with it should not
    /// begin here.
    pub(crate) fn is_deep(&self) -> bool {
        address_of_frame() < self.local().deep.get()
    }
}
