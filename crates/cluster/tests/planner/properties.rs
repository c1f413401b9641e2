//! Properties of the planner that hold for any input, however wild.

use std::ops::Range;
use std::time::Duration;

use heist_cluster::planner::{
    Config, JobSample, Mobility, NodeSample, Outcome, Planner, Priority, Resources,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

/// A number as it should be, or seldom one that should not be.
fn wild(usual: Range<f64>) -> impl Strategy<Value = f64> {
    prop_oneof![
        200 => usual,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
        1 => Just(-1.0),
        1 => Just(0.0),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
    ]
}

fn resources(
    cpus: Range<f64>,
    memory: Range<u64>,
    gpu: Range<f64>,
) -> impl Strategy<Value = Resources> {
    let memory = prop_oneof![50 => memory, 1 => Just(u64::MAX)];
    let all = (wild(cpus), memory, option::of(wild(gpu)));
    all.prop_map(|(cpus, memory_bytes, gpu)| Resources {
        cpus,
        memory_bytes,
        named: gpu.map(|gpu| ("gpu".to_owned(), gpu)).into_iter().collect(),
    })
}

/// Seldom a number that is somebody else's too.
fn shared() -> impl Strategy<Value = Option<usize>> {
    option::weighted(0.03, 0..4_usize)
}

/// Nodes that are hot or cold. The time is an age, until it is known when now is.
fn nodes() -> impl Strategy<Value = Vec<NodeSample>> {
    let ages = prop_oneof![30 => 0..900_u64, 1 => Just(u64::MAX)];
    let utilisation = prop_oneof![2 => wild(0.0..0.4), 1 => wild(0.7..1.3)];
    let capacity = resources(4.0..16.0, 50..200, 1.0..9.0);
    let node = (shared(), ages, capacity, utilisation, wild(0.5..2.0));
    vec(node, 0..8).prop_map(|nodes| {
        let mut samples = Vec::new();
        for (index, (shared, age, capacity, utilisation, speed)) in nodes.into_iter().enumerate() {
            let name = format!("n{}", shared.unwrap_or(index));
            let at = Duration::from_millis(age);
            let mut sample = NodeSample::new(name, at, capacity, utilisation);
            sample.speed = speed;
            samples.push(sample);
        }
        samples
    })
}

fn jobs() -> impl Strategy<Value = Vec<JobSample>> {
    let mobility = prop_oneof![
        5 => Just(Mobility::Movable),
        1 => Just(Mobility::Pinned),
        1 => Just(Mobility::Ordered),
        1 => Just(Mobility::WarmState),
        1 => Just(Mobility::LatencyCritical),
    ];
    let state = prop_oneof![20 => 0..1_000_000_u64, 1 => Just(u64::MAX)];
    let life = option::of(prop_oneof![20 => 60..10_000_u64, 1 => Just(u64::MAX)]);
    let job = (
        (shared(), 0..8_usize),
        resources(0.1..4.0, 0..40, 0.0..3.0),
        option::of(wild(0.1..4.0)),
        (0..5_u8, mobility, state),
        (life.clone(), life),
    );
    vec(job, 0..30).prop_map(|jobs| {
        let mut samples = Vec::new();
        for (index, (place, demand, used, kind, life)) in jobs.into_iter().enumerate() {
            let name = format!("j{}", place.0.unwrap_or(index));
            let at = Duration::from_millis(500);
            let mut job = JobSample::new(name, format!("n{}", place.1), at, demand);
            job.used_cpus = used;
            (job.mobility, job.state_bytes) = (kind.1, kind.2);
            job.priority = Priority(kind.0);
            job.running_for = life.0.map(Duration::from_secs);
            job.remaining = life.1.map(Duration::from_secs);
            samples.push(job);
        }
        samples
    })
}

/// A fleet in some rounds, each as if it were another.
fn rounds() -> impl Strategy<Value = Vec<(Vec<NodeSample>, Vec<JobSample>)>> {
    vec((nodes(), jobs()), 1..4)
}

/// A planner that needs little to act, so that moves are common.
fn eager() -> Planner {
    let mut config = Config::default();
    config.sustained_samples = 1;
    config.usage_samples = 1;
    config.smoothing = 1.0;
    config.spread = 0.1;
    config.hot_level = 0.6;
    config.low_water = 0.6;
    config.loss_max = 1.0;
    config.payback = 1.0;
    Planner::new(config).expect("the settings are in range")
}

/// Makes the ages of samples the times that they were in this round.
fn put_in_time(round: usize, nodes: &mut [NodeSample], jobs: &mut [JobSample]) {
    let at = |age: Duration| now(round).checked_sub(age).unwrap_or(Duration::MAX);
    nodes.iter_mut().for_each(|node| node.at = at(node.at));
    jobs.iter_mut().for_each(|job| job.at = at(job.at));
}

fn now(round: usize) -> Duration {
    Duration::from_secs(round as u64 + 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_input_gives_a_decision_and_no_move_that_must_not_be(
        rounds in rounds(),
        failures in any::<bool>(),
    ) {
        let mut planner = eager();
        for (round, (mut nodes, mut jobs)) in rounds.into_iter().enumerate() {
            put_in_time(round, &mut nodes, &mut jobs);
            let decision = planner.decide(now(round), &nodes, &jobs);
            for reason in &decision.reasons {
                prop_assert!(!reason.to_string().is_empty());
            }
            let Outcome::Move(chosen) = decision.outcome else {
                prop_assert!(!decision.reasons.is_empty(), "nothing is refused without a reason");
                continue;
            };
            let named: Vec<&JobSample> =
                jobs.iter().filter(|job| job.job == chosen.job).collect();
            prop_assert_eq!(named.len(), 1, "an ambiguous job moved");
            let job = named[0];
            prop_assert_eq!(job.mobility, Mobility::Movable);
            prop_assert!(chosen.from != chosen.to);
            let emergency = planner.config().emergency;
            prop_assert!(!job.priority.is_protected() || chosen.from_level >= emergency);
            prop_assert!(chosen.to_level_after < planner.config().low_water);
            prop_assert!(chosen.to_level_after <= chosen.from_level_after);
            prop_assert!(chosen.from_level_after >= 0.0);
            prop_assert!(chosen.benefit_cpu_s >= chosen.cost_cpu_s && chosen.cost_cpu_s > 0.0);
            prop_assert!(chosen.benefit_cpu_s.is_finite());
            let text = serde_json::to_string(&chosen).expect("plain data");
            prop_assert!(!text.contains("null"), "{}", text);
            planner.move_started(now(round), &chosen).expect("it is not in flight");
            let over = if failures {
                planner.move_failed(now(round), &chosen.job)
            } else {
                planner.move_ended(now(round), &chosen.job)
            };
            over.expect("it is in flight");
        }
    }

    #[test]
    fn a_target_is_known_and_has_room_for_all_that_the_job_needs(
        nodes in nodes(),
        jobs in jobs(),
    ) {
        let (mut nodes, mut jobs) = (nodes, jobs);
        put_in_time(0, &mut nodes, &mut jobs);
        let Outcome::Move(chosen) = eager().decide(now(0), &nodes, &jobs).outcome else {
            return Ok(());
        };
        let targets: Vec<_> = nodes.iter().filter(|node| node.node == chosen.to).collect();
        prop_assert_eq!(targets.len(), 1, "an unknown or ambiguous target");
        let capacity = &targets[0].capacity;
        prop_assert!(targets[0].utilisation.is_finite());
        prop_assert!(chosen.reserved.cpus <= capacity.cpus * targets[0].speed);
        let there = || jobs.iter().filter(|job| job.node == chosen.to || job.job == chosen.job);
        let memory: u128 = there().map(|job| u128::from(job.demand.memory_bytes)).sum();
        let gpu = |resources: &Resources| resources.named.get("gpu").copied().unwrap_or(0.0);
        if chosen.reserved.memory_bytes > 0 {
            prop_assert!(memory <= u128::from(capacity.memory_bytes));
        }
        if gpu(&chosen.reserved) > 0.0 {
            let gpus: f64 = there().map(|job| gpu(&job.demand).max(0.0)).sum();
            prop_assert!(gpus <= gpu(capacity) + 1e-9);
        }
    }

    #[test]
    fn the_order_of_the_samples_changes_nothing(nodes in nodes(), jobs in jobs()) {
        let (mut nodes, mut jobs) = (nodes, jobs);
        put_in_time(0, &mut nodes, &mut jobs);
        let forwards = eager().decide(now(0), &nodes, &jobs);
        nodes.reverse();
        jobs.reverse();
        let backwards = eager().decide(now(0), &nodes, &jobs);
        prop_assert_eq!(forwards, backwards);
    }

    #[test]
    fn any_settings_are_refused_or_work(
        levels in (wild(0.0..1.0), wild(0.0..1.0), wild(0.0..1.0), wild(0.0..1.0)),
        factors in (wild(1.0..9.0), wild(1.0..9.0), wild(0.0..1.0), wild(1.0..1e9)),
        counts in (0..4_u32, 0..4_u32, any::<u32>(), any::<u32>()),
        ages in (any::<u64>(), any::<u64>()),
        mut nodes in nodes(),
        mut jobs in jobs(),
    ) {
        put_in_time(0, &mut nodes, &mut jobs);
        let mut config = Config::default();
        (config.hot_level, config.low_water, config.spread, config.emergency) = levels;
        (config.estimate_error, config.payback, config.smoothing, config.bandwidth_bytes_per_s)
            = factors;
        config.sustained_samples = counts.0;
        config.usage_samples = counts.1;
        config.fleet_moves_max = counts.2;
        config.node_moves_max = counts.3;
        config.job_cool_down = Duration::from_secs(ages.0);
        config.horizon = Duration::from_secs(ages.1);
        match Planner::new(config) {
            Err(error) => prop_assert!(error.to_string().contains(error.setting())),
            Ok(mut planner) => {
                if let Outcome::Move(chosen) = planner.decide(now(0), &nodes, &jobs).outcome {
                    prop_assert!(chosen.to_level_after <= chosen.from_level_after);
                }
            }
        }
    }
}

/// Or the properties above would say little.
#[test]
fn in_random_fleets_moves_are_common() {
    let mut runner = TestRunner::deterministic();
    let mut moves = 0;
    for _ in 0..200 {
        let fleet = (nodes(), jobs()).new_tree(&mut runner);
        let (mut nodes, mut jobs) = fleet.expect("no fleet is rejected").current();
        put_in_time(0, &mut nodes, &mut jobs);
        let decision = eager().decide(now(0), &nodes, &jobs);
        moves += u32::from(matches!(decision.outcome, Outcome::Move(_)));
    }
    assert!(moves >= 30, "{moves} of 200");
}

#[test]
fn an_empty_fleet_is_told_that_a_move_needs_two_nodes() {
    let decision = eager().decide(now(0), &[], &[]);
    assert_eq!(decision.outcome, Outcome::Stay);
    let said: Vec<String> = decision.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["a move needs two known nodes, there are 0"]);
}

#[test]
fn a_fleet_of_thousands_is_decided_too() {
    let capacity = Resources::cpus(8.0);
    let node = |index: u32| {
        let level = if index.is_multiple_of(10) { 0.95 } else { 0.4 };
        NodeSample::new(format!("n{index}"), now(0), capacity.clone(), level)
    };
    let nodes: Vec<_> = (0..2_000).map(node).collect();
    let job = |index: u32| {
        let home = format!("n{}", index % 2_000);
        let mut job = JobSample::new(format!("j{index}"), home, now(0), Resources::cpus(0.4));
        job.running_for = Some(Duration::from_secs(600));
        job
    };
    let jobs: Vec<_> = (0..10_000).map(job).collect();
    let decision = eager().decide(now(0), &nodes, &jobs);
    assert!(matches!(decision.outcome, Outcome::Move(_)));
}
