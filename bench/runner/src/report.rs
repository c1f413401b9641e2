//! The report: one table per workload, every peer that ran, the losing ones too.

use std::fmt::Write;

use crate::definition::{Bar, Definition};
use crate::figures::Figures;
use crate::machine::{load, Machine};
use crate::run::{Plan, Run};
use crate::summary::summary;
use crate::table::{bar_line, digits, interval, nothing, table};

/// The runs, the machine and the results.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) runs: &'a [Run],
    pub(crate) skipped: &'a [(String, String)],
    pub(crate) machine: Machine,
}

impl Report<'_> {
    /// The whole report as Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text = self.head();
        for definition in &self.plan.definitions {
            text.push('\n');
            text.push_str(&self.workload(definition));
            // Behind the last workload of a group comes what they say together.
            for group in self.plan.groups_to_judge() {
                let members = self.plan.members(group);
                if members
                    .last()
                    .is_some_and(|last| last.name == definition.name)
                {
                    text.push('\n');
                    text.push_str(&summary(group, self.plan, self.runs));
                }
            }
        }
        text
    }

    fn head(&self) -> String {
        let machine = &self.machine;
        let foreign: f64 = self.runs.iter().map(|run| run.foreign_s).sum();
        let wall: f64 = self.runs.iter().map(|run| run.wall_s).sum();
        let share = 100.0 * foreign / (wall * machine.cores.max(1) as f64).max(0.01);
        let mut lines = vec![
            format!("- Machine: {}, {} cores, Linux {}", machine.cpu, machine.cores, machine.kernel),
            format!("- Compiler: {}; heist at commit {}", machine.rustc, machine.commit),
            format!(
                "- Run: {} rounds{}, seed {}, {wall:.0} s",
                self.plan.rounds,
                if self.plan.quick { " of the quick sizes" } else { "" },
                self.plan.seed,
            ),
            format!(
                "- Load averages before: {}, after: {}; others used {share:.0} % of the machine's CPU time meanwhile",
                machine.load_before,
                load(),
            ),
        ];
        let versions: Vec<String> = self
            .plan
            .peers
            .iter()
            .map(|peer| format!("{} {}", peer.name, peer.version))
            .collect();
        lines.push(format!("- Peers: {}", versions.join(", ")));
        for (name, reason) in self.skipped {
            lines.push(format!("- Skipped: {name}: {reason}"));
        }
        lines.join("\n") + "\n"
    }

    fn workload(&self, definition: &Definition) -> String {
        let figures = Figures {
            definition,
            runs: self.runs,
            rounds: self.plan.rounds,
        };
        let mut rows: Vec<Row> = Vec::new();
        let mut failures = Vec::new();
        for peer in &self.plan.peers {
            rows.extend(self.row(&figures, &peer.name, peer.baseline.as_deref()));
            failures.extend(figures.failures(&peer.name));
        }
        rows.sort_by(|a, b| a.key.total_cmp(&b.key));

        let size = definition.size(self.plan.quick);
        let sizes: Vec<String> = size
            .sizes
            .iter()
            .map(|(key, number)| format!("{key}={number}"))
            .collect();
        let mut text = format!("## {}: {}\n\n", definition.name, definition.title);
        let (unit, one_unit) = (&definition.unit, &definition.one_unit);
        let _ = writeln!(
            text,
            "In {unit}; one unit is {one_unit}; {}.\n",
            sizes.join(", ")
        );
        let cells: Vec<Vec<String>> = rows.into_iter().map(|row| row.cells).collect();
        text.push_str(&table(&self.columns(definition), &cells));
        if cells.iter().flatten().any(|cell| cell.ends_with('*')) {
            text.push_str("\n\\* others used the machine during every run of this peer\n");
        }
        for run in failures {
            let Run {
                peer,
                workers,
                round,
                ..
            } = run;
            let failure = run.failure.as_deref().unwrap_or_default();
            let _ = writeln!(
                text,
                "\nFAILED: {peer}, P{workers}, round {round}: {failure}"
            );
        }
        for bar in &definition.bar {
            let _ = writeln!(text, "\n{}", self.verdict(bar, &figures));
        }
        text
    }

    /// Whether a bar is reached.
    fn verdict(&self, bar: &Bar, figures: &Figures<'_>) -> String {
        let (peer, workers) = (bar.peer.as_str(), bar.workers);
        let this = (peer, workers);
        let (what, value) = if let Some(against) = &bar.against {
            let other = (against.as_str(), bar.against_workers.unwrap_or(workers));
            let label = match bar.against_workers {
                Some(workers) => format!("{peer}/{against} P{workers}"),
                None => format!("{peer}/{against}"),
            };
            match &bar.less {
                Some(less) => (
                    format!("{label}, both less {less},"),
                    figures.ratio_less(this, other, less),
                ),
                None => (label, figures.ratio(this, other)),
            }
        } else if bar.against_rivals {
            match figures.beside_rivals(this, self.plan.rivals()) {
                Some((rival, ratio)) => {
                    (format!("{peer}/{rival}, the fastest rival,"), Some(ratio))
                }
                None => (format!("{peer}/rivals"), None),
            }
        } else {
            let spread = figures.spread(peer, workers);
            (peer.to_owned(), spread.map(|spread| spread.median))
        };
        bar_line(&what, workers, bar.at_most, value)
    }

    fn columns(&self, definition: &Definition) -> Vec<String> {
        let mut columns = vec!["peer".to_owned()];
        for workers in &self.plan.workers {
            columns.push(format!("P{workers} median [min-max]"));
            if definition.ratios {
                columns.push(format!("P{workers}/serial"));
                columns.push(format!("P{workers}/{}", definition.over));
            }
            columns.extend(
                definition
                    .also
                    .iter()
                    .map(|also| format!("P{workers} {}", also.label)),
            );
        }
        columns
    }

    /// The line of one peer; none if it has no figures for this workload.
    fn row(&self, figures: &Figures<'_>, peer: &str, baseline: Option<&str>) -> Option<Row> {
        let mut cells = vec![peer.to_owned()];
        let mut key = None;
        for &workers in &self.plan.workers {
            let spread = figures.spread(peer, workers);
            key = spread.map(|spread| spread.median).or(key);
            let mark = if figures.is_disturbed(peer, workers) {
                "*"
            } else {
                ""
            };
            cells.push(spread.map_or_else(nothing, |spread| interval(&spread) + mark));
            if figures.definition.ratios {
                let over_serial =
                    baseline.and_then(|name| figures.over_baseline(peer, workers, name));
                let over_peer = figures.ratio((peer, workers), (&figures.definition.over, workers));
                for ratio in [over_serial, over_peer] {
                    cells.push(ratio.map_or_else(nothing, |ratio| format!("{ratio:.2}")));
                }
            }
            for also in &figures.definition.also {
                cells.push(
                    figures
                        .also(also, peer, workers)
                        .map_or_else(nothing, digits),
                );
            }
        }
        Some(Row { key: key?, cells })
    }
}

struct Row {
    /// The key by which rows are sorted: the median at the last number of workers.
    key: f64,
    cells: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::BuiltPeer;
    use crate::definition::tests::fib;
    use crate::figures::tests::run;

    fn report_of(runs: &[Run]) -> String {
        report_with(fib(), runs)
    }

    fn report_with(definition: Definition, runs: &[Run]) -> String {
        let peer = |name: &str, baseline: Option<&str>| BuiltPeer {
            name: name.to_owned(),
            baseline: baseline.map(str::to_owned),
            command: Vec::new(),
            version: "1".to_owned(),
        };
        let plan = Plan {
            definitions: vec![definition],
            groups: Vec::new(),
            peers: vec![
                peer("serial", None),
                peer("rayon", Some("serial")),
                peer("heist", Some("serial")),
            ],
            workers: vec![1, 2],
            rounds: 1,
            quick: false,
            seed: 1,
        };
        let machine = Machine {
            cpu: "cpu".to_owned(),
            cores: 2,
            kernel: "6".to_owned(),
            rustc: "rustc".to_owned(),
            commit: "abc".to_owned(),
            load_before: "0".to_owned(),
        };
        let skipped = [("tbb".to_owned(), "no header".to_owned())];
        Report {
            plan: &plan,
            runs,
            skipped: &skipped,
            machine,
        }
        .text()
    }

    #[test]
    fn rows_are_sorted_by_the_last_number_of_workers_and_losers_stay() {
        let text = report_of(&[
            run("serial", 1, 1, &[30]),
            run("rayon", 1, 1, &[60]),
            run("rayon", 2, 1, &[40]),
            run("heist", 1, 1, &[30]),
            run("heist", 2, 1, &[20]),
        ]);
        let place = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("{words} in\n{text}"))
        };
        assert!(place("| heist ") < place("| serial") && place("| serial") < place("| rayon "));
        assert!(
            text.contains("Bar: heist/rayon at 2 workers <= 1: 0.500, pass"),
            "{text}"
        );
        assert!(text.contains("Skipped: tbb: no header"), "{text}");
    }

    #[test]
    fn a_missed_bar_is_short_and_one_without_figures_not_run() {
        let slow = report_of(&[run("rayon", 2, 1, &[20]), run("heist", 2, 1, &[30])]);
        assert!(slow.contains("1.500, short"), "{slow}");
        let none = report_of(&[run("rayon", 2, 1, &[20])]);
        assert!(none.contains("not run"), "{none}");
    }

    #[test]
    fn a_bar_may_be_about_the_cost_above_serial_oneself_or_all_rivals() {
        let mut definition = fib();
        let bar = definition.bar[0].clone();
        definition.bar = vec![
            Bar {
                less: Some("serial".to_owned()),
                ..bar.clone()
            },
            Bar {
                against: Some("heist".to_owned()),
                against_workers: Some(1),
                ..bar.clone()
            },
            Bar {
                against: None,
                against_rivals: true,
                ..bar
            },
        ];
        let runs = [
            run("serial", 1, 1, &[10]),
            run("heist", 1, 1, &[24]),
            run("heist", 2, 1, &[12]),
            run("rayon", 2, 1, &[50]),
        ];
        let text = report_with(definition, &runs);
        for bar in [
            "Bar: heist/rayon, both less serial, at 2 workers <= 1: 0.050, pass",
            "Bar: heist/heist P1 at 2 workers <= 1: 0.500, pass",
            "Bar: heist/rayon, the fastest rival, at 2 workers <= 1: 0.240, pass",
        ] {
            assert!(text.contains(bar), "{text}");
        }
    }

    #[test]
    fn a_failure_stands_in_the_report() {
        let failure = Some("wrong result 3, expected 5".to_owned());
        let text = report_of(&[Run {
            failure,
            ..run("rayon", 2, 1, &[20])
        }]);
        assert!(
            text.contains("FAILED: rayon, P2, round 1: wrong result 3, expected 5"),
            "{text}"
        );
    }
}
