//! The suite on worker processes of this machine.

use heist_cluster::{Cluster, Local};
use heist_cluster_suite::calls;

heist_cluster::test_worker!();

fn cluster() -> Cluster {
    let engine = Local::new().nodes(3).cpus(2).under_test_harness();
    Cluster::connect(engine).expect("three worker processes")
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
