//! Tasks: how a detached job is run, or is dropped because it was cancelled.

use crate::base::unwind::Payload;

/// The content of a detached job. One of the two is called, once; neither unwinds.
pub(crate) trait Task: Send {
    /// It brings its context along: it is of no region, wherever it lies, and never discarded.
    const CARRIES: bool = false;

    fn run(self);

    /// True if it is to be discarded, for a reason of its own: not asked of each
    /// job that is popped, unless the pool's alert is raised.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// True if it may run in the surroundings that the thread has entered, which is asked of one
    /// that brings its context along.
    fn may_run_here(&self) -> bool {
        true
    }

    /// Drops what has not begun, and tells whoever waits for it that this is why.
    fn discard(self, why: Payload);
}

/// A closure that knows nothing of regions runs.
impl<F: FnOnce() + Send> Task for F {
    #[inline(always)]
    fn run(self) {
        self();
    }

    fn discard(self, _: Payload) {
        self();
    }
}

/// A task that does not fit a slot.
pub(crate) struct Boxed<T>(pub(crate) Box<T>);

impl<T: Task> Task for Boxed<T> {
    const CARRIES: bool = T::CARRIES;

    fn run(self) {
        (*self.0).run();
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn may_run_here(&self) -> bool {
        self.0.may_run_here()
    }

    fn discard(self, why: Payload) {
        (*self.0).discard(why);
    }
}

/// A task that brings its context along, or has none, wherever it is queued.
pub(crate) struct Carrying<T>(pub(crate) T);

impl<T: Task> Task for Carrying<T> {
    const CARRIES: bool = true;

    #[inline(always)]
    fn run(self) {
        self.0.run();
    }

    fn discard(self, _: Payload) {
        self.0.run();
    }
}
