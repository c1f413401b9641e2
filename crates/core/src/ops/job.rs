//! `job`: a job that is told how to run before it is queued.

use std::fmt;
use std::sync::Arc;

use crate::base::cancellation::CancellationToken;
use crate::base::region::Context;
use crate::ops::spawn;
use crate::ops::submit::{self, Bound, JoinHandle};
use crate::policy::Priority;
use crate::state::{Place, Pool};
use crate::worker::needed;
use crate::worker::region::carrying;

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

/// The options of a job: see [`job`] and [`ThreadPool::job`](crate::ThreadPool::job).
#[must_use = "a builder does nothing until `spawn` or `submit`"]
#[derive(Clone)]
pub struct JobBuilder<'pool> {
    /// `None`: the pool of the worker that ends the builder, or else the global pool.
    pool: Option<&'pool Arc<Pool>>,
    place: Place,
    token: Option<CancellationToken>,
}

impl<'pool> JobBuilder<'pool> {
    pub(crate) fn in_pool(pool: Option<&'pool Arc<Pool>>) -> Self {
        Self {
            pool,
            place: Place::Lane(Priority::Normal),
            token: None,
        }
    }

    /// Sets the urgency of the job among those that wait. A normal job that a worker begins goes to
    /// its own deque; all others wait for any worker.
    ///
    /// A job waits in one place: of this, [`near`](Self::near) and [`only_on`](Self::only_on) the
    /// last call counts.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::Priority;
    ///
    /// let report = heist::job().priority(Priority::Low).submit(|| "when there is time");
    /// heist::job().priority(Priority::High).spawn(|| println!("now"));
    /// assert_eq!(report.join(), "when there is time");
    /// ```
    pub fn priority(mut self, priority: Priority) -> Self {
        self.place = Place::Lane(priority);
        self
    }

    /// Gives a hint: the worker with this index should run the job, as with
    /// [`spawn_on`](crate::spawn_on()); if it is late, another worker does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let index = pool.job().near(1).submit(heist::current_thread_index).join();
    /// assert!(index.is_some(), "mostly 1");
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn near(mut self, worker: usize) -> Self {
        self.place = Place::Near(worker);
        self
    }

    /// Lets only the worker with this index run the job, after earlier ones of the kind.
    ///
    /// It does so when it has nothing left in its own deque, also while it waits for something
    /// else, even for [descendants](crate::Waiting::Descendants) only, as with a
    /// [broadcast](crate::broadcast()). A worker that blocks keeps the job waiting, and a
    /// [compensation worker](crate::ThreadPoolBuilder::compensation_workers) cannot be named. The
    /// calling thread of a pool built with
    /// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) comes for it only while
    /// it waits in an operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let index = pool.job().only_on(1).submit(heist::current_thread_index).join();
    /// assert_eq!(index, Some(1));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn only_on(mut self, worker: usize) -> Self {
        self.place = Place::OnlyOn(worker);
        self
    }

    /// Lets the token stop the job, and everything that it begins, as in a call of
    /// [`with_cancellation`](crate::with_cancellation): a job that has not begun is dropped, and
    /// its handle says [`Cancelled`](crate::JoinError::Cancelled); a running one stops at its next
    /// [`checkpoint`](crate::checkpoint()). Of several tokens the last counts.
    ///
    /// # Cost
    ///
    /// One allocation for each job.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::{CancellationToken, JoinError};
    ///
    /// let request = CancellationToken::new();
    /// request.cancel(); // the client is gone
    /// let answer = heist::job().cancelled_by(&request).submit(|| unreachable!("not begun"));
    /// assert!(matches!(answer.try_join(), Err::<(), _>(JoinError::Cancelled)));
    /// ```
    pub fn cancelled_by(mut self, token: &CancellationToken) -> Self {
        self.token = Some(token.clone());
        self
    }

    /// The context in which the job is to run.
    fn context(&self, pool: &Pool) -> Option<Arc<Context>> {
        match &self.token {
            Some(token) => Some(Context::new(token.clone(), pool.inherited())),
            None => pool.inherited(),
        }
    }

    /// Queues a job that nobody waits for, as [`spawn`](crate::spawn()).
    ///
    /// # Panics
    ///
    /// As [`spawn`](crate::spawn()), and if the pool has no worker with the job's index. A panic in
    /// the job goes to the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler).
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
        pool.demand_place(self.place);
        let job = spawn::detached(pool, job);
        // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
        let mut job = unsafe { pool.detach(job) };
        if self.token.is_some() {
            job = carrying(self.context(pool), needed::is_needed_here(), job);
        }
        pool.queue_at(self.place, job);
    }

    /// Queues a job and returns a handle to its value, as [`submit`](crate::submit()).
    ///
    /// # Panics
    ///
    /// Panics if the pool has ended, or has no worker with the job's index.
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
        pool.demand_place(self.place);
        let bound = match self.place {
            Place::OnlyOn(_) => Bound::ToWorker,
            _ => Bound::Free,
        };
        let context = self.context(&pool);
        let (handle, job) = submit::prepare(&pool, job, bound, context);
        pool.queue_at(self.place, job);
        handle
    }
}

impl fmt::Debug for JobBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBuilder")
            .field("place", &self.place)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
