//! Moves under way and moves of the past: what they do to later decisions.

use std::time::Duration;

use heist_cluster::planner::{Config, JobId, MoveError, Outcome, Reason};

use crate::fleet_by_hand::{job, node, settled, Fleet};

#[test]
fn a_job_in_flight_counts_at_both_ends() {
    let nodes = [node("a", 0.98), node("b", 0.96), node("c", 0.2)];
    let jobs = [job("j", "a", 2.4), job("k", "a", 2.0), job("l", "b", 2.4)];
    let mut fleet = settled(&nodes, &jobs);
    let first = fleet.moved();
    assert_eq!(first.from.as_str(), "a");
    fleet.start(&first);
    for _ in 0..8 {
        fleet.after(&nodes, &jobs);
    }
    assert_eq!(fleet.last().outcome, Outcome::Stay, "c has 50 % now");
    let relieved = "a keeps its jobs: what is leaving brings it from 98 % to 68 %, hot is 80 %";
    assert!(fleet.says(relieved), "{:#?}", fleet.said());
    let full = "job l on b does not go to c: that would end at 80 %, targets stay below 70 %";
    assert!(fleet.says(full), "{:#?}", fleet.said());
}

#[test]
fn memory_is_set_aside_for_what_arrives() {
    let with_memory = |name: &str| {
        let mut job = job(name, "a", 1.0);
        job.demand.memory_bytes = 40 << 30;
        job
    };
    let jobs = [with_memory("j"), with_memory("k")];
    let nodes = [node("a", 1.2), node("b", 0.1)];
    let mut fleet = settled(&nodes, &jobs);
    let first = fleet.moved();
    fleet.start(&first);
    for _ in 0..8 {
        fleet.after(&nodes, &jobs);
    }
    assert_eq!(fleet.last().outcome, Outcome::Stay);
    let said = fleet.said();
    let lacks = |said: &String| said.contains("does not fit b: it needs 42949672960");
    assert!(said.iter().any(lacks), "{said:#?}");
}

#[test]
fn both_ends_of_a_move_are_measured_anew_when_it_ended() {
    let nodes = [node("a", 0.98), node("b", 0.2)];
    let jobs = [job("j", "a", 1.5), job("k", "a", 1.5)];
    let mut fleet = settled(&nodes, &jobs);
    let first = fleet.moved();
    fleet.start(&first);
    fleet.end(&first);
    fleet.after(&nodes, &jobs);
    for name in ["a", "b"] {
        let settling = |reason: &Reason| matches!(reason, Reason::NodeSettling { node, samples: 1, .. } if node.as_str() == name);
        assert!(
            fleet.last().reasons.iter().any(settling),
            "{:#?}",
            fleet.said()
        );
    }
}

#[test]
fn a_job_rests_after_a_move_and_twice_as_long_after_the_next() {
    let here = |at: &str| [job("j", at, 2.0)];
    let hot = |name: &str| {
        let level = |this: &str| if this == name { 0.95 } else { 0.1 };
        [node("a", level("a")), node("b", level("b"))]
    };
    let mut fleet = settled(&hot("a"), &here("a"));
    let mut rests = Vec::new();
    for at in ["b", "a", "b"] {
        let chosen = fleet.moved();
        fleet.start(&chosen);
        fleet.end(&chosen);
        let since = fleet.now;
        // Wherever it goes it is hot, though nothing predicted that.
        while !matches!(fleet.after(&hot(at), &here(at)).outcome, Outcome::Move(_)) {
            assert!(fleet.now < since + Duration::from_secs(1000));
        }
        rests.push((fleet.now - since).as_secs());
    }
    assert_eq!(rests, [30, 60, 120]);
}

#[test]
fn a_node_that_stays_hot_after_giving_a_job_must_be_hot_for_longer() {
    // Between hot and emergency, and three jobs that make no difference to what is measured.
    let nodes = [
        node("a", 0.9),
        node("b", 0.1),
        node("c", 0.1),
        node("d", 0.1),
    ];
    let jobs = ["j", "k", "l"].map(|name| job(name, "a", 1.0));
    let mut fleet = Fleet::new();
    let mut waits = Vec::new();
    let mut since = fleet.now;
    while waits.len() < 3 {
        if let Outcome::Move(chosen) = fleet.after(&nodes, &jobs).outcome {
            waits.push((fleet.now - since).as_secs());
            fleet.start(&chosen);
            fleet.end(&chosen);
            since = fleet.now;
        }
        assert!(fleet.now < Duration::from_secs(1000));
    }
    assert_eq!(waits, [3, 6, 12]);
}

#[test]
fn the_whole_fleet_has_a_limit_too() {
    let mut config = Config::default();
    config.fleet_moves_max = 1;
    let mut fleet = Fleet::with(config);
    let nodes = [
        node("a", 0.95),
        node("b", 0.95),
        node("c", 0.1),
        node("d", 0.1),
    ];
    let jobs = [job("j", "a", 2.0), job("k", "b", 2.0)];
    let mut moves = Vec::new();
    for _ in 0..70 {
        if let Outcome::Move(chosen) = fleet.after(&nodes, &jobs).outcome {
            fleet.start(&chosen);
            fleet.end(&chosen);
            moves.push(fleet.now.as_secs());
        }
    }
    assert_eq!(moves.len(), 2, "{moves:?}");
    assert!(moves[1] - moves[0] >= 60, "{moves:?}");
}

#[test]
fn transfers_at_the_same_time_share_the_link() {
    let with_state = |name: &str, node: &str| {
        let mut job = job(name, node, 2.0);
        job.state_bytes = 100 << 20;
        job
    };
    let nodes = [
        node("a", 0.95),
        node("b", 0.94),
        node("c", 0.1),
        node("d", 0.1),
    ];
    let jobs = [with_state("j", "a"), with_state("k", "b")];
    let mut fleet = settled(&nodes, &jobs);
    let first = fleet.moved();
    fleet.start(&first);
    fleet.after(&nodes, &jobs);
    let second = fleet.moved();
    assert_eq!(second.job.as_str(), "k");
    assert_eq!(second.downtime_ns - first.downtime_ns, 1_000_000_000);
}

#[test]
fn what_was_measured_before_a_move_ended_does_not_count_after_it() {
    let nodes = [node("a", 0.98), node("b", 0.2)];
    let jobs = [job("j", "a", 1.5), job("k", "a", 1.5)];
    let mut fleet = settled(&nodes, &jobs);
    let first = fleet.moved();
    fleet.start(&first);
    let started = fleet.now;
    fleet.now += Duration::from_secs(4);
    fleet.end(&first);
    for second in 1..4 {
        fleet.measured_at(started + Duration::from_secs(second), &nodes, &jobs);
    }
    let nothing = |reason: &&Reason| matches!(reason, Reason::NodeSettling { samples: 0, .. });
    assert_eq!(fleet.last().reasons.iter().filter(nothing).count(), 2);
}

#[test]
fn a_failed_move_counts_as_one() {
    let nodes = [node("a", 0.95), node("b", 0.2)];
    let jobs = [job("j", "a", 2.0)];
    let mut fleet = settled(&nodes, &jobs);
    let chosen = fleet.moved();
    fleet.start(&chosen);
    let told = fleet.planner.move_failed(fleet.now, &chosen.job);
    assert_eq!(told, Ok(()));
    for _ in 0..10 {
        assert_eq!(fleet.after(&nodes, &jobs).outcome, Outcome::Stay);
    }
    let rests = |reason: &Reason| matches!(reason, Reason::CoolingDown { moves: 1, .. });
    assert!(
        fleet.last().reasons.iter().any(rests),
        "{:#?}",
        fleet.said()
    );
}

#[test]
fn moves_that_cannot_be_are_errors() {
    let mut fleet = settled(&[node("a", 0.95), node("b", 0.2)], &[job("j", "a", 2.0)]);
    let chosen = fleet.moved();
    let job = JobId::from("j");
    let nothing = Err(MoveError::NotInFlight(job.clone()));
    assert_eq!(fleet.planner.move_ended(fleet.now, &job), nothing);
    assert_eq!(fleet.planner.move_failed(fleet.now, &job), nothing);
    fleet.start(&chosen);
    let twice = fleet.planner.move_started(fleet.now, &chosen);
    assert_eq!(twice, Err(MoveError::AlreadyInFlight(job)));
}
