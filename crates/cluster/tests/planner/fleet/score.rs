//! The figures of one policy in one scenario, over all seeds.

use std::fmt;

use super::setup::Run;

#[derive(Clone, Debug)]
pub(crate) struct Score {
    pub(crate) moves: usize,
    returns: usize,
    pub(crate) above_before: usize,
    above_after: usize,
    p50: f64,
    pub(crate) p99: f64,
    spread: f64,
    bytes: u64,
    paused_ticks: u64,
    censored: usize,
}

impl Score {
    pub(crate) const HEAD: &'static str = "scenario    policy    moves returns  above (left)  \
        p50 slow  p99 slow  spread  moved GiB  pause s  unfinished";

    /// Slowdowns are pooled over the runs, counts are added, the spread is a mean.
    pub(crate) fn of(runs: Vec<Run>) -> Self {
        let mut slowdowns: Vec<f64> = runs.iter().flat_map(|run| run.slowdowns.clone()).collect();
        slowdowns.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (share * slowdowns.len() as f64).ceil() as usize;
            slowdowns[rank.clamp(1, slowdowns.len()) - 1]
        };
        Self {
            moves: runs.iter().map(|run| run.moves).sum(),
            returns: runs.iter().map(|run| run.returns).sum(),
            above_before: runs.iter().map(|run| run.above_before).sum(),
            above_after: runs.iter().map(|run| run.above_after).sum(),
            p50: quantile(0.5),
            p99: quantile(0.99),
            spread: runs.iter().map(|run| run.spread).sum::<f64>() / runs.len() as f64,
            bytes: runs.iter().map(|run| run.bytes).sum(),
            paused_ticks: runs.iter().map(|run| run.paused_ticks).sum(),
            censored: runs.iter().map(|run| run.censored).sum(),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>6} {:>7} {:>6} {:>6}  {:>8.3}  {:>8.3}  {:>6.2}  {:>9.1}  {:>7}  {:>10}",
            self.moves,
            self.returns,
            self.above_before,
            self.above_after,
            self.p50,
            self.p99,
            self.spread,
            self.bytes as f64 / (1u64 << 30) as f64,
            self.paused_ticks,
            self.censored,
        )
    }
}
