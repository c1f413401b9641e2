//! The options of jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::planner::{JobId, Mobility, NodeId, Priority};
use crate::protocol::cpus::Cpus;
use crate::protocol::needs::Needs;
use crate::protocol::trace::Trace;

/// The options of a job: its name, reservations, placement, checkpoints and limits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use heist_cluster::JobOptions;
/// use heist_cluster::planner::{Mobility, Priority};
///
/// let options = JobOptions::new("nightly sums")
///     .cpus(2.0)
///     .threads(4)
///     .memory(4 << 30)
///     .resource("gpu", 1)
///     .priority(Priority(3))
///     .on("n1")
///     .mobility(Mobility::WarmState)
///     .checkpoint_every(Duration::from_secs(30))
///     .losses_max(2)
///     .within(Duration::from_secs(3600));
/// assert_eq!(options.id.as_str(), "nightly sums");
/// let stays = JobOptions::new("beside its data").pin("n2");
/// assert_eq!(stays.mobility, Mobility::Pinned);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobOptions {
    /// Its name for people, unique among the open jobs of a cluster.
    pub id: JobId,
    /// Processors that are reserved for it; a part of one is possible, in thousandths.
    pub cpus: f64,
    /// Threads of its pool; by default as many as its processors.
    pub threads: Option<u32>,
    /// Memory that it needs, if it says.
    pub memory_bytes: u64,
    /// The resources beside processors and memory that it needs, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, u32>,
    /// How important it is.
    pub priority: Priority,
    /// Where it begins, if that machine exists and has room.
    pub node: Option<NodeId>,
    /// Whether the rebalancer may move it. A pinned job stays on [`node`](Self::node), and
    /// waits for it.
    pub mobility: Mobility,
    /// The work at risk between checkpoints, in milliseconds.
    pub checkpoint_every_ms: u64,
    /// How many attempts may be lost before the job is given up.
    pub losses_max: u32,
    /// The first pause before an attempt that follows a lost one, and the longest, in milliseconds,
    /// if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<[u64; 2]>,
    /// How long it may take from its submission to its end, in milliseconds, if there is a limit.
    #[serde(default)]
    pub within_ms: Option<u64>,
    /// The submitter's place in a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
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
            resources: BTreeMap::new(),
            priority: Priority::default(),
            node: None,
            mobility: Mobility::default(),
            checkpoint_every_ms: 10_000,
            losses_max: 8,
            backoff_ms: None,
            within_ms: None,
            trace: None,
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

    /// Memory to reserve, as [`Calls::memory`](crate::Calls::memory) does.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// A named resource to reserve, as [`Calls::resource`](crate::Calls::resource) does. The
    /// rebalancer does not move such a job.
    #[must_use]
    pub fn resource(mut self, name: impl Into<String>, count: u32) -> Self {
        self.resources.insert(name.into(), count);
        self
    }

    /// All that it needs beside processors.
    pub(crate) fn needs(&self) -> Needs {
        Needs::new(self.memory_bytes, &self.resources)
    }

    /// How important it is.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The machine to begin on, if it has room.
    #[must_use]
    pub fn on(mut self, node: impl Into<NodeId>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// The machine to begin and stay on.
    #[must_use]
    pub fn pin(mut self, node: impl Into<NodeId>) -> Self {
        self.node = Some(node.into());
        self.mobility = Mobility::Pinned;
        self
    }

    /// Whether the rebalancer may move it, and if not, the reason.
    #[must_use]
    pub fn mobility(mut self, mobility: Mobility) -> Self {
        self.mobility = mobility;
        self
    }

    /// The interval between checkpoints, and so the most work that a loss can cost.
    #[must_use]
    pub fn checkpoint_every(mut self, interval: std::time::Duration) -> Self {
        self.checkpoint_every_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// The number of lost attempts after which it fails.
    #[must_use]
    pub fn losses_max(mut self, losses: u32) -> Self {
        self.losses_max = losses;
        self
    }

    /// Pauses before each attempt that follows a lost one, as
    /// [`Calls::backoff`](crate::Calls::backoff) does. A move pauses nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use heist_cluster::JobOptions;
    ///
    /// let (first, longest) = (Duration::from_secs(1), Duration::from_secs(300));
    /// let patient = JobOptions::new("patient").losses_max(100).backoff(first, longest);
    /// # drop(patient);
    /// ```
    #[must_use]
    pub fn backoff(mut self, first: std::time::Duration, longest: std::time::Duration) -> Self {
        let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.backoff_ms = Some([ms(first), ms(longest)]);
        self
    }

    /// A time limit, counted from the submission: then the job is cancelled, and waits for its
    /// result return [`RemoteError::TimedOut`](crate::RemoteError::TimedOut). If it ignores that,
    /// it is killed five seconds later, as by [`JobHandle::kill`](crate::JobHandle::kill). A driver
    /// that resumes it counts anew.
    #[must_use]
    pub fn within(mut self, time: std::time::Duration) -> Self {
        self.within_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// The submitter's place in a trace, which the job reads by
    /// [`JobContext::trace`](crate::JobContext::trace) wherever it runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{JobOptions, Trace};
    ///
    /// let options = JobOptions::new("traced").trace(Trace::random());
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Threads of its pool, as a number.
    pub(crate) fn threads_or_cpus(&self) -> u32 {
        // A float becomes the nearest number there is, and no number becomes 0.
        self.threads.unwrap_or(self.cpus.ceil() as u32).max(1)
    }

    /// The fault in these options, if there is one.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Err(error) = Cpus::try_from(self.cpus) {
            return Some(format!("what job {} wants: {error}", self.id));
        }
        if let Some(fault) = self.needs().fault() {
            return Some(format!("what job {} wants: {fault}", self.id));
        }
        if let Some(fault) = self.node.as_ref().and_then(NodeId::fault) {
            return Some(format!("where job {} is to be: {fault}", self.id));
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
