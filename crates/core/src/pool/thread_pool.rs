//! The handle of a pool.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_event::{PoolCounters, WorkerEvents};
use heist_sync::BarrierMode;

use crate::pool::shutdown::StillRunning;
use crate::state::Pool;
use crate::worker::Worker;

/// A pool of workers.
///
/// Dropping the handle ends the pool without waiting: what was spawned, and what that spawns, still
/// runs; then the threads end. To wait for that, call [`shutdown`](Self::shutdown).
///
/// # Forked processes
///
/// A child made by `fork` has one thread, so the workers of a pool that it inherits are not there.
/// In the child, whatever would wait for them panics and says so; the global pool is no exception.
/// Dropping the handle is fine, and so is building another pool. In the child of a job that calls
/// `fork` the thread is no worker any more; such a child must end in the job, by `exec` or `exit`,
/// and is aborted when it comes back to the pool.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (a, b) = pool.join(|| 1 + 1, || 2 + 2);
/// assert_eq!((a, b), (2, 4));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pool: Arc<Pool>,
}

/// The counters of the calling worker's pool since it was built, or else those of the global pool:
/// see [`ThreadPool::counters`].
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// heist::join(|| 1, || 2);
/// assert!(heist::counters().total().pushes >= 1);
/// ```
#[track_caller]
#[must_use]
pub fn counters() -> PoolCounters {
    Pool::here().counters()
}

/// The recorded events of the calling worker's pool, or else of the global pool: see
/// [`ThreadPool::events`]. `HEIST_RECORD_EVENTS` lets that record some.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// heist::ThreadPoolBuilder::new().record_events(100).build_global()?;
/// heist::join(|| 1, || 2);
/// assert_eq!(heist::events().len(), heist::current_num_threads());
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
#[must_use]
pub fn events() -> Vec<WorkerEvents> {
    Pool::here().events()
}

impl ThreadPool {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { pool }
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The number of workers of the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_num_threads(), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn current_num_threads(&self) -> usize {
        self.pool.len()
    }

    /// The number of active workers: all, unless [`set_active_threads`](Self::set_active_threads)
    /// was called or the pool [follows the system's
    /// limit](crate::ThreadPoolBuilder::follow_cpu_limit).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.active_threads(), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn active_threads(&self) -> usize {
        self.pool.sleep.active()
    }

    /// Makes this many workers active, those with the lowest indices, and returns the number that
    /// are: fewer if the pool [follows the system's
    /// limit](crate::ThreadPoolBuilder::follow_cpu_limit).
    ///
    /// The others finish their present jobs and then sleep: they take no jobs, and external callers
    /// do not take their places. Active workers take the jobs left in their deques. They stay
    /// members of the pool, so that [`current_num_threads`](Self::current_num_threads) does not
    /// change and [broadcasts](Self::broadcast) reach them. A worker that waits in the middle of a
    /// job goes on helping until that job has ended. The thread that was
    /// [made](crate::ThreadPoolBuilder::use_current_thread) worker 0 counts, whether it calls the
    /// pool or not.
    ///
    /// # Panics
    ///
    /// Panics if `active` is 0, or more than there are workers.
    ///
    /// # Cost
    ///
    /// Wakes the workers concerned. A pool whose workers are all active pays only for the check of
    /// one word for each job taken in a main loop.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(4).build()?;
    /// assert_eq!(pool.set_active_threads(1), 1); // somebody else needs the processors
    /// assert_eq!(pool.install(|| heist::join(|| 1, || 2)), (1, 2));
    /// pool.set_active_threads(4);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn set_active_threads(&self, active: usize) -> usize {
        let workers = self.pool.len();
        assert!(
            (1..=workers).contains(&active),
            "could not make {active} workers of a pool active: it has {workers}; ask for 1 to {workers}"
        );
        self.pool.demand_workers("change the active workers of");
        self.pool.active.want(&self.pool.sleep, active)
    }

    /// The calling worker's index, or `None` on any thread that is not a worker of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_index(), None);
    /// assert!(pool.install(|| pool.current_thread_index()).is_some());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool.current_worker().map(Worker::index)
    }

    /// Whether the calling worker's deque holds a job, or `None` on any thread that is not a worker
    /// of this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_has_pending_tasks(), None);
    /// assert_eq!(pool.install(|| pool.current_thread_has_pending_tasks()), Some(false));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.pool.current_worker().map(Worker::has_pending)
    }

    /// The counters of all workers since the pool was built.
    ///
    /// Reading disturbs the workers only through their cache lines. To see what a piece of work
    /// did, take a snapshot before it and one after, and subtract: [`PoolCounters::since`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let before = pool.counters();
    /// pool.join(|| (), || ());
    /// let done = pool.counters().since(&before).total();
    /// assert_eq!(done.pushes, 1);
    /// assert_eq!(done.pops + done.steals, 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn counters(&self) -> PoolCounters {
        self.pool.counters()
    }

    /// The recorded events of each worker, oldest first; empty unless the pool was built with
    /// [`record_events`](crate::ThreadPoolBuilder::record_events).
    ///
    /// # Cost
    ///
    /// Copies all recorded events, 16 bytes each. Workers go on meanwhile.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().record_events(1 << 10).build()?;
    /// pool.install(|| ());
    /// let events: usize = pool.events().iter().map(|worker| worker.events.len()).sum();
    /// assert!(events > 0);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn events(&self) -> Vec<WorkerEvents> {
        self.pool.events()
    }

    /// Facts about the pool, for diagnostic tools.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// println!("idle workers rely on {}", pool.diagnostics().barrier_mode);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn diagnostics(&self) -> Diagnostics {
        Diagnostics {
            barrier_mode: self.pool.sleep.barrier().mode(),
            recorder_started: self.pool.recorder_started(),
        }
    }

    /// Ends the pool and waits until all spawned jobs have run, with those that they spawned, every
    /// worker has called its exit handler, and the threads that the pool has started are gone, with
    /// their thread-local values. (Those of a [spawn
    /// handler](crate::ThreadPoolBuilder::spawn_handler) are not the pool's.)
    ///
    /// # Panics
    ///
    /// Panics on a worker of this pool, which would wait for itself, and in a child made by `fork`,
    /// which has none of the workers.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    /// let pool = heist::ThreadPoolBuilder::new().build()?;
    /// let ran = Arc::new(AtomicUsize::new(0));
    /// for _ in 0..100 {
    ///     let ran = Arc::clone(&ran);
    ///     pool.spawn(move || { ran.fetch_add(1, Ordering::Relaxed); });
    /// }
    /// pool.shutdown();
    /// assert_eq!(ran.load(Ordering::Relaxed), 100);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn shutdown(self) {
        self.end().wait_until_ended();
    }

    /// As [`shutdown`](Self::shutdown), but waits for the workers only for so long, and then for
    /// the destructors of their thread-local values. Returns the counters of the workers.
    ///
    /// # Errors
    ///
    /// Fails if some workers have not ended, and says which, and how long each has been at work.
    /// The pool ends by itself when they do.
    ///
    /// # Panics
    ///
    /// As [`shutdown`](Self::shutdown).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::time::Duration;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.install(|| heist::join(|| (), || ()));
    /// match pool.shutdown_within(Duration::from_secs(10)) {
    ///     Ok(counters) => println!("{counters}"),
    ///     Err(still_running) => eprintln!("{still_running}"),
    /// }
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn shutdown_within(self, patience: Duration) -> Result<PoolCounters, StillRunning> {
        let pool = self.end();
        pool.wait_until_ended_for(patience)?;
        Ok(pool.counters())
    }

    /// Drops the handle, and keeps what the workers share.
    fn end(self) -> Arc<Pool> {
        assert!(
            self.pool.current_worker().is_none(),
            "a worker asked its own pool to shut down and wait for it; call shutdown from outside the pool, or drop the handle"
        );
        Arc::clone(&self.pool)
    }
}

/// Facts about a pool: see [`ThreadPool::diagnostics`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Diagnostics {
    /// The barriers that the pool runs on: see the variable `HEIST_BARRIER`.
    pub barrier_mode: BarrierMode,
    /// The moment from which the times of [`events`](ThreadPool::events) count, or `None` if none
    /// are recorded or the system has no clock.
    pub recorder_started: Option<Instant>,
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.pool.release();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &Arc::as_ptr(&self.pool))
            .finish()
    }
}
