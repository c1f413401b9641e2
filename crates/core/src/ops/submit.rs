//! `submit`: a spawned job whose handle is joined for its value.

use std::fmt;
use std::sync::Arc;

use heist_sync::{thread, Mutex};

use crate::base::job::DetachedJob;
use crate::base::unwind;
use crate::ops::spawn;
use crate::state::Pool;
use crate::worker::completion::Completion;

/// Starts a job in the pool of the calling worker, or else in the global pool, and returns a handle
/// to its value.
///
/// For two closures of which the caller runs one, [`join`](crate::join) is cheaper and lets them
/// borrow.
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
    let (handle, job) = prepare(pool, job);
    pool.queue_detached(job);
    handle
}

/// A job that is to be queued, and the handle to its value.
///
/// # Panics
///
/// Panics if the pool has ended.
pub(crate) fn prepare<T: Send + 'static>(
    pool: &Arc<Pool>,
    job: impl FnOnce() -> T + Send + 'static,
) -> (JoinHandle<T>, DetachedJob) {
    let shared = Arc::new(Shared {
        pool: Arc::clone(pool),
        completion: Completion::default(),
        result: Mutex::new(None),
    });
    shared.completion.add();
    let task = Arc::clone(&shared);
    let job = spawn::detached(pool, move || {
        let result = unwind::catch_job(job);
        *task.result.lock() = Some(result);
        task.completion.finish();
    });
    // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
    (JoinHandle { shared }, unsafe { DetachedJob::new(job) })
}

/// A handle to the value of a job: see [`submit`].
///
/// Dropping the handle lets the job run on and drops its value. A panic that nobody joins goes to
/// the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler), as with
/// [`spawn`](crate::spawn).
#[must_use = "a job whose value nobody wants is a `spawn`"]
pub struct JoinHandle<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    pool: Arc<Pool>,
    completion: Completion,
    result: Mutex<Option<thread::Result<T>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the job and returns its value. A worker runs jobs while it waits; any other thread
    /// blocks.
    ///
    /// # Panics
    ///
    /// Panics if the job did, with the same payload.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// assert_eq!(heist::submit(|| "done").join(), "done");
    /// ```
    pub fn join(self) -> T {
        self.shared.completion.wait(&self.shared.pool);
        let result = self.shared.result.lock().take();
        match result.expect("a job that has ended has left its result") {
            Ok(value) => value,
            Err(payload) => unwind::resume(payload),
        }
    }

    /// True if the job has ended, so that [`join`](Self::join) returns at once.
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
        self.shared.completion.is_done()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        match self.result.lock().take() {
            Some(Err(payload)) => self.pool.handle_panic(payload),
            Some(Ok(value)) => unwind::discard(value),
            None => {}
        }
    }
}
