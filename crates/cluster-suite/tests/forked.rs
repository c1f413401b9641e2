//! A cluster in a forked child of the process that connected it.
#![cfg(unix)]

#[path = "../../core/tests/in_fork/mod.rs"]
#[expect(
    dead_code,
    reason = "pools are refused by panics, and clusters by errors"
)]
mod in_fork;

use std::time::Duration;

use heist_cluster::{Cluster, JobOptions, Local, RemoteError};
use heist_cluster_suite::calls;
use heist_cluster_suite::jobs::Counting;
use in_fork::{assert_passes, in_fork, FINE};

heist_cluster::test_worker!();

fn cluster() -> Cluster {
    let backend = Local::new().nodes(2).cpus(2).under_test_harness();
    Cluster::connect(backend).expect("a cluster")
}

fn is_refused<T>(result: Result<T, RemoteError>) -> bool {
    let refused = result.err().map(|error| error.to_string());
    refused.is_some_and(|text| text.contains("the cluster belongs to process"))
}

#[test]
fn a_forked_child_is_refused_its_parents_cluster_and_does_not_end_it() {
    assert_passes("alone_calls_in_a_child_fail");
    assert_passes("alone_a_child_drops_the_cluster");
}

#[test]
#[ignore = "run in a process of its own"]
fn alone_calls_in_a_child_fail() {
    let cluster = cluster();
    let shared = cluster.put(&5_u64).expect("shared data");
    let mut before = cluster.call(calls::add, (1, 2));
    let end = in_fork(|| {
        let result = before.wait_timeout(Duration::from_secs(3600));
        assert!(result.is_some_and(|result| result == Ok(3) || is_refused(result)));
        before.cancel();
        assert!(is_refused(cluster.put(&1_u8)));
        assert!(is_refused(shared.get()));
        assert!(cluster.nodes().is_err());
        assert!(is_refused(cluster.call(calls::add, (1, 2)).get()));
        let job = Counting::new(3, 0);
        assert!(cluster.submit(job, JobOptions::new("forked")).is_err());
    });
    assert_eq!(end, FINE);
    assert_eq!(before.get(), Ok(3));
    assert_eq!(shared.get().map(|shared| *shared), Ok(5));
}

#[test]
#[ignore = "run in a process of its own"]
fn alone_a_child_drops_the_cluster() {
    let cluster = cluster();
    let before = cluster.call(calls::add, (1, 2));
    let mut taken = Some((cluster, before));
    let end = in_fork(|| drop(taken.take()));
    assert_eq!(end, FINE);
    let (cluster, before) = taken.expect("the child has a copy");
    assert_eq!(before.get(), Ok(3));
    let results = (0..20_u64).map(|n| cluster.call(calls::add, (n, n)));
    let results: Vec<_> = results.collect();
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(result.get(), Ok(2 * n as u64));
    }
    drop(cluster);
}
