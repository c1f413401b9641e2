//! Watches: the slots of the jobs that a frame has pushed, for waits that run no others.

use std::cell::Cell;

/// A frame that may wait for descendants only, a job's or a scope's, and the lowest slot that it
/// may have pushed.
///
/// Jobs of a frame are mostly in slots from the one that was next when it began. But when older
/// jobs are gone, taken by thieves or run by a [yield](crate::yield_now), the next job comes to lie
/// below. Each such push lowers the slots that these frames have noted.
pub(crate) struct Watch {
    pub(crate) is_job: bool,
    pub(crate) lowest: Cell<usize>,
    /// The same of the job in which this began, if that has no watch of its own.
    pub(crate) before: Cell<usize>,
    pub(crate) outer: *const Self,
}

impl Watch {
    pub(crate) fn from(&self, its_own: bool) -> usize {
        if its_own {
            self.lowest.get()
        } else {
            self.before.get()
        }
    }
}
