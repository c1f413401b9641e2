//! Why something was refused: data, with a sentence for people.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{JobId, NodeId};
use super::ns;
use super::sample::{Fault, Mobility, Priority, Seconds};

/// Why a sample was not believed, or a node, a job or a target was passed over. Its text is
/// one sentence, with names and figures.
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

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClockWentBack { now_ns, last_ns } => write!(
                f,
                "nothing is decided: now is {}, but the last decision was at {}",
                Seconds(*now_ns),
                Seconds(*last_ns)
            ),
            Self::NodeSampleRejected { node, fault } => {
                write!(f, "the sample of node {node} does not count: {fault}")
            }
            Self::JobSampleRejected { job, fault } => {
                write!(f, "job {job} stays: its sample does not count, {fault}")
            }
            Self::NodeSilent {
                node,
                age_ns,
                age_ns_max,
            } => write!(
                f,
                "{node} is unknown, neither source nor target: its last sample is {} old, at \
                 most {} count",
                Seconds(*age_ns),
                Seconds(*age_ns_max)
            ),
            Self::NodeSettling {
                node,
                samples,
                samples_min,
            } => write!(
                f,
                "{node} is unknown, neither source nor target: {samples} of {samples_min} \
                 samples have come since it appeared or its load was changed"
            ),
            Self::TooFewNodes { known } => {
                write!(f, "a move needs two known nodes, there are {known}")
            }
            Self::NotHot {
                node,
                level,
                hot_level,
            } => write!(
                f,
                "{node} keeps its jobs: it is at {}, hot is {}",
                Percent(*level),
                Percent(*hot_level)
            ),
            Self::Relieved {
                node,
                level,
                level_after,
                hot_level,
            } => write!(
                f,
                "{node} keeps its jobs: what is leaving brings it from {} to {}, hot is {}",
                Percent(*level),
                Percent(*level_after),
                Percent(*hot_level)
            ),
            Self::NotSustained {
                node,
                level,
                samples,
                samples_min,
            } => write!(
                f,
                "{node} keeps its jobs: it is at {}, but was hot in {samples} of {samples_min} \
                 samples in a row",
                Percent(*level)
            ),
            Self::FleetLimit {
                moves,
                moves_max,
                window_ns,
            } => write!(
                f,
                "nothing moves: {moves} moves began in the last {}, at most {moves_max} may",
                Seconds(*window_ns)
            ),
            Self::NodeLimit {
                node,
                moves,
                moves_max,
                window_ns,
            } => write!(
                f,
                "{node} neither gives nor takes: {moves} moves began there in the last {}, at \
                 most {moves_max} may",
                Seconds(*window_ns)
            ),
            Self::AboveLowWater {
                node,
                level,
                low_water,
            } => write!(
                f,
                "{node} takes nothing: it is at {}, targets are below {}",
                Percent(*level),
                Percent(*low_water)
            ),
            Self::NoneColder {
                node,
                level,
                spread,
                coldest,
                coldest_level,
            } => {
                write!(
                    f,
                    "{node} keeps its jobs: it is at {}, and ",
                    Percent(*level)
                )?;
                match coldest {
                    Some(coldest) => write!(
                        f,
                        "the coldest that could take one, {coldest}, at {}, is not {} points colder",
                        Percent(*coldest_level),
                        points(*spread)
                    ),
                    None => f.write_str("no other node could take one"),
                }
            }
            Self::NoJobs { node, level } => write!(
                f,
                "{node} has nothing to give: it is at {}, but runs no job that is known",
                Percent(*level)
            ),
            Self::AfterHotter { node, level } => write!(
                f,
                "{node} waits for the next decision: it is at {}, and a hotter node gives a job",
                Percent(*level)
            ),
            Self::NotMovable {
                job,
                node,
                mobility,
            } => write!(f, "job {job} on {node} stays: it is {mobility}"),
            Self::Protected {
                job,
                node,
                priority,
                level,
                emergency,
            } => write!(
                f,
                "job {job} on {node} stays: priority {priority} moves only above {}, {node} is \
                 at {}",
                Percent(*emergency),
                Percent(*level)
            ),
            Self::Spared {
                job,
                node,
                priority,
                instead,
            } => write!(
                f,
                "job {job} on {node} stays: it has priority {priority}, and {instead} can move \
                 instead"
            ),
            Self::InFlight { job, from, to } => {
                write!(f, "job {job} is on its way from {from} to {to}")
            }
            Self::CoolingDown {
                job,
                node,
                moves,
                left_ns,
            } => write!(
                f,
                "job {job} on {node} stays: it moved {moves} times and rests for {} more",
                Seconds(*left_ns)
            ),
            Self::NoDemand { job, node } => write!(
                f,
                "job {job} on {node} stays: it uses no CPU, its move would bring nothing"
            ),
            Self::NotWorthIt {
                job,
                node,
                benefit_cpu_s,
                cost_cpu_s,
                payback,
            } => write!(
                f,
                "job {job} on {node} stays: a move would bring {benefit_cpu_s:.1} CPU-seconds \
                 and cost {cost_cpu_s:.1}, it must bring {payback} times the cost"
            ),
            Self::LosesTooMuch {
                job,
                node,
                loss,
                loss_max,
                downtime_ns,
            } => write!(
                f,
                "job {job} on {node} stays: with {} of standstill it would itself lose {} of \
                 its life, at most {} are asked of a job",
                Seconds(*downtime_ns),
                Percent(*loss),
                Percent(*loss_max)
            ),
            Self::WouldPassLowWater {
                job,
                node,
                to,
                to_level_after,
                low_water,
            } => write!(
                f,
                "job {job} on {node} does not go to {to}: that would end at {}, targets stay \
                 below {}",
                Percent(*to_level_after),
                Percent(*low_water)
            ),
            Self::WouldEndAbove {
                job,
                node,
                to,
                to_level_after,
                from_level_after,
            } => write!(
                f,
                "job {job} on {node} does not go to {to}: that would end at {}, above {node}, \
                 left at {}",
                Percent(*to_level_after),
                Percent(*from_level_after)
            ),
            Self::DoesNotFit {
                job,
                node,
                to,
                resource,
                needed,
                free,
            } => write!(
                f,
                "job {job} on {node} does not fit {to}: it needs {needed:.6} of {resource}, \
                 {free:.6} is free"
            ),
            Self::OtherTargets { job, node, targets } => write!(
                f,
                "job {job} on {node} stays: {targets} further nodes refuse it too"
            ),
            Self::Outdone {
                job,
                node,
                gain_cpu_s,
                by,
                by_gain_cpu_s,
            } => write!(
                f,
                "job {job} on {node} stays: its move would gain {gain_cpu_s:.1} CPU-seconds, \
                 that of {by} gains {by_gain_cpu_s:.1}"
            ),
        }
    }
}

/// A share, shown in per cent.
pub(super) struct Percent(pub(super) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", points(self.0))
    }
}

/// A share in per cent, with a decimal only where it says something.
fn points(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    text.trim_end_matches(".0").to_owned()
}
