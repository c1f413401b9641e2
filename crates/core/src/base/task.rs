//! Tasks: the ways to run a detached job, and to drop a cancelled one.

use crate::base::unwind::Payload;
use crate::insight::meter::{Meter, Start};
use crate::insight::site::Site;

/// The content of a detached job. One of the two is called, once; neither unwinds.
pub(crate) trait Task: Send {
    /// True if it brings its context along: then it is of no region, wherever it lies, and never
    /// discarded.
    const CARRIES: bool = false;

    /// True if it holds other jobs, and no other type of task does.
    const GATHERS: bool = false;

    /// True if it goes on with something that has begun before, and no newer job is to keep it
    /// waiting for ever.
    const WOKEN: bool = false;

    /// The site at which such tasks are made, if they are to be measured in metered pools.
    const SITE: Option<&'static Site> = None;

    /// True if somebody waits for it, whom `run_metered` tells how far it has come.
    const IS_JOINED: bool = false;

    fn run(self);

    /// As [`run`](Self::run), for a worker that takes what is scheduled
    /// [again](crate::hosting::Order::Again) from its `again` right afterwards.
    fn run_in_turn(self)
    where
        Self: Sized,
    {
        self.run();
    }

    /// As [`run`](Self::run), when the meter has begun with it.
    fn run_metered(self, meter: &Meter)
    where
        Self: Sized,
    {
        self.run();
        meter.ends();
        meter.end();
    }

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

/// A task of a metered pool, and where its path begins.
pub(crate) struct Metered<T> {
    start: Start,
    task: T,
}

impl<T: Task> Metered<T> {
    pub(crate) fn new(site: &'static Site, task: T) -> Self {
        let start = Meter::of_thread().fork(site);
        let start = if T::IS_JOINED {
            start
        } else {
            start.unjoined()
        };
        Self { start, task }
    }

    /// A task that others wait for, and learn otherwise how far it has come.
    pub(crate) fn awaited(site: &'static Site, task: T) -> Self {
        let start = Meter::of_thread().fork(site);
        Self { start, task }
    }
}

impl<T: Task> Task for Metered<T> {
    const CARRIES: bool = T::CARRIES;

    fn run(self) {
        let meter = Meter::of_thread();
        meter.begins(&self.start);
        self.task.run_metered(meter);
    }

    fn is_cancelled(&self) -> bool {
        self.task.is_cancelled()
    }

    fn may_run_here(&self) -> bool {
        self.task.may_run_here()
    }

    fn discard(self, why: Payload) {
        self.task.discard(why);
    }
}

/// A task that does not fit a slot.
pub(crate) struct Boxed<T>(pub(crate) Box<T>);

impl<T: Task> Task for Boxed<T> {
    const CARRIES: bool = T::CARRIES;
    const WOKEN: bool = T::WOKEN;

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

/// A task that goes on with something, and brings its context along, or has none.
pub(crate) struct Woken<T>(pub(crate) T);

impl<T: Task> Task for Woken<T> {
    const CARRIES: bool = true;
    const WOKEN: bool = true;

    #[inline(always)]
    fn run(self) {
        self.0.run();
    }

    #[inline(always)]
    fn run_in_turn(self) {
        self.0.run_in_turn();
    }

    fn discard(self, _: Payload) {
        self.0.run();
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

    #[inline(always)]
    fn run_in_turn(self) {
        self.0.run_in_turn();
    }

    fn discard(self, _: Payload) {
        self.0.run();
    }
}
