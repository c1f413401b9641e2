//! The planner's answer: one move or none, and every reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::{JobId, NodeId};
use super::reason::Reason;
use super::sample::{Resources, Seconds};
use super::sentence::Percent;

/// The move to make now, if any, and the reasons against all others; the [module](super) has an
/// example.
///
/// As JSON, `outcome` has a `kind`, `move` or `stay`, and so has each reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Decision {
    /// The move, if there is one.
    pub outcome: Outcome,
    /// Reasons against samples, nodes, jobs and targets, in a stable order.
    pub reasons: Vec<Reason>,
}

impl Decision {
    pub(super) fn stay(reasons: Vec<Reason>) -> Self {
        Self {
            outcome: Outcome::Stay,
            reasons,
        }
    }
}

/// One move or none; the [module](super) has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// This job should move.
    Move(Move),
    /// Nothing should move now.
    Stay,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Move(chosen) => chosen.fmt(f),
            Self::Stay => f.write_str("nothing moves"),
        }
    }
}

/// A move, with what it is expected to bring and to cost; the [module](super) has an example.
///
/// The levels are those that the decision was made with: moves in flight are counted, and
/// a job of which little was measured is taken to be as large as it may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Move {
    /// Which job.
    pub job: JobId,
    /// Where it runs.
    pub from: NodeId,
    /// Where it should run.
    pub to: NodeId,
    /// Resources that are set aside for it at the target. The CPUs are those of a node of speed 1.
    pub reserved: Resources,
    /// The level of the source.
    pub from_level: f64,
    /// The level that the source is left at.
    pub from_level_after: f64,
    /// The level of the target.
    pub to_level: f64,
    /// The level that the target ends at.
    pub to_level_after: f64,
    /// The benefit, in CPU-seconds of a node of speed 1.
    pub benefit_cpu_s: f64,
    /// The cost, in the same unit.
    pub cost_cpu_s: f64,
    /// How long the job does nothing, or as good as nothing.
    pub downtime_ns: u64,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "job {} moves from {} to {}: {} falls from {} to {}, {} rises from {} to {}; it \
             brings {:.1} CPU-seconds and costs {:.1}, with {} of standstill",
            self.job,
            self.from,
            self.to,
            self.from,
            Percent(self.from_level),
            Percent(self.from_level_after),
            self.to,
            Percent(self.to_level),
            Percent(self.to_level_after),
            self.benefit_cpu_s,
            self.cost_cpu_s,
            Seconds(self.downtime_ns),
        )
    }
}
