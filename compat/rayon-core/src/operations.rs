//! The free functions: they use the pool of the worker that calls them, or else the global pool,
//! which the first of them builds.
//!
//! Each does what heist's function of the same name does.

use heist_core::{BroadcastContext, FnContext, Scope, ScopeFifo, Yield};

use crate::global;

/// The most workers that a pool can have. A pool that was told more has so many, if the system
/// allows the process so many threads.
pub fn max_num_threads() -> usize {
    heist_core::max_num_threads()
}

/// How many workers the caller's pool has, or else the global pool, which is built if need be.
pub fn current_num_threads() -> usize {
    global::ensure();
    heist_core::current_num_threads()
}

/// The calling worker's index in its pool, or `None` on a thread that is no worker. Builds no pool.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    heist_core::current_thread_index()
}

/// Whether the calling worker's deque holds a job, or `None` on a thread that is no worker.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    heist_core::current_thread_has_pending_tasks()
}

/// Runs two closures, the second perhaps on another worker, and returns both results.
///
/// # Panics
///
/// Panics when both have ended, if one of them did; the first one's payload wins.
///
/// # Examples
///
/// ```
/// assert_eq!(rayon_core::join(|| 1 + 1, || 2 + 2), (2, 4));
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    global::ensure();
    heist_core::join(oper_a, oper_b)
}

/// As [`join`](join()), but tells each closure whether it was stolen.
///
/// # Panics
///
/// As [`join`](join()).
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    global::ensure();
    heist_core::join_context(oper_a, oper_b)
}

/// Runs a closure that can spawn jobs which borrow from its surroundings, and waits for them.
///
/// # Panics
///
/// Panics when all jobs have ended, if the closure or one of them did.
///
/// # Examples
///
/// ```
/// let mut squares = [1, 2, 3];
/// rayon_core::scope(|scope| {
///     for n in &mut squares {
///         scope.spawn(move |_| *n *= *n);
///     }
/// });
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    global::ensure();
    heist_core::scope(op)
}

/// As [`scope`](scope()), with jobs that start in the order in which a worker spawned them.
///
/// # Panics
///
/// As [`scope`](scope()).
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    global::ensure();
    heist_core::scope_fifo(op)
}

/// As [`scope`](scope()), but the closure runs on the calling thread.
///
/// # Panics
///
/// As [`scope`](scope()).
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    global::ensure();
    heist_core::in_place_scope(op)
}

/// As [`scope_fifo`](scope_fifo()), but the closure runs on the calling thread.
///
/// # Panics
///
/// As [`scope`](scope()).
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    global::ensure();
    heist_core::in_place_scope_fifo(op)
}

/// Queues a job that nobody waits for.
///
/// # Panics
///
/// A panic in the job goes to the pool's panic handler; without one it aborts the process.
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    global::ensure();
    heist_core::spawn(func);
}

/// As [`spawn`], but the jobs of one worker start in the order in which it spawned them.
///
/// # Panics
///
/// As [`spawn`].
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    global::ensure();
    heist_core::spawn_fifo(func);
}

/// Runs a closure once on each worker and returns the results in the order of their indices.
///
/// # Panics
///
/// Panics when all have ended, if the closure did somewhere.
///
/// # Examples
///
/// ```
/// let indices = rayon_core::broadcast(|context| context.index());
/// assert!(indices.iter().copied().eq(0..rayon_core::current_num_threads()));
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    global::ensure();
    heist_core::broadcast(op)
}

/// Queues a job for each worker; nobody waits for them.
///
/// # Panics
///
/// As [`spawn`].
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    global::ensure();
    heist_core::spawn_broadcast(op);
}

/// Runs one job, if there is one; `None` on a thread that is no worker.
pub fn yield_now() -> Option<Yield> {
    heist_core::yield_now()
}

/// Runs one job of the calling worker's own, if there is one; `None` on a thread that is no worker.
pub fn yield_local() -> Option<Yield> {
    heist_core::yield_local()
}
