//! Readings and what they come to.

use super::*;
use crate::protocol::reading::JobReading;
use crate::remote::job_options::JobOptions;

const NODE: &str = "n1";

fn reading(at_ms: u64, process_cpu_ms: u64) -> Reading {
    Reading {
        at_ms,
        pid: 7,
        process_cpu_ms,
        ..Reading::default()
    }
}

/// The utilisation of a node of two processors between two readings.
fn utilisation(before: Reading, after: Reading) -> Result<f64, String> {
    let mut rates = Rates::default();
    let nodes = [Node::new(NodeId::from(NODE), 2.0)];
    rates.take(Duration::from_secs(1), &nodes, &of(before), &[]);
    let measured = rates.take(Duration::from_secs(2), &nodes, &of(after), &[]);
    assert_eq!(
        measured.nodes.len(),
        measured
            .node_usage
            .iter()
            .filter(|usage| usage.utilisation.is_some())
            .count()
    );
    let usage = &measured.node_usage[0];
    usage
        .utilisation
        .ok_or_else(|| usage.unknown.clone().expect("a reason"))
}

fn of(reading: Reading) -> Readings {
    vec![(NodeId::from(NODE), Ok(reading))]
}

#[test]
fn a_process_that_is_the_node_counts_by_itself() {
    assert_eq!(
        utilisation(reading(1000, 500), reading(2000, 1500)),
        Ok(0.5)
    );
}

#[test]
fn one_reading_is_no_rate_and_no_answer_is_unknown() {
    let mut rates = Rates::default();
    let nodes = [
        Node::new(NodeId::from(NODE), 2.0),
        Node::new(NodeId::from("n2"), 2.0),
    ];
    let readings = vec![
        (NodeId::from(NODE), Ok(reading(1000, 0))),
        (NodeId::from("n2"), Err(BackendError::lost("no answer"))),
    ];
    let measured = rates.take(Duration::from_secs(1), &nodes, &readings, &[]);
    assert!(measured.nodes.is_empty(), "unknown is not idle");
    let reasons: Vec<_> = measured
        .node_usage
        .iter()
        .map(|usage| usage.unknown.as_deref())
        .collect();
    assert_eq!(
        reasons,
        [Some("it was measured once so far"), Some("no answer")]
    );
}

#[test]
fn a_replaced_worker_and_a_clock_that_stands_are_unknown() {
    let mut replaced = reading(2000, 10);
    replaced.pid = 8;
    assert!(utilisation(reading(1000, 500), replaced).is_err());
    assert!(utilisation(reading(1000, 500), reading(1000, 900)).is_err());
    assert!(utilisation(reading(5000, 500), reading(1000, 900)).is_err());
}

#[test]
fn a_family_counts_those_that_began_in_between_but_not_those_that_ended() {
    let mut before = reading(1000, 0);
    before.family_cpu_ms = vec![(1, 100), (2, 700)];
    let mut after = reading(2000, 0);
    after.family_cpu_ms = vec![(1, 400), (3, 200)];
    assert_eq!(utilisation(before, after), Ok(0.25));
}

#[test]
fn a_node_that_has_its_machine_alone_counts_what_others_use_there() {
    let machine = |at_ms, busy| Reading {
        machine: "boot".to_owned(),
        machine_busy_ms: busy,
        ..reading(at_ms, 0)
    };
    assert_eq!(
        utilisation(machine(1000, 10_000), machine(2000, 11_800)),
        Ok(0.9)
    );
}

#[test]
fn waiting_for_a_processor_counts_as_wanting_one() {
    let job = |cpu_ms, waited_ms| JobReading {
        job: 7,
        epoch: 0,
        cpu_ms,
        waited_ms,
        progress: 0.5,
    };
    let with = |at_ms, process, job| Reading {
        jobs: vec![job],
        ..reading(at_ms, process)
    };
    let before = with(1000, 0, job(0, 0));
    let after = with(2000, 2000, job(600, 1000));
    assert_eq!(
        utilisation(before, after),
        Ok(1.5),
        "both processors, and half as many again"
    );
}

#[test]
fn a_job_has_what_it_used_and_how_long_it_will_run() {
    let view = View {
        job: 7,
        epoch: 1,
        options: JobOptions::new("sums").cpus(0.5),
        node: Some(NodeId::from(NODE)),
        since: Duration::from_secs(1),
        is_moving: false,
        is_over: false,
        moves: 0,
        losses: 0,
        progress: 0.0,
        state_bytes: 100,
    };
    let nodes = [Node::new(NodeId::from(NODE), 2.0)];
    let mut rates = Rates::default();
    let mut take = |second: u64, progress| {
        let job = JobReading {
            job: 7,
            epoch: 1,
            cpu_ms: 800 * second,
            waited_ms: 0,
            progress,
        };
        let reading = Reading {
            jobs: vec![job],
            ..reading(1000 * second, 800 * second)
        };
        rates.take(
            Duration::from_secs(second),
            &nodes,
            &of(reading),
            std::slice::from_ref(&view),
        )
    };
    take(2, 0.1);
    take(3, 0.2);
    let measured = take(5, 0.4);
    let job = &measured.jobs[0];
    assert_eq!(job.used_cpus, Some(0.8));
    assert_eq!(job.running_for, Some(Duration::from_secs(4)));
    // Two tenths in two seconds, and six are left.
    assert_eq!(
        job.remaining.map(|left| left.as_secs_f64().round()),
        Some(6.0)
    );
    assert_eq!(job.state_bytes, 100);
    let stranger = take(6, 0.5).job_usage[0].cpus;
    assert_eq!(stranger, Some(0.8));
}
