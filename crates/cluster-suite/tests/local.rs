//! The suite on worker processes of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use heist_cluster::event::Happening;
use heist_cluster::planner::NodeId;
use heist_cluster::{Cluster, Local, Options};
use heist_cluster_suite::{calls, chunks, jobs};

heist_cluster::test_worker!();

fn engine() -> Local {
    Local::new().nodes(3).cpus(2).under_test_harness()
}

fn cluster() -> Cluster {
    Cluster::connect(engine()).expect("three worker processes")
}

/// Kills the process of a node.
fn kill(cluster: &Cluster, node: &NodeId) {
    let (_, _) = cluster
        .pin(node.clone())
        .call(calls::echo, Vec::new())
        .get()
        .expect("it is there");
    let died = cluster
        .pin(node.clone())
        .retries(0)
        .call(calls::die, ())
        .get();
    assert!(died.is_err_and(|error| error.is_node_death()));
}

#[test]
fn arguments_and_results_arrive() {
    calls::arguments_and_results_arrive(&cluster());
}

#[test]
fn errors_and_panics_are_values() {
    calls::errors_and_panics_are_values(&cluster());
}

#[test]
fn a_function_has_a_pool() {
    calls::a_function_has_a_pool(&cluster());
}

#[test]
fn shared_data_reaches_all_calls() {
    calls::shared_data_reaches_all_calls(&cluster());
}

#[test]
fn many_calls_come_back() {
    calls::many_calls_come_back(&cluster(), 3000);
}

#[test]
fn a_pinned_call_runs_where_it_should() {
    calls::a_pinned_call_runs_where_it_should(&cluster());
}

#[test]
fn cancelled_calls_end() {
    calls::cancelled_calls_end(&cluster());
}

#[test]
fn results_survive_the_death_of_a_node() {
    let cluster = cluster();
    calls::results_survive(&cluster, 120, 50, || kill(&cluster, &NodeId::from("n2")));
}

#[test]
fn a_call_that_may_not_be_repeated_reports_the_death_of_its_node() {
    let cluster = cluster();
    kill(&cluster, &NodeId::from("n1"));
    assert_eq!(
        cluster.pin("n1").call(calls::add, (1, 2)).get(),
        Ok(3),
        "the node is back"
    );
}

#[test]
fn a_range_is_covered_once() {
    chunks::a_range_is_covered_once(&cluster());
}

#[test]
fn a_list_keeps_its_order() {
    chunks::a_list_keeps_its_order(&cluster());
}

#[test]
fn a_chunk_that_panics_ends_all() {
    chunks::a_chunk_that_panics_ends_all(&cluster());
}

#[test]
fn jobs_end() {
    jobs::jobs_end(&cluster());
}

#[test]
fn a_cancelled_job_ends() {
    jobs::a_cancelled_job_ends(&cluster());
}

#[test]
fn a_job_with_much_state_moves() {
    let folder = tempfile::tempdir().expect("a folder");
    let (options, events) = jobs::listening(Options::new());
    let cluster = Cluster::connect_with(engine(), options).expect("a cluster");
    let (standstill, pausing) = jobs::a_job_moves(&cluster, &events, folder.path(), 64 << 20);
    heist_cluster_suite::report_standstill(pausing, standstill);
}

#[test]
fn a_job_survives_its_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let (options, events) = jobs::listening(Options::new());
    let cluster = Cluster::connect_with(engine(), options).expect("a cluster");
    jobs::a_job_survives_its_node(&cluster, &events, folder.path(), |node| {
        kill(&cluster, node);
    });
}

#[test]
fn a_paused_state_survives_its_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let (options, events) = jobs::listening(Options::new());
    let cluster = Cluster::connect_with(engine(), options).expect("a cluster");
    jobs::a_paused_state_survives_its_node(&cluster, &events, folder.path(), |node| {
        kill(&cluster, node);
    });
}

#[test]
fn the_rebalancer_moves_jobs() {
    let options = Options::new()
        .rebalance(jobs::quick_planner())
        .sample_every(Duration::from_millis(500));
    let (options, events) = jobs::listening(options);
    let cluster = Cluster::connect_with(engine(), options).expect("a cluster");
    jobs::the_rebalancer_moves_jobs(&cluster, &events, &NodeId::from("n1"));
}

/// Where a process of this program is to be a driver.
const DRIVER: &str = "HEIST_SUITE_DRIVER";

/// The driver that is going to be lost, in a process of its own; passes everywhere else.
#[test]
fn driver_process() {
    if let Some(folder) = std::env::var_os(DRIVER) {
        let folder = Path::new(&folder);
        let options = Options::new().store(folder.join("store")).events(folder);
        let cluster = Cluster::connect_with(engine(), options).expect("a cluster");
        jobs::a_driver_to_be_lost(&cluster);
    }
}

#[test]
fn a_durable_job_goes_on_after_its_driver_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let mut driver = Command::new(program)
        .args(["--exact", "driver_process", "--nocapture"])
        .env(DRIVER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("a driver");
    heist_cluster_suite::until("a checkpoint", || {
        has_checkpoint(&folder.path().join("store"))
    });
    let store = Options::new().store(folder.path().join("store"));
    let refused = Cluster::connect_with(engine(), store).map(|_| ());
    assert!(refused.is_err_and(|error| error.to_string().contains("in use by another driver")));
    driver.kill().expect("the driver runs");
    driver.wait().expect("the driver is dead");
    let (options, events) = jobs::listening(Options::new().store(folder.path().join("store")));
    let cluster = Cluster::connect_with(engine(), options).expect("a cluster");
    jobs::a_durable_job_goes_on(&cluster);
    jobs::wait_for(&events, |what| match what {
        Happening::Submitted {
            resumed_after_ms, ..
        } => *resumed_after_ms,
        _ => None,
    });
}

/// True if a job in the store has a younger state than its first, which is there before
/// `job.json`.
fn has_checkpoint(store: &Path) -> bool {
    let written = |path: PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    let jobs = fs::read_dir(store)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    jobs.into_iter().any(|job| {
        let (first, last) = (
            written(job.join("job.json")),
            written(job.join("checkpoint")),
        );
        first.is_some() && last > first
    })
}
