//! `submit`: a spawned job whose handle is joined, awaited or aborted.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{ready, Context, Poll, Waker};

use crate::base::job::DetachedJob;
use crate::base::job_ref::{Header, JobRef};
use crate::base::join_error::JoinError;
use crate::base::{on_stack, region, unwind};
use crate::insight::call::later;
use crate::insight::site::Site;
use crate::ops::cancellation::checkpoint;
use crate::state::Pool;
use crate::worker::backlog::Backlog;
use crate::worker::claimed::{Claimant, Claimed};
use crate::worker::latch::CountLatch;
use crate::worker::needed;
use crate::worker::Worker;

/// Starts a job in the pool of the calling worker, or else in the global pool, and returns a handle
/// to its value.
///
/// If the caller has a second closure to run itself, [`join`](crate::join) is cheaper, and lets
/// both borrow.
///
/// # Cost
///
/// One allocation, and 64 bytes of the worker's deque or of the injector.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let left = heist::submit(|| (1..=10).sum::<u32>());
/// let right: u32 = (11..=20).sum();
/// assert_eq!(left.join() + right, 210);
/// ```
#[track_caller]
pub fn submit<F, T>(job: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    submit_in(&Pool::current(), job)
}

pub(crate) fn submit_in<T: Send + 'static>(
    pool: &Arc<Pool>,
    job: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let (handle, job) = prepare(pool, job, Bound::Free, pool.inherited());
    pool.queue_detached(job);
    handle
}

/// The constraint on where a queued job runs.
pub(crate) enum Bound {
    /// To nothing: a worker that joins it may run it.
    Free,
    ToWorker,
    /// To the order of the strand at this address, whose drainer may wait in this backlog.
    ToStrand(usize, Option<Arc<Backlog>>),
}

/// A job that is to be queued and to run in this context, and the handle to its value.
///
/// # Panics
///
/// Panics if the pool has ended.
pub(crate) fn prepare<F, T>(
    pool: &Arc<Pool>,
    job: F,
    bound: Bound,
    context: Option<Arc<region::Context>>,
) -> (JoinHandle<T>, DetachedJob)
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    pool.keep_alive();
    let start = later(pool.metered, const { &Site::of::<F>("submit") });
    let task = Arc::new(Task {
        claimed: Claimed::new(job, Task::<F, T>::execute, context, start),
        pool: Arc::clone(pool),
        bound,
        is_needed: needed::is_needed_here(),
    });
    let queued = Arc::into_raw(Arc::clone(&task)).cast_mut();
    // SAFETY: an `Arc`'s content has an address.
    let queued = JobRef::new(unsafe { NonNull::new_unchecked(queued) });
    // SAFETY: the task begins with a claim.
    (JoinHandle { task }, unsafe {
        DetachedJob::claimed::<F>(queued)
    })
}

/// A handle to the value of a job: see [`submit`].
///
/// The handle is joined by a thread, or awaited by a task of any executor: it is a [`Future`],
/// whose output is that of [`try_join`](Self::try_join), and no thread waits meanwhile.
///
/// Dropping the handle lets the job run on and drops its value. A panic that nobody joins goes to
/// the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler), as with
/// [`spawn`](crate::spawn). So does a panic of the waker of a task that awaits the handle.
///
/// # Deadlocks
///
/// A worker that blocks in the `block_on` of another executor runs no jobs of its pool, not even
/// the one for which it waits. On a worker, use [`join`](Self::join); or wait in
/// [`blocking`](crate::blocking), in a pool with compensation workers. Where there are no threads
/// (WebAssembly, say), awaiting does not run the job either.
///
/// # Panics
///
/// Panics if it is awaited again after it has given its output.
#[must_use = "a job whose value nobody wants is a `spawn`"]
pub struct JoinHandle<T> {
    task: Arc<dyn Joinable<T>>,
}

/// A submitted job.
#[repr(C)]
struct Task<F: FnOnce() -> T, T> {
    claimed: Claimed<F, T>,
    pool: Arc<Pool>,
    bound: Bound,
    /// True if an initialiser may wait for the job.
    is_needed: bool,
}

/// A [`Task`] with some closure.
trait Joinable<T>: Send + Sync {
    /// Waits until the job is complete, and runs it here if it may.
    fn wait(&self);
    fn poll(&self, waker: &Waker) -> Poll<()>;
    fn is_complete(&self) -> bool;
    /// See [`JoinHandle::abort`].
    fn abort(&self) -> bool;
    /// As [`Claimed::take_outcome`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn take_outcome(&self) -> Option<Result<T, JoinError>>;
}

impl<T> JoinHandle<T> {
    /// Waits for the job and returns its value.
    ///
    /// A worker of the job's pool runs the job itself if it has not begun, ahead of its other jobs,
    /// unless it is for [one worker only](crate::JobBuilder::only_on). If it has begun, the worker
    /// runs other jobs while it waits. A worker of another pool runs jobs of its own pool. Any
    /// other thread blocks.
    ///
    /// # Panics
    ///
    /// Panics if the job did, with the same payload; and if the job was cancelled. Panics also in a
    /// job of the same [strand](crate::Strand) that has to end first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// assert_eq!(heist::submit(|| "done").join(), "done");
    /// ```
    pub fn join(self) -> T {
        match self.try_join() {
            Ok(value) => value,
            Err(JoinError::Panicked(payload)) => unwind::resume(payload.into_inner()),
            Err(JoinError::Cancelled) => {
                checkpoint();
                panic!("could not join a job: it was cancelled; `try_join` says so without a panic")
            }
        }
    }

    /// As [`join`](Self::join), but returns the job's panic as a value.
    ///
    /// # Errors
    ///
    /// Says that the job panicked, or that it was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::JoinError;
    ///
    /// assert!(matches!(heist::submit(|| 1).try_join(), Ok(1)));
    /// let failed = heist::submit(|| panic!("no luck")).try_join();
    /// assert!(matches!(failed, Err(JoinError::Panicked(_))));
    /// ```
    pub fn try_join(mut self) -> Result<T, JoinError> {
        self.task.wait();
        self.outcome()
    }

    /// The outcome of the job, which is complete.
    fn outcome(&mut self) -> Result<T, JoinError> {
        // SAFETY: 1. The callers have seen that it is complete. 2. There is one handle, and this
        // borrows it alone.
        let outcome = unsafe { self.task.take_outcome() };
        outcome.expect("a handle was waited for again after it had given the value of its job")
    }

    /// Cancels the job, if it has not begun: its closure is dropped, here and now, and whoever
    /// waits for it learns that it was [cancelled](JoinError::Cancelled).
    ///
    /// True if the job will not run, because this or an earlier call has cancelled it. False if it
    /// runs, or has: it goes on to its end.
    ///
    /// # Panics
    ///
    /// Panics if the closure's drop does. The job is cancelled all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// pool.install(|| {
    ///     // The only worker is here, so the job cannot have begun.
    ///     let guess = heist::submit(|| 1);
    ///     assert!(guess.abort());
    ///     assert!(matches!(guess.try_join(), Err(heist::JoinError::Cancelled)));
    /// });
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn abort(&self) -> bool {
        self.task.abort()
    }

    /// True if the job has ended or was cancelled, so that [`join`](Self::join) returns at once.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let handle = heist::submit(|| 1);
    /// while !handle.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// assert_eq!(handle.join(), 1);
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_complete()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.task.poll(context.waker()));
        Poll::Ready(self.outcome())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

impl<F, T> Task<F, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fn run(&self, claimant: Claimant<'_, F, T, CountLatch>) {
        let worker = Worker::current().expect("jobs run on workers");
        worker.run_queued(self.is_needed, self.claimed.context().cloned(), |why| {
            let told = match why {
                None => claimant.run(),
                Some(why) => claimant.discard(why),
            };
            if let Err(payload) = told {
                self.pool.handle_panic(payload);
            }
        });
    }

    /// The end of the job's way through the queues.
    ///
    /// # Safety
    ///
    /// As for [`JobRef::execute`], with the reference of a job of this type.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: the `Arc` was given away for this one run.
        let task = unsafe { Arc::from_raw(header.cast::<Self>().as_ptr()) };
        if let Some(claimant) = task.claimed.claim() {
            task.run(claimant);
        }
        // One of the pool's, which is there as long as a thread is one of its workers.
        let worker = Worker::current().expect("jobs run on workers");
        drop(task);
        worker.pool().release();
    }
}

impl<F, T> Joinable<T> for Task<F, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fn wait(&self) {
        let mut backlog = None;
        match &self.bound {
            Bound::Free => {
                if let Some(worker) = self.pool.current_worker() {
                    if let Some(claimant) = self.claimed.claim() {
                        worker.run_claimed(|| self.run(claimant));
                    }
                }
            }
            Bound::ToWorker => {}
            Bound::ToStrand(strand, drainers) => {
                if !self.is_complete() {
                    on_stack::refuse_to_wait(*strand);
                }
                backlog = drainers.as_deref();
            }
        }
        self.claimed.completion.wait(&self.pool, backlog);
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        if !self.is_complete() {
            self.pool.demand_workers("wait for a job of");
        }
        self.claimed.completion.poll(waker)
    }

    fn is_complete(&self) -> bool {
        self.claimed.completion.is_done()
    }

    fn abort(&self) -> bool {
        let worker = Worker::current_or_hidden()
            .filter(|worker| std::ptr::eq(worker.pool(), &raw const *self.pool));
        if let Some(worker) = worker {
            worker.local().pushes.holds_void.set(true);
        }
        self.claimed
            .cancel()
            .unwrap_or_else(|payload| unwind::resume(payload))
    }

    unsafe fn take_outcome(&self) -> Option<Result<T, JoinError>> {
        // SAFETY: handed on.
        unsafe { self.claimed.take_outcome() }
    }
}

impl<F: FnOnce() -> T, T> Drop for Task<F, T> {
    fn drop(&mut self) {
        // SAFETY: 1. The queue's share is gone, so that the job was claimed, and 2. the handle's.
        match unsafe { self.claimed.take_outcome() } {
            Some(Err(JoinError::Panicked(payload))) => {
                self.pool.handle_panic(payload.into_inner());
            }
            Some(Ok(value)) => {
                if let Err(payload) = unwind::catch(|| drop(value)) {
                    self.pool.handle_panic(payload);
                }
            }
            Some(Err(JoinError::Cancelled)) | None => {}
        }
    }
}
