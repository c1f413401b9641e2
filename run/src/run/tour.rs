//! Three workloads in one table: what `heist run` shows by itself.
//!
//! One has known pieces, some of which turn out to be work for several; the pieces of one appear as
//! it goes on; and one is a loop that is dear where nobody expects it. A strategy that suits one of
//! them need not suit the others.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::HumanCount;

use super::args::{Args, SEED};
use super::comparison::{Comparison, Row};
use super::measure::{self, Rounds};
use super::outcome::{check_results, list_skipped};
use super::page::Recorded;
use super::screen::{percent, speedup, time};
use super::verdict::verdict;
use super::{document, page, workers};
use crate::terminal;
use crate::usage::Usage;
use crate::workload::{files::Files, skewed_loop::SkewedLoop, uts::Uts, Setup, Workload};

/// The time for the measured rounds of one workload.
const TIME: Duration = Duration::from_secs(3);

/// The size of the tree, and of the loop: over a tenth of a second of serial work. Few enough that
/// the fewest rounds of each fit into [`TIME`] on a machine that is half as fast or busy.
const TREE: u64 = 800;
const LOOP: u64 = 5_000;

/// Rounds that differ by more than this were disturbed.
const SPREAD: f64 = 1.5;

/// The comparisons so far, and the recorded runs.
struct Tour<'a> {
    args: &'a Args,
    workers: usize,
    comparisons: Vec<Comparison>,
    recorded: Vec<Recorded>,
}

/// Runs the three workloads and shows the table.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let one_workload_only = [
        ("--size", args.size.is_some()),
        ("--seed", args.seed.is_some()),
        ("--output", args.output.is_some()),
    ];
    for (name, is_given) in one_workload_only {
        if is_given {
            let why = format!("{name} means nothing without a workload; name one before it");
            return Err(Usage(why).into());
        }
    }
    args.check_outputs(None)?;
    let workers = workers::number(args.workers)?;
    let mut tour = Tour {
        args,
        workers,
        comparisons: Vec::new(),
        recorded: Vec::new(),
    };
    tour.visit::<Files>(0)?;
    tour.visit::<Uts>(TREE)?;
    tour.visit::<SkewedLoop>(LOOP)?;
    workers::warn(workers)?;
    let Tour {
        comparisons,
        recorded,
        ..
    } = tour;
    let verdict = verdict(workers, &comparisons);
    if args.json {
        document::write(workers, &comparisons, verdict.as_deref(), out)?;
    } else {
        write(&comparisons, verdict.as_deref(), terminal::width(), out)?;
    }
    let listed = comparisons
        .iter()
        .try_for_each(|comparison| list_skipped(&comparison.skipped));
    if args.records() {
        let plural = if workers == 1 { "" } else { "s" };
        let title = format!("three workloads, {workers} worker{plural}");
        page::write(args, &title, recorded)?;
    }
    listed?;
    check_results(&comparisons)
}

impl Tour<'_> {
    /// Measures a workload, and records it if there is to be a page or a trace.
    fn visit<W: Workload>(&mut self, size: u64) -> anyhow::Result<()> {
        let setup = Setup {
            size,
            seed: SEED,
            input: self.args.input.clone(),
            output: Default::default(),
        };
        let rounds = self
            .args
            .repeat
            .map_or(Rounds::Within(TIME), Rounds::Number);
        let strategies = self.args.strategy.strategies();
        let (workload, comparison, output) =
            measure::prepare_and_compare::<W>(&setup, &strategies, self.workers, rounds)?;
        if self.args.records() {
            let recorded = page::runs(&workload, &comparison, &output)?;
            self.recorded.extend(recorded.into_iter().map(|mut it| {
                it.run.name = format!("{}, {}", comparison.workload, it.run.name);
                it
            }));
        }
        self.comparisons.push(comparison);
        Ok(())
    }
}

/// Prints the table and the verdict.
fn write(
    comparisons: &[Comparison],
    verdict: Option<&str>,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(first) = comparisons.first() else {
        return Ok(());
    };
    let plural = if first.workers == 1 { "" } else { "s" };
    writeln!(
        out,
        "three kinds of work on {} worker{plural}\n",
        first.workers
    )?;
    write!(out, "{:7}", "")?;
    for row in &first.rows {
        let room = if row.strategy.as_str() == "serial" {
            11
        } else {
            17
        };
        write!(out, "{:>room$}", row.strategy.as_str())?;
    }
    writeln!(out)?;
    for comparison in comparisons {
        write!(out, "{:7}", comparison.workload)?;
        write!(out, "{:>11}", time(comparison.rows[0].median().wall))?;
        for row in &comparison.rows[1..] {
            let share = percent(row.median().utilisation());
            write!(out, "{:>9}  {share:>6}", speedup(comparison.speedup(row)))?;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    for comparison in comparisons {
        let input = format!("{:7}{}", comparison.workload, comparison.input);
        writeln!(out, "{}", terminal::cut(&input, width))?;
    }
    legend(comparisons, out)?;
    unrest(comparisons, out)?;
    if let Some(verdict) = verdict {
        writeln!(out)?;
        for line in terminal::wrapped(&format!("Verdict: {verdict}"), width) {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(
        out,
        "\nrun uts shows one of them in detail, run --report page.html draws who did what\n\
         when, and run --help lists seven more workloads"
    )
}

/// The meaning of the figures, and the figures that have no column.
fn legend(comparisons: &[Comparison], out: &mut dyn Write) -> io::Result<()> {
    let rounds = |pick: fn(u64, u64) -> u64| {
        let rounds = comparisons.iter().map(|comparison| comparison.rounds);
        rounds.reduce(pick).unwrap_or(0)
    };
    let rounds = match (rounds(u64::min), rounds(u64::max)) {
        (1, 1) => "one round".to_owned(),
        (least, most) if least == most => format!("medians of {least} rounds"),
        (least, most) => format!("medians of {least} to {most} rounds"),
    };
    writeln!(
        out,
        "\nhow many times as fast as serial, and the share of their time that the workers\n\
         were at work; {rounds} after one to warm up"
    )?;
    let steals: Vec<String> = comparisons
        .iter()
        .flat_map(|comparison| &comparison.rows)
        .filter_map(|row: &Row| Some(HumanCount(row.median().steals?.taken).to_string()))
        .collect();
    if !steals.is_empty() {
        writeln!(out, "jobs that were stolen: {}", steals.join(", "))?;
    }
    let same = comparisons.iter().all(|it| it.wrong().next().is_none());
    match same {
        true => writeln!(out, "the results are the same under every strategy"),
        false => writeln!(out, "the results are NOT THE SAME under every strategy"),
    }
}

/// Says so if the rounds differ so much that something else must have used the cores.
fn unrest(comparisons: &[Comparison], out: &mut dyn Write) -> io::Result<()> {
    let rows = comparisons.iter().flat_map(|comparison| &comparison.rows);
    let spreads = rows.map(|row| {
        let (slowest, fastest) = (row.slowest().wall, row.fastest().wall);
        slowest.as_secs_f64() / fastest.as_secs_f64()
    });
    let most = spreads.reduce(f64::max).unwrap_or(1.0);
    if most < SPREAD {
        return Ok(());
    }
    writeln!(
        out,
        "\nThe slowest round of a strategy took up to {most:.1} times as long as its fastest, so\n\
         something else used the cores meanwhile: run again when the machine is quiet."
    )
}
