//! Why something was refused, as data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{JobId, NodeId};
use super::ns;
use super::sample::{Fault, Mobility, Priority};

/// Why a sample was not believed, or a node, a job or a target was passed over. Its text is
/// one sentence, with names and figures.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::{Config, Outcome, Planner, Reason};
/// use std::time::Duration;
///
/// let mut planner = Planner::new(Config::default())?;
/// let decision = planner.decide(Duration::from_secs(1), &[], &[]);
/// assert_eq!(decision.outcome, Outcome::Stay);
/// assert_eq!(decision.reasons, [Reason::TooFewNodes { known: 0 }]);
/// # Ok::<(), heist_cluster::planner::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each variant says what it means, and its fields are the figures of its sentence"
)]
pub enum Reason {
    /// The call was made for a time before that of the last call.
    ClockWentBack { now_ns: u64, last_ns: u64 },
    /// A sample of a node cannot be believed.
    NodeSampleRejected { node: NodeId, fault: Fault },
    /// A sample of a job cannot be believed, so that the job does not move.
    JobSampleRejected { job: JobId, fault: Fault },
    /// The newest sample of a node is too old.
    NodeSilent {
        node: NodeId,
        age_ns: u64,
        age_ns_max: u64,
    },
    /// Too few samples have come since the node appeared or a move changed its load.
    NodeSettling {
        node: NodeId,
        samples: u32,
        samples_min: u32,
    },
    /// There is no pair of nodes about which enough is known.
    TooFewNodes { known: usize },
    /// A node is not hot.
    NotHot {
        node: NodeId,
        level: f64,
        hot_level: f64,
    },
    /// A node will not be hot any more when what is leaving has left.
    Relieved {
        node: NodeId,
        level: f64,
        level_after: f64,
        hot_level: f64,
    },
    /// A node has not been hot for long enough.
    NotSustained {
        node: NodeId,
        level: f64,
        samples: u32,
        samples_min: u32,
    },
    /// Too many moves began lately in the fleet.
    FleetLimit {
        moves: usize,
        moves_max: u32,
        window_ns: u64,
    },
    /// Too many moves began lately at a node.
    NodeLimit {
        node: NodeId,
        moves: usize,
        moves_max: u32,
        window_ns: u64,
    },
    /// A node is too full to take anything.
    AboveLowWater {
        node: NodeId,
        level: f64,
        low_water: f64,
    },
    /// No node that could take something is so much colder than a hot one.
    NoneColder {
        node: NodeId,
        level: f64,
        spread: f64,
        coldest: Option<NodeId>,
        coldest_level: f64,
    },
    /// A hot node runs no job that was told of.
    NoJobs { node: NodeId, level: f64 },
    /// A hot node was not reached, since a hotter one gives a job.
    AfterHotter { node: NodeId, level: f64 },
    /// A job never moves.
    NotMovable {
        job: JobId,
        node: NodeId,
        mobility: Mobility,
    },
    /// A job is too important to move below an emergency.
    Protected {
        job: JobId,
        node: NodeId,
        priority: Priority,
        level: f64,
        emergency: f64,
    },
    /// There is an emergency, but a less important job can move.
    Spared {
        job: JobId,
        node: NodeId,
        priority: Priority,
        instead: JobId,
    },
    /// A job is on its way.
    InFlight {
        job: JobId,
        from: NodeId,
        to: NodeId,
    },
    /// A job moved too recently for how often it has moved.
    CoolingDown {
        job: JobId,
        node: NodeId,
        moves: u32,
        left_ns: u64,
    },
    /// A job uses nothing, so that its move brings nothing.
    NoDemand { job: JobId, node: NodeId },
    /// A job's move brings too little for what it costs.
    NotWorthIt {
        job: JobId,
        node: NodeId,
        benefit_cpu_s: f64,
        cost_cpu_s: f64,
        payback: f64,
    },
    /// A job would lose too much of its own life for the good of others.
    LosesTooMuch {
        job: JobId,
        node: NodeId,
        loss: f64,
        loss_max: f64,
        downtime_ns: u64,
    },
    /// A target would not stay below the low-water mark.
    WouldPassLowWater {
        job: JobId,
        node: NodeId,
        to: NodeId,
        to_level_after: f64,
        low_water: f64,
    },
    /// A target would end above the level that the source is left at.
    WouldEndAbove {
        job: JobId,
        node: NodeId,
        to: NodeId,
        to_level_after: f64,
        from_level_after: f64,
    },
    /// A target has too little of something.
    DoesNotFit {
        job: JobId,
        node: NodeId,
        to: NodeId,
        resource: String,
        needed: f64,
        free: f64,
    },
    /// More targets refuse a job than are listed.
    OtherTargets {
        job: JobId,
        node: NodeId,
        targets: usize,
    },
    /// A job could move, but another one gains more.
    Outdone {
        job: JobId,
        node: NodeId,
        gain_cpu_s: f64,
        by: JobId,
        by_gain_cpu_s: f64,
    },
}

impl Reason {
    pub(super) fn clock_went_back(now: Duration, last: Duration) -> Self {
        Self::ClockWentBack {
            now_ns: ns::of(now),
            last_ns: ns::of(last),
        }
    }
}
