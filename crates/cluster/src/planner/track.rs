//! The planner's memory of each node and each job.

use std::collections::VecDeque;
use std::time::Duration;

use super::config::Config;
use super::id::NodeId;
use super::ns;
use super::sample::{Fault, JobSample, NodeSample};

/// After so many moves, or firings, doubling ends.
const DOUBLINGS_MAX: u32 = 16;

/// So many times the samples that make a node hot, all calm, and its heat of the past is forgotten.
const CALM_FOR_GOOD: u32 = 16;

/// From this share of its CPUs on a node is as good as full.
const FULL: f64 = 0.98;

/// No measure of CPUs in use says more than this; it says a little more than 100 % where its clock
/// and that of the processes differ.
const CAPPED_MAX: f64 = 1.05;

/// A node as it was measured.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTrack {
    /// The last sample that was believed; `None` before the first.
    pub(super) newest: Option<NodeSample>,
    /// When it was measured.
    pub(super) last_at: Duration,
    /// The smoothed utilisation.
    pub(super) level: f64,
    /// The last levels and utilisations, of as many samples as must find a node hot, the newest
    /// last.
    levels: VecDeque<(f64, f64)>,
    /// Whether the node was ever measured above 100 %, so that its level says how much waits.
    counts_waiting: bool,
    /// How many samples went into the level.
    pub(super) samples: u32,
    /// How many of the last samples in a row left the level above the hot one.
    pub(super) hot_samples: u32,
    /// How many of the last samples in a row left it below the low-water mark.
    calm_samples: u32,
    /// How often the node has given a job without calming down since.
    firings: u32,
    /// How often it was hot for long enough and then was not, with nobody's help.
    passings: u32,
    /// Measurements from before this time are void: a move ended then.
    since: Duration,
}

impl NodeTrack {
    fn speed(&self) -> Option<f64> {
        self.newest.as_ref().map(|sample| sample.speed)
    }

    /// The lowest of the last levels: what lasted, by which a source is judged.
    pub(super) fn lowest(&self) -> f64 {
        let levels = self.levels.iter();
        levels.fold(self.level, |lowest, &(level, _)| lowest.min(level))
    }

    /// The highest of the last levels: what may come again, by which a target is judged.
    pub(super) fn highest(&self) -> f64 {
        let levels = self.levels.iter();
        levels.fold(self.level, |highest, &(level, _)| highest.max(level))
    }

    /// Whether more may wait on the node than its level says: it was full, and was never measured
    /// to be fuller.
    pub(super) fn hides_waiting(&self) -> bool {
        let mut levels = self.levels.iter();
        !self.counts_waiting && levels.any(|&(_, measured)| measured >= FULL)
    }

    /// Takes in a sample that has no fault of its own.
    pub(super) fn observe(&mut self, sample: &NodeSample, config: &Config) -> Option<Fault> {
        if self.newest.is_some() && sample.at <= self.last_at {
            let behind_ns = ns::of(self.last_at - sample.at);
            // The same sample once more is no fault, and no news.
            return (behind_ns > 0).then_some(Fault::Overtaken { behind_ns });
        }
        let gap = sample.at.saturating_sub(self.last_at);
        if gap > config.stale_after {
            self.unlearn();
        }
        self.last_at = sample.at;
        self.newest = Some(sample.clone());
        if sample.at < self.since {
            return None;
        }
        self.level = smooth(
            self.level,
            sample.utilisation,
            self.samples,
            config.smoothing,
        );
        self.samples = self.samples.saturating_add(1);
        self.levels.push_back((self.level, sample.utilisation));
        self.counts_waiting |= sample.utilisation > CAPPED_MAX;
        if self.levels.len() > config.sustained_samples as usize {
            self.levels.pop_front();
        }
        if self.level >= config.hot_level {
            self.hot_samples = self.hot_samples.saturating_add(1);
        } else {
            let was_hot = self.hot_samples >= config.sustained_samples;
            self.passings = self.passings.saturating_add(was_hot.into());
            self.hot_samples = 0;
        }
        if self.level < config.low_water {
            self.firings = 0;
            self.calm_samples = self.calm_samples.saturating_add(1);
        } else {
            self.calm_samples = 0;
        }
        if self.calm_samples >= config.sustained_samples.saturating_mul(CALM_FOR_GOOD) {
            self.passings = 0;
        }
        None
    }

    /// How many samples in a row must be hot before the node gives its next job.
    pub(super) fn patience(&self, config: &Config) -> u32 {
        let is_emergency = self.level >= config.emergency;
        let firings = if is_emergency { 0 } else { self.firings };
        let doublings = self.passings.saturating_add(firings).min(DOUBLINGS_MAX);
        config.sustained_samples.saturating_mul(1 << doublings)
    }

    pub(super) fn fired(&mut self) {
        self.firings = self.firings.saturating_add(1);
        self.hot_samples = 0;
    }

    /// Begins to measure anew: what was measured before `now` is another load.
    pub(super) fn restart(&mut self, now: Duration) {
        self.unlearn();
        self.since = now;
    }

    fn unlearn(&mut self) {
        self.samples = 0;
        self.hot_samples = 0;
        self.levels.clear();
    }
}

/// A job as it was measured, and how often it moved.
#[derive(Clone, Debug, Default)]
pub(super) struct JobTrack {
    /// The smoothed use, in CPUs of a node of speed 1.
    pub(super) used_cpus: f64,
    /// How many measurements went into it.
    pub(super) samples: u32,
    measured_at: Duration,
    /// Since when its node has been measured.
    since: Duration,
    first_seen: Option<Duration>,
    pub(super) last_seen: Duration,
    pub(super) moves: u32,
    pub(super) cool_until: Duration,
    /// Where the last move took it, and when: samples from before that name the old node.
    pub(super) place: Option<(NodeId, Duration)>,
}

impl JobTrack {
    pub(super) fn seen(&mut self, now: Duration) {
        self.first_seen.get_or_insert(now);
        self.last_seen = now;
    }

    /// The node that the job is on, which an old sample does not know.
    pub(super) fn place_of(&self, sample: &JobSample) -> NodeId {
        match &self.place {
            Some((node, since)) if sample.at < *since => node.clone(),
            _ => sample.node.clone(),
        }
    }

    /// Takes in the measured use on its node. When that is measured anew, so is the job: it may get
    /// more than it got, or less.
    pub(super) fn observe(&mut self, sample: &JobSample, node: &NodeTrack, smoothing: f64) {
        let is_old = self.samples > 0 && sample.at <= self.measured_at;
        let is_before_move = sample.at < node.since;
        let used = sample.used_cpus.filter(|_| !is_old && !is_before_move);
        let (Some(used), Some(speed)) = (used, node.speed()) else {
            return;
        };
        if self.since != node.since {
            self.since = node.since;
            self.samples = 0;
        }
        self.used_cpus = smooth(self.used_cpus, used * speed, self.samples, smoothing);
        self.samples = self.samples.saturating_add(1);
        self.measured_at = sample.at;
    }

    /// How long the job has run, and how long it can be expected to run on: what it says, or
    /// else as long again.
    pub(super) fn life(&self, now: Duration, sample: &JobSample) -> (Duration, Duration) {
        let seen = now.saturating_sub(self.first_seen.unwrap_or(now));
        let past = sample.running_for.unwrap_or(seen);
        (past, sample.remaining.unwrap_or(past))
    }

    pub(super) fn cool_down(&mut self, now: Duration, first: Duration) {
        let doublings = self.moves.saturating_sub(1).min(DOUBLINGS_MAX);
        self.cool_until = now.saturating_add(first.saturating_mul(1 << doublings));
    }
}

/// The exponentially weighted mean after one more value; the first value is taken whole.
fn smooth(mean: f64, value: f64, samples: u32, weight: f64) -> f64 {
    if samples == 0 {
        value
    } else {
        mean + weight * (value - mean)
    }
}
