//! `job`: a job that is told how to run before it is queued.

use std::fmt;
use std::sync::Arc;

use crate::base::job::DetachedJob;
use crate::ops::spawn;
use crate::ops::submit::{self, JoinHandle};
use crate::state::Pool;

/// A job to come, in the pool of the calling worker, or else in the global pool: say how it is to
/// run, then end with [`spawn`](JobBuilder::spawn) or [`submit`](JobBuilder::submit).
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let answer = heist::job().submit(|| 6 * 7);
/// assert_eq!(answer.join(), 42);
/// ```
pub fn job() -> JobBuilder<'static> {
    JobBuilder::in_pool(None)
}

/// How a job is to run: made by [`job`] and [`ThreadPool::job`](crate::ThreadPool::job).
#[must_use = "a builder does nothing until `spawn` or `submit`"]
#[derive(Clone)]
pub struct JobBuilder<'pool> {
    /// `None`: the pool of the worker that ends the builder, or else the global pool.
    pool: Option<&'pool Arc<Pool>>,
}

impl<'pool> JobBuilder<'pool> {
    pub(crate) fn in_pool(pool: Option<&'pool Arc<Pool>>) -> Self {
        Self { pool }
    }

    /// Queues a job that nobody waits for, as [`spawn`](crate::spawn()).
    ///
    /// # Panics
    ///
    /// As there: a panic in the job goes to the pool's
    /// [panic handler](crate::ThreadPoolBuilder::panic_handler).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// heist::job().spawn(move || say.send(42).unwrap());
    /// assert_eq!(heard.recv(), Ok(42));
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let pool: &Pool = match self.pool {
            Some(pool) => pool,
            None => Pool::here(),
        };
        let job = spawn::detached(pool, job);
        // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
        self.queue(pool, unsafe { DetachedJob::new(job) });
    }

    /// Queues a job and returns a handle to its value, as [`submit`](crate::submit()).
    ///
    /// # Panics
    ///
    /// Panics if the pool has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.job().submit(|| 6 * 7).join(), 42);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn submit<F, T>(self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let pool = match self.pool {
            Some(pool) => Arc::clone(pool),
            None => Pool::current(),
        };
        let (handle, job) = submit::prepare(&pool, job);
        self.queue(&pool, job);
        handle
    }

    /// Puts the job where it is to wait.
    fn queue(&self, pool: &Pool, job: DetachedJob) {
        pool.queue_detached(job);
    }
}

impl fmt::Debug for JobBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBuilder").finish_non_exhaustive()
    }
}
