//! A task: a future, its state and its output in one allocation.
//!
//! Three kinds of pointers lead to it: the [`Runnable`], which is queued whenever the future is to
//! be polled; the [`Handle`], which awaits the output; and the wakers. `state.rs` says who of them
//! may touch what, and who frees it.
//!
//! Panics of the future are held back, in its polls and its destructor, and so are those of wakers.
#![allow(
    unsafe_code,
    reason = "one allocation for all: neither `Arc` nor `Box` can share it so"
)]

mod handle;
mod head;
#[cfg(all(test, heist_loom))]
mod model;
mod outcome;
#[cfg(all(test, not(heist_shuttle)))]
mod queue;
#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod random;
mod state;
mod waker;

use std::future::Future;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use heist_core::hosting::{held_back, Point};
use heist_sync::cell::UnsafeCell;
use heist_sync::thread;

use crate::polling::polling;
pub(crate) use handle::Handle;
use head::{Head, Vtable};
pub(crate) use outcome::{Outcome, Output};
use state::{Duty, End, Pending, State};
use waker::raw_waker;

/// A task. `schedule` queues its runs; the flag says that it was woken in the poll that ends now.
pub(crate) fn task<F, S, M>(meta: M, future: F, schedule: S) -> (Runnable<M>, Handle<F::Output, M>)
where
    F: Future + Send + 'static,
    F::Output: Send,
    S: Fn(Runnable<M>, bool) + Copy + Send + Sync + 'static,
    M: Send + Sync + 'static,
{
    let task = Box::new(Task {
        head: Head {
            state: State::new(),
            vtable: &Task::<F, S, M>::VTABLE,
            awaiter: UnsafeCell::new(MaybeUninit::uninit()),
            meta,
        },
        schedule,
        point: UnsafeCell::new(Point::default()),
        stage: UnsafeCell::new(Stage::Future(future)),
    });
    let head = NonNull::from(Box::leak(task)).cast();
    let output = PhantomData;
    (Runnable { head }, Handle { head, output })
}

#[repr(C)]
struct Task<F: Future, S, M: 'static> {
    head: Head<M>,
    schedule: S,
    /// Where the last poll has ended: the next one comes behind it, whoever wakes the task, and so
    /// does whoever takes the output.
    point: UnsafeCell<Point>,
    stage: UnsafeCell<Stage<F>>,
}

enum Stage<F: Future> {
    Future(F),
    Output(Outcome<F::Output>),
    /// Dropped, or taken.
    Gone,
}

impl<F, S, M> Task<F, S, M>
where
    F: Future + Send + 'static,
    F::Output: Send,
    S: Fn(Runnable<M>, bool) + Copy + Send + Sync + 'static,
    M: Send + Sync + 'static,
{
    const VTABLE: Vtable<M> = Vtable {
        run: Self::run,
        cancel: Self::cancel,
        schedule: Self::schedule,
        take: Self::take,
        free: Self::free,
        waker: Head::<M>::WAKER,
    };

    /// # Safety
    ///
    /// As for [`Vtable::run`].
    unsafe fn run(head: NonNull<Head<M>>) -> bool {
        let this = head.cast::<Self>();
        // SAFETY: by 1, and the reference of the run keeps it.
        let task = unsafe { this.as_ref() };
        if !task.head.state.begin() {
            // SAFETY: the run is under way.
            unsafe { Self::end(this, None) };
            return false;
        }
        // SAFETY: the run's reference keeps the task.
        let waker = unsafe { raw_waker(head) };
        // SAFETY: the vtable of wakers is for such a pointer. It is not dropped, so the run's
        // reference serves for it.
        let waker = unsafe { Waker::from_raw(waker) };
        let waker = ManuallyDrop::new(waker);
        let poll = AssertUnwindSafe(|| task.poll(&mut Context::from_waker(&waker)));
        let result = match panic::catch_unwind(poll) {
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => Err(payload),
            Ok(Poll::Pending) => match task.head.state.pending() {
                Pending::Waits => return false,
                Pending::Again => {
                    // SAFETY: 1. as above. 2. The run's reference is handed on.
                    unsafe { Self::schedule(head, true) };
                    return true;
                }
                Pending::Stopped => {
                    // SAFETY: the run is under way.
                    unsafe { Self::end(this, None) };
                    return false;
                }
                Pending::Lost => {
                    task.drop_future();
                    // SAFETY: 1. as above. 2. Said by `pending`.
                    unsafe { Self::free(head) };
                    return false;
                }
            },
        };
        // SAFETY: the run is under way.
        unsafe { Self::end(this, Some(result)) };
        false
    }

    /// Polls the future, and drops it if it has ended. The run is under way.
    #[inline]
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Output<F::Output>> {
        let poll = self.stage.with_mut(|stage| {
            // SAFETY: by T1 it is the run's.
            let Stage::Future(future) = (unsafe { &mut *stage }) else {
                unreachable!("a task that is not done has a future");
            };
            // SAFETY: it stays where it is until it is dropped there.
            let future = unsafe { Pin::new_unchecked(future) };
            self.take_point().pass();
            // Before the future is dropped, whose panic would meet one of the output.
            polling(|| future.poll(cx)).map(Output::new)
        });
        match poll.is_ready() {
            true => self.put(Stage::Gone),
            false => self.put_point(),
        }
        poll
    }

    /// By T1 it is the caller's.
    #[inline]
    fn put_point(&self) {
        // SAFETY: said above.
        self.point
            .with_mut(|point| unsafe { *point = Point::here() });
    }

    /// By T1 it is the caller's.
    #[inline]
    fn take_point(&self) -> Point {
        // SAFETY: said above.
        self.point
            .with_mut(|point| unsafe { mem::take(&mut *point) })
    }

    /// Drops what is there, in its place, and puts this there. By T1 the stage is the caller's.
    #[inline]
    fn put(&self, stage: Stage<F>) {
        // SAFETY: said above.
        self.stage.with_mut(|place| unsafe { *place = stage });
    }

    /// Drops the future, and holds back its panic. By T1 the stage is the caller's.
    fn drop_future(&self) {
        held_back(|| self.put(Stage::Gone));
    }

    /// # Safety
    ///
    /// As for [`Vtable::cancel`].
    unsafe fn cancel(head: NonNull<Head<M>>) {
        let this = head.cast::<Self>();
        // SAFETY: by 1. Whether it was stopped or not, its future is dropped.
        unsafe { this.as_ref() }.head.state.begin();
        // SAFETY: the run is under way.
        unsafe { Self::end(this, None) };
    }

    /// Ends the run, with the result of the last poll if there is one.
    ///
    /// # Safety
    ///
    /// 1. The run of this task is under way; it ends here, with its reference.
    #[inline]
    unsafe fn end(this: NonNull<Self>, result: Option<thread::Result<Output<F::Output>>>) {
        // SAFETY: by 1 the reference keeps it.
        let task = unsafe { this.as_ref() };
        let mut has_output = false;
        match result {
            None => task.drop_future(),
            Some(result) => {
                if result.is_err() {
                    task.drop_future();
                }
                let outcome = Outcome::new(result);
                has_output = task.head.state.has_handle();
                if has_output {
                    task.put_point();
                    let output = Stage::Output(outcome);
                    // SAFETY: by T1 the stage is the run's. There is nothing left to drop.
                    task.stage.with_mut(|stage| unsafe { stage.write(output) });
                }
            }
        }
        loop {
            match task.head.state.end(has_output) {
                End::Unwanted => {
                    task.put(Stage::Gone);
                    has_output = false;
                }
                End::Left => return,
                End::Last => {
                    // SAFETY: it is there, and the caller the last.
                    return unsafe { Self::free(this.cast()) };
                }
                End::Awaited => {
                    let awaiter = &task.head.awaiter;
                    // SAFETY: by T2 it is there, and the run's.
                    let waker = awaiter.with(|waker| unsafe { (*waker).assume_init_read() });
                    if task.head.state.leave() == Duty::Free {
                        // SAFETY: as above.
                        unsafe { Self::free(this.cast()) };
                    }
                    return held_back(|| waker.wake());
                }
            }
        }
    }

    /// # Safety
    ///
    /// As for [`Vtable::schedule`].
    unsafe fn schedule(head: NonNull<Head<M>>, is_again: bool) {
        // A copy, since the task may be gone before the call is over.
        // SAFETY: by 1.
        let schedule = unsafe { head.cast::<Self>().as_ref() }.schedule;
        // By 2 it is the only one.
        schedule(Runnable { head }, is_again);
    }

    /// # Safety
    ///
    /// As for [`Vtable::take`].
    unsafe fn take(head: NonNull<Head<M>>, place: NonNull<()>) {
        // SAFETY: by 1.
        let task = unsafe { head.cast::<Self>().as_ref() };
        // SAFETY: by 2 and T1.
        let take = |stage: *mut Stage<F>| unsafe { mem::replace(&mut *stage, Stage::Gone) };
        let outcome = match task.stage.with_mut(take) {
            Stage::Output(outcome) => {
                task.take_point().pass();
                Some(outcome)
            }
            Stage::Future(_) | Stage::Gone => None,
        };
        // SAFETY: by 3.
        unsafe { place.cast::<Option<Outcome<F::Output>>>().write(outcome) };
    }

    /// # Safety
    ///
    /// As for [`Vtable::free`].
    unsafe fn free(head: NonNull<Head<M>>) {
        // SAFETY: it came from such a box, by 1 it is there still, and by 2 nobody else comes.
        let task = unsafe { Box::from_raw(head.cast::<Self>().as_ptr()) };
        // Models see that nobody else is at it.
        task.stage.with_mut(|_| ());
        task.point.with_mut(|_| ());
        task.head.awaiter.with_mut(|_| ());
    }
}

/// The run of a task, queued or about to be. Dropped, it drops the future, and the handle has no
/// output.
pub(crate) struct Runnable<M: Send + Sync + 'static> {
    head: NonNull<Head<M>>,
}

// SAFETY: all that a run touches can be sent: `task` demands it of what it is given.
unsafe impl<M: Send + Sync> Send for Runnable<M> where Point: Send {}

impl<M: Send + Sync> Runnable<M> {
    fn head(&self) -> &Head<M> {
        // SAFETY: its reference keeps the task.
        unsafe { self.head.as_ref() }
    }

    /// The value that was given to the task.
    #[inline]
    pub(crate) fn meta(&self) -> &M {
        &self.head().meta
    }

    /// Polls the future. True if it was woken meanwhile, and is queued again.
    #[inline]
    pub(crate) fn run(self) -> bool {
        let this = ManuallyDrop::new(self);
        // SAFETY: 1. its reference keeps the task. 2. It is the only one.
        unsafe { (this.head().vtable.run)(this.head) }
    }

    /// Queues it.
    #[inline]
    pub(crate) fn schedule(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: 1. its reference keeps the task. 2. It is the only one.
        unsafe { (this.head().vtable.schedule)(this.head, false) }
    }
}

impl<M: Send + Sync> Drop for Runnable<M> {
    fn drop(&mut self) {
        // SAFETY: 1. its reference keeps the task. 2. It is the only one, and gone.
        unsafe { (self.head().vtable.cancel)(self.head) }
    }
}
