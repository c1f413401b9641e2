//! The planner against all moves that there are, in thousands of small random fleets.
//!
//! In a fleet of two to five nodes and up to eight jobs every move can be tried by its truth: what
//! each job wants, whatever was measured of it. `HEIST_FLEETS=100000 cargo test --release
//! -p heist-cluster --test planner brute -- --nocapture` tries so many for each way of measuring,
//! and prints how it went.

mod fleet;

use std::time::Duration;

use heist_cluster::planner::{Config, Decision, JobId, Mobility, Move, Outcome, Planner};

use fleet::{Fleet, Measure};

/// How many fleets are tried for each way of measuring, unless `HEIST_FLEETS` says.
const FLEETS: u64 = 1000;
/// For how long each fleet is watched.
const STEPS: u64 = 200;
/// Within this time a move must be made if there is a clearly good one.
const PATIENCE: u64 = 30;

/// How the fleets of one way of measuring went.
#[derive(Debug, Default)]
struct Tally {
    clear: u64,
    moves: u64,
    /// Moves that must not be, in words.
    wrong: Vec<String>,
    /// Fleets in which nothing moved though it clearly should, with what the planner said.
    missed: Vec<String>,
}

/// A move by numbers.
#[derive(Clone, Copy, Debug)]
struct Trial {
    job: usize,
    to: usize,
}

fn trial(chosen: &Move) -> Trial {
    let number = |name: &str| name[1..].parse().expect("a letter and a number");
    Trial {
        job: number(chosen.job.as_str()),
        to: number(chosen.to.as_str()),
    }
}

/// The work that waits at this level, as the planner's documentation defines it.
fn waiting(level: f64) -> f64 {
    let config = Config::default();
    let above = (level.min(1.0) - config.low_water).max(0.0);
    above * above / (2.0 * (1.0 - config.low_water)) + (level - 1.0).max(0.0)
}

/// Whether a person who knows the truth would make this move without a doubt.
fn is_clearly_good(fleet: &Fleet, trial: Trial) -> bool {
    let config = Config::default();
    let job = &fleet.jobs[trial.job];
    let (source, target) = (&fleet.nodes[job.node], &fleet.nodes[trial.to]);
    if trial.to == job.node
        || job.mobility != Mobility::Movable
        || job.priority.is_protected()
        || (target.memory_bytes > 0
            && fleet.memory_bytes(trial.to) + job.memory_bytes > target.memory_bytes)
        || job.estimate > target.strength()
    {
        return false;
    }
    let (from, to) = (fleet.level(job.node), fleet.level(trial.to));
    let from_after = from - job.wants / source.strength();
    let to_after = to + job.wants / target.strength();
    let life_s = job.remaining.unwrap_or(job.running_for).as_secs_f64();
    let moving_s = 0.5 + job.state_bytes as f64 / config.bandwidth_bytes_per_s;
    let relief = (waiting(from) - waiting(from_after)) * source.strength();
    let benefit = relief * (life_s - PATIENCE as f64).clamp(0.0, 60.0);
    let cost = job.wants * (moving_s + 1.0) + 2.0 * moving_s;
    from >= 0.95
        && from - to >= 0.4
        && to_after <= 0.6
        && to_after <= from_after - 0.1
        && benefit >= 2.0 * config.payback * cost
        && 0.005 * (life_s - PATIENCE as f64 + job.running_for.as_secs_f64()) >= moving_s + 1.0
}

/// All moves that are clearly good.
fn clearly_good(fleet: &Fleet) -> Vec<Trial> {
    let jobs = 0..fleet.jobs.len();
    let all = jobs.flat_map(|job| (0..fleet.nodes.len()).map(move |to| Trial { job, to }));
    all.filter(|&trial| is_clearly_good(fleet, trial)).collect()
}

/// Says why a move must not be made, if so.
fn wrong(fleet: &Fleet, chosen: &Move) -> Option<String> {
    let config = Config::default();
    let trial = trial(chosen);
    let job = &fleet.jobs[trial.job];
    let target = &fleet.nodes[trial.to];
    let from_after = fleet.level(job.node) - job.wants / fleet.nodes[job.node].strength();
    let to_after = fleet.level(trial.to) + job.wants / target.strength();
    let held = fleet.memory_bytes(trial.to) + job.memory_bytes;
    let source_at_most = from_after * fleet.doubt(trial.job, trial.to) + 1e-9;
    let said = if job.mobility != Mobility::Movable || job.flight.is_some() {
        "what must not move does".to_owned()
    } else if job.priority.is_protected() && chosen.from_level < config.emergency {
        "what is protected moves without an emergency".to_owned()
    } else if target.memory_bytes > 0 && held > target.memory_bytes {
        "the memory does not suffice".to_owned()
    } else if to_after > 1.0 {
        format!("the target ends at {to_after:.3}")
    } else if to_after > source_at_most {
        format!("the target ends at {to_after:.3}, the source at {from_after:.3}")
    } else if job.been.contains(&trial.to) {
        "the job comes back".to_owned()
    } else {
        return None;
    };
    Some(said)
}

/// Watches one fleet.
fn watch(seed: u64, measure: Measure, tally: &mut Tally) {
    let mut fleet = Fleet::new(seed, measure);
    let mut planner = Planner::new(Config::default()).expect("the settings are in range");
    let good = clearly_good(&fleet);
    tally.clear += u64::from(!good.is_empty());
    let mut has_moved = false;
    for step in 1..=STEPS {
        let now = Duration::from_secs(step);
        for job in fleet.fly() {
            let told = planner.move_ended(now, &JobId::from(format!("j{job}")));
            told.expect("the job was in flight");
        }
        let (nodes, jobs) = fleet.measured(now);
        let decision = planner.decide(now, &nodes, &jobs);
        if let Outcome::Move(chosen) = &decision.outcome {
            tally.moves += 1;
            has_moved = true;
            if let Some(said) = wrong(&fleet, chosen) {
                let at = format!("{measure:?}, seed {seed}, second {step}: {said}: {chosen}");
                tally.wrong.push(at);
            }
            let told = planner.move_started(now, chosen);
            told.expect("the job is not in flight");
            let trial = trial(chosen);
            fleet.jobs[trial.job].flight = Some((trial.to, 1));
        }
        if step == PATIENCE && !has_moved && !good.is_empty() {
            let at = format!("{measure:?}, seed {seed}: nothing moves, for");
            tally.missed.push(at + &explained(&fleet, &good, &decision));
        }
    }
}

/// The moves that would be good, each with what the planner says of its job and its nodes.
fn explained(fleet: &Fleet, good: &[Trial], decision: &Decision) -> String {
    let mut text = String::new();
    for trial in good {
        let job = &fleet.jobs[trial.job];
        let names = [
            format!("j{}", trial.job),
            format!("n{}", job.node),
            format!("n{}", trial.to),
        ];
        text += &format!(
            "\n  job {} of {:.2} from {} at {:.2} to {} at {:.2}",
            names[0],
            job.wants,
            names[1],
            fleet.level(job.node),
            names[2],
            fleet.level(trial.to)
        );
        for reason in &decision.reasons {
            let said = reason.to_string();
            let mut words = said.split(|sign: char| !sign.is_alphanumeric());
            if words.any(|word| names.iter().any(|name| name == word)) {
                text += &format!("\n    {said}");
            }
        }
    }
    text
}

/// How many fleets are tried for each way of measuring.
fn fleets() -> u64 {
    match std::env::var("HEIST_FLEETS") {
        Err(_) => FLEETS,
        Ok(text) => (text.parse().ok().filter(|&fleets| fleets > 0))
            .unwrap_or_else(|| panic!("HEIST_FLEETS is '{text}', accepted is a number from 1 on")),
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the test harness shows it to who asks with --nocapture"
)]
fn check(measure: Measure) {
    let mut tally = Tally::default();
    (0..fleets()).for_each(|seed| watch(seed, measure, &mut tally));
    println!(
        "{measure:?}: {} fleets, {} moves, {} of them wrong; a clearly good move in {}, none made \
         in {}\n{}\n{}",
        fleets(),
        tally.moves,
        tally.wrong.len(),
        tally.clear,
        tally.missed.len(),
        tally.wrong.join("\n"),
        tally.missed.join("\n"),
    );
    assert!(tally.clear * 10 >= fleets(), "few fleets say something");
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    // One more than 2 % of few.
    let bearable = tally.clear / 50 + 1;
    assert!(
        tally.missed.len() as u64 <= bearable,
        "{} of {} missed, {bearable} are borne:\n{}",
        tally.missed.len(),
        tally.clear,
        tally.missed.join("\n")
    );
}

#[test]
fn small_fleets_whose_levels_are_capped() {
    check(Measure::Capped);
}

#[test]
fn small_fleets_whose_levels_count_who_waits() {
    check(Measure::Uncapped);
}

#[test]
fn small_fleets_whose_levels_are_capped_and_noisy() {
    check(Measure::NoisyCapped);
}

#[test]
fn small_fleets_whose_levels_count_who_waits_and_are_noisy() {
    check(Measure::NoisyUncapped);
}
