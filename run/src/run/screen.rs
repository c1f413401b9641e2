//! The comparison on one screen, for people.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::HumanCount;

use super::comparison::{Comparison, Row};
use crate::terminal::{cut, harmless, wrapped};

/// Up to this many workers get a bar each; more share a line, a sign each.
const BARS_MAX: usize = 8;

/// The least and the greatest width of a bar, and of a line of signs.
const BAR_WIDTHS: (usize, usize) = (16, 96);

/// The columns beside a bar.
const BESIDE_BAR: usize = 21;

/// The columns that are left out first where the terminal is narrow, by their place in [`HEADS`].
const LEAST: [usize; 4] = [7, 2, 1, 5];

/// Signs for a worker's busy share, from none to all.
const SIGNS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Prints the comparison on lines of at most `width` columns, if that is possible.
pub(super) fn write(comparison: &Comparison, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let workers = match comparison.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    };
    let rounds = match comparison.rounds {
        1 => "1 round after a warm-up".to_owned(),
        rounds => format!("median of {rounds} rounds after a warm-up"),
    };
    let input = harmless(&comparison.input);
    writeln!(out, "{}: {input}", comparison.workload)?;
    writeln!(out, "{workers}, {rounds}\n")?;
    table(comparison, width, out)?;
    for line in wrapped(&format!("a task is {}", comparison.tasks), width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nbusy share of each worker")?;
    let (least, most) = BAR_WIDTHS;
    let bar_width = width.saturating_sub(BESIDE_BAR).clamp(least, most);
    for row in &comparison.rows {
        bars(row, bar_width, out)?;
    }
    let result = if comparison.wrong().next().is_none() {
        "result, the same under every strategy"
    } else {
        "result of the serial strategy; NOT THE SAME under every strategy"
    };
    writeln!(out, "\n{result}")?;
    let names = comparison.facts.iter().map(|fact| fact.name.len());
    let name_width = names.max().unwrap_or(0);
    for fact in &comparison.facts {
        let name = fact.name.replace('_', " ");
        let line = format!("  {name:name_width$}  {}", fact.value.display());
        writeln!(out, "{}", cut(&line, width))?;
    }
    Ok(())
}

/// The heads of the columns of figures, after the name of the strategy.
pub(super) const HEADS: [&str; 8] = [
    "time",
    "fastest",
    "slowest",
    "speed-up",
    "busy",
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
        speedup(comparison.speedup(row)),
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

fn table(comparison: &Comparison, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = vec![("strategy", HEADS.map(str::to_owned))];
    for row in &comparison.rows {
        lines.push((row.strategy.as_str(), figures(comparison, row)));
    }
    let width_of = |column: usize| {
        let cells = lines.iter().map(|(_, cells)| cells[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADS.len()).map(width_of).collect();
    let shown = shown(&widths, width);
    for (name, cells) in &lines {
        write!(out, "{name:<8}")?;
        for &column in &shown {
            write!(out, "  {:>width$}", cells[column], width = widths[column])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The columns for which there is room.
fn shown(widths: &[usize], room: usize) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    for least in LEAST {
        let needed: usize = shown.iter().map(|&column| 2 + widths[column]).sum();
        if "strategy".len() + needed <= room {
            break;
        }
        shown.retain(|&column| column != least);
    }
    shown
}

fn bars(row: &Row, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let shares: Vec<f64> = row.median().busy_shares().collect();
    let mut name = row.strategy.as_str();
    if shares.len() > BARS_MAX {
        for signs in shares.chunks(width) {
            let signs: String = signs.iter().map(|&share| sign(share)).collect();
            writeln!(out, "{name:<8}      {signs}")?;
            name = "";
        }
    } else {
        for (worker, &share) in shares.iter().enumerate() {
            let bar = bar(share, width);
            writeln!(out, "{name:<8}  {worker:>2}  {bar}  {:>5}", percent(share))?;
            name = "";
        }
    }
    Ok(())
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// How many times as fast as serial, with at least two digits that tell something.
pub(super) fn speedup(times: f64) -> String {
    match times {
        0.1.. => format!("{times:.2}x"),
        0.001..0.1 => format!("{times:.4}x"),
        _ => format!("{times:.1e}x"),
    }
}

fn bar(share: f64, width: usize) -> String {
    let full = (share * width as f64).round() as usize;
    let full = full.min(width);
    format!("{}{}", "█".repeat(full), "░".repeat(width - full))
}

fn sign(share: f64) -> char {
    let last = SIGNS.len() - 1;
    SIGNS[((share * last as f64).round() as usize).min(last)]
}

/// A duration with four digits or fewer behind the point, and its unit.
pub(super) fn time(duration: Duration) -> String {
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
            assert_eq!(bar(share, 48).chars().count(), 48);
        }
        assert!(bar(0.5, 48).starts_with(&"█".repeat(24)));
    }

    #[test]
    fn a_narrow_terminal_costs_columns_and_the_most_telling_ones_stay() {
        let widths = [9, 9, 9, 8, 5, 11, 9, 13];
        assert_eq!(shown(&widths, 200), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(shown(&widths, 82), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(shown(&widths, 80), [0, 1, 3, 4, 5, 6]);
        assert_eq!(shown(&widths, 10), [0, 3, 4, 6]);
    }

    #[test]
    fn a_tiny_speed_up_is_not_shown_as_none() {
        assert_eq!(speedup(2.0), "2.00x");
        assert_eq!(speedup(0.0123), "0.0123x");
        assert_eq!(speedup(0.000_04), "4.0e-5x");
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
