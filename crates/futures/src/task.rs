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

#[cfg(all(test, heist_loom))]
mod model;
mod outcome;
mod state;

use std::future::Future;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use heist_core::hosting::{self, Point};
use heist_sync::cell::UnsafeCell;
use heist_sync::thread;

use crate::polling::polling;
pub(crate) use outcome::Outcome;
use state::{Duty, End, Leave, Pending, Seen, State};

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
            table: &Task::<F, S, M>::TABLE,
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

/// The part that is known without the type of the future.
struct Head<M: 'static> {
    state: State,
    table: &'static Table<M>,
    /// The waker of whoever awaits the task, if there is one by T2.
    awaiter: UnsafeCell<MaybeUninit<Waker>>,
    meta: M,
}

enum Stage<F: Future> {
    Future(F),
    Output(Outcome<F::Output>),
    /// Dropped, or taken.
    Gone,
}

/// The functions of a task.
///
/// # Safety
///
/// 1. Each is called with a task of its type that is not freed.
struct Table<M: 'static> {
    /// 2. The caller is the run, which has not begun, and gives up its reference.
    run: unsafe fn(NonNull<Head<M>>) -> bool,
    /// 2. As for `run`.
    cancel: unsafe fn(NonNull<Head<M>>),
    /// 2. As for `run`.
    schedule: unsafe fn(NonNull<Head<M>>, bool),
    /// 2. The task is done, and the caller is the handle. 3. It may write an `Option` of the outcome
    ///    there.
    take: unsafe fn(NonNull<Head<M>>, NonNull<()>),
    /// 2. The caller is the last one.
    free: unsafe fn(NonNull<Head<M>>),
}

impl<F, S, M> Task<F, S, M>
where
    F: Future + Send + 'static,
    F::Output: Send,
    S: Fn(Runnable<M>, bool) + Copy + Send + Sync + 'static,
    M: Send + Sync + 'static,
{
    const TABLE: Table<M> = Table {
        run: Self::run,
        cancel: Self::cancel,
        schedule: Self::schedule,
        take: Self::take,
        free: Self::free,
    };

    /// # Safety
    ///
    /// As for [`Table::run`].
    unsafe fn run(head: NonNull<Head<M>>) -> bool {
        let this = head.cast::<Self>();
        // SAFETY: by 1, and the reference of the run keeps it.
        let task = unsafe { this.as_ref() };
        if !task.head.state.begin() {
            // SAFETY: the run is under way.
            unsafe { Self::end(this, None) };
            return false;
        }
        // SAFETY: the table of wakers is for such a pointer. It is not dropped, so the run's
        // reference serves for it.
        let waker = unsafe { Waker::from_raw(raw_waker(head)) };
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
    fn poll(&self, cx: &mut Context<'_>) -> Poll<F::Output> {
        let poll = self.stage.with_mut(|stage| {
            // SAFETY: by T1 it is the run's.
            let Stage::Future(future) = (unsafe { &mut *stage }) else {
                unreachable!("a task that is not done has a future");
            };
            // SAFETY: it stays where it is until it is dropped there.
            let future = unsafe { Pin::new_unchecked(future) };
            self.take_point().pass();
            polling(|| future.poll(cx))
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
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| self.put(Stage::Gone))) {
            hosting::handle_stray_panic(payload);
        }
    }

    /// # Safety
    ///
    /// As for [`Table::cancel`].
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
    unsafe fn end(this: NonNull<Self>, result: Option<thread::Result<F::Output>>) {
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
    /// As for [`Table::schedule`].
    unsafe fn schedule(head: NonNull<Head<M>>, is_again: bool) {
        // A copy, since the task may be gone before the call is over.
        // SAFETY: by 1.
        let schedule = unsafe { head.cast::<Self>().as_ref() }.schedule;
        // By 2 it is the only one.
        schedule(Runnable { head }, is_again);
    }

    /// # Safety
    ///
    /// As for [`Table::take`].
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
    /// As for [`Table::free`].
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

// SAFETY: all that a run touches can be sent: `task` demands it.
unsafe impl<M: Send + Sync> Send for Runnable<M> {}

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
        unsafe { (this.head().table.run)(this.head) }
    }

    /// Queues it.
    #[inline]
    pub(crate) fn schedule(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: 1. its reference keeps the task. 2. It is the only one.
        unsafe { (this.head().table.schedule)(this.head, false) }
    }
}

impl<M: Send + Sync> Drop for Runnable<M> {
    fn drop(&mut self) {
        // SAFETY: 1. its reference keeps the task. 2. It is the only one, and gone.
        unsafe { (self.head().table.cancel)(self.head) }
    }
}

/// The handle of a task. Dropped, it lets the task go on.
pub(crate) struct Handle<T, M: Send + Sync + 'static> {
    head: NonNull<Head<M>>,
    output: PhantomData<T>,
}

// SAFETY: the handle hands on the output and drops what a run can.
unsafe impl<T: Send, M: Send + Sync> Send for Handle<T, M> {}
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
        unsafe { (self.head().table.take)(self.head, place) };
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
                    unsafe { (self.head().table.schedule)(self.head, false) }
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
                        // SAFETY: 1. nobody else has freed it. 2. Said by `leave_done`.
                        unsafe { (self.head().table.free)(self.head) }
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

/// The waker of a task, with a reference.
fn raw_waker<M: Send + Sync + 'static>(head: NonNull<Head<M>>) -> RawWaker {
    RawWaker::new(head.as_ptr().cast_const().cast(), Head::<M>::WAKER)
}

impl<M: Send + Sync + 'static> Head<M> {
    const WAKER: &'static RawWakerVTable = &RawWakerVTable::new(
        Self::clone_waker,
        Self::wake,
        Self::wake_by_ref,
        Self::drop_waker,
    );

    /// # Safety
    ///
    /// 1. The pointer is that of a waker of such a task.
    unsafe fn clone_waker(this: *const ()) -> RawWaker {
        // SAFETY: by 1 the waker's reference keeps it.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        unsafe { head.as_ref() }.state.add_waker();
        raw_waker(head)
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`. 2. The waker is gone.
    unsafe fn wake(this: *const ()) {
        // SAFETY: by 1 and 2 its reference is the caller's.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        let duty = unsafe { head.as_ref() }.state.wake(true);
        // SAFETY: 1. as above. 2. Said by `wake`.
        unsafe { Self::fulfil(head, duty) };
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`.
    unsafe fn wake_by_ref(this: *const ()) {
        // SAFETY: by 1 the waker's reference keeps it.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        let duty = unsafe { head.as_ref() }.state.wake(false);
        // SAFETY: 1. as above. 2. Said by `wake`.
        unsafe { Self::fulfil(head, duty) };
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`. 2. The waker is gone.
    unsafe fn drop_waker(this: *const ()) {
        // SAFETY: by 1 and 2 its reference is the caller's.
        let head = unsafe { Self::of(this) };
        // SAFETY: as above.
        let duty = unsafe { head.as_ref() }.state.leave();
        // SAFETY: 1. as above. 2. Said by `leave`.
        unsafe { Self::fulfil(head, duty) };
    }

    /// # Safety
    ///
    /// 1. As for `clone_waker`.
    unsafe fn of(this: *const ()) -> NonNull<Self> {
        // SAFETY: by 1 it came from `raw_waker`.
        unsafe { NonNull::new_unchecked(this.cast_mut().cast()) }
    }

    /// # Safety
    ///
    /// 1. Unless the duty is nothing, the task is there. 2. The duty is the caller's.
    #[inline]
    unsafe fn fulfil(head: NonNull<Self>, duty: Duty) {
        match duty {
            Duty::Nothing => {}
            // SAFETY: by 1, and by 2 the run's reference is the caller's.
            Duty::Queue => unsafe { (head.as_ref().table.schedule)(head, false) },
            // SAFETY: by 1, and by 2 the caller is the last.
            Duty::Free => unsafe { (head.as_ref().table.free)(head) },
        }
    }
}

/// Calls `op` with a waker, whose panic goes to the handler of the pool on whose worker this is.
fn held_back(op: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(op)) {
        hosting::handle_stray_panic(payload);
    }
}
