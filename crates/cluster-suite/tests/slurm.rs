//! The suite on Slurm, inside of `cargo xtask cluster with slurm -- cargo test ..`.

use std::process::Command;
use std::sync::OnceLock;

use heist_cluster::{Cluster, Slurm};
use heist_cluster_suite::calls;

heist_cluster::test_worker!();

/// One connection for all tests; none, with a line that says why, where there is no Slurm.
fn cluster() -> Option<&'static Cluster> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    let connect = || {
        let missing = ["SLURM_CONF", "HEIST_CLUSTER_STATE", "HEIST_XTASK"]
            .into_iter()
            .find(|name| std::env::var_os(name).is_none());
        if let Some(name) = missing {
            eprintln!("skipped: {name} is not set; `cargo xtask cluster with slurm` sets it");
            return None;
        }
        let cluster = Cluster::connect(Slurm::new().under_test_harness());
        Some(cluster.expect("Slurm can be used"))
    };
    CLUSTER.get_or_init(connect).as_ref()
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
    cluster().map(calls::arguments_and_results_arrive);
}

#[test]
fn errors_and_panics_are_values() {
    cluster().map(calls::errors_and_panics_are_values);
}

#[test]
fn a_function_has_a_pool() {
    cluster().map(calls::a_function_has_a_pool);
}

#[test]
fn shared_data_reaches_all_calls() {
    cluster().map(calls::shared_data_reaches_all_calls);
}

#[test]
fn many_calls_come_back() {
    cluster().map(|cluster| calls::many_calls_come_back(cluster, 3000));
}

#[test]
fn a_pinned_call_runs_where_it_should() {
    cluster().map(calls::a_pinned_call_runs_where_it_should);
}

#[test]
fn cancelled_calls_end() {
    cluster().map(calls::cancelled_calls_end);
}

#[test]
fn results_survive_the_death_of_a_node() {
    if let Some(cluster) = cluster() {
        calls::results_survive(cluster, 120, 500, || node("kill", "n1"));
        node("start", "n1");
    }
}
