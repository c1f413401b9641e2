//! What a job's move would bring and cost, wherever it goes.

use std::time::Duration;

use super::config::Config;
use super::sample::{JobSample, Resources};
use super::site::{Guest, Site};
use super::track::JobTrack;

/// How large a job is, in CPUs of a node of speed 1.
pub(super) struct Demand {
    pub(super) likely_cpus: f64,
    cpus_at_most: f64,
}

impl Demand {
    /// What was measured often enough is believed. No job is larger than all that its node
    /// does.
    pub(super) fn of(
        sample: &JobSample,
        track: &JobTrack,
        source: &Site<'_>,
        config: &Config,
    ) -> Self {
        let (likely, at_most) = if track.samples >= config.usage_samples {
            (track.used_cpus, track.used_cpus)
        } else {
            let likely = sample.demand.cpus.max(track.used_cpus);
            let at_most = sample.demand.cpus * config.estimate_error;
            (likely, at_most.max(likely))
        };
        let all = source.level_without * source.strength();
        Self {
            likely_cpus: likely.min(all),
            cpus_at_most: at_most.min(all),
        }
    }
}

/// A job that may move as far as its node and its past are concerned.
pub(super) struct Candidate<'a> {
    pub(super) guest: &'a Guest<'a>,
    pub(super) reserved: Resources,
    pub(super) from_level_after: f64,
    pub(super) benefit_cpu_s: f64,
    pub(super) cost_cpu_s: f64,
    pub(super) downtime: Duration,
}

impl<'a> Candidate<'a> {
    /// The job, which `lasts` so long, and shares the link with those `in_flight`.
    pub(super) fn new(
        guest: &'a Guest<'a>,
        demand: Demand,
        lasts: Duration,
        source: &Site<'_>,
        config: &Config,
        in_flight: usize,
    ) -> Self {
        let sample = guest.sample;
        let above = (source.level_without - config.low_water).max(0.0) * source.strength();
        let sharing = (in_flight + 1) as f64;
        let transfer_s = sample.state_bytes as f64 * sharing / config.bandwidth_bytes_per_s;
        let busy_s = config.pause.as_secs_f64() + transfer_s;
        let downtime_s = busy_s + config.cold_start.as_secs_f64();
        Self {
            guest,
            reserved: Resources {
                cpus: demand.cpus_at_most,
                memory_bytes: sample.memory_bytes(),
                named: sample.demand.named.clone(),
            },
            from_level_after: source.level_without - source.share(demand.cpus_at_most),
            benefit_cpu_s: demand.likely_cpus.min(above) * lasts.as_secs_f64(),
            cost_cpu_s: demand.likely_cpus * downtime_s + 2.0 * busy_s,
            downtime: Duration::try_from_secs_f64(downtime_s).unwrap_or(Duration::MAX),
        }
    }

    pub(super) fn gain_cpu_s(&self) -> f64 {
        self.benefit_cpu_s - self.cost_cpu_s
    }
}
