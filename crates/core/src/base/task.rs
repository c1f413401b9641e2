//! Tasks: the ways to run a detached job, and to drop a cancelled one.

use crate::base::unwind::Payload;

/// The content of a detached job. One of the two is called, once; neither unwinds.
pub(crate) trait Task: Send {
    /// True if it brings its context along: then it is of no region, wherever it lies, and never
    /// discarded.
    const CARRIES: bool = false;

    fn run(self);

    /// True if it is to be discarded for a reason of its own. Popped jobs are asked only while the
    /// pool's alert is raised.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// True if it may run in the surroundings that the thread has entered. Asked only of a task
    /// that brings its context along.
    fn may_run_here(&self) -> bool {
        true
    }

    /// Drops the task, which has not begun, and passes the reason to its waiter.
    fn discard(self, why: Payload);
}

/// A plain closure runs, whatever its region.
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

/// A task that brings its context along, or has none.
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
