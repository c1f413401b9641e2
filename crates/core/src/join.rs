//! `join`: two closures, the second of which somebody else may take.
//!
//! The path of a task: `join` puts the second closure into its own frame as a
//! job, pushes the job's address to the worker's deque and runs the first
//! closure. Then it pops. Usually the job is still there, and runs in place, as
//! a plain call. If it is gone, a thief has it, and the worker runs other jobs
//! until the thief sets the job's latch.

use crate::job::StackJob;
use crate::latch::WorkerLatch;
use crate::pool::Pool;
use crate::unwind::{self, Payload};
use crate::worker::Worker;
use std::marker::PhantomData;

/// Runs both closures, perhaps in parallel, and returns both results.
///
/// On a worker the second closure is made available to thieves, the first runs
/// at once, and then the second, unless it was stolen. Called outside any pool,
/// both move into the global pool and the caller blocks.
///
/// While it waits for a stolen closure the worker runs other jobs, which may be
/// any jobs of the pool: do not hold a lock over a `join` that such a job could
/// want.
///
/// # Panics
///
/// Both closures always run to their end. If one panics, `join` panics with its
/// payload; if both do, with that of the first.
///
/// # Cost
///
/// No allocation. Not stolen: one push and one pop on the worker's own deque,
/// some nanoseconds.
///
/// # Examples
///
/// ```
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = heist_core::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(fib(20), 6765);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| a(), |_| b())
}

/// As [`join`], and tells each closure whether it migrated: whether it runs on
/// another worker, or at another time, than the call alone would suggest.
///
/// # Panics
///
/// As [`join`].
///
/// # Examples
///
/// ```
/// let pool = heist_core::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let migrated = pool.install(|| heist_core::join_context(|a| a.migrated(), |b| b.migrated()));
/// assert_eq!(migrated, (false, false)); // nobody there who could steal
/// # Ok::<(), heist_core::ThreadPoolBuildError>(())
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) => join_on(worker, false, a, b),
        None => Pool::global().in_worker(|worker, migrated| join_on(worker, migrated, a, b)),
    }
}

/// What a closure of [`join_context`] is told.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Says something about the present thread only: neither `Send` nor `Sync`.
    here: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline(always)]
    fn new(migrated: bool) -> Self {
        Self {
            migrated,
            here: PhantomData,
        }
    }

    /// True if the closure was stolen, or came from outside the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let (a, _) = heist_core::join_context(|a| a.migrated(), |_| ());
    /// assert!(a, "called from outside, both closures moved into the pool");
    /// ```
    #[must_use]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

#[inline(always)]
fn join_on<A, B, RA, RB>(worker: &Worker, migrated: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let job = StackJob::new(
        |migrated| b(FnContext::new(migrated)),
        WorkerLatch::new(worker),
    );
    // SAFETY: 1. `job` stays in this frame until the reference is popped back
    // or the latch is set: on every way out below, also that of a panic in `a`.
    // 2. `b` is Send and so is its result, by the bounds of our callers.
    let job_ref = unsafe { job.as_job_ref() };
    worker.push(job_ref);

    let ra = match unwind::halt(|| a(FnContext::new(migrated))) {
        Ok(ra) => ra,
        Err(payload) => wait_and_resume(worker, &job, payload),
    };

    while !job.latch.core.probe() {
        match worker.pop() {
            Some(popped) if popped == job_ref => {
                worker.count_in_place();
                // SAFETY: the reference was popped back. If `b` panics, nothing
                // points into this frame any more.
                let rb = unsafe { job.run_in_place(migrated) };
                return (ra, rb);
            }
            // Something that `a` left behind, newer than the job.
            Some(popped) => worker.execute_popped(popped),
            None => worker.wait_until(&job.latch.core),
        }
    }
    // SAFETY: the latch is set, and the result is taken once.
    match unsafe { job.take_result() } {
        Ok(rb) => (ra, rb),
        Err(payload) => {
            unwind::discard(ra);
            unwind::resume(payload)
        }
    }
}

/// The first closure has panicked: lets the second come to its end, here or at
/// the thief's, before the frame goes.
#[cold]
fn wait_and_resume<F, R>(
    worker: &Worker,
    job: &StackJob<WorkerLatch<'_>, F, R>,
    payload: Payload,
) -> !
where
    F: FnOnce(bool) -> R,
{
    worker.wait_until(&job.latch.core);
    // SAFETY: the latch is set, and the result is taken once.
    match unsafe { job.take_result() } {
        Ok(rb) => unwind::discard(rb),
        Err(second) => unwind::discard_payload(second),
    }
    unwind::resume(payload)
}
