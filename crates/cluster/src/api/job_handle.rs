//! Jobs as seen by the program that submitted them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::session::Shared;
use crate::driver::messages::{Input, View};
use crate::driver::store::{JobResult, Unfinished};
use crate::error::{ClusterError, ClusterErrorKind, RemoteError};
use crate::planner::{JobId, NodeId};
use crate::protocol;

/// A submitted job: its status, its result, moves and cancellation.
///
/// Dropping it does not end the job. Each method costs a lock or a message to the driver's thread;
/// [`move_to`](Self::move_to) also asks the backend for its machines.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use heist_cluster::{job, Cluster, Job, JobContext, JobOptions, Local, RemoteError, Stop};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Countdown(u64);
///
/// #[job]
/// impl Job for Countdown {
///     type Out = ();
///     const VERSION: u32 = 1;
///
///     fn run(&mut self, context: &JobContext) -> Result<(), Stop> {
///         while self.0 > 0 {
///             context.safe_point(self)?;
///             self.0 -= 1;
///         }
///         Ok(())
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new().nodes(2))?;
///     let job = cluster.submit(Countdown(u64::MAX), JobOptions::new("long").on("n1"))?;
///     let patience = Duration::from_secs(60);
///     job.wait_until(patience, |job| job.node.is_some()).expect("it runs");
///     job.move_to("n2")?;
///     job.wait_until(patience, |job| job.moves == 1).expect("it was moved");
///     println!("{}: {:?}", job.id(), job.status());
///     job.cancel();
///     assert_eq!(job.get(), Err(RemoteError::Cancelled));
///
///     let short = cluster.submit(Countdown(10), JobOptions::new("short"))?;
///     assert_eq!(short.wait_timeout(patience), Some(Ok(())));
///     Ok(())
/// }
/// ```
pub struct JobHandle<T> {
    shared: Arc<Shared>,
    job: u64,
    id: JobId,
    result: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for JobHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// How a job stands; [`JobHandle`] has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JobStatus {
    /// The machine on which it runs now, if any.
    pub node: Option<NodeId>,
    /// The valid attempt.
    pub epoch: u32,
    /// The progress at the last checkpoint, from 0 to 1.
    pub progress: f64,
    /// How many times it was moved.
    pub moves: u32,
    /// How many attempts were lost.
    pub losses: u32,
    /// True from the request to pause until it runs elsewhere.
    pub is_moving: bool,
    /// True once it is over.
    pub is_over: bool,
}

impl JobStatus {
    fn new(view: View) -> Self {
        Self {
            node: view.node,
            epoch: view.epoch,
            progress: view.progress,
            moves: view.moves,
            losses: view.losses,
            is_moving: view.is_moving,
            is_over: view.is_over,
        }
    }
}

impl<T> JobHandle<T> {
    pub(crate) fn new(shared: Arc<Shared>, job: u64, id: JobId) -> Self {
        let result = PhantomData;
        Self {
            shared,
            job,
            id,
            result,
        }
    }

    /// The name under which it was submitted.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// Its status; none for a moment after it was submitted.
    #[must_use]
    pub fn status(&self) -> Option<JobStatus> {
        let driver = self.shared.driver().ok()?;
        driver.view(self.job).map(JobStatus::new)
    }

    /// Waits until `is_so` holds, for at most `patience`; `None` if it does not by then.
    pub fn wait_until(
        &self,
        patience: Duration,
        is_so: impl Fn(&JobStatus) -> bool,
    ) -> Option<JobStatus> {
        let driver = self.shared.driver().ok()?;
        let is_so = |view: &View| is_so(&JobStatus::new(view.clone()));
        driver
            .view_when(self.job, patience, is_so)
            .map(JobStatus::new)
    }

    /// Moves the job to `node`: it pauses at its next safe point and continues there, or elsewhere
    /// if there is no room. Returns at once; events tell the outcome.
    ///
    /// # Errors
    ///
    /// Fails if the backend does not know the machine or has lost it.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{job, Cluster, Job, JobContext, JobOptions, Local, Stop};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Countdown(u64);
    ///
    /// #[job]
    /// impl Job for Countdown {
    ///     type Out = u64;
    ///     const VERSION: u32 = 1;
    ///
    ///     fn run(&mut self, context: &JobContext) -> Result<u64, Stop> {
    ///         while self.0 > 0 {
    ///             context.safe_point(self)?;
    ///             self.0 -= 1;
    ///         }
    ///         Ok(self.0)
    ///     }
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new().nodes(2))?;
    ///     let job = cluster.submit(Countdown(u64::MAX), JobOptions::new("long").on("n1"))?;
    ///     let patience = std::time::Duration::from_secs(60);
    ///     job.wait_until(patience, |job| job.node.is_some()).expect("it runs");
    ///     job.move_to("n2")?;
    ///     job.wait_until(patience, |job| job.moves == 1).expect("it was moved");
    ///     assert!(job.move_to("n3").is_err(), "there is no such node");
    ///     job.cancel();
    ///     Ok(())
    /// }
    /// ```
    pub fn move_to(&self, node: impl Into<NodeId>) -> Result<(), ClusterError> {
        let to = node.into();
        let nodes = self.shared.backend.nodes()?;
        if !nodes.iter().any(|node| node.id == to && node.is_alive) {
            let alive = nodes.iter().filter(|node| node.is_alive);
            let alive: Vec<_> = alive.map(|node| node.id.as_str()).collect();
            let message = format!(
                "job {} cannot move to {to}; there are {}",
                self.id,
                alive.join(", ")
            );
            return Err(ClusterErrorKind::Job(message).into());
        }
        let (job, expected) = (self.job, None);
        self.shared
            .driver()?
            .tell(Input::Move { job, to, expected });
        Ok(())
    }

    /// The reason why the result of a finished job is missing from the
    /// [store](crate::Options::store), such as a full disk. Such a result is lost with this
    /// program.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # fn wait(job: &heist_cluster::JobHandle<u64>) {
    /// let result = job.wait_timeout(Duration::MAX / 4);
    /// if let Some(why) = job.not_stored() {
    ///     eprintln!("keep {result:?} yourself: {why}");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn not_stored(&self) -> Option<String> {
        self.shared.driver().ok()?.not_stored(self.job)
    }

    /// Asks a running job for a checkpoint out of turn. Returns at once; an
    /// [event](crate::event::EventKind::Checkpoint) follows after the job's next safe point.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn before_maintenance(jobs: &[heist_cluster::JobHandle<u64>]) {
    /// jobs.iter().for_each(heist_cluster::JobHandle::checkpoint);
    /// # }
    /// ```
    pub fn checkpoint(&self) {
        if let Ok(driver) = self.shared.driver() {
            driver.tell(Input::Checkpoint { job: self.job });
        }
    }

    /// Cancels the job: all waits for its result return [`RemoteError::Cancelled`], and its
    /// processors are free once it has reached a safe point.
    pub fn cancel(&self) {
        if let Ok(driver) = self.shared.driver() {
            driver.tell(Input::Cancel { job: self.job });
        }
    }
}

impl<T> JobHandle<T> {
    /// Cancels the job and kills the worker process that runs it, for jobs that reach no safe
    /// point. Other calls and jobs in that process are lost and retried. A cancelled job can still
    /// be killed.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{job, Cluster, Job, JobContext, JobOptions, Local, RemoteError, Stop};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Deaf;
    ///
    /// #[job]
    /// impl Job for Deaf {
    ///     type Out = ();
    ///     const VERSION: u32 = 1;
    ///
    ///     fn run(&mut self, _: &JobContext) -> Result<(), Stop> {
    ///         loop {
    ///             std::thread::park();
    ///         }
    ///     }
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let job = cluster.submit(Deaf, JobOptions::new("deaf"))?;
    ///     job.kill();
    ///     assert_eq!(job.get(), Err(RemoteError::Cancelled));
    ///     Ok(())
    /// }
    /// ```
    pub fn kill(&self) {
        if let Ok(driver) = self.shared.driver() {
            driver.tell(Input::Kill { job: self.job });
        }
    }

    /// [`wait_timeout`](Self::wait_timeout) for the bytes of the result.
    pub(crate) fn wait_bytes(&self, patience: Duration) -> Option<JobResult> {
        match self.shared.driver() {
            Ok(driver) => driver.result(self.job, patience),
            Err(error) => {
                let message = ClusterError::from(error).to_string();
                Some(Err(RemoteError::malformed(message)))
            }
        }
    }
}

impl<T: DeserializeOwned> JobHandle<T> {
    /// Waits for the result and blocks the thread.
    ///
    /// # Errors
    ///
    /// See [`RemoteError`].
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{job, Cluster, Job, JobContext, JobOptions, Local, Stop};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Countdown(u64);
    ///
    /// #[job]
    /// impl Job for Countdown {
    ///     type Out = u64;
    ///     const VERSION: u32 = 1;
    ///
    ///     fn run(&mut self, context: &JobContext) -> Result<u64, Stop> {
    ///         while self.0 > 0 {
    ///             context.safe_point(self)?;
    ///             self.0 -= 1;
    ///         }
    ///         Ok(self.0)
    ///     }
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let job = cluster.submit(Countdown(1000), JobOptions::new("short"))?;
    ///     assert_eq!(job.get()?, 0);
    ///     Ok(())
    /// }
    /// ```
    pub fn get(self) -> Result<T, RemoteError> {
        loop {
            if let Some(result) = self.wait_timeout(Duration::from_secs(3600)) {
                return result;
            }
        }
    }

    /// Waits for the result for at most `patience`; `None` if there is none by then. The result is
    /// given once; a later call gets an error that says so.
    #[must_use]
    pub fn wait_timeout(&self, patience: Duration) -> Option<Result<T, RemoteError>> {
        let result = self.wait_bytes(patience)?;
        Some(result.and_then(|bytes| {
            protocol::decode(&bytes).map_err(|error| {
                RemoteError::malformed(format!(
                    "the result of job {} cannot be understood: {error}",
                    self.id
                ))
            })
        }))
    }
}

/// An unfinished job of a lost driver, for [`Cluster::resume`](crate::Cluster::resume).
///
/// # Examples
///
/// ```no_run
/// # use heist_cluster::{Cluster, Local, Options};
/// let cluster = Cluster::connect_with(Local::new(), Options::new().store("jobs"))?;
/// for job in cluster.unfinished()? {
///     let (percent, age) = (job.progress() * 100.0, job.age());
///     println!("{}, a {}, was at {percent:.0} % {age:?} ago", job.id(), job.kind());
/// }
/// # Ok::<(), heist_cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnfinishedJob {
    pub(crate) found: Unfinished,
}

impl UnfinishedJob {
    pub(crate) fn new(found: Unfinished) -> Self {
        Self { found }
    }

    /// The name under which it was submitted.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.found.description.options.id
    }

    /// The name of its type.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.found.description.kind
    }

    /// How much of it was done at the last checkpoint, from 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        self.found.checkpoint.progress
    }

    /// The age of the last checkpoint.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::from_millis(self.found.age_ms)
    }
}
