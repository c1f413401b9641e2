//! The handle of a task.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use heist_core::hosting::held_back;

use super::head::Head;
use super::outcome::Outcome;
use super::state::{Duty, Leave, Seen};

/// The handle of a task. Dropped, it lets the task go on.
pub(crate) struct Handle<T, M: Send + Sync + 'static> {
    pub(super) head: NonNull<Head<M>>,
    pub(super) output: PhantomData<T>,
}

// SAFETY: the handle hands on the outcome, and frees what a run can.
unsafe impl<T: Send, M: Send + Sync> Send for Handle<T, M> where Outcome<T>: Send {}
// SAFETY: a shared one only reads the state.
unsafe impl<T, M: Send + Sync> Sync for Handle<T, M> {}
impl<T, M: Send + Sync> Unpin for Handle<T, M> {}
impl<T, M: Send + Sync> UnwindSafe for Handle<T, M> {}
impl<T, M: Send + Sync> RefUnwindSafe for Handle<T, M> {}

impl<T, M: Send + Sync> Handle<T, M> {
    fn head(&self) -> &Head<M> {
        // SAFETY: the handle keeps the task.
        unsafe { self.head.as_ref() }
    }

    /// True if the future has ended or was dropped.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.head().state.see() == Seen::Done
    }

    /// The outcome, or none if the future was dropped or the output taken.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outcome<T>>> {
        let is_awaited = match self.head().state.see() {
            Seen::Done => false,
            Seen::Going => self.await_with(cx.waker().clone()),
            Seen::Awaited => self.await_again(cx.waker()),
        };
        match is_awaited {
            true => Poll::Pending,
            false => Poll::Ready(self.take()),
        }
    }

    /// Puts a waker there. False if the task was done before.
    #[inline]
    fn await_with(&mut self, waker: Waker) -> bool {
        let head = self.head();
        // SAFETY: by T2 it is the handle's.
        head.awaiter
            .with_mut(|place| unsafe { (*place).write(waker) });
        if head.state.await_it() {
            return true;
        }
        // SAFETY: it was put there just now.
        let waker = unsafe { self.take_waker() };
        held_back(|| drop(waker));
        false
    }

    /// Leaves the waker there if it wakes the same, and else exchanges it. False if the task was
    /// done before.
    #[cold]
    fn await_again(&mut self, waker: &Waker) -> bool {
        if !self.head().state.take_back() {
            return false;
        }
        // SAFETY: it was there, and by T2 is the handle's now.
        let before = unsafe { self.take_waker() };
        if before.will_wake(waker) {
            return self.await_with(before);
        }
        held_back(|| drop(before));
        self.await_with(waker.clone())
    }

    /// # Safety
    ///
    /// 1. There is a waker, and by T2 it is the handle's.
    unsafe fn take_waker(&mut self) -> Waker {
        let awaiter = &self.head().awaiter;
        // SAFETY: by 1.
        awaiter.with(|waker| unsafe { (*waker).assume_init_read() })
    }

    /// Of a task that is done.
    #[inline]
    fn take(&mut self) -> Option<Outcome<T>> {
        let mut output = MaybeUninit::<Option<Outcome<T>>>::uninit();
        let place = NonNull::from(&mut output).cast();
        // SAFETY: 1. the handle keeps it. 2. It is done. 3. `T` is that of its future.
        unsafe { (self.head().vtable.take)(self.head, place) };
        // SAFETY: written just now.
        unsafe { output.assume_init() }
    }

    /// Drops the handle, and has the future dropped after the poll that is under way, or soon.
    pub(crate) fn stop(self) {
        ManuallyDrop::new(self).leave(true);
    }

    #[inline]
    fn leave(&mut self, stops: bool) {
        loop {
            match self.head().state.drop_handle(stops) {
                Leave::Left(Duty::Queue) => {
                    // SAFETY: 1. the run's reference keeps it. 2. Said by `drop_handle`.
                    unsafe { (self.head().vtable.schedule)(self.head, false) }
                }
                Leave::Left(_) => {}
                Leave::Awaited => {
                    if self.head().state.take_back() {
                        // SAFETY: it was there, and by T2 is the handle's now.
                        let waker = unsafe { self.take_waker() };
                        held_back(|| drop(waker));
                    }
                    continue;
                }
                Leave::Output => {
                    // The last one frees the output with all the rest.
                    let is_last = self.head().state.is_last() || {
                        drop(self.take());
                        self.head().state.leave_done()
                    };
                    if is_last {
                        // SAFETY: 1. it is not freed before. 2. Said by `is_last` or `leave_done`.
                        unsafe { (self.head().vtable.free)(self.head) }
                    }
                }
            }
            return;
        }
    }
}

impl<T, M: Send + Sync> Drop for Handle<T, M> {
    #[inline]
    fn drop(&mut self) {
        self.leave(false);
    }
}
