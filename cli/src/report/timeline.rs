//! A report about timelines: who ran what when, as text, page or trace.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use heist_observe::recording::Recording;
use heist_observe::{report, trace, Run, SpanKind};
use heist_run::terminal::{harmless, width, wrapped};

/// The most pools of which the text says something.
const POOLS_SHOWN: usize = 20;

/// Shows the timelines, and writes the page and the trace that are wanted.
pub(super) fn show(
    recordings: &[Recording],
    html: Option<&Path>,
    traced: Option<&Path>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let commands = recordings.iter().map(|it| it.command.join(" "));
    let commands: Vec<String> = commands.collect();
    let title = commands.join(", ");
    if let Some(path) = html {
        let runs = runs(recordings, |recording| recording.runs.clone());
        fs::write(path, report::html(&title, &runs))
            .with_context(|| format!("cannot write the page {}", path.display()))?;
    }
    if let Some(path) = traced {
        let runs = runs(recordings, Recording::on_one_clock);
        File::create(path)
            .and_then(|file| trace::write(&title, &runs, BufWriter::new(file)))
            .with_context(|| format!("cannot write the trace {}", path.display()))?;
    }
    for (recording, command) in recordings.iter().zip(commands) {
        text(recording, &command, out)?;
    }
    Ok(())
}

/// The runs of all, each with the number of its program where there are several.
fn runs(recordings: &[Recording], of: impl Fn(&Recording) -> Vec<Run>) -> Vec<Run> {
    let mut all = Vec::new();
    for (number, recording) in recordings.iter().enumerate() {
        all.extend(of(recording).into_iter().map(|run| Run {
            name: match recordings.len() {
                1 => run.name,
                _ => format!("program {number}, {}", run.name),
            },
            ..run
        }));
    }
    all
}

fn text(recording: &Recording, command: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let columns = width().max(40);
    let say = |out: &mut dyn Write, indent: usize, text: &str| -> std::io::Result<()> {
        let lines = wrapped(&harmless(text), columns - indent);
        let mut lines = lines.iter();
        lines.try_for_each(|line| writeln!(out, "{:indent$}{line}", ""))
    };
    say(out, 0, command)?;
    if recording.runs.is_empty() {
        say(out, 2, "no pool recorded anything")?;
    }
    for run in recording.runs.iter().take(POOLS_SHOWN) {
        say(out, 2, &line(run))?;
        if let Some(sentence) = report::diagnosis(run) {
            say(out, 4, &sentence)?;
        }
        let dropped: u64 = run.lanes.iter().map(|lane| lane.dropped).sum();
        if dropped > 0 {
            let more =
                "older events were overwritten; HEIST_RECORD_EVENTS=N keeps N of each worker";
            say(out, 4, &format!("{dropped} {more}"))?;
        }
    }
    let shown = recording.runs.len().min(POOLS_SHOWN);
    let more = (recording.runs.len() - shown) as u64;
    if more > 0 {
        say(
            out,
            2,
            &format!("{more} more pools, which page and trace show"),
        )?;
    }
    let left_out = recording.other_pools;
    if left_out > 0 {
        say(
            out,
            2,
            &format!("{left_out} more pools, which had ended and for which there was no room"),
        )?;
    }
    Ok(())
}

/// A pool in a line.
fn line(run: &Run) -> String {
    let spans = || run.lanes.iter().flat_map(|lane| &lane.spans);
    let jobs = spans().filter(|span| span.kind == SpanKind::Task).count();
    let busy_ns: u64 = run.lanes.iter().map(heist_observe::Lane::busy_ns).sum();
    let all_ns = run.wall_ns as f64 * run.lanes.len() as f64;
    format!(
        "{}: {:.3} s, {:.0} % of the workers' time at work, jobs {jobs}, steals {}",
        run.name,
        run.wall_ns as f64 / 1e9,
        100.0 * busy_ns as f64 / all_ns.max(1.0),
        run.steals.len(),
    )
}
