//! The comparison on one screen, for people.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::HumanCount;

use super::comparison::{Comparison, Row};

/// Up to this many workers get a bar each; more share a line, a sign each.
const BARS_MAX: usize = 8;

/// Width of a bar, and of a line of signs.
const BAR_WIDTH: usize = 48;

/// Signs for a worker's busy share, from none to all.
const SIGNS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Prints the comparison.
pub(super) fn write(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let workers = match comparison.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    };
    let rounds = match comparison.rounds {
        1 => "1 round after a warm-up".to_owned(),
        rounds => format!("median of {rounds} rounds after a warm-up"),
    };
    writeln!(out, "{}: {}", comparison.workload, comparison.input)?;
    writeln!(out, "{workers}, {rounds}\n")?;
    table(comparison, out)?;
    writeln!(out, "\nbusy share of each worker")?;
    for row in &comparison.rows {
        bars(row, out)?;
    }
    let result = if comparison.wrong().next().is_none() {
        "result, the same under every strategy"
    } else {
        "result of the serial strategy; NOT THE SAME under every strategy"
    };
    writeln!(out, "\n{result}")?;
    let names = comparison.facts.iter().map(|fact| fact.name.len());
    let width = names.max().unwrap_or(0);
    for fact in &comparison.facts {
        let name = fact.name.replace('_', " ");
        writeln!(out, "  {name:width$}  {}", fact.value.display())?;
    }
    Ok(())
}

/// The heads of the columns of figures, after the name of the strategy.
pub(super) const HEADS: [&str; 8] = [
    "time",
    "fastest",
    "slowest",
    "speed-up",
    "utilisation",
    "tasks",
    "steals",
    "failed steals",
];

/// The figures of a strategy, as [`HEADS`] names them.
pub(super) fn figures(comparison: &Comparison, row: &Row) -> [String; 8] {
    let median = row.median();
    let dash = || "–".to_owned();
    [
        time(median.wall),
        time(row.fastest().wall),
        time(row.slowest().wall),
        format!("{:.2}x", comparison.speedup(row)),
        percent(median.utilisation()),
        HumanCount(median.tasks).to_string(),
        median
            .steals
            .map_or_else(dash, |steals| HumanCount(steals.taken).to_string()),
        median
            .steals
            .map_or_else(dash, |steals| HumanCount(steals.failed).to_string()),
    ]
}

fn table(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let mut lines = vec![("strategy", HEADS.map(str::to_owned))];
    for row in &comparison.rows {
        lines.push((row.strategy.as_str(), figures(comparison, row)));
    }
    let width = |column: usize| {
        lines
            .iter()
            .map(|(_, cells)| cells[column].chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..HEADS.len()).filter_map(width).collect();
    for (name, cells) in &lines {
        write!(out, "{name:<8}")?;
        for (cell, width) in cells.iter().zip(&widths) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn bars(row: &Row, out: &mut impl Write) -> io::Result<()> {
    let shares: Vec<f64> = row.median().busy_shares().collect();
    let mut name = row.strategy.as_str();
    if shares.len() > BARS_MAX {
        for signs in shares.chunks(BAR_WIDTH) {
            let signs: String = signs.iter().map(|&share| sign(share)).collect();
            writeln!(out, "{name:<8}      {signs}")?;
            name = "";
        }
    } else {
        for (worker, &share) in shares.iter().enumerate() {
            let bar = bar(share);
            writeln!(out, "{name:<8}  {worker:>2}  {bar}  {:>5}", percent(share))?;
            name = "";
        }
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn bar(share: f64) -> String {
    let full = (share * BAR_WIDTH as f64).round() as usize;
    let full = full.min(BAR_WIDTH);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR_WIDTH - full))
}

fn sign(share: f64) -> char {
    let last = SIGNS.len() - 1;
    SIGNS[((share * last as f64).round() as usize).min(last)]
}

/// A duration with four digits or fewer behind the point, and its unit.
fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:.3} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.1} µs", seconds * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_always_has_its_width() {
        for share in [0.0, 0.004, 0.5, 0.999, 1.0, 7.0] {
            assert_eq!(bar(share).chars().count(), BAR_WIDTH);
        }
        assert!(bar(0.5).starts_with(&"█".repeat(BAR_WIDTH / 2)));
    }

    #[test]
    fn the_sign_grows_with_the_share() {
        assert_eq!(sign(0.0), '·');
        assert_eq!(sign(0.5), '▄');
        assert_eq!(sign(1.0), '█');
    }

    #[test]
    fn the_unit_follows_the_size() {
        assert_eq!(time(Duration::from_millis(1_234)), "1.234 s");
        assert_eq!(time(Duration::from_micros(56_789)), "56.79 ms");
        assert_eq!(time(Duration::from_nanos(780)), "0.8 µs");
    }
}
