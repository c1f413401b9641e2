//! Runs the strategies round by round, takes the time, and compares the results.

use std::io;
use std::time::Instant;

use super::comparison::{Comparison, Round, Row, Steals};
use crate::progress;
use crate::strategy::{Bag, Dealing, Pieces, Serial, Stealing, Strategy};
use crate::trace::Trace;
use crate::workload::Workload;

/// Runs a round to warm up and `rounds` measured ones, each strategy in each.
///
/// Interleaving spreads the other work of the machine over all strategies. `pool` has as many
/// workers as the others get, and is stopped in the end. Returns the output of the first serial
/// run as well.
pub(super) fn compare<W: Workload>(
    workload: &W,
    strategies: &[Strategy],
    workers: usize,
    pool: Stealing,
    rounds: u64,
) -> anyhow::Result<(Comparison, W::Output)> {
    let runner = Runner {
        workload,
        workers,
        pool: &pool,
        trace: Trace::OFF,
    };
    let row = |&strategy| Row {
        strategy,
        agrees: true,
        rounds: Vec::new(),
    };
    let mut rows: Vec<Row> = strategies.iter().map(row).collect();
    let progress = progress::bar((rounds + 1) * rows.len() as u64);
    let mut expected: Option<W::Output> = None;
    for round in 0..=rounds {
        for row in &mut rows {
            let name = row.strategy.as_str();
            progress.set_message(match round {
                0 => format!("{name}, warming up"),
                _ => format!("{name}, round {round} of {rounds}"),
            });
            let (output, measured) = runner.run(row.strategy)?;
            match &expected {
                // The serial strategy comes first.
                None => expected = Some(output),
                Some(expected) => row.agrees &= output == *expected,
            }
            if round > 0 {
                row.rounds.push(measured);
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    pool.shutdown();
    for row in &mut rows {
        row.rounds.sort_by_key(|round| round.wall);
    }
    let output = expected.expect("at least the serial strategy ran");
    let comparison = Comparison {
        workload: W::PROFILE.name,
        input: workload.input(),
        workers,
        rounds,
        facts: workload.facts(&output),
        skipped: workload.skipped(&output),
        rows,
    };
    Ok((comparison, output))
}

/// Runs a workload under any strategy.
pub(super) struct Runner<'a, W> {
    pub(super) workload: &'a W,
    pub(super) workers: usize,
    pub(super) pool: &'a Stealing,
    pub(super) trace: Trace<'a>,
}

impl<W: Workload> Runner<'_, W> {
    /// Runs it once.
    pub(super) fn run(&self, strategy: Strategy) -> io::Result<(W::Output, Round)> {
        match strategy {
            Strategy::Serial => self.serial(),
            Strategy::Static => self.bagged(Dealing::Slices),
            Strategy::Central => self.bagged(Dealing::Queue),
            Strategy::Stealing => Ok(self.stealing()),
        }
    }

    fn serial(&self) -> io::Result<(W::Output, Round)> {
        let scratch = self.workload.fresh();
        Serial::on_its_thread(|| {
            let mut serial = Serial::new(self.trace);
            let begin = Instant::now();
            let output = self.workload.serial(scratch, &mut serial);
            let wall = begin.elapsed();
            let round = Round {
                wall,
                busy: vec![wall],
                tasks: serial.tasks(),
                steals: None,
            };
            (output, round)
        })
    }

    fn bagged(&self, dealing: Dealing) -> io::Result<(W::Output, Round)> {
        let mut bag = Bag::new(dealing, self.workers, self.trace);
        let scratch = self.workload.fresh();
        let begin = Instant::now();
        let output = self.workload.bagged(scratch, &mut bag)?;
        let wall = begin.elapsed();
        let round = Round {
            wall,
            busy: bag.busy,
            tasks: bag.tasks,
            steals: None,
        };
        Ok((output, round))
    }

    fn stealing(&self) -> (W::Output, Round) {
        let scratch = self.workload.fresh();
        let begin = Instant::now();
        let (output, work) = self
            .pool
            .run(|| self.workload.stealing(scratch, Pieces(self.trace)));
        let round = Round {
            wall: begin.elapsed(),
            busy: work.busy,
            tasks: work.jobs,
            steals: Some(Steals {
                taken: work.steals,
                failed: work.steals_failed,
            }),
        };
        (output, round)
    }
}
