//! The figures of a rule over several runs.

use super::outcome::Run;
use super::setup::{GIB, SECOND};

/// The figures of one rule in one fleet, over all seeds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Score {
    /// The slowdown of half of the jobs at most.
    pub p50: f64,
    /// The slowdown of all but one job in a hundred at most.
    pub p99: f64,
    /// The share of jobs that missed their objective.
    pub slo_missed: f64,
    /// The delay of a CPU-second of work in the mean, in seconds.
    pub delay_s: f64,
    /// The difference between the hottest and the coldest node.
    pub spread: f64,
    /// The share of all CPUs that was in use.
    pub used: f64,
    /// Moves that began.
    pub moves: u64,
    /// Moves for each hour that a job ran.
    pub moves_per_job_hour: f64,
    /// Moves to where a job had been before.
    pub returns: u64,
    /// Moves that failed.
    pub failed_moves: u64,
    /// Moves whose target truly ended above the level that the job came from.
    pub overshoots: u64,
    /// The state that was moved, in GiB.
    pub moved_gib: f64,
    /// For how long jobs stood still, in seconds.
    pub pause_s: f64,
    /// How many jobs ran.
    pub jobs: u64,
    /// Jobs that were not done when time was up.
    pub unfinished: u64,
    /// Jobs whose end the trace did not know.
    pub censored: u64,
    /// Jobs that no node has the memory for.
    pub unplaced: u64,
    /// Events that were simulated.
    pub events: u64,
}

impl Score {
    /// Slowdowns are pooled over the runs, counts are added, of the rest there is the mean.
    ///
    /// # Panics
    ///
    /// Panics without a run.
    #[must_use]
    pub fn of(runs: &[Run]) -> Self {
        assert!(!runs.is_empty(), "a score needs a run");
        let all = runs.iter().flat_map(|run| run.slowdowns.iter().copied());
        let mut slowdowns: Vec<f64> = all.collect();
        slowdowns.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (share * slowdowns.len() as f64).ceil() as usize;
            let rank = rank.clamp(1, slowdowns.len().max(1));
            slowdowns.get(rank - 1).copied().unwrap_or(1.0)
        };
        let sum = |of: fn(&Run) -> u64| runs.iter().map(of).sum::<u64>();
        let mean = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let job_ns: u128 = runs.iter().map(|run| run.job_ns).sum();
        let hours = job_ns as f64 / (3600 * SECOND) as f64;
        let moves = sum(|run| run.moves);
        Self {
            p50: quantile(0.5),
            p99: quantile(0.99),
            slo_missed: sum(|run| run.slo_misses) as f64 / slowdowns.len().max(1) as f64,
            delay_s: mean(|run| run.delay_s),
            spread: mean(|run| run.spread),
            used: mean(|run| run.used),
            moves,
            moves_per_job_hour: if hours > 0.0 {
                moves as f64 / hours
            } else {
                0.0
            },
            returns: sum(|run| run.returns),
            failed_moves: sum(|run| run.failed_moves),
            overshoots: sum(|run| run.overshoots),
            moved_gib: sum(|run| run.bytes) as f64 / GIB as f64,
            pause_s: sum(|run| run.pause_ns) as f64 / SECOND as f64,
            jobs: slowdowns.len() as u64,
            unfinished: sum(|run| run.unfinished),
            censored: sum(|run| run.censored),
            unplaced: sum(|run| run.unplaced),
            events: sum(|run| run.events),
        }
    }
}
