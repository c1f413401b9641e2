//! The result of a comparison, independent of the workload.

use std::time::Duration;

use crate::strategy::Strategy;
use crate::workload::{Fact, Skipped};

/// One workload under several strategies.
pub(super) struct Comparison {
    pub(super) workload: &'static str,
    /// The pieces that are counted as tasks.
    pub(super) tasks: &'static str,
    pub(super) input: String,
    pub(super) workers: usize,
    pub(super) rounds: u64,
    /// The findings of the serial run.
    pub(super) facts: Vec<Fact>,
    pub(super) skipped: Vec<Skipped>,
    /// The serial strategy first.
    pub(super) rows: Vec<Row>,
}

/// A strategy with all its rounds: a row of the table.
pub(super) struct Row {
    pub(super) strategy: Strategy,
    /// True if every run gave the result of the first serial one.
    pub(super) agrees: bool,
    /// The measured rounds in the order in which they ran. Never empty.
    pub(super) rounds: Vec<Round>,
}

/// One measured run.
pub(super) struct Round {
    pub(super) wall: Duration,
    /// The time that each worker was busy.
    pub(super) busy: Vec<Duration>,
    pub(super) tasks: u64,
    /// `None` where nothing can be stolen.
    pub(super) steals: Option<Steals>,
}

/// The number of steals.
#[derive(Clone, Copy)]
pub(super) struct Steals {
    pub(super) taken: u64,
    pub(super) failed: u64,
}

impl Comparison {
    /// The strategies that gave another result than the serial one.
    pub(super) fn wrong(&self) -> impl Iterator<Item = Strategy> + '_ {
        self.rows
            .iter()
            .filter(|row| !row.agrees)
            .map(|row| row.strategy)
    }

    /// The speed of the strategy relative to the serial one.
    pub(super) fn speedup(&self, row: &Row) -> f64 {
        ratio(self.rows[0].median().wall, row.median().wall)
    }
}

impl Row {
    pub(super) fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            agrees: true,
            rounds: Vec::new(),
        }
    }

    /// The round in the middle; of an even number, the slower one of the two.
    pub(super) fn median(&self) -> &Round {
        self.ranked(self.rounds.len() / 2)
    }

    pub(super) fn fastest(&self) -> &Round {
        self.ranked(0)
    }

    pub(super) fn slowest(&self) -> &Round {
        self.ranked(self.rounds.len() - 1)
    }

    /// The round that so many others are faster than.
    fn ranked(&self, rank: usize) -> &Round {
        let mut rounds: Vec<&Round> = self.rounds.iter().collect();
        rounds.sort_by_key(|round| round.wall);
        rounds[rank]
    }
}

impl Round {
    /// The part of the run that each worker was busy, from 0 to 1.
    pub(super) fn busy_shares(&self) -> impl Iterator<Item = f64> + '_ {
        self.busy
            .iter()
            .map(|&busy| ratio(busy, self.wall).min(1.0))
    }

    /// The part of the run that the workers were busy on average, from 0 to 1.
    pub(super) fn utilisation(&self) -> f64 {
        self.busy_shares().sum::<f64>() / self.busy.len() as f64
    }
}

/// A ratio of durations; nothing lasts less than a nanosecond.
fn ratio(over: Duration, under: Duration) -> f64 {
    over.as_secs_f64() / under.max(Duration::from_nanos(1)).as_secs_f64()
}
