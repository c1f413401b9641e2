//! Findings about the programs, as lines, as a table, and as a dated record.

use std::env;
use std::fmt;

use xtask::machine;

use super::job::Rounds;
use super::own_tests::OwnTests;
use super::recipe::Recipe;

/// Findings about one program.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// On rayon and on heist; none if they were left out.
    pub(crate) tests: Option<[OwnTests; 2]>,
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
        self.rounds.as_ref().map_or(Vec::new(), |rounds| {
            vec![times(rounds, 0, "rayon"), times(rounds, 1, "heist")]
        })
    }

    /// The tests that pass on rayon and not on heist.
    fn lost(&self) -> Vec<&str> {
        self.tests
            .iter()
            .flat_map(|[rayon, heist]| rayon.lost_on(heist))
            .collect()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some([rayon, heist]) = &self.tests {
            writeln!(f, "tests on rayon: {rayon}")?;
            writeln!(f, "tests on heist: {heist}")?;
            for test in &rayon.failed {
                writeln!(f, "fails on rayon: {test}")?;
            }
        }
        for test in self.lost() {
            writeln!(f, "FAILS ON HEIST ONLY: {test}")?;
        }
        if let Some(rounds) = &self.rounds {
            writeln!(f, "result on both: {}", rounds.result.replace('\n', ", "))?;
            writeln!(f, "time: {}", Ratio(rounds))?;
        }
        if let Some(error) = &self.error {
            writeln!(f, "FAILED: {error}")?;
        }
        Ok(())
    }
}

/// The median of the rounds' ratios, with the ends.
struct Ratio<'a>(&'a Rounds);

impl fmt::Display for Ratio<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, min, max] = self.0.spread(|[rayon, heist]| heist as f64 / rayon as f64);
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
            "tests on heist",
            "job",
            "rayon",
            "heist",
            "heist/rayon",
            "verdict",
        ];
        let mut rows = vec![header.map(String::from)];
        for (recipe, findings) in &self.programs {
            let tests = findings.tests.as_ref();
            let tests = tests.map(|sides| sides.each_ref().map(OwnTests::to_string));
            let [on_rayon, on_heist] = tests.unwrap_or(["-", "-"].map(String::from));
            let rounds = findings.rounds.as_ref();
            let seconds = |side: usize| {
                rounds.map_or("-".to_owned(), |rounds| {
                    format!("{:.3} s", rounds.spread(|ns| ns[side] as f64 / 1e9)[0])
                })
            };
            rows.push([
                format!("{} {}", recipe.name, recipe.version),
                recipe.kind.clone(),
                on_rayon,
                on_heist,
                recipe.job.what.clone(),
                seconds(0),
                seconds(1),
                rounds.map_or("-".to_owned(), |rounds| Ratio(rounds).to_string()),
                if findings.passed() {
                    "passed"
                } else {
                    "FAILED"
                }
                .to_owned(),
            ]);
        }
        aligned(&rows)
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
                wall_ns: vec![[1_000_000, 100_000_000]],
                result: "sum 7".into(),
            }),
            ..Findings::default()
        };
        assert!(findings.passed());
        assert!(findings
            .to_string()
            .contains("time: 100.000 [100.000-100.000]"));
        findings.error = Some("it broke".into());
        assert!(!findings.passed());
        assert!(findings.to_string().contains("FAILED: it broke"));
    }
}
