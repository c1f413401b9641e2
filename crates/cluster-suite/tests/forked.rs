//! A cluster in a forked child of the process that connected it.
#![cfg(unix)]

#[path = "../../core/tests/in_fork/mod.rs"]
#[expect(
    dead_code,
    reason = "pools are refused by panics, and clusters by errors"
)]
mod in_fork;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use heist_cluster::{Cluster, JobOptions, Local, RemoteError};
use heist_cluster_suite::calls;
use heist_cluster_suite::jobs::Counting;
use heist_cluster_suite::until;
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

/// The folder in which a driver says which processes there are.
const FOLDER: &str = "HEIST_SUITE_FORKED";

/// The child holds the driver's ends of all connections, so no worker sees them end.
#[cfg(target_os = "linux")]
#[test]
fn workers_end_with_their_driver_though_a_forked_child_of_it_lives_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let mut driver = Command::new(std::env::current_exe().expect("this program"))
        .args(["alone_a_driver_forks", "--exact", "--ignored"])
        .env(FOLDER, folder.path())
        .spawn()
        .expect("a driver");
    until("the child", || file("child").exists());
    driver.kill().expect("the driver runs");
    driver.wait().expect("the driver is dead");
    let worker = std::fs::read_to_string(file("worker")).expect("it was there first");
    until("the worker to end", || !lives(&worker));
    let child = std::fs::read_to_string(file("child")).expect("it is there");
    assert!(lives(&child), "the child held the connections until now");
    std::fs::write(file("end"), "").expect("the folder is there");
}

/// False if it is dead, also if nobody has taken note of that.
fn lives(process: &str) -> bool {
    let line = std::fs::read(Path::new("/proc").join(process).join("cmdline"));
    line.is_ok_and(|line| !line.is_empty())
}

#[test]
#[ignore = "is a driver that is killed; run by another test"]
fn alone_a_driver_forks() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("another test runs it"));
    let cluster = cluster();
    let worker = cluster.pin("n1").call(calls::own_process_id, ()).get();
    let worker = worker.expect("it runs").to_string();
    std::fs::write(folder.join("worker"), worker).expect("the folder is there");
    in_fork(|| {
        let draft = folder.join("draft");
        std::fs::write(&draft, std::process::id().to_string()).expect("the folder is there");
        std::fs::rename(draft, folder.join("child")).expect("the folder is there");
        // It waits for no longer than the folder is there.
        until("the end", || {
            folder.join("end").exists() || !folder.exists()
        });
    });
}
