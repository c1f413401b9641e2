//! The rule, clause by clause.

use std::time::Duration;

use heist_cluster::planner::{Config, Decision, Mobility, Outcome, Planner, Priority, Reason};

use crate::fleet_by_hand::{job, node, settled, Fleet};

#[test]
fn a_hot_spot_must_last() {
    let calm = [node("a", 0.5), node("b", 0.2)];
    let hot = [node("a", 1.0), node("b", 0.2)];
    let jobs = [job("j", "a", 2.0)];
    let mut fleet = settled(&calm, &jobs);
    let moves = |decision: &Decision| matches!(decision.outcome, Outcome::Move(_));
    let found: Vec<bool> = (0..5).map(|_| moves(&fleet.after(&hot, &jobs))).collect();
    // The smoothed level is 0.75 after one sample, and hot from the second on.
    assert_eq!(found, [false, false, false, true, true]);
}

#[test]
fn one_wild_sample_moves_nothing() {
    let jobs = [job("j", "a", 2.0)];
    let mut fleet = settled(&[node("a", 0.5), node("b", 0.2)], &jobs);
    let once = fleet.after(&[node("a", 50.0), node("b", 0.2)], &jobs);
    assert_eq!(once.outcome, Outcome::Stay);
}

#[test]
fn what_was_not_measured_lately_neither_gives_nor_takes() {
    let jobs = [job("j", "a", 2.0)];
    let mut fleet = settled(&[node("a", 0.95), node("b", 0.2), node("c", 0.5)], &jobs);
    for _ in 0..6 {
        fleet.after(&[node("a", 0.95), node("c", 0.5)], &jobs);
    }
    assert_eq!(fleet.last().outcome, Outcome::Stay);
    let unknown = "b is unknown, neither source nor target: its last sample is 6.0 s old, at \
                   most 5.0 s count";
    assert!(fleet.says(unknown), "{:#?}", fleet.said());
}

#[test]
fn a_node_that_comes_back_is_watched_before_it_takes_anything() {
    let jobs = [job("j", "a", 2.0)];
    let mut fleet = settled(&[node("a", 0.95)], &jobs);
    let with_b = [node("a", 0.95), node("b", 0.0)];
    assert_eq!(fleet.after(&with_b, &jobs).outcome, Outcome::Stay);
    assert_eq!(fleet.after(&with_b, &jobs).outcome, Outcome::Stay);
    fleet.after(&with_b, &jobs);
    assert_eq!(fleet.moved().to.as_str(), "b");
}

#[test]
fn important_jobs_move_in_an_emergency_only_and_only_if_nothing_else_can() {
    let mut important = job("crucial", "a", 2.0);
    important.priority = Priority(1);
    let jobs = [important.clone()];
    let fleet = settled(&[node("a", 0.91), node("b", 0.2)], &jobs);
    assert_eq!(fleet.last().outcome, Outcome::Stay);
    let stays = "job crucial on a stays: priority P1 moves only from 98 % on, a is at 91 %";
    assert!(fleet.says(stays), "{:#?}", fleet.said());

    let full = [node("a", 1.0), node("b", 0.2)];
    assert_eq!(settled(&full, &jobs).moved().job.as_str(), "crucial");

    let fleet = settled(&full, &[important, job("batch", "a", 1.0)]);
    assert_eq!(fleet.moved().job.as_str(), "batch");
    let spared = "job crucial on a stays: it has priority P1, and batch can move instead";
    assert!(fleet.says(spared), "{:#?}", fleet.said());
}

#[test]
fn what_must_not_move_does_not_even_in_an_emergency() {
    for mobility in [
        Mobility::Pinned,
        Mobility::Ordered,
        Mobility::WarmState,
        Mobility::LatencyCritical,
    ] {
        let mut bound = job("j", "a", 2.0);
        bound.mobility = mobility;
        let fleet = settled(&[node("a", 1.0), node("b", 0.0)], &[bound]);
        assert_eq!(fleet.last().outcome, Outcome::Stay);
        let stays = format!("job j on a stays: it is {mobility}");
        assert!(fleet.says(&stays), "{:#?}", fleet.said());
    }
}

#[test]
fn a_named_resource_must_be_there() {
    let mut needs = job("j", "a", 2.0);
    needs.demand.named.insert("gpu".to_owned(), 1.0);
    let jobs = [needs];
    let fleet = settled(&[node("a", 0.95), node("b", 0.2)], &jobs);
    let lacks = "job j on a does not fit b: it needs 1 of gpu, 0 is free";
    assert!(fleet.says(lacks), "{:#?}", fleet.said());
    let mut has = node("b", 0.2);
    has.capacity.named.insert("gpu".to_owned(), 1.0);
    assert_eq!(
        settled(&[node("a", 0.95), has], &jobs).moved().to.as_str(),
        "b"
    );
}

#[test]
fn heat_that_passes_by_itself_is_waited_for_longer_the_next_time() {
    let hot = [node("a", 0.95), node("b", 0.1)];
    let calm = [node("a", 0.2), node("b", 0.1)];
    // Nothing can move in the first heat.
    let mut fleet = Fleet::new();
    for _ in 0..5 {
        fleet.after(&hot, &[]);
    }
    for _ in 0..5 {
        fleet.after(&calm, &[]);
    }
    let jobs = [job("j", "a", 2.0)];
    let mut seconds = 0;
    while !matches!(fleet.after(&hot, &jobs).outcome, Outcome::Move(_)) {
        seconds += 1;
        assert!(seconds < 100);
    }
    assert!(seconds >= 6, "it moved after {seconds} s");
}

#[test]
fn a_target_never_ends_above_the_level_that_the_source_is_left_at() {
    let nodes = [node("a", 0.95), node("b", 0.05)];
    let fleet = settled(&nodes, &[job("half", "a", 4.8)]);
    assert_eq!(fleet.last().outcome, Outcome::Stay);
    let above = "job half on a does not go to b: that would end at 65 %, above a, left at 35 %";
    assert!(fleet.says(above), "{:#?}", fleet.said());
}

#[test]
fn the_hottest_gives_the_job_that_gains_most_and_the_others_are_told_why_not() {
    let mut dear = job("dear", "a", 2.0);
    dear.state_bytes = 500 << 20;
    let jobs = [dear, job("cheap", "a", 2.0), job("other", "b", 2.0)];
    let nodes = [
        node("a", 0.97),
        node("b", 0.9),
        node("c", 0.2),
        node("d", 0.1),
    ];
    let fleet = settled(&nodes, &jobs);
    let chosen = fleet.moved();
    assert_eq!((chosen.job.as_str(), chosen.to.as_str()), ("cheap", "d"));
    let outdone = |reason: &Reason| {
        matches!(reason, Reason::Outdone { job, by, .. }
            if (job.as_str(), by.as_str()) == ("dear", "cheap"))
    };
    assert!(
        fleet.last().reasons.iter().any(outdone),
        "{:#?}",
        fleet.said()
    );
    let waits = "b waits for the next decision: it is at 90 %, and a hotter node gives a job";
    assert!(fleet.says(waits), "{:#?}", fleet.said());
}

#[test]
fn the_refusals_of_many_targets_are_counted_rather_than_listed() {
    let cold = (0..9).map(|index| node(&format!("b{index}"), 0.3));
    let nodes: Vec<_> = [node("a", 0.95)].into_iter().chain(cold).collect();
    let fleet = settled(&nodes, &[job("j", "a", 4.0)]);
    let refusals = fleet.said();
    let listed = refusals
        .iter()
        .filter(|said| said.contains("does not go to"));
    assert_eq!(listed.count(), 4, "{refusals:#?}");
    let others = "job j on a stays: 5 further nodes refuse it too";
    assert!(fleet.says(others), "{refusals:#?}");
}

#[test]
fn a_job_that_asks_for_more_cpus_than_a_node_has_does_not_go_there() {
    let mut wide = job("wide", "a", 2.0);
    wide.demand.cpus = 10.0;
    let fleet = settled(&[node("a", 0.95), node("b", 0.2)], &[wide]);
    let lacks = "job wide on a does not fit b: it needs 10 of cpus, 8 is free";
    assert!(fleet.says(lacks), "{:#?}", fleet.said());
}

#[test]
fn who_gets_less_than_it_wants_is_taken_to_want_more() {
    let nodes = [node("a", 1.5), node("b", 0.1)];
    let chosen = settled(&nodes, &[job("j", "a", 2.0)]).moved();
    assert!((chosen.reserved.cpus - 3.0).abs() < 1e-9, "{chosen}");
}

#[test]
fn nobody_wants_more_on_a_node_that_gives_more_than_its_cpus() {
    let nodes = [node("a", 2.0), node("b", 0.1)];
    // A part of a larger machine, where four jobs have 16 CPUs although the node is one of 8.
    let jobs = ["i", "j", "k", "l"].map(|name| job(name, "a", 4.0));
    let chosen = settled(&nodes, &jobs).moved();
    assert!((chosen.reserved.cpus - 4.0).abs() < 1e-9, "{chosen}");
}

#[test]
fn the_source_falls_by_what_a_job_uses_and_not_by_what_it_was_said_to_need() {
    let mut cautious = job("j", "a", 2.0);
    cautious.demand.cpus = 4.0;
    // Above 100 % the level says what waits, and what the job wants: 2.2 CPUs.
    let chosen = settled(&[node("a", 1.1), node("b", 0.3)], &[cautious.clone()]).moved();
    assert!((chosen.from_level_after - 0.825).abs() < 1e-9, "{chosen}");
    assert!((chosen.reserved.cpus - 2.2).abs() < 1e-9, "{chosen}");
    // At 100 % it says nothing, and the job may want all that it was said to need.
    let chosen = settled(&[node("a", 1.0), node("b", 0.1)], &[cautious]).moved();
    assert!((chosen.from_level_after - 0.75).abs() < 1e-9, "{chosen}");
    assert!((chosen.reserved.cpus - 4.0).abs() < 1e-9, "{chosen}");
}

#[test]
fn a_node_that_was_ever_above_100_percent_is_known_to_count_who_waits() {
    let mut cautious = job("j", "a", 2.0);
    cautious.demand.cpus = 8.0;
    let (once, later) = (
        [node("a", 1.1), node("b", 0.2)],
        [node("a", 1.0), node("b", 0.2)],
    );
    let mut fleet = settled(&once, &[]);
    for _ in 0..10 {
        fleet.after(&later, &[cautious.clone()]);
    }
    assert_eq!(fleet.moved().job.as_str(), "j");
    // A little more than 100 % is what clocks that differ make of it.
    let little = [node("a", 1.02), node("b", 0.2)];
    let stays = settled(&little, &[cautious]).last().outcome;
    assert_eq!(stays, Outcome::Stay);
}

#[test]
fn use_from_before_a_move_ended_does_not_count_at_its_ends() {
    let nodes = [node("a", 2.0), node("b", 0.1)];
    let mut fleet = settled(&nodes, &[job("j", "a", 1.0), job("k", "a", 1.0)]);
    let first = fleet.moved();
    fleet.start(&first);
    fleet.end(&first);
    // The other one gets more now, and has what it wants.
    let left = if first.job.as_str() == "j" { "k" } else { "j" };
    let later = [node("a", 0.95), node("b", 0.1)];
    for _ in 0..20 {
        if matches!(
            fleet.after(&later, &[job(left, "a", 2.0)]).outcome,
            Outcome::Move(_)
        ) {
            break;
        }
    }
    let second = fleet.moved();
    assert_eq!(second.job.as_str(), left);
    assert!((second.reserved.cpus - 2.0).abs() < 1e-9, "{second}");
}

#[test]
fn a_node_of_unknown_memory_has_room_for_a_job_that_says_what_it_needs() {
    let mut needs = job("j", "a", 2.0);
    needs.demand.memory_bytes = 4 << 30;
    let mut unknown = node("b", 0.2);
    unknown.capacity.memory_bytes = 0;
    let fleet = settled(&[node("a", 0.95), unknown], &[needs]);
    assert_eq!(fleet.moved().to.as_str(), "b");
}

#[test]
fn a_short_job_and_a_heavy_state_are_not_worth_a_move() {
    let mut short = job("short", "a", 2.0);
    short.remaining = Some(Duration::from_secs(2));
    let mut heavy = job("heavy", "a", 2.0);
    heavy.state_bytes = 10 << 30;
    let fleet = settled(&[node("a", 0.95), node("b", 0.2)], &[short, heavy]);
    assert_eq!(fleet.last().outcome, Outcome::Stay);
    let too_dear = |reason: &&Reason| matches!(reason, Reason::NotWorthIt { .. });
    let reasons = fleet.last().reasons;
    assert_eq!(reasons.iter().filter(too_dear).count(), 2, "{reasons:#?}");
}

#[test]
fn nobody_loses_much_of_its_life_for_the_good_of_others() {
    let mut young = job("young", "a", 2.0);
    young.running_for = Some(Duration::from_secs(20));
    let fleet = settled(&[node("a", 0.95), node("b", 0.2)], &[young]);
    let stays = "job young on a stays: with 1.5 s of standstill it would itself lose 3.8 % of its \
                 life, at most 1 % are asked of a job";
    assert!(fleet.says(stays), "{:#?}", fleet.said());
}

#[test]
fn an_estimate_is_doubted_until_use_was_measured() {
    let mut unmeasured = job("j", "a", 2.5);
    unmeasured.used_cpus = None;
    let nodes = [node("a", 0.95), node("b", 0.1)];
    assert_eq!(settled(&nodes, &[unmeasured]).last().outcome, Outcome::Stay);
    assert_eq!(
        settled(&nodes, &[job("j", "a", 2.5)]).moved().job.as_str(),
        "j"
    );
}

#[test]
fn one_idle_node_is_enough_for_a_fleet_that_is_hot() {
    let nodes = [
        node("a", 0.95),
        node("b", 0.94),
        node("c", 0.93),
        node("d", 0.1),
    ];
    let chosen = settled(&nodes, &[job("j", "a", 2.0)]).moved();
    assert_eq!(chosen.to.as_str(), "d");
}

#[test]
fn time_that_runs_backwards_decides_nothing() {
    let mut fleet = settled(&[node("a", 0.95), node("b", 0.2)], &[job("j", "a", 2.0)]);
    let decision = fleet.planner.decide(Duration::ZERO, &[], &[]);
    assert_eq!(decision.outcome, Outcome::Stay);
    assert!(matches!(
        decision.reasons[..],
        [Reason::ClockWentBack { .. }]
    ));
}

#[test]
fn settings_out_of_range_are_refused_with_what_would_be_accepted() {
    let refused = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        let error = Planner::new(config).expect_err("it is out of range");
        error.to_string()
    };
    let said = refused(|config| config.hot_level = f64::NAN);
    assert_eq!(
        said,
        "no planner can be made with hot_level = NaN; accepted is 0 to 1"
    );
    assert!(refused(|config| config.smoothing = 0.0).contains("above 0, up to 1"));
    assert!(refused(|config| config.sustained_samples = 0).contains("1 to 1,000"));
    assert!(refused(|config| config.low_water = 0.9).contains("up to hot_level, 0.8"));
    assert!(refused(|config| config.emergency = 0.5).contains("hot_level, 0.8, or more"));
    assert!(refused(|config| config.payback = 0.0).contains("payback"));
}

#[test]
fn a_decision_survives_being_written_as_json() {
    let mut pinned = job("pinned", "a", 1.0);
    pinned.mobility = Mobility::Pinned;
    let jobs = [pinned, job("j", "a", 2.0)];
    let mut fleet = settled(&[node("a", 0.95), node("b", 0.2)], &jobs);
    fleet.after(&[node("a", f64::INFINITY), node("b", 0.2)], &jobs);
    let decision = fleet.last();
    assert!(
        matches!(decision.outcome, Outcome::Move(_)),
        "{decision:#?}"
    );
    let text = serde_json::to_string(&decision).expect("plain data");
    let back: Decision = serde_json::from_str(&text).expect("what was written");
    assert_eq!(back, decision);
    assert!(text.contains(r#""outcome":{"kind":"move""#), "{text}");
}
