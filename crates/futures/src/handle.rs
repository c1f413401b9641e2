//! The handle of a spawned future.

use std::fmt;
use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use heist_core::hosting::{self, Host};
use heist_core::JoinError;
#[cfg(doc)]
use heist_core::ThreadPoolBuilder;
use heist_sync::process::Generation;

use crate::block_on::block_on;
use crate::polling::{self, poll_budget};
use crate::task::{Handle, Outcome};

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
#[must_use = "dropping the handle lets the future run on, and loses its output"]
pub struct FutureHandle<T> {
    /// `None` once it was aborted.
    task: Option<Handle<T, Host>>,
    /// The process whose workers run the future.
    born: Generation,
}

impl<T> FutureHandle<T> {
    pub(crate) fn new(task: Handle<T, Host>) -> Self {
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
        self.task.as_ref().is_none_or(Handle::is_done)
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
        if let Some(task) = self.task.take() {
            task.stop();
        }
    }
}

impl<T> Future for FutureHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let born = self.born;
        let Some(task) = self.task.as_mut() else {
            return Poll::Ready(Err(JoinError::Cancelled));
        };
        if !task.is_done() {
            hosting::demand_present(born);
        }
        ready!(poll_budget(cx));
        let Poll::Ready(outcome) = task.poll(cx) else {
            polling::give_back();
            return Poll::Pending;
        };
        Poll::Ready(outcome.map_or(Err(JoinError::Cancelled), Outcome::claim))
    }
}

impl<T> fmt::Debug for FutureHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FutureHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
