//! The word of a task: how far it is, and who is left to touch it.
//!
//! | bits | meaning |
//! |---|---|
//! | `RUN` | it has a run: queued, or under way |
//! | `WOKEN` | it was woken while it had one |
//! | `DONE` | the future has ended or was dropped; final |
//! | `STOPPED` | the future is not to be polled again |
//! | `HANDLE` | the handle is there |
//! | `AWAITED` | there is a waker of whoever awaits the handle |
//! | the rest | how many references there are beside the handle: wakers, and one for the run |
//!
//! The *run* is whoever has taken the task from a queue, or will; there is at most one. These may
//! touch what is in the task:
//!
//! - T1. The future, the output, and where a poll has ended: the run, until `DONE`; then the
//!   handle.
//! - T2. The waker of whoever awaits: the handle, as long as neither `AWAITED` nor `DONE` is set;
//!   with both, the run that has set `DONE`.
//! - T3. The last one, beside whom there is neither handle nor reference: all of it, and it frees
//!   the task. No other thread can change the word then, so that may be done by a plain store.
//!   Every other change is a read-modify-write.
//!
//! A wake-up that comes before the poll has begun need not lead to another one, so the run takes
//! `WOKEN` back when it begins, if it sees it. It may miss one that comes just then; the future is
//! polled once more for that.
//!
//! Each of them sees what those before it did: whoever gives something up changes the word with
//! release, and whoever comes to have it has read that, or a later change, with acquire.

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::fault;

const RUN: usize = 1;
const WOKEN: usize = 1 << 1;
const DONE: usize = 1 << 2;
const STOPPED: usize = 1 << 3;
const HANDLE: usize = 1 << 4;
const AWAITED: usize = 1 << 5;
/// One reference.
const ONE: usize = 1 << 6;
/// All references.
const REFERENCES: usize = !(ONE - 1);
/// All that keeps the task from being freed.
const LEFT: usize = REFERENCES | HANDLE;

#[derive(Debug)]
pub(super) struct State(AtomicUsize);

/// The duty of whoever has woken the task, or left it.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    Nothing,
    /// To queue the run, whose reference is the caller's now.
    Queue,
    /// To free the task: the caller was the last.
    Free,
}

/// How a poll that was pending has ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// Somebody will wake it. The reference of the run is gone.
    Waits,
    /// It was woken meanwhile: its run is to be queued, with its reference.
    Again,
    /// The future is to be dropped by the run, which is still under way.
    Stopped,
    /// There is no waker and no handle left: the task is to be freed.
    Lost,
}

/// How a run ends whose future is gone.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There is no handle to take the output: that is to be dropped first.
    Unwanted,
    /// The reference of the run is gone.
    Left,
    /// The waker is the run's, to be taken and woken. Its reference is left.
    Awaited,
    /// The task is to be freed.
    Last,
}

/// How far the task is, for its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Going,
    Awaited,
    Done,
}

/// How the handle may leave.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The output is the handle's, once that has asked whether it is the last.
    Output,
    /// There is a waker, which it has to take back first.
    Awaited,
    Left(Duty),
}

impl State {
    /// The word of a task with a handle and a run.
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(RUN | HANDLE | ONE))
    }

    /// Begins the run. True if it polls the future, false if it drops it.
    #[inline]
    pub(super) fn begin(&self) -> bool {
        // Acquire: pairs with the release in `pending`, and with those in `wake`.
        let look = fault::ordering("task.begin.look", Ordering::Acquire);
        let mut word = self.0.load(look);
        debug_assert_eq!(
            word & (RUN | DONE),
            RUN,
            "it is the run of a task that goes on"
        );
        if word & WOKEN != 0 {
            // Acquire: pairs with the releases in `wake`.
            let order = fault::ordering("task.begin", Ordering::Acquire);
            word = self.0.fetch_sub(WOKEN, order);
        }
        word & STOPPED == 0
    }

    /// Ends a poll that was pending.
    #[inline]
    pub(super) fn pending(&self) -> Pending {
        // Acquire, for the last one: pairs with the releases of those who have left.
        let look = fault::ordering("task.pending.look", Ordering::Acquire);
        // Release: pairs with the acquire in the next `begin`.
        let order = fault::ordering("task.pending", Ordering::Release);
        let mut word = self.0.load(look);
        loop {
            if word & STOPPED != 0 {
                return Pending::Stopped;
            }
            if word & WOKEN != 0 {
                return Pending::Again;
            }
            if word & LEFT == ONE {
                return Pending::Lost;
            }
            let next = word - RUN - ONE;
            match self.0.compare_exchange_weak(word, next, order, look) {
                Ok(_) => return Pending::Waits,
                Err(now) => word = now,
            }
        }
    }

    /// True if the handle is there, for now.
    #[inline]
    pub(super) fn has_handle(&self) -> bool {
        self.0.load(Ordering::Relaxed) & HANDLE != 0
    }

    /// Ends the run, whose future is gone. `has_output` says that there is one to drop.
    #[inline]
    pub(super) fn end(&self, has_output: bool) -> End {
        // Acquire: pairs with the release of the handle that has put a waker there, and for the
        // last one with the releases of those who have left.
        let look = fault::ordering("task.end.look", Ordering::Acquire);
        // Release: the output, and for whoever comes last all the rest. Pairs with the acquires in
        // `see` and of those who leave. Acquire: as above, since the handle may have exchanged its
        // waker after the look, and left the same word.
        let order = fault::ordering("task.end", Ordering::AcqRel);
        let mut word = self.0.load(look);
        loop {
            if word & LEFT == ONE {
                return End::Last;
            }
            if has_output && word & HANDLE == 0 {
                return End::Unwanted;
            }
            let is_awaited = word & AWAITED != 0;
            let left = (word | DONE) & !(RUN | WOKEN);
            let next = left - if is_awaited { 0 } else { ONE };
            match self.0.compare_exchange_weak(word, next, order, look) {
                Ok(_) if is_awaited => return End::Awaited,
                Ok(_) => return End::Left,
                Err(now) => word = now,
            }
        }
    }

    /// A waker wakes the task, and leaves if it is `spent`.
    #[inline]
    pub(super) fn wake(&self, is_spent: bool) -> Duty {
        // Release: what was done before the wake-up, also of a task that was woken before. Pairs
        // with the acquires in `begin`.
        let order = fault::ordering("task.wake", Ordering::Release);
        let spent = if is_spent { ONE } else { 0 };
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if word & DONE != 0 {
                return if is_spent {
                    self.leave()
                } else {
                    Duty::Nothing
                };
            }
            let is_idle = word & RUN == 0;
            let woken = match is_idle {
                true => (word | RUN) + ONE,
                false => word | WOKEN,
            };
            let next = woken - spent;
            match self
                .0
                .compare_exchange_weak(word, next, order, Ordering::Relaxed)
            {
                Ok(_) if is_idle => return Duty::Queue,
                Ok(_) => return Duty::Nothing,
                Err(now) => word = now,
            }
        }
    }

    /// There is one waker more.
    #[inline]
    pub(super) fn add_waker(&self) {
        // Relaxed: the waker that is cloned keeps the task.
        let word = self.0.fetch_add(ONE, Ordering::Relaxed);
        if word > usize::MAX / 2 {
            // So many can only have been forgotten.
            std::process::abort();
        }
    }

    /// A waker leaves, or a run that has seen `DONE`.
    #[inline]
    pub(super) fn leave(&self) -> Duty {
        // Release: pairs with the acquires of the last one, here and elsewhere. Acquire: for the
        // last one.
        let order = fault::ordering("task.leave", Ordering::AcqRel);
        let word = self.0.fetch_sub(ONE, order);
        if word & LEFT != ONE {
            return Duty::Nothing;
        }
        if word & DONE != 0 {
            return Duty::Free;
        }
        // It cannot be woken any more. By T3 a store will do.
        self.0.store(RUN | STOPPED | ONE, Ordering::Relaxed);
        Duty::Queue
    }

    /// How far the task is. If it is done, its output is visible.
    #[inline]
    pub(super) fn see(&self) -> Seen {
        // Acquire: pairs with the release in `end`.
        let order = fault::ordering("task.see", Ordering::Acquire);
        let word = self.0.load(order);
        if word & DONE != 0 {
            Seen::Done
        } else if word & AWAITED != 0 {
            Seen::Awaited
        } else {
            Seen::Going
        }
    }

    /// The handle has put a waker there. False if the task was done before: the waker is still the
    /// handle's, and the output is visible.
    #[inline]
    pub(super) fn await_it(&self) -> bool {
        // Release: the waker. Pairs with the acquire in `end`.
        let order = fault::ordering("task.await", Ordering::Release);
        // Acquire: pairs with the release in `end`.
        let look = fault::ordering("task.await.look", Ordering::Acquire);
        self.change_unless_done(order, look, |word| word | AWAITED)
    }

    /// The handle takes its waker back. False if the task was done before, and the waker is the
    /// run's.
    pub(super) fn take_back(&self) -> bool {
        // Relaxed: the handle itself has put the waker there. Acquire: as in `await_it`.
        let look = fault::ordering("task.take_back.look", Ordering::Acquire);
        self.change_unless_done(Ordering::Relaxed, look, |word| word & !AWAITED)
    }

    #[inline]
    fn change_unless_done(
        &self,
        order: Ordering,
        look: Ordering,
        change: impl Fn(usize) -> usize,
    ) -> bool {
        let mut word = self.0.load(look);
        while word & DONE == 0 {
            match self
                .0
                .compare_exchange_weak(word, change(word), order, look)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// The handle leaves, if nothing keeps it, and stops the task if `stops`.
    #[inline]
    pub(super) fn drop_handle(&self, stops: bool) -> Leave {
        // Release: pairs with the acquire of the last one.
        let order = fault::ordering("task.drop_handle", Ordering::Release);
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if word & DONE != 0 {
                return Leave::Output;
            }
            if word & AWAITED != 0 {
                return Leave::Awaited;
            }
            let is_idle = word & RUN == 0;
            let is_over = stops || word & REFERENCES == 0;
            let stopped = if is_over { STOPPED } else { 0 };
            let mut next = (word & !HANDLE) | stopped;
            if is_idle && is_over {
                next = (next | RUN) + ONE;
            }
            match self
                .0
                .compare_exchange_weak(word, next, order, Ordering::Relaxed)
            {
                Ok(_) if is_idle && is_over => return Leave::Left(Duty::Queue),
                Ok(_) => return Leave::Left(Duty::Nothing),
                Err(now) => word = now,
            }
        }
    }

    /// True if the handle of a done task is the last one. The output is visible.
    #[inline]
    pub(super) fn is_last(&self) -> bool {
        // Acquire: pairs with the releases of those who have left, and with that in `end`, for the
        // output.
        let order = fault::ordering("task.is_last", Ordering::Acquire);
        self.0.load(order) & LEFT == HANDLE
    }

    /// The handle of a done task leaves. True if it was the last.
    pub(super) fn leave_done(&self) -> bool {
        // As in `leave`.
        let order = fault::ordering("task.leave_done", Ordering::AcqRel);
        self.0.fetch_sub(HANDLE, order) & LEFT == HANDLE
    }
}
