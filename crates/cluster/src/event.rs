//! Events of a cluster as plain data: a line of JSON each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::planner::{Decision, JobId, Mobility, Move, NodeId, Priority};

/// An event and its time.
///
/// # Examples
///
/// ```
/// use heist_cluster::event::{ClusterEvent, EventKind};
///
/// let event = ClusterEvent::new(EventKind::Ended);
/// let line = serde_json::to_string(&event)?;
/// assert_eq!(serde_json::from_str::<ClusterEvent>(&line)?, event);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterEvent {
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event itself.
    #[serde(flatten)]
    pub what: EventKind,
}

impl ClusterEvent {
    /// Something that happens now.
    #[must_use]
    pub fn new(what: EventKind) -> Self {
        let at_ms = crate::protocol::clock::unix_ms();
        Self { at_ms, what }
    }
}

/// The kinds of [`ClusterEvent`], which has an example. Shown, each is a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the names of jobs, attempts (epochs) and nodes need no sentence each"
)]
pub enum EventKind {
    /// A driver has connected to a backend.
    Connected {
        backend: String,
        /// The driver's process.
        pid: u32,
    },
    /// The usage of machines, running jobs and calls was measured.
    Usage {
        nodes: Vec<NodeUsage>,
        jobs: Vec<JobUsage>,
        calls: CallCounts,
    },
    /// The rebalancer's decision changed; it carries all its reasons.
    Decided { decision: Decision },
    /// A job was submitted, or found in the store.
    Submitted {
        job: JobId,
        kind: String,
        priority: Priority,
        mobility: Mobility,
        /// Processors that are reserved for it.
        cpus: f64,
        /// The age of the checkpoint from which it resumes, if another driver began it.
        resumed_after_ms: Option<u64>,
    },
    /// An attempt runs.
    Running {
        job: JobId,
        epoch: u32,
        node: NodeId,
    },
    /// The driver received a state.
    Checkpoint {
        job: JobId,
        epoch: u32,
        /// How much of the job is done, from 0 to 1.
        progress: f64,
        /// The size of the state.
        bytes: u64,
    },
    /// The state of a job cannot be sent, so that a loss would cost all work since the last
    /// checkpoint.
    NoCheckpoint {
        job: JobId,
        /// The reason.
        why: String,
    },
    /// A move begins: the job is asked to pause.
    MoveBegan {
        job: JobId,
        from: Option<NodeId>,
        to: NodeId,
        /// The rebalancer's expectation, if the move was its idea.
        expected: Option<Move>,
    },
    /// A move succeeded: the job runs again.
    MoveEnded {
        job: JobId,
        from: Option<NodeId>,
        to: NodeId,
        /// From the request to pause to the safe point.
        pausing_ms: u64,
        /// From the safe point to running again.
        standstill_ms: u64,
        /// The size of the state.
        bytes: u64,
    },
    /// A move failed.
    MoveFailed {
        job: JobId,
        /// The reason.
        why: String,
    },
    /// An attempt was lost; another begins from the last checkpoint.
    Lost {
        job: JobId,
        epoch: u32,
        /// The backend's reason.
        why: String,
        /// The progress from which the next one starts, from 0 to 1.
        progress: f64,
    },
    /// An abandoned attempt reported something, which changed nothing.
    Late {
        job: JobId,
        epoch: u32,
        /// The valid attempt.
        current: u32,
    },
    /// A job is over.
    Finished {
        job: JobId,
        /// Why it has no result, if it has none.
        error: Option<String>,
        attempts: u32,
        moves: u32,
    },
    /// A machine came or was lost.
    Node {
        node: NodeId,
        /// False once the backend has lost it.
        is_alive: bool,
        /// Processors that the backend gives away there.
        cpus: f64,
    },
    /// The driver has left the cluster.
    Ended,
}

/// The usage of a machine.
///
/// # Examples
///
/// ```
/// use heist_cluster::event::{CallCounts, EventKind, NodeUsage};
///
/// let node = NodeUsage { node: "n1".into(), cpus: 4.0, utilisation: Some(0.5), unknown: None };
/// let calls = CallCounts { open: 1, done: 41, lost: 0 };
/// let usage = EventKind::Usage { nodes: vec![node], jobs: Vec::new(), calls };
/// assert_eq!(usage.to_string(), "usage: n1 50 %");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeUsage {
    /// The machine.
    pub node: NodeId,
    /// Processors that the backend gives away there.
    pub cpus: f64,
    /// The share of them in demand since the last sample, above 1 if jobs waited for a processor;
    /// none if unknown.
    pub utilisation: Option<f64>,
    /// Why it is not known.
    pub unknown: Option<String>,
}

/// The usage of a job, beside that of machines: [`NodeUsage`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobUsage {
    /// The job's name.
    pub job: JobId,
    /// The machine on which it runs.
    pub node: NodeId,
    /// Processors that were busy with it since the last sample.
    pub cpus: Option<f64>,
    /// How much of it is done, from 0 to 1.
    pub progress: f64,
}

/// How many calls there are; [`NodeUsage`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Begun and not over.
    pub open: u64,
    /// Over, with a result or without.
    pub done: u64,
    /// Attempts that the backend lost.
    pub lost: u64,
}

/// How many epochs of a job belong to one driver; the next one begins with a multiple of this. So
/// many a lost driver may have used since its last checkpoint.
pub(crate) const EPOCHS_OF_DRIVER: u32 = 1000;

/// Which attempt of its driver has this epoch, from 1.
fn attempt(epoch: u32) -> u32 {
    epoch % EPOCHS_OF_DRIVER + 1
}

/// A number with the word for what it counts.
fn count(number: u32, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

impl fmt::Display for EventKind {
    // Long: one arm for each kind of event.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { backend, pid } => write!(f, "process {pid} connected to {backend}"),
            Self::Usage { nodes, .. } => {
                f.write_str("usage:")?;
                nodes.iter().try_for_each(|node| match node.utilisation {
                    Some(used) => write!(f, " {} {:.0} %", node.node, used * 100.0),
                    None => write!(f, " {} unknown", node.node),
                })
            }
            Self::Decided { decision } => {
                decision.outcome.fmt(f)?;
                decision
                    .reasons
                    .iter()
                    .try_for_each(|reason| write!(f, "; {reason}"))
            }
            Self::Submitted {
                job,
                kind,
                priority,
                resumed_after_ms: None,
                ..
            } => {
                write!(f, "job {job} ({kind}, {priority}) was submitted")
            }
            Self::Submitted {
                job,
                kind,
                resumed_after_ms: Some(age),
                ..
            } => write!(
                f,
                "job {job} ({kind}) goes on: its driver was lost, its checkpoint is {:.1} s old",
                *age as f64 / 1e3
            ),
            Self::Running { job, epoch, node } => {
                write!(f, "job {job} runs on {node}, attempt {}", attempt(*epoch))
            }
            Self::Checkpoint {
                job,
                progress,
                bytes,
                ..
            } => {
                write!(
                    f,
                    "checkpoint of job {job} at {:.0} %, {bytes} bytes",
                    progress * 100.0
                )
            }
            Self::NoCheckpoint { job, why } => {
                write!(f, "job {job} has no new checkpoint: {why}")
            }
            Self::MoveBegan { job, from, to, .. } => {
                write!(f, "job {job} moves from {} to {to}", name(from.as_ref()))
            }
            Self::MoveEnded {
                job,
                from,
                to,
                pausing_ms,
                standstill_ms,
                bytes,
            } => write!(
                f,
                "job {job} moved from {} to {to}: paused after {pausing_ms} ms, ran again \
                 {standstill_ms} ms later, {bytes} bytes",
                name(from.as_ref())
            ),
            Self::MoveFailed { job, why } => write!(f, "the move of job {job} failed: {why}"),
            Self::Lost {
                job,
                epoch,
                why,
                progress,
            } => write!(
                f,
                "attempt {} at job {job} was lost at {:.0} %: {why}",
                attempt(*epoch),
                progress * 100.0
            ),
            Self::Late {
                job,
                epoch,
                current,
            } => write!(
                f,
                "an attempt at job {job} spoke too late: its epoch was {epoch}, and {current} is valid"
            ),
            Self::Finished {
                job,
                error: None,
                attempts,
                moves,
            } => {
                write!(
                    f,
                    "job {job} is done after {} and {}",
                    count(*attempts, "attempt"),
                    count(*moves, "move")
                )
            }
            Self::Finished {
                job,
                error: Some(error),
                ..
            } => {
                write!(f, "job {job} has no result: {error}")
            }
            Self::Node {
                node,
                is_alive: true,
                cpus,
            } => {
                write!(f, "node {node} is there, with {cpus} processors")
            }
            Self::Node { node, .. } => write!(f, "node {node} is gone"),
            Self::Ended => f.write_str("the driver has left"),
        }
    }
}

fn name(node: Option<&NodeId>) -> &str {
    node.map_or("somewhere", NodeId::as_str)
}
