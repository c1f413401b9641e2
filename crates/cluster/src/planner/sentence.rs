//! Reasons as sentences for people.

use std::fmt;

use super::reason::Reason;
use super::sample::Seconds;

impl fmt::Display for Reason {
    // Long: one arm for each reason.
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
                "job {job} on {node} stays: priority {priority} moves only from {} on, {node} is \
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
                "job {job} on {node} does not fit {to}: it needs {} of {resource}, {} is free",
                amount(*needed),
                amount(*free)
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

/// An amount with the decimals that say something, three at most.
fn amount(amount: f64) -> String {
    let text = format!("{amount:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
