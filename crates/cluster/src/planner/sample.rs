//! The planner's input: samples of nodes and of jobs, and the faults of some.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{JobId, NodeId};
use super::ns;

/// The largest amount, level or speed that is believed. It keeps every sum finite.
const AMOUNT_MAX: f64 = 1e9;
/// The least speed and the least number of CPUs of a node: something to divide by.
const DIVISOR_MIN: f64 = 1e-6;

/// Amounts of what a node has or a job needs.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::Resources;
///
/// let mut node = Resources::cpus(8.0);
/// node.memory_bytes = 32 << 30;
/// node.named.insert("gpu".to_owned(), 1.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resources {
    /// CPUs. Those that a job needs are CPUs of a node of speed 1.
    pub cpus: f64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Anything else that is counted, such as `gpu`, by name. The amount of a missing name is 0.
    pub named: BTreeMap<String, f64>,
}

impl Resources {
    /// CPUs and nothing else.
    #[must_use]
    pub fn cpus(cpus: f64) -> Self {
        Self {
            cpus,
            ..Self::default()
        }
    }
}

/// One measurement of a node; the [module](super) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NodeSample {
    /// Which node.
    pub node: NodeId,
    /// When it was measured.
    #[serde(rename = "at_ns", with = "ns")]
    pub at: Duration,
    /// The node's resources in all. One without memory is one of whose memory nothing is known: it
    /// has room for any job.
    pub capacity: Resources,
    /// How much work a CPU of this node does, compared with one of speed 1.
    pub speed: f64,
    /// Which share of its CPUs was in use; above 1 if the measure counts who waits. The planner
    /// [finds out](super) which of the two it is.
    pub utilisation: f64,
    /// Memory in use on the node, by whomever, if that is known.
    pub used_memory_bytes: Option<u64>,
}

impl NodeSample {
    /// A sample of a node of speed 1 of whose memory nothing is known; the [module](super) has an
    /// example.
    pub fn new(
        node: impl Into<NodeId>,
        at: Duration,
        capacity: Resources,
        utilisation: f64,
    ) -> Self {
        Self {
            node: node.into(),
            at,
            capacity,
            speed: 1.0,
            utilisation,
            used_memory_bytes: None,
        }
    }

    /// The sample's fault, if it has one at `now`.
    pub(super) fn fault(&self, now: Duration, stale_after: Duration) -> Option<Fault> {
        let capacity = &self.capacity;
        within("utilisation", self.utilisation, 0.0)
            .or_else(|| within("speed", self.speed, DIVISOR_MIN))
            .or_else(|| within("cpus", capacity.cpus, DIVISOR_MIN))
            .or_else(|| all_named(capacity))
            .or_else(|| timely(self.at, now, stale_after))
    }
}

/// One measurement of a job; the [module](super) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct JobSample {
    /// Which job.
    pub job: JobId,
    /// The node that it runs on.
    pub node: NodeId,
    /// When that was so.
    #[serde(rename = "at_ns", with = "ns")]
    pub at: Duration,
    /// The resources that it was said to need.
    pub demand: Resources,
    /// How many CPUs of its node it was found to use, if that was measured.
    pub used_cpus: Option<f64>,
    /// How much memory it was found to use, if that was measured.
    pub used_memory_bytes: Option<u64>,
    /// How important it is.
    pub priority: Priority,
    /// Whether it may move at all.
    pub mobility: Mobility,
    /// How much is transferred when it moves.
    pub state_bytes: u64,
    /// How long it has been running, if that is known. Without it, the time since the
    /// planner first saw it counts.
    #[serde(default, rename = "running_for_ns", with = "ns::option")]
    pub running_for: Option<Duration>,
    /// How long it will still run, if it can tell.
    #[serde(default, rename = "remaining_ns", with = "ns::option")]
    pub remaining: Option<Duration>,
}

impl JobSample {
    /// A movable job of priority P2 without state, of which nothing has been measured; the
    /// [module](super) has an example.
    pub fn new(
        job: impl Into<JobId>,
        node: impl Into<NodeId>,
        at: Duration,
        demand: Resources,
    ) -> Self {
        Self {
            job: job.into(),
            node: node.into(),
            at,
            demand,
            used_cpus: None,
            used_memory_bytes: None,
            priority: Priority::default(),
            mobility: Mobility::default(),
            state_bytes: 0,
            running_for: None,
            remaining: None,
        }
    }

    /// The sample's fault, if it has one at `now`.
    pub(super) fn fault(&self, now: Duration, stale_after: Duration) -> Option<Fault> {
        let used = self.used_cpus;
        within("cpus", self.demand.cpus, 0.0)
            .or_else(|| used.and_then(|used| within("used_cpus", used, 0.0)))
            .or_else(|| all_named(&self.demand))
            .or_else(|| timely(self.at, now, stale_after))
    }

    /// Memory that the job takes wherever it is: what it asked for or uses, the larger.
    pub(super) fn memory_bytes(&self) -> u64 {
        let used = self.used_memory_bytes.unwrap_or(0);
        self.demand.memory_bytes.max(used)
    }
}

/// How important a job is: P0 the most.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::Priority;
///
/// assert!(Priority(1).is_protected() && !Priority::default().is_protected());
/// assert_eq!(Priority::default().to_string(), "P2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub u8);

impl Priority {
    /// P0 and P1 stay where they are, except in an emergency.
    #[must_use]
    pub fn is_protected(self) -> bool {
        self.0 <= 1
    }
}

impl Default for Priority {
    /// P2, the most important that moves.
    fn default() -> Self {
        Self(2)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}

/// Whether a job may move, and if not, why; [`JobOptions`](crate::JobOptions) has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mobility {
    /// It may.
    #[default]
    Movable,
    /// Somebody wants it where it is.
    Pinned,
    /// Its order with others on the node matters.
    Ordered,
    /// Its warm state there is worth more than the balance.
    WarmState,
    /// A pause would break its promise.
    LatencyCritical,
}

impl fmt::Display for Mobility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Movable => "movable",
            Self::Pinned => "pinned",
            Self::Ordered => "ordered with others there",
            Self::WarmState => "bound to warm state there",
            Self::LatencyCritical => "latency-critical and bears no pause",
        })
    }
}

/// Why a sample is not believed, a part of a [`Reason`](super::Reason).
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::{Config, Fault, NodeSample, Planner, Reason, Resources};
/// use std::time::Duration;
///
/// let mut planner = Planner::new(Config::default())?;
/// let now = Duration::from_secs(1);
/// let sample = NodeSample::new("n1", now, Resources::cpus(8.0), -0.5);
/// let decision = planner.decide(now, &[sample], &[]);
/// let Reason::NodeSampleRejected { fault, .. } = &decision.reasons[0] else { panic!("it was") };
/// assert!(matches!(fault, Fault::OutOfRange { field, .. } if field == "utilisation"));
/// # Ok::<(), heist_cluster::planner::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// A value that nothing can have.
    OutOfRange {
        /// The field.
        field: String,
        /// The value as text, since JSON cannot write one that is not a number.
        value: String,
        /// The accepted range.
        accepted: String,
    },
    /// The same node or job occurs more than once; none of the samples is believed.
    Repeated,
    /// It is too old.
    Stale {
        /// Its age.
        age_ns: u64,
        /// How old it may be.
        age_ns_max: u64,
    },
    /// It says that it was measured later than now.
    FromTheFuture {
        /// By how much.
        ahead_ns: u64,
    },
    /// A later one came before it.
    Overtaken {
        /// By how much the other is later.
        behind_ns: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange {
                field,
                value,
                accepted,
            } => write!(f, "{field} is {value}, accepted is {accepted}"),
            Self::Repeated => f.write_str("it occurs more than once"),
            Self::Stale { age_ns, age_ns_max } => write!(
                f,
                "it is {} old, at most {} count",
                Seconds(*age_ns),
                Seconds(*age_ns_max)
            ),
            Self::FromTheFuture { ahead_ns } => {
                write!(f, "it is {} ahead of now", Seconds(*ahead_ns))
            }
            Self::Overtaken { behind_ns } => {
                write!(f, "one that is {} later came before", Seconds(*behind_ns))
            }
        }
    }
}

/// Nanoseconds, shown as seconds with a decimal.
pub(super) struct Seconds(pub(super) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0 as f64 / 1e9)
    }
}

fn within(field: &str, value: f64, least: f64) -> Option<Fault> {
    // NaN is in no range.
    let is_in_range = value >= least && value <= AMOUNT_MAX;
    (!is_in_range).then(|| Fault::OutOfRange {
        field: field.to_owned(),
        value: value.to_string(),
        accepted: format!("{least} to {AMOUNT_MAX}"),
    })
}

fn all_named(resources: &Resources) -> Option<Fault> {
    let mut named = resources.named.iter();
    named.find_map(|(name, &amount)| within(name, amount, 0.0))
}

fn timely(at: Duration, now: Duration, stale_after: Duration) -> Option<Fault> {
    if at > now {
        let ahead_ns = ns::of(at - now);
        return Some(Fault::FromTheFuture { ahead_ns });
    }
    let age = now - at;
    (age > stale_after).then(|| Fault::Stale {
        age_ns: ns::of(age),
        age_ns_max: ns::of(stale_after),
    })
}
