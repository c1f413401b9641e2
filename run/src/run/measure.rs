//! Runs the strategies round by round, takes the time, and compares the results.

use std::io;
use std::time::{Duration, Instant};

use super::comparison::{Comparison, Round, Row, Steals};
use crate::progress;
use crate::strategy::{Bag, Dealing, Pieces, Serial, Stealing, Strategy};
use crate::trace::Trace;
use crate::usage::Usage;
use crate::workload::{Setup, Workload};

/// How many rounds are measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rounds {
    Number(u64),
    /// As many as fit into this time, but at least [`ROUNDS_MIN`] and at most [`ROUNDS_MAX`].
    Within(Duration),
}

/// Fewer say nothing about the spread.
const ROUNDS_MIN: u64 = 3;

/// More tell nothing new.
const ROUNDS_MAX: u64 = 15;

impl Rounds {
    /// True if another round is to be measured after `measured` ones.
    fn go_on(self, measured: u64, elapsed: Duration) -> bool {
        match self {
            Self::Number(number) => measured < number,
            Self::Within(time) => {
                // The rounds and the one to warm up took about the same time each.
                let next = elapsed / (measured as u32 + 1);
                measured < ROUNDS_MIN || measured < ROUNDS_MAX && elapsed + next <= time
            }
        }
    }
}

/// Prepares the workload and measures it.
pub(super) fn prepare_and_compare<W: Workload>(
    setup: &Setup,
    strategies: &[Strategy],
    workers: usize,
    rounds: Rounds,
) -> anyhow::Result<(W, Comparison, W::Output)> {
    let usage = |error: anyhow::Error| Usage(format!("{error:#}"));
    // Before the input is read: heist may refuse the number of workers, or a variable.
    let pool = Stealing::new(workers).map_err(usage)?;
    let workload = W::prepare(setup).map_err(usage)?;
    let (comparison, output) = compare(&workload, strategies, workers, pool, rounds)?;
    Ok((workload, comparison, output))
}

/// Runs a round to warm up and measured ones, each strategy in each.
///
/// Interleaving spreads the other work of the machine over all strategies. `pool` has as many
/// workers as the others get, and is stopped in the end. Returns the output of the first serial
/// run as well.
fn compare<W: Workload>(
    workload: &W,
    strategies: &[Strategy],
    workers: usize,
    pool: Stealing,
    rounds: Rounds,
) -> anyhow::Result<(Comparison, W::Output)> {
    let runner = Runner {
        workload,
        workers,
        pool: &pool,
        trace: Trace::OFF,
    };
    let mut rows: Vec<Row> = strategies.iter().copied().map(Row::new).collect();
    let progress = match rounds {
        Rounds::Number(number) => progress::bar((number + 1) * rows.len() as u64),
        Rounds::Within(_) => progress::status(),
    };
    let mut expected: Option<W::Output> = None;
    let begin = Instant::now();
    let mut round = 0;
    while round == 0 || rounds.go_on(round - 1, begin.elapsed()) {
        for row in &mut rows {
            let name = row.strategy.as_str();
            let which = match round {
                0 => "warming up".to_owned(),
                _ => format!("round {round}"),
            };
            progress.set_message(format!("{}: {name}, {which}", W::PROFILE.name));
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
        round += 1;
    }
    progress.finish_and_clear();
    pool.shutdown();
    let output = expected.expect("at least the serial strategy ran");
    let comparison = Comparison {
        workload: W::PROFILE.name,
        tasks: W::PROFILE.tasks,
        input: workload.input(),
        workers,
        rounds: round - 1,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_on_for_the_time_given_but_neither_too_few_nor_too_many() {
        let time = |seconds| Duration::from_secs(seconds);
        let rounds = Rounds::Within(time(10));
        assert!(rounds.go_on(2, time(1_000)), "three are the least");
        assert!(!rounds.go_on(3, time(1_000)));
        assert!(rounds.go_on(4, time(8)), "the next would end after 9.6 s");
        assert!(!rounds.go_on(4, time(9)), "the next would end after 10.8 s");
        assert!(!rounds.go_on(15, time(0)), "fifteen are the most");
        assert!(Rounds::Number(1).go_on(0, time(1_000)));
        assert!(!Rounds::Number(1).go_on(1, time(0)));
    }
}
