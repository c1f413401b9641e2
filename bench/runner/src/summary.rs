//! The table of a group: one ratio per workload and number of workers, and
//! their median.

use std::fmt::Write;

use crate::definition::{Bar, Definition};
use crate::figures::Figures;
use crate::group::Group;
use crate::run::{Plan, Run};
use crate::table::{bar_line, nothing, table};

/// The section of one group.
pub(crate) fn summary(group: &Group, plan: &Plan, runs: &[Run]) -> String {
    let Group {
        name,
        title,
        peer,
        against,
        against_workers,
        take,
        bar,
        ..
    } = group;
    let against_label = match (against, against_workers) {
        (Some(against), Some(workers)) => format!("{against} P{workers}"),
        (Some(against), None) => against.clone(),
        (None, _) => "the fastest rival, over the bar".to_owned(),
    };
    let members: Vec<&Definition> = plan.members(group).collect();
    let ratio = |definition: &Definition, workers| ratio(group, plan, runs, definition, workers);
    let over_all = |workers| {
        let each = members
            .iter()
            .filter_map(|definition| ratio(definition, workers));
        take.of(&each.collect::<Vec<f64>>())
    };

    let mut text = format!("## {name}: {title}\n\n");
    let _ = writeln!(
        text,
        "{peer}/{against_label}; below 1, the former is the faster one.\n"
    );
    let mut rows: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
    for definition in &members {
        let ratios = plan
            .workers
            .iter()
            .map(|&workers| ratio(definition, workers));
        rows.push((&definition.name, ratios.collect()));
    }
    let all = plan.workers.iter().map(|&workers| over_all(workers));
    rows.push((take.word(), all.collect()));
    text.push_str(&ratios(&plan.workers, &rows));
    for demand in bar {
        let what = format!("{} of {peer}/{against_label}", take.word());
        let line = bar_line(
            &what,
            demand.workers,
            demand.at_most,
            over_all(demand.workers),
        );
        let _ = writeln!(text, "\n{line}");
    }
    text
}

/// The ratio of one workload with so many workers.
fn ratio(
    group: &Group,
    plan: &Plan,
    runs: &[Run],
    definition: &Definition,
    workers: u32,
) -> Option<f64> {
    let figures = Figures {
        definition,
        runs,
        rounds: plan.rounds,
    };
    let this = (group.peer.as_str(), workers);
    if let Some(against) = &group.against {
        let other = (against.as_str(), group.against_workers.unwrap_or(workers));
        return figures.ratio(this, other);
    }
    let is_own = |bar: &&Bar| bar.against_rivals && (&*bar.peer, bar.workers) == this;
    let bar = definition.bar.iter().find(is_own)?;
    let (_, ratio) = figures.beside_rivals(this, plan.rivals())?;
    Some(ratio / bar.at_most)
}

/// The table of ratios: a row per workload, a column per number of workers.
fn ratios(workers: &[u32], rows: &[(&str, Vec<Option<f64>>)]) -> String {
    let counts = workers.iter().map(|workers| format!("P{workers}"));
    let columns: Vec<String> = ["workload".to_owned()].into_iter().chain(counts).collect();
    let row = |(label, ratios): &(&str, Vec<Option<f64>>)| {
        let cells = ratios
            .iter()
            .map(|ratio| ratio.map_or_else(nothing, |ratio| format!("{ratio:.3}")));
        [(*label).to_owned()].into_iter().chain(cells).collect()
    };
    table(&columns, &rows.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::fib;
    use crate::definition::Take;
    use crate::figures::tests::run;
    use crate::group::tests::pair;

    fn summary_of(group: Group, names: &[&str], runs: &[Run]) -> String {
        let definition = |name: &&str| Definition {
            name: (*name).to_owned(),
            group: Some("pair".to_owned()),
            ..fib()
        };
        let plan = Plan {
            definitions: names.iter().map(definition).collect(),
            groups: vec![group],
            peers: Vec::new(),
            workers: vec![1, 2],
            rounds: 1,
            quick: false,
            seed: 1,
        };
        summary(&plan.groups[0], &plan, runs)
    }

    fn pair_of_runs(workload: &str, heist_ns: u64, rayon_ns: u64) -> [Run; 2] {
        [("heist", heist_ns), ("rayon", rayon_ns)].map(|(peer, ns)| Run {
            workload: workload.to_owned(),
            ..run(peer, 2, 1, &[ns])
        })
    }

    #[test]
    fn every_workload_has_a_row_and_the_median_is_over_them() {
        let runs = [
            pair_of_runs("a", 30, 10),
            pair_of_runs("b", 10, 20),
            pair_of_runs("c", 9, 10),
        ];
        let text = summary_of(
            pair(),
            &["a", "b", "c"],
            &runs.into_iter().flatten().collect::<Vec<_>>(),
        );
        for row in ["| a        |  - | 3.000 |", "| median   |  - | 0.900 |"] {
            assert!(text.contains(row), "{text}");
        }
        let bar = "Bar: median of heist/rayon at 2 workers <= 1: 0.900, pass";
        assert!(text.contains(bar), "{text}");
    }

    #[test]
    fn a_peer_may_be_compared_with_itself_on_another_number_of_workers() {
        let group = Group {
            against: Some("heist".to_owned()),
            against_workers: Some(1),
            take: Take::Max,
            ..pair()
        };
        let of = |workload: &str, workers, ns| Run {
            workload: workload.to_owned(),
            ..run("heist", workers, 1, &[ns])
        };
        let runs = [
            of("a", 1, 10),
            of("a", 2, 12),
            of("b", 1, 10),
            of("b", 2, 5),
        ];
        let text = summary_of(group, &["a", "b"], &runs);
        assert!(text.contains("| max      | 1.000 | 1.200 |"), "{text}");
        let bar = "Bar: max of heist/heist P1 at 2 workers <= 1: 1.200, short";
        assert!(text.contains(bar), "{text}");
    }

    #[test]
    fn a_group_without_figures_was_not_run() {
        let text = summary_of(pair(), &["a"], &[]);
        assert!(text.contains("<= 1: not run"), "{text}");
    }
}
