//! Futures in a named pool.

use std::future::Future;

use heist_core::hosting::Host;
use heist_core::ThreadPool;
#[cfg(doc)]
use heist_core::{Callers, JoinError, ThreadPoolBuilder};

use crate::handle::FutureHandle;
use crate::local::spawn_local_in;
use crate::spawn::spawn_in;
#[cfg(doc)]
use crate::spawn_future;

/// Futures in a named pool; each method has an example.
pub trait SpawnFuture {
    /// As [`spawn_future`], in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::futures::{block_on, SpawnFuture};
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let index = pool.spawn_future(async { heist::current_thread_index() });
    /// assert_eq!(block_on(index).unwrap(), Some(0));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    fn spawn_future<F>(&self, future: F) -> FutureHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send;

    /// Runs a future that need not be [`Send`] on the worker with this index: it is made there,
    /// polled only there, and dropped there.
    ///
    /// No thread from outside may take that worker's place meanwhile, so the pool must be one whose
    /// [callers move](Callers::Move). When the pool ends, each worker drops its local futures,
    /// before its exit handler, and their handles say [`Cancelled`](JoinError::Cancelled); a thread
    /// of [`use_current_thread`](ThreadPoolBuilder::use_current_thread) drops them when the thread
    /// ends. Until then a local future is kept that is pending with neither a waker nor a handle
    /// left; [abort](FutureHandle::abort) those that nobody will wake.
    ///
    /// A worker polls its local futures in the order in which they were woken, after its own jobs
    /// (61 of them at most), and also in the middle of a job that waits
    /// for something else.
    ///
    /// # Panics
    ///
    /// Panics if the pool has no such worker, or is open to callers.
    ///
    /// # Cost
    ///
    /// Three allocations, and one for each wake-up.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use heist::futures::{block_on, yield_now, SpawnFuture};
    ///
    /// let builder = heist::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.callers(heist::Callers::Move).build()?;
    /// let handle = pool.spawn_local_on(1, || async {
    ///     let count = Rc::new(Cell::new(0)); // stays on the worker's thread
    ///     while count.get() < 3 {
    ///         count.set(count.get() + 1);
    ///         yield_now().await;
    ///     }
    ///     (count.get(), heist::current_thread_index())
    /// });
    /// assert_eq!(block_on(handle).unwrap(), (3, Some(1)));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    fn spawn_local_on<F>(
        &self,
        worker: usize,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> FutureHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: Send;
}

impl SpawnFuture for ThreadPool {
    fn spawn_future<F>(&self, future: F) -> FutureHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        spawn_in(Host::of(self), future)
    }

    fn spawn_local_on<F>(
        &self,
        worker: usize,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> FutureHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: Send,
    {
        spawn_local_in(Host::of(self), worker, make)
    }
}
