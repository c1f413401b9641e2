//! Local with many nodes costs the driver two descriptors each, and no thread. In a process of its
//! own, since others would be counted too.

#![cfg(target_os = "linux")]

use std::fs;

use heist_cluster::planner::NodeId;
use heist_cluster::{Cluster, Local};
use heist_cluster_suite::calls;

heist_cluster::test_worker!();

/// How many descriptors this process has.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd")
        .expect("a folder of the system")
        .count()
}

/// How many of its threads belong to clusters.
fn threads() -> usize {
    let threads = fs::read_dir("/proc/self/task").expect("a folder of the system");
    let names = threads.map(|thread| {
        // It may have ended meanwhile.
        let name = fs::read_to_string(thread.expect("an entry").path().join("comm"));
        name.unwrap_or_default()
    });
    names
        .filter(|name| name.starts_with("heist-cluster-"))
        .count()
}

/// A cluster whose nodes have all answered.
fn cluster(nodes: u32) -> Cluster {
    let backend = Local::new().nodes(nodes).cpus(1).under_test_harness();
    let cluster = Cluster::connect(backend).expect("the workers start");
    let answers: Vec<_> = (1..=nodes)
        .map(|node| NodeId::from(format!("n{node}")))
        .map(|node| cluster.pin(node).call(calls::own_process_id, ()))
        .collect();
    for answer in answers {
        answer.get().expect("its worker answers");
    }
    cluster
}

#[test]
fn a_node_costs_two_descriptors_and_no_thread() {
    let none = descriptors();
    let _few = cluster(2);
    let (threads_of_few, few) = (threads(), descriptors());
    let _many = cluster(34);
    let (threads_of_both, both) = (threads(), descriptors());
    assert_eq!(threads_of_both, 2 * threads_of_few);
    assert_eq!(both - few, few - none + 2 * 32);
}
