//! The handle of a pool: heist's, under rayon's name.

use std::fmt;

use heist_core::{BroadcastContext, Scope, ScopeFifo, Yield};

/// A pool of workers. Dropping the handle ends it without waiting: what was spawned still runs.
///
/// Each method does what the free function of the same name does, in this pool.
///
/// # Examples
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.join(|| 1 + 1, || 2 + 2), (2, 4));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    inner: heist_core::ThreadPool,
}

impl ThreadPool {
    pub(crate) fn from_heist(inner: heist_core::ThreadPool) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &heist_core::ThreadPool {
        &self.inner
    }

    /// Runs `op` on a worker of this pool and returns its result.
    ///
    /// # Panics
    ///
    /// Panics if `op` does, with the same payload.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.inner.install(op)
    }

    /// As [`broadcast`](crate::broadcast()).
    ///
    /// # Panics
    ///
    /// Panics when all have ended, if `op` did somewhere.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.inner.broadcast(op)
    }

    /// How many workers the pool has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.inner.current_num_threads()
    }

    /// The calling worker's index, if it is one of this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.inner.current_thread_index()
    }

    /// Whether the calling worker's deque holds a job, if it is one of this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.inner.current_thread_has_pending_tasks()
    }

    /// As [`join`](crate::join()).
    ///
    /// # Panics
    ///
    /// Panics when both have ended, if one of them did.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.inner.join(oper_a, oper_b)
    }

    /// As [`scope`](crate::scope()).
    ///
    /// # Panics
    ///
    /// Panics when all jobs have ended, if `op` or one of them did.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.inner.scope(op)
    }

    /// As [`scope_fifo`](crate::scope_fifo()).
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.inner.scope_fifo(op)
    }

    /// As [`in_place_scope`](crate::in_place_scope()).
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.inner.in_place_scope(op)
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo()).
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.inner.in_place_scope_fifo(op)
    }

    /// As [`spawn`](crate::spawn()).
    ///
    /// # Panics
    ///
    /// A panic in the job goes to the pool's panic handler; without one it aborts the process.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.inner.spawn(op);
    }

    /// As [`spawn_fifo`](crate::spawn_fifo()).
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.inner.spawn_fifo(op);
    }

    /// As [`spawn_broadcast`](crate::spawn_broadcast()).
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.inner.spawn_broadcast(op);
    }

    /// As [`yield_now`](crate::yield_now()); `None` on a thread that is no worker of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        self.inner.yield_now()
    }

    /// As [`yield_local`](crate::yield_local()); `None` on a thread that is no worker of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        self.inner.yield_local()
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
