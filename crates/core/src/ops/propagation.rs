//! `with_propagation`: surroundings of a call, which follow its work.

use std::sync::Arc;

use crate::base::around::Around;
use crate::base::region::Context;
use crate::state::Pool;

/// Calls `op` inside `around`, and with it all that `op` begins, wherever and whenever that runs:
/// halves of joins, jobs of scopes and groups, parts of loops, jobs that it spawns or submits and
/// that outlive it, calls in other pools, futures.
///
/// That is for what a thread has and its jobs should see: the span of a tracing library, the handle
/// of an asynchronous runtime, a value in a thread-local variable. It is entered once for each job
/// that moves or comes later, and not again for those that run where it is in force. Calls nest,
/// and their surroundings are entered in the order of the calls, the outermost first.
///
/// Nothing else is to see it. So a frame in there that waits runs what it has begun itself and no
/// other job, as with [`Waiting::Descendants`](crate::Waiting::Descendants), and so does
/// [`yield_now`](crate::yield_now). In a pool that has
/// [compensation workers](crate::ThreadPoolBuilder::compensation_workers) one of them works in its
/// place meanwhile; in others the place stays empty.
///
/// # Exceptions
///
/// Some jobs run on top of such a frame because they, or the frame, might wait for ever otherwise.
/// They are in their own surroundings, and these inside the frame's:
///
/// - one from elsewhere that the frame [joins](crate::JoinHandle::join), before it has begun;
/// - while it waits for a handle, a [group](crate::TaskGroup) or a [strand](crate::Strand): what
///   the same job has spawned before this call, and the jobs of others in a strand that it serves;
/// - a future from elsewhere that was woken there;
/// - a job for [every](crate::broadcast()) worker, or only for [this one](crate::JobBuilder::only_on).
///
/// An external caller participates in the global pool, as in [`join`](crate::join()).
///
/// # Panics
///
/// Panics if `op` does. If `around` panics before it has called what it is given, or does not call
/// it, the job that it was for does not run, and has panicked in its place: this call, or the one
/// that waits for that job. A panic after the job has ended is this call's, or goes to the pool's
/// [panic handler](crate::ThreadPoolBuilder::panic_handler).
///
/// # Cost
///
/// One allocation, and some tens of nanoseconds; as much for each job that is stolen or comes
/// later, beside the cost of `around`. A join or a push in `op` costs nothing more.
///
/// # Examples
///
/// Jobs start tasks of an asynchronous runtime:
///
/// ```
/// # use heist_core as heist;
/// # struct Handle;
/// # impl Handle {
/// #     fn enter(&self) -> Handle { Handle }
/// # }
/// # let handle = Handle;
/// use std::sync::Arc;
///
/// let runtime = Arc::new(move |run: &mut dyn FnMut()| {
///     let _entered = handle.enter(); // of tokio's `Handle`
///     run();
/// });
/// heist::with_propagation(runtime, || {
///     heist::join(|| println!("here"), || println!("and there"));
/// });
/// ```
#[track_caller]
pub fn with_propagation<OP, R>(around: Arc<dyn Around>, op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| {
        let context = Context::around(around, worker.context().cloned());
        worker.within(Some(context), op)
    })
}
