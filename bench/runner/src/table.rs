//! Markdown tables, their cells, and the line below them that judges a bar.

use crate::stats::Spread;

/// A table with padded cells, the first column to the left.
pub(crate) fn table(columns: &[String], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].len());
            cells.chain([columns[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(place, (cell, &width))| match place {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        format!("| {} |\n", padded.join(" | "))
    };
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(place, &width)| match place {
            0 => "-".repeat(width),
            _ => format!("{}:", "-".repeat(width - 1)),
        })
        .collect();
    let mut text = line(columns) + &line(&rule);
    for row in rows {
        text.push_str(&line(row));
    }
    text
}

/// A median with its ends.
pub(crate) fn interval(spread: &Spread) -> String {
    format!(
        "{} [{}-{}]",
        digits(spread.median),
        digits(spread.min),
        digits(spread.max)
    )
}

/// About three digits, as much as a measurement is worth.
pub(crate) fn digits(number: f64) -> String {
    let decimals = match number {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{number:.decimals$}")
}

/// The cell of what was not run.
pub(crate) fn nothing() -> String {
    "-".to_owned()
}

/// A bar at a number of workers, its outcome, and the verdict.
pub(crate) fn bar_line(what: &str, workers: u32, at_most: f64, value: Option<f64>) -> String {
    let outcome = match value {
        Some(value) if value <= at_most => format!("{value:.3}, pass"),
        Some(value) => format!("{value:.3}, short"),
        None => "not run".to_owned(),
    };
    format!(
        "Bar: {what} at {workers} worker{} <= {at_most}: {outcome}",
        if workers == 1 { "" } else { "s" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_three_digits() {
        assert_eq!(
            [0.5, 1.234, 12.34, 123.4].map(digits),
            ["0.500", "1.23", "12.3", "123"]
        );
    }
}
