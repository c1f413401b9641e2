//! The handle of a spawned future.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use async_task::FallibleTask;
use heist_core::hosting::{self, Host, Point};
use heist_core::JoinError;
#[cfg(doc)]
use heist_core::ThreadPoolBuilder;
use heist_sync::process::Generation;
use heist_sync::thread;

use crate::block_on::block_on;
use crate::polling::{self, poll_budget};
use crate::shield::shielded;

/// A handle to the output of a spawned future, which it awaits: see
/// [`spawn_future`](crate::spawn_future).
///
/// Awaited once more, after it gave the output, it says [`Cancelled`](JoinError::Cancelled).
///
/// Dropping the handle lets the future run on. A panic that nobody awaits goes to the pool's
/// [panic handler](ThreadPoolBuilder::panic_handler), and so does one of the waker of another
/// executor, or of the destructor of an output that nobody takes, if that is on a worker.
///
/// # Panics
///
/// In a child made by `fork`, polling the handle of one of the parent's futures panics, unless that
/// has ended.
///
/// # Cost
///
/// Where a handle is polled with another waker than that of a future of this crate, as in
/// combinators of many futures and on other executors, each such poll allocates once.
#[must_use = "dropping the handle lets the future run on, and loses its output"]
pub struct FutureHandle<T> {
    /// `None` once it was aborted.
    task: Option<FallibleTask<Outcome<T>, Host>>,
    /// The process whose workers run the future.
    born: Generation,
}

impl<T> FutureHandle<T> {
    pub(crate) fn new(task: FallibleTask<Outcome<T>, Host>) -> Self {
        let (task, born) = (Some(task), Generation::present());
        Self { task, born }
    }

    /// Waits for the output: a worker runs jobs meanwhile, any other thread blocks.
    ///
    /// # Panics
    ///
    /// Panics if the future did, with the same payload, and if it was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(heist::futures::spawn_future(async { "done" }).join(), "done");
    /// ```
    pub fn join(self) -> T {
        match block_on(self) {
            Ok(output) => output,
            Err(JoinError::Panicked(payload)) => panic::resume_unwind(payload.into_inner()),
            Err(_) => {
                panic!("a future was joined that was cancelled; await its handle, or keep its pool")
            }
        }
    }

    /// True if the future has ended, or was aborted.
    ///
    /// # Examples
    ///
    /// ```
    /// let handle = heist::futures::spawn_future(async {});
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(FallibleTask::is_finished)
    }

    /// Stops the future: it is not polled again after a poll that is under way, and a worker drops
    /// it. From now on the handle says [`Cancelled`](JoinError).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::futures::{block_on, spawn_future, JoinError};
    /// let mut handle = spawn_future(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(matches!(block_on(handle), Err(JoinError::Cancelled)));
    /// ```
    pub fn abort(&mut self) {
        self.task = None;
    }
}

impl<T> Future for FutureHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let born = self.born;
        let Some(task) = self.task.as_mut() else {
            return Poll::Ready(Err(JoinError::Cancelled));
        };
        if !task.is_finished() {
            hosting::demand_present(born);
        }
        ready!(poll_budget(cx));
        let Poll::Ready(outcome) = shielded(cx, |cx| Pin::new(task).poll(cx)) else {
            polling::give_back();
            return Poll::Pending;
        };
        Poll::Ready(outcome.map_or(Err(JoinError::Cancelled), Outcome::claim))
    }
}

impl<T> Drop for FutureHandle<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.detach();
        }
    }
}

impl<T> fmt::Debug for FutureHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FutureHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

/// How a future ended, until somebody claims it, and where: whoever claims it comes behind that.
pub(crate) struct Outcome<T> {
    end: End<T>,
    point: Point,
}

enum End<T> {
    Ready(Output<T>),
    Panicked(Unclaimed),
}

/// An output until it is taken. A panic of its drop is held back.
struct Output<T>(Option<T>);

impl<T> Drop for Output<T> {
    fn drop(&mut self) {
        let output = self.0.take();
        if !mem::needs_drop::<T>() {
            return;
        }
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(output))) {
            hosting::handle_stray_panic(payload);
        }
    }
}

impl<T> Outcome<T> {
    /// The outcome of a poll on a worker.
    pub(crate) fn new(result: thread::Result<T>) -> Self {
        let end = match result {
            Ok(output) => End::Ready(Output(Some(output))),
            Err(payload) => End::Panicked(Unclaimed {
                host: Host::current(),
                payload: Some(payload),
            }),
        };
        let point = Point::here();
        Self { end, point }
    }

    fn claim(self) -> Result<T, JoinError> {
        self.point.pass();
        match self.end {
            End::Ready(mut output) => Ok(output.0.take().expect("it is taken once")),
            End::Panicked(mut panic) => {
                let payload = panic.payload.take().expect("it is claimed once");
                Err(JoinError::Panicked(payload.into()))
            }
        }
    }
}

/// A panic, which the pool's handler gets unless somebody claims it.
struct Unclaimed {
    host: Host,
    payload: Option<Box<dyn Any + Send>>,
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(payload) = self.payload.take() {
            self.host.handle_panic(payload);
        }
    }
}
