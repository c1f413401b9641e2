//! The handle of a pool: what a program holds, and every operation on it.

use crate::broadcast::{self, BroadcastContext};
use crate::join::join;
use crate::pool::Pool;
use crate::scope::{self, Scope, ScopeFifo};
use crate::spawn;
use crate::worker::Worker;
use crate::yielding::Yield;
use heist_event::{PoolCounters, WorkerEvents};
use heist_sync::BarrierMode;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A pool of workers.
///
/// Dropping the handle ends the pool without waiting: what was spawned, and
/// what that spawns, still runs; then the threads end. To wait for that, call
/// [`shutdown`](Self::shutdown).
///
/// # Forked processes
///
/// A child made by `fork` has one thread, so the workers of a pool that it inherits
/// are not there. In the child, whatever would wait for them panics and says so; the
/// global pool is no exception. Dropping the handle is fine, and so is building
/// another pool. In the child of a job that calls `fork` the thread is no worker any
/// more; such a child must end in the job, by `exec` or `exit`, and is aborted when
/// it comes back to the pool.
///
/// # Examples
///
/// ```
/// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (a, b) = pool.join(|| 1 + 1, || 2 + 2);
/// assert_eq!((a, b), (2, 4));
/// # Ok::<(), heist_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pool: Arc<Pool>,
}

/// Runs `op` on a worker of the calling worker's pool, which is the caller itself, or
/// else of the global pool, as [`ThreadPool::take_part`] does.
///
/// Many small operations from outside cost less inside of one such call.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Examples
///
/// ```
/// let index = heist_core::take_part(heist_core::current_thread_index);
/// assert!(index.is_some());
/// ```
pub fn take_part<OP, R>(op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    match Worker::current() {
        Some(_) => op(),
        None => Pool::global().take_part(|_, _| op()),
    }
}

/// The counters of the calling worker's pool since it was built, or else
/// those of the global pool: see [`ThreadPool::counters`].
///
/// # Examples
///
/// ```
/// heist_core::join(|| 1, || 2);
/// assert!(heist_core::counters().total().pushes >= 1);
/// ```
#[must_use]
pub fn counters() -> PoolCounters {
    Pool::here().counters()
}

/// The recorded events of the calling worker's pool, or else of the global pool: see
/// [`ThreadPool::events`]. `HEIST_RECORD_EVENTS` lets that record some.
///
/// # Examples
///
/// ```
/// heist_core::ThreadPoolBuilder::new().record_events(100).build_global()?;
/// heist_core::join(|| 1, || 2);
/// assert_eq!(heist_core::events().len(), heist_core::current_num_threads());
/// # Ok::<(), heist_core::ThreadPoolBuildError>(())
/// ```
#[must_use]
pub fn events() -> Vec<WorkerEvents> {
    Pool::here().events()
}

impl ThreadPool {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { pool }
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Runs `op` on a worker of this pool and returns its result. Operations
    /// that `op` calls run in this pool.
    ///
    /// Called on a worker of this pool, `op` runs in place. Called on a worker
    /// of another pool, that worker runs its own pool's jobs while it waits, those that it
    /// may run [while it waits](crate::Waiting). Called elsewhere, the thread blocks.
    ///
    /// # Deadlocks
    ///
    /// Between pools that wait for [descendants](crate::Waiting::Descendants) only, calls
    /// that go back and forth take a worker or a spare for each: more of them, one in the
    /// other, than the pools have wait for ever.
    ///
    /// # Panics
    ///
    /// Panics if `op` does, with the same payload.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// let index = pool.install(heist_core::current_thread_index);
    /// assert!(index.unwrap() < 3);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.in_worker(|_, _| op())
    }

    /// As [`install`](Self::install), but a caller from outside takes part: `op`
    /// runs on the calling thread, which sits on the seat of a sleeping worker
    /// meanwhile and is a worker like any other. If none sleeps, or the pool is
    /// [not open](crate::ThreadPoolBuilder::callers_take_part) to callers, `op` moves
    /// into the pool.
    ///
    /// # Panics
    ///
    /// Panics if `op` does.
    ///
    /// # Cost
    ///
    /// About a tenth of a microsecond, where `install` takes some microseconds for
    /// two changes of threads. Others are woken when the work has lasted a few
    /// microseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let here = std::thread::current().id();
    /// # while pool.counters().total().sleeps < 2 { std::thread::yield_now(); }
    /// assert_eq!(pool.take_part(|| std::thread::current().id()), here);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn take_part<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.take_part(|_, _| op())
    }

    /// [`join`](crate::join) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.take_part(|| join(a, b))
    }

    /// [`scope`](crate::scope) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut done = false;
    /// pool.scope(|scope| scope.spawn(|_| done = true));
    /// assert!(done);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.take_part(|| scope::scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut done = false;
    /// pool.scope_fifo(|scope| scope.spawn_fifo(|_| done = true));
    /// assert!(done);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.take_part(|| scope::scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope) whose jobs run in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let here = std::thread::current().id();
    /// pool.in_place_scope(|scope| {
    ///     assert_eq!(std::thread::current().id(), here);
    ///     scope.spawn(move |_| assert_ne!(std::thread::current().id(), here));
    /// });
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_in(&self.pool, op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) whose jobs run in
    /// this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let n = pool.in_place_scope_fifo(|scope| {
    ///     scope.spawn_fifo(|_| ());
    ///     1
    /// });
    /// assert_eq!(n, 1);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_in(&self.pool, op)
    }

    /// [`spawn`](crate::spawn) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn(move || say.send(42).unwrap());
    /// assert_eq!(heard.recv(), Ok(42));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(&self.pool, op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn_fifo(move || say.send(42).unwrap());
    /// assert_eq!(heard.recv(), Ok(42));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_fifo_in(&self.pool, op);
    }

    /// [`broadcast`](crate::broadcast) to the workers of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(&self.pool, op)
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) to the workers of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| say.send(context.num_threads()).unwrap());
    /// assert_eq!(heard.iter().collect::<Vec<_>>(), [2, 2]);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(&self.pool, op);
    }

    /// How many workers the pool has.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_num_threads(), 2);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn current_num_threads(&self) -> usize {
        self.pool.len()
    }

    /// The calling worker's index, or `None` on any thread that is not a
    /// worker of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert!(pool.install(|| pool.current_thread_index()).is_some());
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool.current_worker().map(Worker::index)
    }

    /// Whether the calling worker's deque holds a job, or `None` on any thread
    /// that is not a worker of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_has_pending_tasks(), None);
    /// assert_eq!(pool.install(|| pool.current_thread_has_pending_tasks()), Some(false));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.pool.current_worker().map(Worker::has_pending)
    }

    /// [`yield_now`](crate::yield_now), or `None` on any thread that is not a
    /// worker of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.yield_now(), None);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool.current_worker().map(Yield::to_any)
    }

    /// [`yield_local`](crate::yield_local), or `None` on any thread that is not
    /// a worker of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.install(|| pool.yield_local()), Some(heist_core::Yield::Idle));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool.current_worker().map(Yield::to_own)
    }

    /// What the workers have done since the pool was built.
    ///
    /// Reading costs the workers nothing but the cache lines. To see what a
    /// piece of work did, take a snapshot before it and one after, and
    /// subtract: [`PoolCounters::since`].
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let before = pool.counters();
    /// pool.join(|| (), || ());
    /// let done = pool.counters().since(&before).total();
    /// assert_eq!(done.pushes, 1);
    /// assert_eq!(done.pops + done.steals, 1);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn counters(&self) -> PoolCounters {
        self.pool.counters()
    }

    /// The recorded events of each worker, oldest first; empty unless the pool
    /// was built with [`record_events`](crate::ThreadPoolBuilder::record_events).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().record_events(1 << 10).build()?;
    /// pool.install(|| ());
    /// let events: usize = pool.events().iter().map(|worker| worker.events.len()).sum();
    /// assert!(events > 0);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn events(&self) -> Vec<WorkerEvents> {
        self.pool.events()
    }

    /// The moment from which the times of [`events`](Self::events) count, or
    /// `None` if none are recorded or the system has no clock.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert!(pool.recorder_started().is_none());
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn recorder_started(&self) -> Option<Instant> {
        self.pool.recorder_started()
    }

    /// Which barriers the pool runs on: see the variable `HEIST_BARRIER`.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// println!("idle workers rely on {}", pool.barrier_mode());
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn barrier_mode(&self) -> BarrierMode {
        self.pool.sleep.barrier().mode()
    }

    /// Ends the pool and waits: returns when everything that was spawned, and
    /// what that spawned, has run and every worker has called its exit handler.
    ///
    /// # Panics
    ///
    /// Panics on a worker of this pool, which would wait for itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    /// let pool = heist_core::ThreadPoolBuilder::new().build()?;
    /// let ran = Arc::new(AtomicUsize::new(0));
    /// for _ in 0..100 {
    ///     let ran = Arc::clone(&ran);
    ///     pool.spawn(move || { ran.fetch_add(1, Ordering::Relaxed); });
    /// }
    /// pool.shutdown();
    /// assert_eq!(ran.load(Ordering::Relaxed), 100);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn shutdown(self) {
        assert!(
            self.pool.current_worker().is_none(),
            "a worker asked its own pool to shut down and wait for it; call shutdown from outside the pool, or drop the handle"
        );
        let pool = Arc::clone(&self.pool);
        drop(self);
        pool.wait_until_ended();
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.pool.release();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &Arc::as_ptr(&self.pool))
            .finish()
    }
}
