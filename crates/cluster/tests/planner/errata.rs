//! Cases in which the rule that is often taught for moving jobs goes wrong: the hottest node
//! gives its cheapest job to the coldest one if their difference is large.

use heist_cluster::planner::{Fault, Mobility, Outcome, Reason};

use crate::fleet_by_hand::{job, node, settled, Fleet};

#[test]
fn a_utilisation_that_is_no_number_is_refused_with_a_reason() {
    let mut fleet = settled(&[node("a", 0.95), node("b", 0.2)], &[job("j", "a", 2.0)]);
    let decision = fleet.after(
        &[node("a", f64::NAN), node("b", 0.2)],
        &[job("j", "a", 2.0)],
    );
    let refused = decision.reasons.iter().any(|reason| {
        matches!(reason, Reason::NodeSampleRejected { node, fault: Fault::OutOfRange { value, .. } }
            if node.as_str() == "a" && value == "NaN")
    });
    assert!(refused, "{decision:#?}");
}

#[test]
fn a_fleet_at_ease_with_one_idle_node_has_no_hot_spot() {
    let nodes = [
        node("a", 0.5),
        node("b", 0.5),
        node("c", 0.5),
        node("idle", 0.1),
    ];
    let decision = settled(&nodes, &[job("j", "a", 1.0)]).last();
    assert_eq!(decision.outcome, Outcome::Stay);
    let not_hot = |reason: &&Reason| matches!(reason, Reason::NotHot { .. });
    assert_eq!(decision.reasons.iter().filter(not_hot).count(), 4);
}

#[test]
fn the_second_hottest_gives_a_job_if_the_hottest_has_none_to_give() {
    let mut pinned = job("pinned", "a", 4.0);
    pinned.mobility = Mobility::Pinned;
    let nodes = [node("a", 1.0), node("b", 0.96), node("c", 0.2)];
    let chosen = settled(&nodes, &[pinned, job("free", "b", 2.0)]).moved();
    assert_eq!((chosen.job.as_str(), chosen.from.as_str()), ("free", "b"));
}

#[test]
fn the_next_job_is_tried_if_the_cheapest_does_not_fit() {
    // Without state, it would be the cheapest.
    let large = job("large", "a", 5.0);
    let mut small = job("small", "a", 1.5);
    small.state_bytes = 64 << 20;
    let decision = settled(&[node("a", 0.95), node("b", 0.3)], &[large, small]).last();
    let Outcome::Move(chosen) = &decision.outcome else {
        panic!("{decision:#?}");
    };
    assert_eq!(chosen.job.as_str(), "small");
    let is_refusal = |reason: &Reason| matches!(reason, Reason::WouldPassLowWater { job, .. } if job.as_str() == "large");
    assert!(decision.reasons.iter().any(is_refusal), "{decision:#?}");
}

#[test]
fn a_job_that_uses_nothing_is_not_moved() {
    let decision = settled(&[node("a", 0.95), node("b", 0.2)], &[job("j", "a", 0.0)]).last();
    assert_eq!(decision.outcome, Outcome::Stay);
    let said = decision.reasons.last().map(ToString::to_string);
    let expected = "job j on a stays: it uses no CPU, its move would bring nothing";
    assert_eq!(said.as_deref(), Some(expected));
}

#[test]
fn a_job_of_negative_size_is_refused_with_a_reason() {
    let mut negative = job("j", "a", 2.0);
    negative.used_cpus = Some(-2.0);
    let decision = settled(&[node("a", 0.95), node("b", 0.2)], &[negative]).last();
    assert_eq!(decision.outcome, Outcome::Stay);
    let text: Vec<String> = decision.reasons.iter().map(ToString::to_string).collect();
    assert!(
        text.iter().any(|text| text.contains("used_cpus is -2")),
        "{text:#?}"
    );
}

#[test]
fn measurements_from_before_a_job_arrived_do_not_bring_more_jobs_there() {
    let nodes = [node("a", 0.99), node("b", 0.98), node("c", 0.1)];
    let jobs: Vec<_> = (0..8)
        .map(|index| job(&format!("j{index}"), if index < 4 { "a" } else { "b" }, 1.9))
        .collect();
    let mut fleet = settled(&nodes, &jobs);
    let frozen = fleet.now;
    let mut load = 0.1;
    for _ in 0..20 {
        let decision = fleet.measured_at(frozen, &nodes, &jobs);
        if let Outcome::Move(chosen) = decision.outcome {
            fleet.start(&chosen);
            fleet.end(&chosen);
            load += 1.9 / 8.0;
        }
    }
    assert!(load < 0.7, "the target is really at {load}");
    assert!(load > 0.1, "something moved");
}

#[test]
fn capacity_memory_and_speed_of_the_target_count() {
    let nodes = |speed: f64, memory_bytes: u64| {
        let mut target = node("b", 0.2);
        target.speed = speed;
        target.capacity.memory_bytes = memory_bytes;
        [node("a", 0.95), target]
    };
    let mut big = job("j", "a", 2.0);
    big.demand.memory_bytes = 4 << 30;
    let outcome = |speed, memory| {
        settled(&nodes(speed, memory), &[big.clone()])
            .last()
            .outcome
    };
    assert!(matches!(outcome(1.0, 4 << 30), Outcome::Move(_)));
    assert_eq!(outcome(1.0, (4 << 30) - 1), Outcome::Stay, "memory");
    assert_eq!(
        outcome(0.4, 4 << 30),
        Outcome::Stay,
        "speed: 2 CPUs are 5 there"
    );
}

#[test]
fn moves_are_limited_in_rate() {
    let jobs: Vec<_> = (0..9)
        .map(|index| job(&format!("j{index}"), "a", 0.9))
        .collect();
    let nodes: Vec<_> = [node("a", 1.0)]
        .into_iter()
        .chain((0..9).map(|index| node(&format!("b{index}"), 0.1)))
        .collect();
    let mut fleet = Fleet::new();
    let mut moves = 0;
    for _ in 0..50 {
        let decision = fleet.after(&nodes, &jobs);
        if let Outcome::Move(chosen) = decision.outcome {
            fleet.start(&chosen);
            fleet.end(&chosen);
            moves += 1;
        }
    }
    let limit = fleet.planner.config().node_moves_max;
    assert_eq!(moves, limit, "whatever is reported of a, it stays hot");
}
