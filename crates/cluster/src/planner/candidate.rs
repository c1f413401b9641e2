//! The benefit and the cost of moving a job, whatever its target.

use std::time::Duration;

use super::config::Config;
use super::node_state::{NodeState, PlacedJob};
use super::sample::{JobSample, Resources};
use super::track::JobTrack;

/// How large a job is, in CPUs of a node of speed 1.
pub(super) struct Demand {
    pub(super) likely_cpus: f64,
    /// The target has room for so many.
    cpus_at_most: f64,
    /// The level of the source falls by so many.
    leaving_cpus: f64,
}

impl Demand {
    /// A use that was measured often enough is believed, and is what the job's leaving takes off
    /// the source's level, whatever the job was said to need. At the target it may want more, if
    /// the source is [squeezed](NodeState::squeeze); and if the level may hide that, a larger
    /// estimate counts. No job uses more than all that its node does.
    pub(super) fn of(
        sample: &JobSample,
        track: &JobTrack,
        source: &NodeState<'_>,
        config: &Config,
    ) -> Self {
        let all = source.level_without * source.strength();
        let (likely_cpus, cpus_at_most, leaving_cpus) = if track.samples >= config.usage_samples {
            let wanted = |level: f64| track.used_cpus * source.squeeze(level);
            let likely = wanted(source.track.lowest()).min(all);
            let at_most = wanted(source.track.highest()).min(all);
            let hides = source.track.hides_waiting();
            let estimate = if hides { sample.demand.cpus } else { 0.0 };
            (likely, at_most.max(estimate), likely)
        } else {
            let likely = sample.demand.cpus.max(track.used_cpus);
            let at_most = (sample.demand.cpus * config.estimate_error).max(likely);
            (likely.min(all), at_most.min(all), at_most.min(all))
        };
        Self {
            likely_cpus,
            cpus_at_most,
            leaving_cpus,
        }
    }
}

/// A job that may move as far as its node and its past are concerned.
pub(super) struct Candidate<'a> {
    pub(super) placed: &'a PlacedJob<'a>,
    pub(super) reserved: Resources,
    pub(super) from_level_after: f64,
    pub(super) benefit_cpu_s: f64,
    pub(super) cost_cpu_s: f64,
    pub(super) downtime: Duration,
    /// Which share of its life the job loses itself, less what it gains by leaving.
    pub(super) loss: f64,
}

impl<'a> Candidate<'a> {
    /// The job, which has this `past` and `future`, and shares the link with those `in_flight`.
    pub(super) fn new(
        placed: &'a PlacedJob<'a>,
        demand: Demand,
        (past, future): (Duration, Duration),
        source: &NodeState<'_>,
        config: &Config,
        in_flight: usize,
    ) -> Self {
        let sample = placed.sample;
        let level = source.level_without;
        // Rounding could leave less than nothing of a node whose whole load is this job.
        let from_level_after = (level - source.share(demand.leaving_cpus)).max(0.0);
        let level_after = level - source.share(demand.likely_cpus);
        let relief = waiting(level, config.low_water) - waiting(level_after, config.low_water);
        let sharing = (in_flight + 1) as f64;
        let transfer_s = sample.state_bytes as f64 * sharing / config.bandwidth_bytes_per_s;
        let busy_s = config.pause.as_secs_f64() + transfer_s;
        let downtime_s = busy_s + config.cold_start.as_secs_f64();
        let future_s = future.as_secs_f64();
        let won_s = (1.0 - 1.0 / level.max(1.0)) * future_s / config.payback;
        // A life of no length loses all.
        let life_s = (past.as_secs_f64() + future_s).max(1e-9);
        Self {
            placed,
            reserved: Resources {
                cpus: demand.cpus_at_most,
                memory_bytes: sample.memory_bytes(),
                named: sample.demand.named.clone(),
            },
            from_level_after,
            benefit_cpu_s: relief * source.strength() * future.min(config.horizon).as_secs_f64(),
            cost_cpu_s: demand.likely_cpus * downtime_s + 2.0 * busy_s,
            downtime: Duration::try_from_secs_f64(downtime_s).unwrap_or(Duration::MAX),
            loss: (downtime_s - won_s).max(0.0) / life_s,
        }
    }

    pub(super) fn gain_cpu_s(&self) -> f64 {
        self.benefit_cpu_s - self.cost_cpu_s
    }
}

/// Which share of a node's CPUs those who wait at this level could use. Up to the low-water
/// mark nobody waits; a CPU of load that comes to a full node makes another wait whole; in
/// between it does so more and more, evenly.
fn waiting(level: f64, low_water: f64) -> f64 {
    let above = (level.min(1.0) - low_water).max(0.0);
    let between = if above > 0.0 {
        above * above / (2.0 * (1.0 - low_water))
    } else {
        0.0
    };
    between + (level - 1.0).max(0.0)
}
