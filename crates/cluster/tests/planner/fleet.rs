//! A fleet simulated tick by tick, in which the planner is compared with simpler rules.
//!
//! Everything follows from the seed: arrivals, true sizes, the noise of each second, lost
//! samples. All policies meet the same fleet. `cargo test -p heist-cluster --test planner
//! fleet -- --nocapture` prints the table.

mod policy;
mod scenario;
mod score;
mod setup;
mod world;

use policy::Kind;
use scenario::Scenario;
use score::Score;

const SEEDS: [u64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/// The scores of all policies in this scenario, in the order of [`Kind::ALL`].
fn scores(scenario: Scenario) -> Vec<(Kind, Score)> {
    let of = |kind: Kind| {
        let runs = SEEDS.map(|seed| world::run(&scenario.setup(seed), kind, seed));
        (kind, Score::of(runs.into()))
    };
    Kind::ALL.map(of).into()
}

#[expect(
    clippy::print_stdout,
    reason = "the test harness shows it to who asks with --nocapture"
)]
fn print(table: &[String]) {
    println!("{}", table.join("\n"));
}

#[test]
fn the_planner_beats_every_rule_that_moves_less_and_never_overloads_a_target() {
    let mut failures = Vec::new();
    let mut table = vec![Score::HEAD.to_owned()];
    for scenario in Scenario::ALL {
        let scores = scores(scenario);
        for (kind, score) in &scores {
            table.push(format!(
                "{:<11} {:<8} {score}",
                scenario.name(),
                kind.name()
            ));
        }
        let of = |wanted: Kind| {
            let found = scores.iter().find(|(kind, _)| *kind == wanted);
            &found.expect("every policy has run").1
        };
        let ours = of(Kind::Planner);
        // A swinging load may have changed since it was measured. There only the levels that the
        // planner decided with are known to be in order, which its policy checks each time.
        if ours.above_before > 0 && !matches!(scenario, Scenario::Oscillating) {
            failures.push(format!(
                "{}: a target ended above its source",
                scenario.name()
            ));
        }
        for (kind, score) in &scores {
            let is_rival = !matches!(kind, Kind::Planner | Kind::Deviation);
            if is_rival && score.moves < ours.moves && score.p99 <= ours.p99 {
                failures.push(format!(
                    "{}: {} has p99 {:.4} with {} moves, the planner {:.4} with {}",
                    scenario.name(),
                    kind.name(),
                    score.p99,
                    score.moves,
                    ours.p99,
                    ours.moves
                ));
            }
        }
    }
    print(&table);
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_job_four_times_as_large_as_estimated_bounces_by_the_usual_rule_and_stays_by_ours() {
    let run = |kind| world::run(&scenario::thrash(), kind, 1);
    assert_eq!(run(Kind::Source).moves, 100, "of 100 ticks");
    assert!(run(Kind::Planner).moves <= 2);
}

#[test]
fn a_threshold_by_deviation_never_sees_the_hotter_of_two_nodes() {
    let scores = scores(Scenario::Pair);
    let of = |wanted| {
        scores
            .iter()
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, score)| score)
    };
    assert_eq!(of(Kind::Deviation).map(|score| score.moves), Some(0));
    assert!(of(Kind::Planner).is_some_and(|score| score.moves > 0));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || world::run(&Scenario::Burst.setup(7), Kind::Planner, 7);
    assert_eq!(run(), run());
}
