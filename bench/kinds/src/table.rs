//! The table of ratios.

use std::fmt;

/// A kind loses above this much of rayon's time.
const BAR: f64 = 1.03;
/// The median over all kinds, at most.
const MEDIAN_BAR: f64 = 0.85;
/// The median means something over so many kinds.
const MANY: usize = 60;

/// The kinds that lost when they were first measured.
const FIRST_TO_LOSE: [&str; 12] = [
    "loops_in_a_loop",
    "reduce_singles_max",
    "windows_of_two",
    "chunks_of_iterators",
    "sort_floats_unstable",
    "loops_in_joins",
    "bridge_of_lines",
    "vector_by_value",
    "sum_of_integers",
    "sum_of_polynomials",
    "extend_vector",
    "fold_array",
];

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

/// The least time of a form. Beside busy neighbours each round takes longer by another factor, and
/// the ratio of the least times is what they leave alone.
fn fastest(rounds: &[[f64; 3]], form: usize) -> f64 {
    let times = rounds.iter().map(|times| times[form]);
    times.fold(f64::INFINITY, f64::min)
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
        let line = "-".repeat(width);
        writeln!(
            f,
            "| {:width$} |   serial |    rayon |    heist | heist/rayon | fastest | heist/serial |",
            "kind"
        )?;
        writeln!(
            f,
            "| {line} | -------: | -------: | -------: | ----------: | ------: | -----------: |"
        )?;
        let mut ratios = Vec::new();
        let mut losing = Vec::new();
        for (name, rounds) in &self.rows {
            let [serial, rayon, heist] = [0, 1, 2].map(|form| median(rounds, |times| times[form]));
            let to_rayon = median(rounds, |times| times[2] / times[1]);
            let fastest = fastest(rounds, 2) / fastest(rounds, 1);
            let to_serial = median(rounds, |times| times[2] / times[0]);
            ratios.push([to_rayon, 0.0, 0.0]);
            let loses = to_rayon > BAR;
            if loses {
                losing.push(format!("{name} {to_rayon:.2}"));
            }
            let mark = if loses { " <" } else { "" };
            writeln!(
                f,
                "| {name:width$} | {serial:8.1} | {rayon:8.1} | {heist:8.1} | {to_rayon:11.2} | {fastest:7.2} | {to_serial:12.2} |{mark}"
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
        )?;
        if self.rows.len() >= MANY {
            let verdict = verdict(middle <= MEDIAN_BAR);
            writeln!(f, "Bar: a median of {MEDIAN_BAR} at most: {verdict}")?;
        }
        let of_first = |name: &&str| FIRST_TO_LOSE.contains(name);
        let measured = self.rows.iter().filter(|(name, _)| of_first(name)).count();
        let again: Vec<&String> = losing
            .iter()
            .filter(|line| line.split(' ').next().as_ref().is_some_and(of_first))
            .collect();
        if measured == FIRST_TO_LOSE.len() {
            let verdict = verdict(again.is_empty());
            let first = "of the twelve that once lost, none above";
            writeln!(f, "Bar: {first} {BAR}: {verdict} {again:?}")?;
        }
        Ok(())
    }
}

fn verdict(passes: bool) -> &'static str {
    match passes {
        true => "pass",
        false => "short",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bars_are_those_of_the_median_and_of_the_kinds_that_once_lost() {
        let others = ["a kind"; MANY];
        let mut table = Table::new(FIRST_TO_LOSE.into_iter().chain(others));
        for row in 0..FIRST_TO_LOSE.len() + MANY {
            table.add(row, [2.0, 1.0, 0.8]);
        }
        assert!(!table.to_string().contains("short"));
        table.rows[2].1 = vec![[2.0, 1.0, 1.04]];
        let text = table.to_string();
        assert!(
            text.contains("none above 1.03: short [\"windows_of_two 1.04\"]"),
            "{text}"
        );
        for row in 0..MANY {
            table.rows[row].1 = vec![[2.0, 1.0, 0.9]];
        }
        let text = table.to_string();
        assert!(text.contains("a median of 0.85 at most: short"), "{text}");
        let mut few = Table::new(["a kind"].into_iter());
        few.add(0, [2.0, 1.0, 1.0]);
        assert!(!few.to_string().contains("Bar"));
    }
}
