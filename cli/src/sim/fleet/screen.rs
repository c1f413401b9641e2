//! The comparison of rules on a screen.

use std::io::{self, Write};

use heist_run::terminal::{harmless, wrapped};
use heist_sim::fleet::Score;

use super::compared::Compared;
use super::skips::Skips;
use super::time::shown;
use crate::table;

const HEAD: [&str; 11] = [
    "rule", "p50", "p99", "miss", "delay", "spread", "moves", "/h", "back", "GiB", "pause",
];
const WIDE: usize = 80;

/// Prints one fleet under all rules.
pub(super) fn write(fleet: &Compared, out: &mut impl Write) -> io::Result<()> {
    let runs = match fleet.runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let head = format!(
        "{}: {} nodes, {} jobs, measured each {}, {runs} (model)",
        harmless(&fleet.title),
        fleet.nodes,
        fleet.jobs,
        shown(fleet.period_s),
    );
    for line in wrapped(&head, WIDE) {
        writeln!(out, "{line}")?;
    }
    for note in &fleet.notes {
        bullet(&harmless(note), out)?;
    }
    if let Some(trace) = &fleet.trace {
        let (rows, skipped) = (trace.rows, trace.skipped.rows());
        bullet(&format!("{rows} rows were read, {skipped} left out"), out)?;
        reasons(&trace.skipped, "left out", out)?;
        reasons(&trace.changed, "changed", out)?;
        if trace.is_cut {
            let limit = trace.window.limit;
            bullet(
                &format!("the limit of {limit} jobs was reached (--limit)"),
                out,
            )?;
        }
    }
    writeln!(out)?;
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(fleet.rules.iter().map(|(name, score)| cells(name, score)));
    let mut last: [String; HEAD.len()] = std::array::from_fn(|_| "-".to_owned());
    last[0] = "bound".to_owned();
    last[4] = decimals(fleet.bound.delay_s);
    lines.push(last);
    table::write(&lines, 1, out)?;
    for (name, score) in &fleet.rules {
        let counts = [
            (score.unfinished, "did not end in time"),
            (score.unplaced, "want more memory than any node has"),
        ];
        for (jobs, what) in counts.into_iter().filter(|(jobs, _)| *jobs > 0) {
            writeln!(out, "with {name}, {jobs} jobs {what}")?;
        }
    }
    writeln!(out)
}

fn bullet(text: &str, out: &mut impl Write) -> io::Result<()> {
    for (at, line) in wrapped(text, WIDE - 4).into_iter().enumerate() {
        let mark = if at == 0 { "  - " } else { "    " };
        writeln!(out, "{mark}{line}")?;
    }
    Ok(())
}

fn reasons(skips: &Skips, what: &str, out: &mut impl Write) -> io::Result<()> {
    for (reason, skip) in skips.iter() {
        let (rows, first) = (skip.rows, harmless(&skip.first));
        bullet(&format!("{what}, {rows}: {reason} ({first})"), out)?;
    }
    Ok(())
}

fn cells(name: &str, score: &Score) -> [String; HEAD.len()] {
    [
        name.to_owned(),
        format!("{:.2}", score.p50),
        format!("{:.2}", score.p99),
        format!("{:.1}", score.slo_missed * 100.0),
        decimals(score.delay_s),
        format!("{:.2}", score.spread),
        score.moves.to_string(),
        decimals(score.moves_per_job_hour),
        score.returns.to_string(),
        decimals(score.moved_gib),
        format!("{:.0}", score.pause_s),
    ]
}

/// A number with as many decimals as say something.
fn decimals(number: f64) -> String {
    match number {
        number if number >= 99.95 => format!("{number:.0}"),
        number if number >= 9.995 => format!("{number:.1}"),
        number => format!("{number:.2}"),
    }
}
