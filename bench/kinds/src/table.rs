//! The table of ratios.

use std::fmt;

/// At most this much of rayon's time, or of the serial loop's where that is the better of the two.
const BAR: f64 = 1.03;

/// The times of all kinds: serial, rayon, heist.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    rows: Vec<(&'a str, Vec<[f64; 3]>)>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let rows = names.map(|name| (name, Vec::new())).collect();
        Self { rows }
    }

    /// Adds the times of one round.
    pub(crate) fn add(&mut self, row: usize, times: [f64; 3]) {
        self.rows[row].1.push(times);
    }
}

/// The median over the rounds of what `figure` makes of one.
fn median(rounds: &[[f64; 3]], figure: impl Fn(&[f64; 3]) -> f64) -> f64 {
    let mut sorted: Vec<f64> = rounds.iter().map(figure).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[middle])
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
        let line = "-".repeat(width);
        writeln!(
            f,
            "| {:width$} |   serial |    rayon |    heist | heist/rayon | heist/serial |",
            "kind"
        )?;
        writeln!(
            f,
            "| {line} | -------: | -------: | -------: | ----------: | -----------: |"
        )?;
        let mut ratios = Vec::new();
        let mut losing = Vec::new();
        for (name, rounds) in &self.rows {
            let [serial, rayon, heist] = [0, 1, 2].map(|form| median(rounds, |times| times[form]));
            let to_rayon = median(rounds, |times| times[2] / times[1]);
            let to_serial = median(rounds, |times| times[2] / times[0]);
            ratios.push([to_rayon, 0.0, 0.0]);
            let loses = to_rayon > BAR;
            if loses {
                losing.push(format!("{name} {to_rayon:.2}"));
            }
            let mark = if loses { " <" } else { "" };
            writeln!(
                f,
                "| {name:width$} | {serial:8.1} | {rayon:8.1} | {heist:8.1} | {to_rayon:11.2} | {to_serial:12.2} |{mark}"
            )?;
        }
        let middle = median(&ratios, |ratio| ratio[0]);
        writeln!(
            f,
            "\n{} kinds, median of heist/rayon {middle:.3}",
            self.rows.len()
        )?;
        writeln!(
            f,
            "Above {BAR}: {} of them: {}",
            losing.len(),
            losing.join(", ")
        )
    }
}
