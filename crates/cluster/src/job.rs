//! Jobs: long work with explicit state, which can be paused, moved to another machine and
//! gone on with.

use std::fmt;
use std::sync::Arc;

use serde::{de::DeserializeOwned, Deserialize, Serialize};

use crate::backend::Cpus;
use crate::planner::{JobId, Mobility, NodeId, Priority};
use crate::worker::RunningJob;

/// Work that can stop at a safe point and go on elsewhere.
///
/// The value itself is the state: all that a worker needs to go on. It is written down when
/// the job pauses and when a checkpoint is taken, and read on the machine where the job goes
/// on. Files, connections and threads do not travel; a job that needs them opens them in
/// [`run`](Self::run), and leaves nothing behind in statics, as a worker may run many jobs.
///
/// Put [`#[job]`](macro@crate::job) above the implementation: it registers the type, so that
/// workers know it.
///
/// # Examples
///
/// ```
/// use heist_cluster::{job, Job, JobContext, Stop};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Sum {
///     next: u64,
///     end: u64,
///     sum: u64,
/// }
///
/// #[job]
/// impl Job for Sum {
///     type Out = u64;
///     const VERSION: u32 = 1;
///
///     fn run(&mut self, context: &JobContext) -> Result<u64, Stop> {
///         while self.next < self.end {
///             context.safe_point(self)?;
///             context.set_progress(self.next as f64 / self.end as f64);
///             let until = self.end.min(self.next + 10_000);
///             self.sum += (self.next..until).sum::<u64>();
///             self.next = until;
///         }
///         Ok(self.sum)
///     }
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The result.
    type Out: Serialize + DeserializeOwned + Send + 'static;

    /// Counts the forms that the state has had. Change it with the fields, and a checkpoint
    /// of the old form is refused instead of misread.
    const VERSION: u32;

    /// Goes on from the state to the end.
    ///
    /// Call [`JobContext::safe_point`] every 50 ms or so, where the state is one from which
    /// `run` can go on, and return what it returns. Fine-grained work inside uses heist as
    /// anywhere; the job has a pool of as many threads as it was given processors.
    ///
    /// # Errors
    ///
    /// What a safe point returns; [`Stop::fail`] if there can be no result.
    fn run(&mut self, context: &JobContext) -> Result<Self::Out, Stop>;
}

/// A [`Job`] that workers know: one below [`#[job]`](macro@crate::job).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a job that no worker knows",
    label = "put `#[heist_cluster::job]` above its `impl Job`"
)]
pub trait RegisteredJob: Job {
    /// Its path, by which workers know it.
    const NAME: &'static str;
}

/// Why [`Job::run`] ends without a result.
#[derive(Debug)]
pub enum Stop {
    /// The job is to pause here; only safe points say so.
    Pause(Pause),
    /// The job gives up, with a message for whoever waits for it.
    Fail(String),
}

impl Stop {
    /// There will be no result, because of `error`. The job is not run again.
    #[must_use]
    pub fn fail(error: impl fmt::Display) -> Self {
        Self::Fail(error.to_string())
    }
}

/// Shows that a safe point asked for the pause.
#[derive(Debug)]
pub struct Pause(pub(crate) ());

/// What a running job can say and be told.
#[derive(Debug)]
pub struct JobContext {
    running: Arc<RunningJob>,
}

impl JobContext {
    pub(crate) fn new(running: Arc<RunningJob>) -> Self {
        Self { running }
    }

    pub(crate) fn has_begun(&self) {
        self.running.has_begun();
    }

    /// Says that `job` could go on from its present state. Costs a load unless somebody
    /// wants the state.
    ///
    /// # Errors
    ///
    /// [`Stop::Pause`] if the job is to stop here. Return it.
    pub fn safe_point<J: Job>(&self, job: &J) -> Result<(), Stop> {
        self.running.safe_point(job)
    }

    /// Says how much of the job is done, from 0 to 1. The rebalancer leaves alone what is
    /// nearly done.
    pub fn set_progress(&self, done: f64) {
        self.running.set_progress(done);
    }

    /// Which attempt at the job this is: 0 at first, and one more each time that it goes on
    /// elsewhere.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.running.epoch()
    }

    /// The name of the machine, as the backend calls it.
    #[must_use]
    pub fn node(&self) -> &str {
        crate::worker::node()
    }
}

/// How a job is to be run.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use heist_cluster::JobOptions;
/// use heist_cluster::planner::Priority;
///
/// let options = JobOptions::new("nightly sums")
///     .cpus(2.0)
///     .priority(Priority(3))
///     .checkpoint_every(Duration::from_secs(30));
/// assert_eq!(options.id.as_str(), "nightly sums");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobOptions {
    /// What people call it; unique among the jobs of a cluster.
    pub id: JobId,
    /// Processors that are reserved for it; a part of one is possible, in thousandths.
    pub cpus: f64,
    /// Threads of its pool. Without a number as many as it has processors.
    pub threads: Option<u32>,
    /// Memory that it needs, if it says.
    pub memory_bytes: u64,
    /// How important it is.
    pub priority: Priority,
    /// Where it begins; elsewhere if that machine is not there or has no room.
    pub node: Option<NodeId>,
    /// Whether the rebalancer may move it. A pinned job stays on [`node`](Self::node), and
    /// waits for it.
    pub mobility: Mobility,
    /// How much work an accident may cost, in milliseconds.
    pub checkpoint_every_ms: u64,
    /// How many attempts may be lost before the job is given up.
    pub losses_max: u32,
}

impl JobOptions {
    /// A movable job of one processor and priority P2, with a checkpoint every ten seconds,
    /// given up after eight lost attempts.
    pub fn new(id: impl Into<JobId>) -> Self {
        Self {
            id: id.into(),
            cpus: 1.0,
            threads: None,
            memory_bytes: 0,
            priority: Priority::default(),
            node: None,
            mobility: Mobility::default(),
            checkpoint_every_ms: 10_000,
            losses_max: 8,
        }
    }

    /// Processors to reserve.
    #[must_use]
    pub fn cpus(mut self, cpus: f64) -> Self {
        self.cpus = cpus;
        self
    }

    /// Threads of its pool, at least one.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// How important it is.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Where it is to begin.
    #[must_use]
    pub fn on(mut self, node: impl Into<NodeId>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// Where it is to begin and stay.
    #[must_use]
    pub fn pin(mut self, node: impl Into<NodeId>) -> Self {
        self.node = Some(node.into());
        self.mobility = Mobility::Pinned;
        self
    }

    /// Whether the rebalancer may move it, or why not.
    #[must_use]
    pub fn mobility(mut self, mobility: Mobility) -> Self {
        self.mobility = mobility;
        self
    }

    /// How often its state is brought to safety: an accident costs so much work at most.
    #[must_use]
    pub fn checkpoint_every(mut self, interval: std::time::Duration) -> Self {
        self.checkpoint_every_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// How many attempts may be lost before it is given up.
    #[must_use]
    pub fn losses_max(mut self, losses: u32) -> Self {
        self.losses_max = losses;
        self
    }

    /// Threads of its pool, as a number.
    pub(crate) fn threads_or_cpus(&self) -> u32 {
        // A float becomes the nearest number there is, and no number becomes 0.
        self.threads.unwrap_or(self.cpus.ceil() as u32).max(1)
    }

    /// What is wrong with them, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Err(error) = Cpus::try_from(self.cpus) {
            return Some(format!("what job {} wants: {error}", self.id));
        }
        if self.mobility == Mobility::Pinned && self.node.is_none() {
            return Some(format!("job {} is pinned, but to no node", self.id));
        }
        (self.checkpoint_every_ms == 0).then(|| {
            let id = &self.id;
            format!("job {id} wants a checkpoint every 0 ms; a millisecond is the least")
        })
    }
}
