//! `broadcast`: one closure on every worker of a pool.

use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::sync::Arc;

use heist_sync::thread;

use crate::base::job_ref::{HeapJob, JobRef, StackJob};
use crate::base::latch::LatchRef;
use crate::base::region::Context;
use crate::base::unwind;
use crate::insight::call::{run_later, unjoined, Call};
use crate::insight::site::Site;
use crate::ops::cancellation::checkpoint;
use crate::state::Pool;
use crate::worker::latch::CountLatch;
use crate::worker::needed;
use crate::worker::region;
use crate::worker::Worker;

/// Runs `op` once on each worker of the calling worker's pool, or else of the global pool, and
/// returns the results in the order of the workers' indices.
///
/// Each worker runs it when it has nothing left in its own deque, before it steals. The caller
/// waits; if it is a worker, it helps meanwhile.
///
/// # Panics
///
/// If calls of `op` panic, `broadcast` panics with the payload of one of them, once all have ended.
/// Panics on a worker whose pool is ending.
///
/// # Cost
///
/// Two allocations, a lock for each worker's mailbox, and a wake-up for each worker that sleeps.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
/// let squares = pool.broadcast(|context| context.index() * context.index());
/// assert_eq!(squares, [0, 1, 4]);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(&Pool::current(), op)
}

/// Queues `op` once for each worker of the calling worker's pool, or else of the global pool, and
/// returns at once.
///
/// # Panics
///
/// A panic in `op` goes to the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler).
///
/// # Cost
///
/// One allocation for `op`; for each worker another one, a lock of its mailbox, and a wake-up if it
/// sleeps.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (say, heard) = std::sync::mpsc::channel();
/// pool.spawn_broadcast(move |context| say.send(context.index()).unwrap());
/// let mut indices: Vec<_> = heard.iter().take(2).collect();
/// indices.sort();
/// assert_eq!(indices, [0, 1]);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(&Pool::current(), op);
}

/// The worker that a broadcast has reached: the argument of the closures of
/// [`broadcast`](broadcast()) and [`spawn_broadcast`], where the examples are.
pub struct BroadcastContext<'a> {
    worker: &'a Worker,
    /// Describes the present thread only: neither `Send` nor `Sync`.
    here: PhantomData<&'a mut dyn Fn()>,
}

impl<'a> BroadcastContext<'a> {
    /// Calls `op` with the context of the worker that this job runs on.
    pub(crate) fn with<R>(op: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        let worker = Worker::current().expect("jobs run on workers");
        op(BroadcastContext {
            worker,
            here: PhantomData,
        })
    }

    /// The worker's index in the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// The number of workers that the broadcast reaches.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.broadcast(|context| context.num_threads()), [2, 2]);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn num_threads(&self) -> usize {
        self.worker.pool().len()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool_id", &std::ptr::from_ref(self.worker.pool()))
            .finish()
    }
}

/// Calls `op` in this context, unless that is cancelled.
pub(crate) fn within_checked<R>(context: Option<Arc<Context>>, op: impl FnOnce() -> R) -> R {
    region::within(context, || {
        checkpoint();
        op()
    })
}

pub(crate) fn broadcast_in<OP, R>(pool: &Arc<Pool>, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let caller = Worker::current();
    let latch = CountLatch::new(pool.len(), caller);
    let is_needed = needed::is_needed_here();
    let context = pool.inherited();
    let call = Call::new(pool.metered, const { &Site::of::<OP>("broadcast") });
    let run = || {
        BroadcastContext::with(|broadcast| {
            let worker = broadcast.worker;
            let op = || within_checked(context.clone(), || op(broadcast));
            call.run(|| worker.as_mail(is_needed, op))
        })
    };
    let jobs: Vec<_> = (0..pool.len())
        .map(|_| StackJob::new(run, LatchRef(&latch)))
        .collect();
    // SAFETY: `jobs` stays in place until the latch is set; `op` is Sync and its results are Send.
    pool.post(jobs.iter().map(|job| unsafe { job.as_job_ref() }));
    latch.wait(caller, None, Worker::next_slot);
    // Not before: a worker of a pool whose handle is gone would wait for workers that have ended.
    pool.release();

    let mut panicked = None;
    let mut results = Vec::with_capacity(jobs.len());
    for job in &jobs {
        // SAFETY: the latch is set, and each result is taken once.
        let result: thread::Result<R> = unsafe { job.take_result() };
        match result {
            Ok(result) => results.push(result),
            Err(payload) => {
                panicked = Some(match panicked {
                    None => payload,
                    Some(first) => unwind::first(first, payload),
                });
            }
        }
    }
    match panicked {
        None => results,
        Some(payload) => {
            unwind::discard(results);
            unwind::resume(payload)
        }
    }
}

/// A job of a broadcast for which the caller does not wait: it keeps the pool until it has run, and
/// so a worker that comes for it.
///
/// # Safety
///
/// 1. All that it borrows is there until it has run.
/// 2. It does not unwind.
pub(crate) unsafe fn job_that_keeps<J>(pool: &Arc<Pool>, job: J) -> JobRef
where
    J: FnOnce(&Pool) + Send,
{
    pool.keep_alive();
    let pool = Arc::clone(pool);
    let job = move || {
        job(&pool);
        pool.release();
    };
    // SAFETY: handed on.
    unsafe { HeapJob::into_job_ref(job) }
}

pub(crate) fn spawn_broadcast_in<OP>(pool: &Arc<Pool>, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let start = unjoined(pool.metered, const { &Site::of::<OP>("broadcast") });
    let ops = iter::repeat_n((Arc::new(op), pool.inherited(), start), pool.len());
    let is_needed = needed::is_needed_here();
    let references = ops.map(|(op, context, start)| {
        let job = move |pool: &Pool| {
            let op = move || BroadcastContext::with(&*op);
            let op = || run_later(&start, None, || within_checked(context, op));
            let worker = Worker::current().expect("jobs run on workers");
            worker.as_mail(is_needed, || {
                if let Err(payload) = unwind::catch_job(op) {
                    pool.handle_panic(payload);
                }
            });
        };
        // SAFETY: 1. the closure borrows nothing. 2. A panic in it is held back, that of the last
        // drop of `op` too.
        unsafe { job_that_keeps(pool, job) }
    });
    pool.post_detached(references);
}
