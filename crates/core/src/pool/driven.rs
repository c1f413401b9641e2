//! Driven workers: the builder's method.

use std::future::Future;
use std::pin::Pin;

use crate::pool::builder::ThreadPoolBuilder;
use crate::state::Drive;

impl<S> ThreadPoolBuilder<S> {
    /// Has a function of the program's drive the workers: each worker's thread calls `drive` once,
    /// with the worker's main loop as a future, which is ready when the pool has ended.
    ///
    /// A worker sleeps until there is a job for it. One that is driven waits in `drive` instead,
    /// where it can wait for other things as well: with `block_on` of a reactor, for sockets and
    /// timers. Then the futures that these wake are run by the thread that has waited, and not by
    /// another that has to be woken first, which takes longer than most of them last. It is the
    /// thread of an asynchronous runtime, and the jobs in such a pool should be as brief as there:
    /// while a worker computes, or waits inside a job, `drive` has no turn.
    ///
    /// So a program that serves and computes has two pools, a small one whose workers are driven,
    /// and another for what takes more than some tens of microseconds, such as loops. A job of the
    /// one is awaited in the other.
    ///
    /// The main loop is pending while the worker has nothing to do, and every 200 us between two
    /// jobs. Jobs that `drive` queues in its turn, and futures that it wakes, come behind the
    /// worker's others, in their order. `drive` may poll the main loop at any time. It may call any
    /// operation of heist in between, as wakers do, but must not wait for a job of this pool: the
    /// worker that runs it may be this one. After such an operation the worker is polled before it
    /// rests again, so a `drive` that calls one each time before it waits, as heist's own
    /// `block_on` of a future does, keeps a processor busy. If `drive` returns early, the worker
    /// goes on without it. If it panics, the process ends; and it does so by `spawn` and its like,
    /// as an [exit handler](Self::exit_handler) does, in the moment in which the pool has ended and
    /// the main loop is not ready yet. To wake a future is safe then. The last worker drops `drive`
    /// when the pool has ended; a reactor that it holds ends with it, and wakes those who wait. A
    /// destructor there, such as that of a task of the reactor's, ends the process as `drive` would
    /// if it panics or spawns.
    ///
    /// Callers do not [participate](crate::Callers::Participate) in place of such workers. In
    /// these cases workers sleep as usual: in place of one that [blocks](crate::blocking) or
    /// waits; with [`use_current_thread`](Self::use_current_thread), which has no main loop; while
    /// [fewer are active](crate::ThreadPool::set_active_threads); in a schedule
    /// (`HEIST_SCHEDULE`). A [serial](Self::serial) pool has no worker to drive.
    ///
    /// # Cost
    ///
    /// A worker that wakes up calls a waker and is polled, in place of a call of the system. While
    /// others in the pool work, a worker that falls asleep interrupts them for a microsecond or
    /// two, which others delay. Where the system has no membarrier, one sleeper of the pool looks
    /// for jobs every millisecond while others work, and its `drive` waits meanwhile.
    ///
    /// # Examples
    ///
    /// The crate `heist-futures` has one with sockets, in its module `io`. Here `drive` is the
    /// simplest there is:
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::pin::Pin;
    /// use std::sync::Arc;
    /// use std::task::{Context, Wake, Waker};
    /// use std::thread::{self, Thread};
    ///
    /// struct Unpark(Thread);
    /// impl Wake for Unpark {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// fn block_on(mut main_loop: Pin<&mut dyn Future<Output = ()>>) {
    ///     let waker = Waker::from(Arc::new(Unpark(thread::current())));
    ///     let mut context = Context::from_waker(&waker);
    ///     while main_loop.as_mut().poll(&mut context).is_pending() {
    ///         thread::park(); // or wait for whatever else there is
    ///     }
    /// }
    /// # use std::future::Future;
    ///
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).drive_workers(block_on).build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn drive_workers<F>(mut self, drive: F) -> Self
    where
        F: Fn(Pin<&mut dyn Future<Output = ()>>) + Send + Sync + 'static,
    {
        self.0.handlers.drive = Some(Drive::new(drive));
        self
    }
}
