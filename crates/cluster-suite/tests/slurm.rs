//! The suite on Slurm, inside of `cargo xtask cluster with slurm -- cargo test ..`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use heist_cluster::{remote, Cluster, RemoteFuture, Slurm};
use heist_cluster_suite::calls;

heist_cluster::test_worker!();

/// Writes a file, and does nothing for ever, whoever asks it to end.
#[remote]
fn never_end(path: PathBuf) {
    std::fs::write(path, "").expect("the folder is there");
    loop {
        std::thread::park();
    }
}

/// Runs a test on a connection of its own, one at a time, since some kill nodes; where there
/// is no Slurm, a line says why it is skipped.
fn on_slurm(test: impl FnOnce(&Cluster)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let missing = ["SLURM_CONF", "HEIST_CLUSTER_STATE", "HEIST_XTASK"]
        .into_iter()
        .find(|name| std::env::var_os(name).is_none());
    if let Some(name) = missing {
        eprintln!("skipped: {name} is not set; `cargo xtask cluster with slurm` sets it");
        return;
    }
    // A test that failed has left nothing behind.
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let engine = Slurm::new().under_test_harness();
    test(&Cluster::connect(engine).expect("Slurm can be used"));
}

/// Has the cluster do something to a node.
fn node(action: &str, name: &str) {
    let xtask = std::env::var_os("HEIST_XTASK").expect("there is a cluster");
    let done = Command::new(xtask)
        .args(["cluster", action, "slurm", name])
        .status();
    assert!(
        done.expect("the program starts").success(),
        "{action} {name}"
    );
}

#[test]
fn arguments_and_results_arrive() {
    on_slurm(calls::arguments_and_results_arrive);
}

#[test]
fn errors_and_panics_are_values() {
    on_slurm(calls::errors_and_panics_are_values);
}

#[test]
fn a_function_has_a_pool() {
    on_slurm(calls::a_function_has_a_pool);
}

#[test]
fn shared_data_reaches_all_calls() {
    on_slurm(calls::shared_data_reaches_all_calls);
}

#[test]
fn many_calls_come_back() {
    on_slurm(|cluster| calls::many_calls_come_back(cluster, 3000));
}

#[test]
fn a_pinned_call_runs_where_it_should() {
    on_slurm(calls::a_pinned_call_runs_where_it_should);
}

#[test]
fn cancelled_calls_end() {
    on_slurm(calls::cancelled_calls_end);
}

#[test]
fn calls_of_different_kinds_share_a_connection() {
    on_slurm(|cluster| {
        calls::many_calls_come_back(cluster, 100);
        calls::a_function_has_a_pool(cluster);
        calls::a_pinned_call_runs_where_it_should(cluster);
        calls::shared_data_reaches_all_calls(cluster);
    });
}

#[test]
fn results_survive_the_death_of_a_node() {
    on_slurm(|cluster| {
        calls::results_survive(cluster, 120, 500, || node("kill", "n1"));
        node("start", "n1");
    });
}

#[test]
fn killed_calls_give_their_processors_back() {
    on_slurm(|cluster| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let cpus: f64 = cluster
            .nodes()
            .expect("nodes")
            .iter()
            .map(|node| node.cpus)
            .sum();
        let files: Vec<_> = (0..cpus as u32)
            .map(|call| folder.join(format!("never-ends-{call}")))
            .collect();
        let calls: Vec<_> = files
            .iter()
            .map(|file| cluster.call(never_end, file.clone()))
            .collect();
        let deadline = Instant::now() + Duration::from_secs(60);
        for file in files {
            while std::fs::remove_file(&file).is_err() {
                assert!(Instant::now() < deadline, "not all calls have begun");
                std::thread::yield_now();
            }
        }
        calls.iter().for_each(RemoteFuture::kill);
        calls::many_calls_come_back(cluster, 100);
    });
}
