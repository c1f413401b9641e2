//! The calling thread's worker.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use heist_deque::Owner;
use heist_sync::thread_local;
use heist_sync::thread_state::present_thread;

use crate::base::fifo::Fifo;
use crate::base::job::{JobSlot, Kind};
use crate::insight::meter::Meter;
use crate::schedule::Point;
use crate::state::{Local, Pool, WorkerState};

thread_local! {
    /// The worker that this thread is, or null.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) }
}

thread_local! {
    /// The worker that this thread is, while that is not in `CURRENT`: because its pool is metered
    /// (`insight.rs`) or scheduled (`schedule.rs`), because contexts carry the tail of its deque
    /// (`ops/context.rs`), or because it blocks (`worker/blocking.rs`) or
    /// rests in the function that drives it (`worker/driven.rs`).
    static HIDDEN: Cell<*const Worker> = const { Cell::new(ptr::null()) }
}

/// A worker, as its own thread sees it.
#[repr(transparent)]
pub(crate) struct Worker {
    state: WorkerState<Pool>,
    /// Neither `Send` nor `Sync`.
    here: PhantomData<*const ()>,
}

impl Worker {
    /// The calling thread's worker. It outlives every frame of a job, and the borrow must
    /// not be kept beyond the job.
    #[inline(always)]
    pub(crate) fn current<'job>() -> Option<&'job Self> {
        match Self::visible() {
            Some(worker) => Some(worker),
            None => Self::reveal(),
        }
    }

    /// As [`current`](Self::current), unless the worker is hidden.
    #[inline(always)]
    pub(crate) fn visible<'job>() -> Option<&'job Self> {
        let current = CURRENT.with(Cell::get);
        // SAFETY: not null between `enter` and `leave`, and then it points to the state that
        // `enter` was given, which is there meanwhile.
        unsafe { current.as_ref() }
    }

    /// The hidden worker of the calling thread, whose tail is exact then, and which does not block.
    /// It is visible from now on, unless its pool is metered or scheduled.
    #[cold]
    #[inline(never)]
    pub(crate) fn reveal<'job>() -> Option<&'job Self> {
        let worker = Self::hidden()?;
        worker.unblock();
        worker.end_rest();
        worker.store_tail();
        worker.point(Point::Work);
        Some(worker)
    }

    fn hidden<'job>() -> Option<&'job Self> {
        // SAFETY: as in `current`.
        unsafe { HIDDEN.with(Cell::get).as_ref() }
    }

    /// As [`current`](Self::current), for callers that leave the deque alone.
    #[inline]
    pub(crate) fn current_or_hidden<'job>() -> Option<&'job Self> {
        Self::visible().or_else(Self::hidden)
    }

    /// Hides the worker: from now on `current` has to store the tail first, or to end the blocking.
    pub(crate) fn hide(&self) {
        CURRENT.with(|current| current.set(ptr::null()));
        HIDDEN.with(|hidden| hidden.set(self));
    }

    /// Makes the worker visible, unless its pool is metered or scheduled: the tail in memory is
    /// exact.
    pub(crate) fn show(&self) {
        if !self.pool().hides_workers() {
            HIDDEN.with(|hidden| hidden.set(ptr::null()));
            CURRENT.with(|current| current.set(self));
        }
    }

    /// Makes the calling thread the worker of this state, until it calls `leave`.
    ///
    /// # Safety
    ///
    /// 1. The state stays in place until then, or for ever.
    /// 2. No other thread is this worker meanwhile, and what the last one did happens before this.
    pub(crate) unsafe fn enter(state: &WorkerState<Pool>) -> &Self {
        // SAFETY: transparent, and by 2. the caller may have the worker's view.
        let worker: &Self = unsafe { &*ptr::from_ref(state).cast() };
        assert!(
            Self::current_or_hidden().is_none(),
            "a thread is one worker at most"
        );
        if let Some(frames) = &state.frames {
            frames.become_thread(present_thread());
        }
        // SAFETY: by 1. and 2.
        unsafe { Self::be(worker) };
        worker
    }

    /// As `enter`, on a thread that may be another pool's worker, and becomes that again by `be`.
    ///
    /// # Safety
    ///
    /// As for `enter`.
    pub(crate) unsafe fn enter_over(state: &WorkerState<Pool>) -> &Self {
        // SAFETY: transparent, and by 2. the caller may have the worker's view.
        let worker: &Self = unsafe { &*ptr::from_ref(state).cast() };
        // SAFETY: by 1. and 2.
        unsafe { Self::be(worker) };
        worker
    }

    /// Switches the calling thread, which is several workers (`worker/serial.rs`), to this one of
    /// them, or to none if it is null. The tail of its former deque has been stored.
    ///
    /// # Safety
    ///
    /// 1. Null, or one of those.
    pub(crate) unsafe fn be(worker: *const Self) {
        let (mut visible, mut hidden) = (worker, ptr::null());
        // SAFETY: by 1.
        let worker = unsafe { worker.as_ref() };
        if let Some(worker) = worker.filter(|worker| worker.pool().hides_workers()) {
            if worker.pool().metered {
                Meter::of_thread().sits_at(worker.pool().board, worker.index());
            }
            (visible, hidden) = (hidden, visible);
        }
        HIDDEN.with(|place| place.set(hidden));
        CURRENT.with(|current| current.set(visible));
    }

    /// Ends the calling thread's time as a worker.
    pub(crate) fn leave() {
        CURRENT.with(|current| current.set(ptr::null()));
        // It may be hidden in a forked child, in the middle of a context.
        HIDDEN.with(|hidden| hidden.set(ptr::null()));
    }

    #[inline(always)]
    pub(crate) fn index(&self) -> usize {
        self.state.index()
    }

    #[inline(always)]
    pub(crate) fn pool(&self) -> &Pool {
        self.state.pool()
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> &WorkerState<Pool> {
        &self.state
    }

    #[inline(always)]
    pub(crate) fn local(&self) -> &Local {
        self.state.local()
    }

    #[inline(always)]
    pub(crate) fn deque(&self) -> &Owner<Kind> {
        // SAFETY: this is the one thread that is the worker.
        unsafe { self.state.deque().owner() }
    }

    /// The queue that makes `spawn_fifo` first in, first out on this worker.
    pub(crate) fn fifo(&self) -> &Fifo {
        &self.state.fifo
    }

    /// The address of the slot that the next job will be in.
    #[inline]
    pub(crate) fn next_slot(&self) -> usize {
        self.deque().vacant().as_ptr() as usize
    }

    /// Makes the tail in memory exact, if contexts carry it.
    pub(crate) fn store_tail(&self) {
        // SAFETY: a chain of contexts that carries the tail is in its place: it stores the tail
        // before it ends.
        if let Some(carrier) = unsafe { self.local().frames.carrier.get().as_ref() } {
            // SAFETY: from where the chain began, the slots in use are those of its joins, none of
            // which waits for a thief: a join that waits has stored the tail.
            unsafe { self.deque().find_tail(carrier.lowest) };
            self.tail_is_stored();
        }
    }

    /// As [`store_tail`](Self::store_tail), with the place of the tail.
    ///
    /// # Safety
    ///
    /// 1. The tail is there.
    pub(crate) unsafe fn store_tail_at(&self, tail: JobSlot) {
        // SAFETY: by 1.
        unsafe { self.deque().set_tail(tail) };
        self.tail_is_stored();
    }

    /// Notes that no chain of contexts carries the tail any longer.
    fn tail_is_stored(&self) {
        // SAFETY: as in `store_tail`.
        if let Some(carrier) = unsafe { self.local().frames.carrier.replace(ptr::null()).as_ref() }
        {
            carrier.carries.set(false);
        }
        self.show();
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index())
            .finish()
    }
}
