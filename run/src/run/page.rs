//! The report page and the trace: one more round of every strategy, recorded.
//!
//! It is a round of its own, so that recording disturbs none of the measured ones.

use std::fs::{self, File};
use std::io::BufWriter;
use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use heist_observe::{report, trace, Fact, Lane, Run, Span, SpanKind};

use super::args::Args;
use super::comparison::{Comparison, Row};
use super::measure::Runner;
use super::screen::{figures, HEADS};
use crate::progress;
use crate::strategy::{Stealing, Strategy};
use crate::trace::{Trace, Tracer};
use crate::workload::Workload;

/// The number of its latest events that each worker keeps.
const EVENTS: usize = 1 << 16;

/// A recorded run of one strategy.
pub(super) struct Recorded {
    /// The run; where the program has traced its pieces, with those in place of the pool's jobs,
    /// which say less.
    pub(super) run: Run,
    /// The jobs that the pieces took the place of, for each lane.
    jobs: Vec<Vec<Span>>,
}

/// Runs the recorded round: a run for each strategy.
pub(super) fn runs<W: Workload>(
    workload: &W,
    comparison: &Comparison,
    expected: &W::Output,
) -> anyhow::Result<Vec<Recorded>> {
    let progress = progress::bar(comparison.rows.len() as u64);
    let mut runs = Vec::new();
    for row in &comparison.rows {
        progress.set_message(format!("{}, recorded", row.strategy.as_str()));
        let (mut recorded, output) = recorded(workload, row.strategy, comparison.workers)?;
        anyhow::ensure!(
            output == *expected,
            "{} gave another result than serial in the recorded round",
            row.strategy.as_str()
        );
        recorded.run.facts = facts(comparison, row);
        runs.push(recorded);
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(runs)
}

/// Writes what the arguments ask for: the page, the trace, or both.
pub(super) fn write(args: &Args, title: &str, recorded: Vec<Recorded>) -> anyhow::Result<()> {
    let (mut runs, jobs): (Vec<_>, Vec<_>) =
        recorded.into_iter().map(|it| (it.run, it.jobs)).unzip();
    if let Some(path) = &args.report {
        fs::write(path, report::html(title, &runs))
            .with_context(|| format!("cannot write the report to {}", path.display()))?;
    }
    if let Some(path) = &args.trace {
        for (run, jobs) in runs.iter_mut().zip(jobs) {
            for (lane, jobs) in run.lanes.iter_mut().zip(jobs) {
                lane.spans.extend(jobs);
            }
        }
        write_trace(path, title, &runs)
            .with_context(|| format!("cannot write the trace to {}", path.display()))?;
    }
    Ok(())
}

fn write_trace(path: &Path, title: &str, runs: &[Run]) -> std::io::Result<()> {
    trace::write(title, runs, BufWriter::new(File::create(path)?))
}

/// The title of the page about one workload.
pub(super) fn title(comparison: &Comparison) -> String {
    let plural = if comparison.workers == 1 { "" } else { "s" };
    format!(
        "{}: {}, {} worker{plural}",
        comparison.workload, comparison.input, comparison.workers
    )
}

fn recorded<W: Workload>(
    workload: &W,
    strategy: Strategy,
    workers: usize,
) -> anyhow::Result<(Recorded, W::Output)> {
    let pool = Stealing::recording(workers, EVENTS)?;
    let origin = pool.recorder_started().unwrap_or_else(Instant::now);
    let lanes = if strategy == Strategy::Serial {
        1
    } else {
        workers
    };
    let tracer = Tracer::new(lanes, origin);
    let runner = Runner {
        workload,
        workers,
        pool: &pool,
        trace: Trace::on(&tracer),
    };
    let (output, round) = runner.run(strategy)?;
    let end_ns = ns(origin.elapsed());
    // The scratch of a run is made before its clock starts, so count back.
    let wall_ns = ns(round.wall);
    let begin_ns = end_ns.saturating_sub(wall_ns);
    let mut run = match strategy {
        Strategy::Stealing => Run::from(pool.recorded(begin_ns..end_ns)),
        _ => Run {
            lanes: (0..lanes).map(thread_lane).collect(),
            ..Run::default()
        },
    };
    pool.shutdown();
    let jobs = add_pieces(&mut run.lanes, tracer, begin_ns);
    run.name = strategy.as_str().to_owned();
    run.wall_ns = wall_ns;
    Ok((Recorded { run, jobs }, output))
}

/// Adds the pieces that the program traced itself, and returns the pool's jobs, in whose place they
/// are.
fn add_pieces(lanes: &mut [Lane], tracer: Tracer, begin_ns: u64) -> Vec<Vec<Span>> {
    let pieces = tracer.into_lanes();
    if pieces.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let mut replaced = Vec::new();
    for (lane, pieces) in lanes.iter_mut().zip(pieces) {
        let spans = mem::take(&mut lane.spans).into_iter();
        let (jobs, idle) = spans.partition(|span| span.kind == SpanKind::Task);
        replaced.push(jobs);
        lane.spans = idle;
        lane.spans.extend(pieces.into_iter().map(|mut span| {
            span.begin_ns = span.begin_ns.saturating_sub(begin_ns);
            span.end_ns = span.end_ns.saturating_sub(begin_ns);
            span
        }));
    }
    replaced
}

fn thread_lane(index: usize) -> Lane {
    Lane {
        name: format!("thread {index}"),
        ..Lane::default()
    }
}

/// The figures of the measured rounds.
fn facts(comparison: &Comparison, row: &Row) -> Vec<Fact> {
    let cells = HEADS.into_iter().zip(figures(comparison, row));
    let fact = |(label, value): (&str, String)| Fact {
        label: label.to_owned(),
        value,
    };
    cells.map(fact).collect()
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
