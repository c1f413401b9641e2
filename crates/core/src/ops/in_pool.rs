//! The operations in a pool that is named.

use crate::ops::broadcast::{self, BroadcastContext};
use crate::ops::job::JobBuilder;
use crate::ops::join::join;
use crate::ops::scope::{self, Scope, ScopeFifo};
use crate::ops::spawn;
use crate::ops::submit::{self, JoinHandle};
use crate::ops::yielding::Yield;
use crate::pool::ThreadPool;
use crate::state::Place;

impl ThreadPool {
    /// Runs `op` on a worker of this pool and returns its result. Operations that `op` calls run in
    /// this pool.
    ///
    /// Called on a worker of this pool, `op` runs in place. Called on a worker of another pool,
    /// that worker runs its own pool's jobs while it waits, those that it may run [while it
    /// waits](crate::Waiting). Called elsewhere, the thread blocks.
    ///
    /// # Deadlocks
    ///
    /// Between pools that wait for [descendants](crate::Waiting::Descendants) only, nested calls
    /// that go back and forth each hold a worker or a compensation worker; when the pools have no
    /// more, they wait for ever.
    ///
    /// # Panics
    ///
    /// Panics if `op` does, with the same payload.
    ///
    /// # Cost
    ///
    /// Nothing on a worker of this pool; otherwise a lock, and two changes of threads of some
    /// microseconds each if the workers sleep. Nothing is allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// let index = pool.install(heist::current_thread_index);
    /// assert!(index.unwrap() < 3);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool().in_worker(|_, _| op())
    }

    /// As [`install`](Self::install), but an external caller participates: `op` runs on the calling
    /// thread, which takes the place of a sleeping worker meanwhile and is a worker like any other.
    /// If none sleeps, or the pool is [not open](crate::Callers::Move) to callers, `op` moves into
    /// the pool.
    ///
    /// # Panics
    ///
    /// Panics if `op` does.
    ///
    /// # Cost
    ///
    /// About a tenth of a microsecond, where `install` takes some microseconds for two changes of
    /// threads. Others are woken when the work has lasted a few microseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let here = std::thread::current().id();
    /// # while pool.counters().total().sleeps < 2 { std::thread::yield_now(); }
    /// assert_eq!(pool.participate(|| std::thread::current().id()), here);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn participate<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool().participate(|_, _| op())
    }

    /// [`join`] in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.participate(|| join(a, b))
    }

    /// [`scope`](crate::scope) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut done = false;
    /// pool.scope(|scope| scope.spawn(|_| done = true));
    /// assert!(done);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.participate(|| scope::scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let mut done = false;
    /// pool.scope_fifo(|scope| scope.spawn_fifo(|_| done = true));
    /// assert!(done);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.participate(|| scope::scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope) whose jobs run in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let here = std::thread::current().id();
    /// pool.in_place_scope(|scope| {
    ///     assert_eq!(std::thread::current().id(), here);
    ///     scope.spawn(move |_| assert_ne!(std::thread::current().id(), here));
    /// });
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_in(self.pool(), op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) whose jobs run in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let n = pool.in_place_scope_fifo(|scope| {
    ///     scope.spawn_fifo(|_| ());
    ///     1
    /// });
    /// assert_eq!(n, 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_in(self.pool(), op)
    }

    /// [`spawn`](crate::spawn) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn(move || say.send(42).unwrap());
    /// assert_eq!(heard.recv(), Ok(42));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(self.pool(), op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn_fifo(move || say.send(42).unwrap());
    /// assert_eq!(heard.recv(), Ok(42));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_fifo_in(self.pool(), op);
    }

    /// [`spawn_on`](crate::spawn_on) in this pool.
    ///
    /// # Panics
    ///
    /// Panics if the pool has no worker with this index.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn_on(0, move || say.send(42).unwrap());
    /// assert_eq!(heard.recv(), Ok(42));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<OP>(&self, worker: usize, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_at(self.pool(), Place::Near(worker), op);
    }

    /// [`broadcast`](crate::broadcast) to the workers of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(self.pool(), op)
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) to the workers of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| say.send(context.num_threads()).unwrap());
    /// assert_eq!(heard.iter().collect::<Vec<_>>(), [2, 2]);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(self.pool(), op);
    }

    /// [`yield_now`](crate::yield_now), or `None` on any thread that is not a worker of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.yield_now(), None);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool().current_worker().map(Yield::to_any)
    }

    /// [`yield_local`](crate::yield_local), or `None` on any thread that is not a worker of this
    /// pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.install(|| pool.yield_local()), Some(heist::Yield::Idle));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool().current_worker().map(Yield::to_own)
    }

    /// [`submit`](crate::submit) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.submit(|| 6 * 7).join(), 42);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn submit<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        submit::submit_in(self.pool(), job)
    }

    /// [`job`](crate::job()) in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.job().submit(|| 6 * 7).join(), 42);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn job(&self) -> JobBuilder<'_> {
        JobBuilder::in_pool(Some(self.pool()))
    }
}
