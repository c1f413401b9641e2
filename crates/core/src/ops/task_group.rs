//! `TaskGroup`: jobs started one by one and awaited together.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use heist_sync::atomic::{AtomicU32, Ordering};

use crate::base::task::Task;
use crate::base::unwind::{self, FirstPanic, Payload};
use crate::insight::meter::Meter;
use crate::insight::site::Site;
use crate::ops::cancellation::checkpoint;
use crate::ops::spawn;
use crate::policy::Priority;
use crate::pool::ThreadPool;
use crate::state::Pool;
use crate::worker::backlog::{self, Backlog};
use crate::worker::completion::Completion;
use crate::worker::needed;

/// Jobs that are started one by one and awaited together.
///
/// Unlike a [`scope`](crate::scope()) a group is a value: it can be kept in a struct, shared
/// between threads, waited for and used again. In exchange its jobs cannot borrow.
///
/// # Cost
///
/// One allocation for the group. A job costs what a [`spawn`](crate::spawn()) does; one whose
/// closure takes more than 40 bytes is allocated.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
///
/// let sum = Arc::new(AtomicU32::new(0));
/// let group = heist::TaskGroup::new();
/// for n in 1..=10 {
///     let sum = Arc::clone(&sum);
///     group.run(move || { sum.fetch_add(n, Ordering::Relaxed); });
/// }
/// group.wait();
/// assert_eq!(sum.load(Ordering::Relaxed), 55);
/// ```
pub struct TaskGroup {
    shared: Arc<Shared>,
    priority: Priority,
}

struct Shared {
    pool: Arc<Pool>,
    completion: Completion,
    /// The jobs that were added where an initialiser may wait for them.
    backlog: Backlog,
    /// The first panic since the last wait.
    panic: FirstPanic,
    /// How often the group was cancelled.
    cancellations: AtomicU32,
}

impl TaskGroup {
    /// An empty group in the pool of the calling worker, or else in the global pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// heist::TaskGroup::new().wait(); // nothing to wait for
    /// ```
    #[track_caller]
    #[must_use]
    pub fn new() -> Self {
        Self::on(Pool::current())
    }

    /// An empty group in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let group = heist::TaskGroup::new_in(&pool);
    /// group.run(|| assert!(heist::current_thread_index().is_some()));
    /// group.wait();
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn new_in(pool: &ThreadPool) -> Self {
        Self::on(Arc::clone(pool.pool()))
    }

    fn on(pool: Arc<Pool>) -> Self {
        Self {
            shared: Arc::new(Shared {
                pool,
                completion: Completion::default(),
                backlog: Backlog::new(),
                panic: FirstPanic::default(),
                cancellations: AtomicU32::new(0),
            }),
            priority: Priority::Normal,
        }
    }

    /// Gives the jobs that are added from now on this priority. The default is normal.
    ///
    /// Where only [descendants](crate::Waiting::Descendants) may run on top of a frame that waits,
    /// it has no effect: the jobs are of the frame that begins them, as normal ones are.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let urgent = heist::TaskGroup::new().with_priority(heist::Priority::High);
    /// urgent.run(|| println!("before all else that waits"));
    /// urgent.wait();
    /// ```
    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Queues a job of the group. A job may run further jobs of its group.
    ///
    /// # Panics
    ///
    /// Panics if the group's pool has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let group = heist::TaskGroup::new();
    /// group.run(|| println!("on some worker"));
    /// group.wait();
    /// ```
    pub fn run<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let job = GroupJob {
            job,
            shared: Arc::clone(&self.shared),
            cancellations: self.shared.cancellations(),
        };
        let job = spawn::keeping(&self.shared.pool, job);
        // After the pool has taken the job, or nobody would ever finish it.
        self.shared.completion.add();
        let pool = &self.shared.pool;
        if needed::may_be_awaited() {
            let wake = || self.shared.completion.wake_waiters();
            // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
            return unsafe { backlog::queue(&self.shared, pool, self.priority, job, wake) };
        }
        match self.priority {
            // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
            Priority::Normal => unsafe { pool.queue(job) },
            lane => {
                // SAFETY: as above.
                let job = unsafe { pool.detach(job) };
                // A frame that waits for descendants only takes none from a lane.
                match pool.current_worker().filter(|here| !here.keeps_order()) {
                    Some(worker) => worker.push_detached(job),
                    None => pool.inject(lane, pool.inheriting(job)),
                }
            }
        }
    }

    /// Waits until every job of the group has ended. A worker runs jobs while it waits; any other
    /// thread blocks. The group can be used again.
    ///
    /// # Panics
    ///
    /// If a job has panicked since the last wait, panics with the payload of the first.
    ///
    /// # Deadlocks
    ///
    /// A job of the group that calls it waits for its own end.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let group = heist::TaskGroup::new();
    /// for round in 0..2 {
    ///     group.run(move || println!("round {round}"));
    ///     group.wait();
    /// }
    /// ```
    pub fn wait(&self) {
        let backlog = Some(&self.shared.backlog);
        self.shared.completion.wait(&self.shared.pool, backlog);
        self.resume_panic();
    }

    /// As [`wait`](Self::wait), but only until this time. False if some jobs have not ended by
    /// then; they go on.
    ///
    /// A worker that runs a job meanwhile finishes it first, and so may come back late by the time
    /// of one job. One that has found no job looks again at least every millisecond.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait), if all have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::time::{Duration, Instant};
    ///
    /// let group = heist::TaskGroup::new();
    /// let (say, heard) = std::sync::mpsc::channel();
    /// group.run(move || heard.recv().unwrap());
    /// assert!(!group.wait_until(Instant::now() + Duration::from_millis(1)));
    /// say.send(()).unwrap();
    /// assert!(group.wait_until(Instant::now() + Duration::from_secs(60)));
    /// ```
    #[must_use = "it says whether all jobs have ended"]
    pub fn wait_until(&self, at: Instant) -> bool {
        let left = || at.saturating_duration_since(Instant::now());
        let has_ended =
            self.shared
                .completion
                .wait_while_left(&self.shared.pool, &self.shared.backlog, left);
        if has_ended {
            self.resume_panic();
        }
        has_ended
    }

    /// Drops the jobs of the group that have not begun. Those that run go on to their ends, and
    /// those that are added from now on run; [`wait`](Self::wait) waits for both.
    ///
    /// To stop the running ones too, begin the group's jobs in a call of
    /// [`with_cancellation`](crate::with_cancellation).
    ///
    /// # Cost
    ///
    /// An addition. Each job is dropped when its turn comes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// pool.install(|| {
    ///     let group = heist::TaskGroup::new();
    ///     group.run(|| unreachable!("the only worker is here"));
    ///     group.cancel();
    ///     group.wait();
    /// });
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn cancel(&self) {
        // Relaxed: whoever adds a job afterwards comes after this, and the job after it.
        self.shared.cancellations.fetch_add(1, Ordering::Relaxed);
    }

    fn resume_panic(&self) {
        match self.shared.panic.take() {
            // Of a region that has told its caller, unless that is this one.
            Some(payload) if unwind::is_cancellation(&payload) => checkpoint(),
            Some(payload) => unwind::resume(payload),
            None => {}
        }
    }
}

impl AsRef<Backlog> for Shared {
    fn as_ref(&self) -> &Backlog {
        &self.backlog
    }
}

impl Shared {
    fn cancellations(&self) -> u32 {
        self.cancellations.load(Ordering::Relaxed)
    }
}

struct GroupJob<F> {
    job: F,
    shared: Arc<Shared>,
    /// How often the group had been cancelled when the job was added.
    cancellations: u32,
}

impl<F: FnOnce() + Send> Task for GroupJob<F> {
    const SITE: Option<&'static Site> = Some(&Site::of::<F>("group"));
    const IS_JOINED: bool = true;

    fn run(self) {
        if self.shared.cancellations() != self.cancellations {
            return self.discard(unwind::cancellation());
        }
        if let Err(payload) = unwind::catch_job(self.job) {
            self.shared.panic.keep(payload);
        }
        self.shared.completion.finish();
    }

    fn run_metered(self, meter: &Meter) {
        if self.shared.cancellations() != self.cancellations {
            return self.discard(unwind::cancellation());
        }
        if let Err(payload) = unwind::catch_job(self.job) {
            self.shared.panic.keep(payload);
        }
        meter.reach(&self.shared.completion.latest, &meter.ends());
        self.shared.completion.finish();
    }

    fn discard(self, why: Payload) {
        self.shared.panic.keep(unwind::dropped(self.job, why));
        self.shared.completion.finish();
    }
}

impl Default for TaskGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TaskGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskGroup")
            .field("completion", &self.shared.completion)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The group is gone and nobody has waited: as a panic in `spawn`.
        if let Some(payload) = self.panic.take() {
            self.pool.handle_panic(payload);
        }
    }
}
