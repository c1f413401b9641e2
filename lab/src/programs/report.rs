//! Findings about the programs, as lines, as a table, and as a dated record.

use std::env;
use std::fmt;

use xtask::machine;

use super::job::{Rounds, SIDES};
use super::own_tests::OwnTests;
use super::recipe::Recipe;

/// Findings about one program.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Side by side; none if they were left out.
    pub(crate) tests: Vec<OwnTests>,
    /// None if the job was left out.
    pub(crate) rounds: Option<Rounds>,
    /// The error that ended the examination, if one did.
    pub(crate) error: Option<String>,
}

impl Findings {
    fn passed(&self) -> bool {
        self.error.is_none() && self.lost().is_empty()
    }

    /// The times of every round, a line for each side.
    fn all_times(&self) -> Vec<String> {
        let times = |rounds: &Rounds, side: usize, name: &str| {
            let ms = rounds.wall_ns.iter().map(|ns| ns[side] as f64 / 1e6);
            let ms: Vec<String> = ms.map(|ms| format!("{ms:.1}")).collect();
            format!("ms on {name}, round by round: {}", ms.join(" "))
        };
        let sides = SIDES.iter().enumerate();
        self.rounds.as_ref().map_or(Vec::new(), |rounds| {
            sides
                .map(|(side, name)| times(rounds, side, name))
                .collect()
        })
    }

    /// The tests that pass on rayon and not on another side, with the name of that.
    fn lost(&self) -> Vec<(&str, &str)> {
        let Some((rayon, others)) = self.tests.split_first() else {
            return Vec::new();
        };
        let others = SIDES[1..].iter().zip(others);
        others
            .flat_map(|(name, other)| rayon.lost_on(other).into_iter().map(|test| (*name, test)))
            .collect()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, tests) in SIDES.iter().zip(&self.tests) {
            writeln!(f, "tests on {name}: {tests}")?;
        }
        for test in self.tests.iter().take(1).flat_map(|rayon| &rayon.failed) {
            writeln!(f, "fails on rayon: {test}")?;
        }
        for (name, test) in self.lost() {
            writeln!(f, "FAILS, AND NOT ON RAYON, on {name}: {test}")?;
        }
        if let Some(rounds) = &self.rounds {
            writeln!(f, "result on all: {}", rounds.result.replace('\n', ", "))?;
            writeln!(f, "core/rayon: {}", Ratio(rounds, 1))?;
            writeln!(f, "heist/rayon: {}", Ratio(rounds, 2))?;
        }
        if let Some(error) = &self.error {
            writeln!(f, "FAILED: {error}")?;
        }
        Ok(())
    }
}

/// The median of the rounds' ratios of a side to rayon, with the ends.
struct Ratio<'a>(&'a Rounds, usize);

impl Ratio<'_> {
    fn spread(&self) -> [f64; 3] {
        self.0.spread(|ns| ns[self.1] as f64 / ns[0] as f64)
    }
}

impl fmt::Display for Ratio<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, min, max] = self.spread();
        write!(f, "{median:.3} [{min:.3}-{max:.3}]")
    }
}

/// All programs of a run, and what it ran on.
#[derive(Debug)]
pub(crate) struct Report {
    /// Lines about the threads and the load.
    setting: String,
    programs: Vec<(Recipe, Findings)>,
}

impl Report {
    /// Notes on what the programs are about to run.
    pub(crate) fn new() -> Self {
        let threads = match env::var("RAYON_NUM_THREADS") {
            Ok(threads) => format!("RAYON_NUM_THREADS={threads}"),
            Err(_) => "one worker per core".to_owned(),
        };
        Self {
            setting: format!(
                "- Threads: {threads}\n- Load averages before: {}\n",
                machine::load()
            ),
            programs: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, recipe: Recipe, findings: Findings) {
        self.programs.push((recipe, findings));
    }

    /// True if each program passes on heist whatever it passes on rayon, with equal results.
    pub(crate) fn passed(&self) -> bool {
        self.programs.iter().all(|(_, findings)| findings.passed())
    }

    /// One row per program.
    pub(crate) fn table(&self) -> String {
        let header = [
            "program",
            "kind",
            "tests on rayon",
            "on core",
            "on heist",
            "job",
            "rayon",
            "core",
            "heist",
            "core/rayon",
            "heist/rayon",
            "verdict",
        ];
        let mut rows = vec![header.map(String::from)];
        for (recipe, findings) in &self.programs {
            let tests = |side: usize| {
                let tests = findings.tests.get(side);
                tests.map_or("-".to_owned(), OwnTests::to_string)
            };
            let rounds = findings.rounds.as_ref();
            let seconds = |side: usize| {
                rounds.map_or("-".to_owned(), |rounds| {
                    format!("{:.3} s", rounds.spread(|ns| ns[side] as f64 / 1e9)[0])
                })
            };
            let ratio = |side: usize| {
                rounds.map_or("-".to_owned(), |rounds| Ratio(rounds, side).to_string())
            };
            rows.push([
                format!("{} {}", recipe.name, recipe.version),
                recipe.kind.clone(),
                tests(0),
                tests(1),
                tests(2),
                recipe.job.what.clone(),
                seconds(0),
                seconds(1),
                seconds(2),
                ratio(1),
                ratio(2),
                if findings.passed() {
                    "passed"
                } else {
                    "FAILED"
                }
                .to_owned(),
            ]);
        }
        aligned(&rows) + &self.summary()
    }

    /// The ratios of all programs, in short.
    fn summary(&self) -> String {
        let mut text = String::new();
        for (side, name) in SIDES.iter().enumerate().skip(1) {
            let timed = self
                .programs
                .iter()
                .filter_map(|(_, found)| found.rounds.as_ref());
            let mut ratios: Vec<f64> = timed
                .map(|rounds| Ratio(rounds, side).spread()[0])
                .collect();
            ratios.sort_by(f64::total_cmp);
            if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
                let middle =
                    f64::midpoint(ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2]);
                text.push_str(&format!(
                    "\n{name}/rayon over {} programs: median {middle:.3}, from {least:.3} to {most:.3}\n",
                    ratios.len()
                ));
            }
        }
        text
    }

    /// The text of the record.
    pub(crate) fn record(&self) -> String {
        let mut text = format!(
            "{}- Load averages after: {}\n\nTimes are medians over the rounds; the ratio is the median \
             of those within a round, with the smallest and the largest.\n\n{}",
            self.setting,
            machine::load(),
            self.table()
        );
        for (recipe, findings) in &self.programs {
            text.push_str(&format!("\n## {} {}\n\n", recipe.name, recipe.version));
            let found = findings.to_string();
            for line in found.lines().map(str::to_owned).chain(findings.all_times()) {
                text.push_str(&format!("- {line}\n"));
            }
        }
        text
    }
}

/// A table whose first row is the header.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = line(&widths.map(|width| "-".repeat(width)));
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.insert(1, rule);
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_as_wide_as_its_widest_cells() {
        let rows = [["a", "b"], ["long", "c"]].map(|row| row.map(String::from));
        assert_eq!(aligned(&rows), "| a    | b |\n| ---- | - |\n| long | c |\n");
    }

    #[test]
    fn an_error_fails_the_run_and_a_slow_job_does_not() {
        let mut findings = Findings {
            rounds: Some(Rounds {
                wall_ns: vec![[1_000_000, 2_000_000, 100_000_000]],
                result: "sum 7".into(),
            }),
            ..Findings::default()
        };
        assert!(findings.passed());
        assert!(findings
            .to_string()
            .contains("heist/rayon: 100.000 [100.000-100.000]"));
        findings.error = Some("it broke".into());
        assert!(!findings.passed());
        assert!(findings.to_string().contains("FAILED: it broke"));
    }
}
