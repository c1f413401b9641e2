//! Recorded machines (`machines/`), and damaged ones: how far apart their processors are.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use heist_sync::{CoreClass, Distance, NumaNode, Topology};
use Distance::{Cache, Node, Remote, Smt};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines")
}

/// The recorded machine of this name.
fn machine(name: &str) -> Topology {
    Topology::read(&folder().join(name).with_extension("txt")).expect("it is recorded")
}

/// A machine with these facts.
fn with_facts(name: &str, facts: &str) -> Topology {
    let name = format!("heist-topology-{name}-{}.txt", std::process::id());
    let file = std::env::temp_dir().join(name);
    fs::write(&file, facts).expect("a file");
    let topology = Topology::read(&file).expect("it is there");
    fs::remove_file(file).expect("it is there");
    topology
}

/// How many processors are at each distance from this one.
fn around(topology: &Topology, from: usize) -> Vec<(Distance, usize)> {
    let mut counts = BTreeMap::new();
    for other in topology.processors().filter(|&other| other != from) {
        *counts.entry(topology.distance(from, other)).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn classes(topology: &Topology) -> Vec<&[usize]> {
    topology
        .classes()
        .iter()
        .map(CoreClass::processors)
        .collect()
}

#[test]
fn one_socket_with_smt_has_siblings_and_a_common_cache() {
    let topology = machine("one-socket-smt");
    for from in 0..4 {
        assert_eq!(around(&topology, from), [(Smt, 1), (Cache, 2)]);
    }
    assert_eq!(topology.distance(0, 2), Smt);
    assert_eq!(topology.core_by_core(&[3, 2, 1, 0]), [0, 1, 2, 3]);
    assert_eq!(topology.nodes().len(), 1);
    assert_eq!(classes(&topology), [[0, 1, 2, 3]]);
    assert!(topology.notes().is_empty(), "{:?}", topology.notes());
}

#[test]
fn two_sockets_are_as_far_apart_as_the_firmware_says() {
    let topology = machine("two-sockets");
    for from in 0..32 {
        assert_eq!(
            around(&topology, from),
            [(Smt, 1), (Cache, 14), (Remote(21), 16)]
        );
    }
    let nodes = topology.nodes();
    assert_eq!((nodes[0].id(), nodes[1].id()), (0, 1));
    let second = topology.core_by_core(nodes[1].processors());
    assert_eq!(second, (8..16).chain(24..32).collect::<Vec<_>>());
    assert!(topology.notes().is_empty(), "{:?}", topology.notes());
}

#[test]
fn nodes_of_one_socket_are_nearer_than_those_of_another() {
    let topology = machine("two-nodes-a-socket");
    let from_first = [
        (Cache, 31),
        (Remote(16), 32),
        (Remote(32), 32),
        (Remote(33), 32),
    ];
    assert_eq!(around(&topology, 0), from_first);
    let from_second = [
        (Cache, 31),
        (Remote(16), 32),
        (Remote(25), 32),
        (Remote(32), 32),
    ];
    assert_eq!(around(&topology, 32), from_second);
}

#[test]
fn chiplets_share_a_cache_in_groups_and_unknown_distances_are_said() {
    let topology = machine("chiplets");
    for from in [0, 50, 95] {
        assert_eq!(
            around(&topology, from),
            [(Smt, 1), (Cache, 4), (Node, 6), (Remote(20), 84)]
        );
    }
    assert_eq!(topology.nodes().len(), 8);
    assert!(
        topology.notes()[0].contains("distances"),
        "{:?}",
        topology.notes()
    );
    assert_eq!(topology.notes().len(), 1);
}

#[test]
fn p_and_e_cores_are_two_classes_though_some_p_cores_are_faster_than_others() {
    let topology = machine("hybrid");
    let (p, e): (Vec<_>, Vec<_>) = (0..20).partition(|&id| id < 12);
    assert_eq!(classes(&topology), [p, e]);
    assert_eq!(around(&topology, 0), [(Smt, 1), (Cache, 18)]);
    assert_eq!(around(&topology, 19), [(Cache, 19)]);
    assert_eq!(topology.core_by_core(&[0, 1, 2, 3, 12]), [0, 2, 12, 1, 3]);
}

#[test]
fn the_kernels_core_types_count_before_frequencies() {
    let facts = fs::read_to_string(folder().join("hybrid.txt")).expect("it is recorded");
    let typed = format!("{facts}\ncpu_core/cpus = 0-9\ncpu_atom/cpus = 10-19\n");
    assert_eq!(
        classes(&with_facts("typed", &typed))[0],
        (0..10).collect::<Vec<_>>()
    );
    let partly = format!("{facts}\ncpu_core/cpus = 0-9\n");
    let partly = with_facts("partly-typed", &partly);
    assert_eq!(classes(&partly)[0], (0..12).collect::<Vec<_>>());
    assert!(partly.notes()[0].contains("types"), "{:?}", partly.notes());
}

#[test]
fn arm_cores_are_told_apart_by_capacity() {
    let topology = machine("three-classes");
    assert_eq!(classes(&topology), [&[7][..], &[3, 4, 5, 6], &[0, 1, 2]]);
    assert_eq!(around(&topology, 0), [(Cache, 7)]);
    assert!(
        topology.notes()[0].contains("NUMA"),
        "{:?}",
        topology.notes()
    );

    let topology = machine("two-clusters");
    let fast = (5..10).chain(15..20).collect::<Vec<_>>();
    let slow = (0..5).chain(10..15).collect::<Vec<_>>();
    assert_eq!(classes(&topology), [fast, slow]);
    assert_eq!(around(&topology, 0), [(Cache, 9), (Node, 10)]);
}

#[test]
fn nodes_that_contradict_each_other_or_miss_processors_are_one_node() {
    for (name, processors) in [("faulty-nodes", 8), ("node-switched-off", 17)] {
        let topology = machine(name);
        assert_eq!(topology.nodes().len(), 1, "{name}");
        assert_eq!(topology.nodes()[0].processors().len(), processors, "{name}");
        assert!(
            topology.notes()[0].contains("NUMA"),
            "{:?}",
            topology.notes()
        );
    }
    assert_eq!(around(&machine("faulty-nodes"), 0), [(Cache, 1), (Node, 6)]);
    // The caches still tell the sockets apart.
    assert_eq!(
        around(&machine("node-switched-off"), 4),
        [(Cache, 8), (Node, 8)]
    );
}

#[test]
fn the_virtual_machine_is_one_class_of_distance() {
    let topology = machine("virtual-machine");
    assert_eq!(around(&topology, 0), [(Cache, 3)]);
    assert!(topology.notes().is_empty(), "{:?}", topology.notes());
}

#[test]
fn a_cache_that_spans_nodes_does_not_bring_them_closer() {
    let topology = with_facts(
        "snc",
        "system/cpu/online = 0-3\nsystem/node/online = 0-2\n\
         system/node/node0/cpulist = 0-1\nsystem/node/node0/distance = 10 30 11\n\
         system/node/node1/cpulist =\nsystem/node/node1/distance = 30 10 30\n\
         system/node/node2/cpulist = 2-3\nsystem/node/node2/distance = 12 30 10\n\
         system/cpu/cpu{0-3}/cache/index0/level = 3\n\
         system/cpu/cpu{0-3}/cache/index0/type = Unified\n\
         system/cpu/cpu@/cache/index0/shared_cpu_list = 0-3\n",
    );
    assert_eq!(around(&topology, 0), [(Cache, 1), (Remote(11), 2)]);
    assert_eq!(around(&topology, 3), [(Cache, 1), (Remote(12), 2)]);
    // A node without processors, of memory only, is none to run on.
    let ids: Vec<usize> = topology.nodes().iter().map(NumaNode::id).collect();
    assert_eq!(ids, [0, 2]);
}

#[test]
fn a_machine_that_shows_nothing_but_its_processors_is_one_class_and_says_so() {
    let topology = with_facts("bare", "system/cpu/online = 0-2,5\n");
    assert_eq!(around(&topology, 5), [(Node, 3)]);
    assert_eq!(classes(&topology), [[0, 1, 2, 5]]);
    let notes = topology.notes().join("\n");
    for told in [
        "siblings of processors 0-2,5",
        "caches of processors 0-2,5",
        "NUMA nodes",
    ] {
        assert!(notes.contains(told), "{notes}");
    }
}

/// Each line of each machine is left out, cut, and replaced by garbage.
#[test]
fn no_damage_panics_or_makes_a_distance_that_is_not_mutual_within_a_node() {
    let garbage = [
        "",
        "-1",
        "4-2",
        "0-70000",
        "x",
        "99999999999999999999",
        "0-",
        ",",
        "0,,1",
        "\u{fffd}",
    ];
    for name in ["one-socket-smt", "two-sockets", "hybrid", "three-classes"] {
        let facts = fs::read_to_string(folder().join(name).with_extension("txt")).expect("facts");
        let lines: Vec<&str> = facts.lines().collect();
        for damaged in 0..lines.len() {
            let Some((path, value)) = lines[damaged].split_once('=') else {
                continue;
            };
            let cut = &value[..value.len() / 2];
            for value in garbage.into_iter().chain([cut]) {
                let line = format!("{path}={value}");
                let mut lines = lines.clone();
                lines[damaged] = &line;
                let topology = with_facts("damaged", &lines.join("\n"));
                let ids: Vec<usize> = topology.processors().collect();
                for &a in &ids {
                    assert_eq!(topology.distance(a, a), Smt);
                    let back = ids.iter().all(|&b| match topology.distance(a, b) {
                        Remote(_) => matches!(topology.distance(b, a), Remote(_)),
                        near => topology.distance(b, a) == near,
                    });
                    assert!(back, "{line}");
                }
                let in_classes: usize = classes(&topology).iter().map(|class| class.len()).sum();
                assert_eq!(in_classes, ids.len(), "{line}");
                assert!(!ids.is_empty() || !topology.notes().is_empty());
            }
        }
    }
}

/// A folder may come from anywhere. The pipe has no writer, so reading it would never end.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_and_an_endless_device_in_a_folder_are_no_files() {
    use std::os::unix::fs::symlink;

    let name = format!("heist-topology-folder-{}", std::process::id());
    let root = std::env::temp_dir().join(name);
    let cpus = root.join("sys/devices/system/cpu");
    let siblings = cpus.join("cpu0/topology");
    fs::create_dir_all(&siblings).expect("a folder");
    fs::write(cpus.join("online"), "0-1\n").expect("a file");
    symlink("/dev/zero", siblings.join("core_cpus_list")).expect("a link");
    let pipe = siblings.join("thread_siblings_list");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("a program").success());
    let topology = Topology::read(&root);
    fs::remove_dir_all(&root).expect("it is there");
    let notes = topology.expect("it is there").notes().join("\n");
    assert!(
        notes.contains("siblings of processors 0-1 are not shown"),
        "{notes}"
    );
}

#[test]
fn this_machine_has_processors_a_node_and_a_class() {
    let topology = Topology::detect();
    assert!(topology.processors().len() >= 1);
    assert!(!topology.nodes().is_empty() && !topology.classes().is_empty());
    let unknown = topology.processors().max().expect("a processor") + 1;
    assert_eq!(topology.distance(0, unknown), Node);
}
