//! The suite on a Ray cluster that is up already: `cargo xtask cluster with ray -- cargo test
//! -p heist-cluster-suite --test ray`. Without one the tests say so and pass.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{stderr, Write as _};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use heist_cluster::engine::{Engine, EngineError, EngineOptions, Program};
use heist_cluster::planner::NodeId;
use heist_cluster::{Cluster, Fingerprint, Ray};
use heist_cluster_suite::calls;

/// The connection that all tests share, one after another; `None` if there is no cluster.
fn cluster() -> Option<MutexGuard<'static, Cluster>> {
    static CLUSTER: OnceLock<Option<Mutex<Cluster>>> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| {
        if std::env::var_os("RAY_ADDRESS").is_none() {
            let _ = writeln!(stderr(), "skipped: RAY_ADDRESS names no Ray cluster");
            return None;
        }
        Some(Mutex::new(Cluster::connect(Ray::new()).expect("Ray")))
    });
    let cluster = cluster.as_ref()?;
    // A test that failed leaves the cluster usable.
    Some(cluster.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn arguments_and_results_arrive() {
    if let Some(cluster) = cluster() {
        calls::arguments_and_results_arrive(&cluster);
    }
}

#[test]
fn errors_and_panics_are_values() {
    if let Some(cluster) = cluster() {
        calls::errors_and_panics_are_values(&cluster);
    }
}

#[test]
fn a_function_has_a_pool() {
    if let Some(cluster) = cluster() {
        calls::a_function_has_a_pool(&cluster);
    }
}

#[test]
fn shared_data_reaches_all_calls() {
    if let Some(cluster) = cluster() {
        calls::shared_data_reaches_all_calls(&cluster);
    }
}

#[test]
fn many_calls_come_back() {
    if let Some(cluster) = cluster() {
        calls::many_calls_come_back(&cluster, 3000);
    }
}

#[test]
fn a_pinned_call_runs_where_it_should() {
    if let Some(cluster) = cluster() {
        calls::a_pinned_call_runs_where_it_should(&cluster);
    }
}

#[test]
fn cancelled_calls_end() {
    if let Some(cluster) = cluster() {
        calls::cancelled_calls_end(&cluster);
    }
}

/// Half-second calls, and in their middle a node vanishes with all its processes.
#[test]
fn results_survive_the_death_of_a_node() {
    let (Some(cluster), Some(xtask)) = (cluster(), xtask()) else {
        return;
    };
    calls::results_survive(&cluster, 120, 500, || xtask.run(&["kill", "ray", "n3"]));
    xtask.run(&["start", "ray", "n3"]);
    wait_for_node(&cluster, "n3");
    let (_, node) = cluster
        .pin("n3")
        .call(calls::echo, Vec::new())
        .get()
        .expect("echo");
    assert_eq!(node, "n3", "the node is used again");
}

/// Half-second calls, and in their middle a node falls silent without a word; nothing waits
/// for it for ever.
#[test]
fn results_survive_a_silent_node() {
    let (Some(cluster), Some(xtask)) = (cluster(), xtask()) else {
        return;
    };
    if std::env::var_os("HEIST_CLUSTER_NETNS").is_none() {
        let _ = writeln!(stderr(), "skipped: HEIST_CLUSTER_NETNS is not set");
        return;
    }
    calls::results_survive(&cluster, 120, 500, || xtask.run(&["partition", "n3"]));
    xtask.run(&["heal", "n3"]);
    // Ray has declared it dead, and it does not come back by itself.
    xtask.run(&["kill", "ray", "n3"]);
    xtask.run(&["start", "ray", "n3"]);
    wait_for_node(&cluster, "n3");
}

/// A pinned call to a node that is gone is an error, and not a wait.
#[test]
fn a_call_pinned_to_a_dead_node_is_an_error() {
    let (Some(cluster), Some(xtask)) = (cluster(), xtask()) else {
        return;
    };
    let running = cluster
        .pin("n3")
        .retries(0)
        .call(calls::work_for, (1, 600_000));
    let (_, node) = cluster
        .pin("n3")
        .call(calls::echo, Vec::new())
        .get()
        .expect("echo");
    assert_eq!(node, "n3");
    xtask.run(&["kill", "ray", "n3"]);
    let error = running.get().expect_err("its node has died");
    assert!(error.is_node_death(), "{error}");
    poll("n3 to be known as dead", || !is_alive(&cluster, "n3"));
    let call = cluster.pin("n3").call(calls::add, (1, 2));
    let error = call.get().expect_err("the node is dead");
    assert!(error.is_node_death(), "{error}");
    xtask.run(&["start", "ray", "n3"]);
    wait_for_node(&cluster, "n3");
}

/// A library that was built from other code is refused before anything is run.
#[test]
fn a_library_of_another_build_is_refused() {
    struct OtherBuild;
    impl EngineOptions for OtherBuild {
        fn connect(self, mut program: Program) -> Result<Arc<dyn Engine>, EngineError> {
            program.fingerprint = Fingerprint::parse("0123456789abcdef").expect("16 digits");
            Ray::new().connect(program)
        }
    }
    let Some(_cluster) = cluster() else {
        return;
    };
    let error = Cluster::connect(OtherBuild)
        .expect_err("another build")
        .to_string();
    assert!(error.contains("0123456789abcdef"), "{error}");
    assert!(error.contains("libheist_cluster_suite.so"), "{error}");
}

/// What cannot work says why.
#[test]
fn setup_errors_say_what_was_tried() {
    let Some(_cluster) = cluster() else {
        return;
    };
    let says = |ray: Ray, expected: &str| {
        let error = Cluster::connect(ray).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    says(Ray::new().address("ray://somewhere:10001"), "host:port");
    says(Ray::new().python("/no/such/python"), "/no/such/python");
    says(Ray::new().address("127.0.0.1:1"), "nobody listens there");
    says(
        Ray::new().library("/no/such/library.so"),
        "/no/such/library.so",
    );
    let program = std::env::current_exe().expect("this program");
    says(Ray::new().library(program), "the library cannot be used");
}

/// When the side-car dies, whatever it was to do is an error, and so is what comes later.
#[test]
fn the_death_of_the_side_car_is_an_error() {
    let Some(_cluster) = cluster() else {
        return;
    };
    let before = children();
    let cluster = Cluster::connect(Ray::new()).expect("a connection of its own");
    let sidecar = children().into_iter().find(|child| !before.contains(child));
    let running: Vec<_> = (0..4)
        .map(|seed| cluster.call(calls::work_for, (seed, 600_000)))
        .collect();
    let shared = cluster.put(&vec![1_u64]).expect("put");
    run(Command::new("kill")
        .arg("-9")
        .arg(sidecar.expect("a side-car").to_string()));
    let is_loss = |error: String| assert!(error.contains("side-car"), "{error}");
    for call in running {
        is_loss(call.get().expect_err("nobody can answer").to_string());
    }
    is_loss(
        cluster
            .call(calls::add, (1, 2))
            .get()
            .expect_err("nobody is asked")
            .to_string(),
    );
    is_loss(cluster.nodes().expect_err("nobody knows").to_string());
    is_loss(shared.get().expect_err("nobody has it").to_string());
}

/// Nothing stays behind in this process's family when a cluster is dropped.
#[test]
fn the_side_car_ends_with_the_cluster() {
    let Some(_cluster) = cluster() else {
        return;
    };
    let before = children();
    let cluster = Cluster::connect(Ray::new()).expect("a connection of its own");
    assert_eq!(cluster.call(calls::add, (1, 2)).get(), Ok(3));
    assert_ne!(children(), before);
    drop(cluster);
    // The thread that brought the result may have been the last to hold the cluster.
    poll("the side-car to end", || children() == before);
}

/// The program that starts and kills nodes.
struct Xtask(OsString);

fn xtask() -> Option<Xtask> {
    let xtask = std::env::var_os("HEIST_XTASK").map(Xtask);
    if xtask.is_none() {
        let _ = writeln!(
            stderr(),
            "skipped: HEIST_XTASK names no program that kills nodes"
        );
    }
    xtask
}

impl Xtask {
    fn run(&self, what: &[&str]) {
        run(Command::new(&self.0).arg("cluster").args(what));
    }
}

fn run(command: &mut Command) {
    let status = command.status().expect("the command starts");
    assert!(status.success(), "{command:?}: {status}");
}

fn is_alive(cluster: &Cluster, name: &str) -> bool {
    let nodes = cluster.nodes().expect("nodes");
    nodes
        .iter()
        .any(|node| node.is_alive && node.id == NodeId::from(name))
}

fn wait_for_node(cluster: &Cluster, name: &str) {
    poll(&format!("{name} to come back"), || is_alive(cluster, name));
}

fn poll(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_there() {
        assert!(Instant::now() < deadline, "waited for {what} for a minute");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The processes that this one has started and that have not ended.
fn children() -> BTreeSet<u32> {
    let threads = std::fs::read_dir("/proc/self/task").expect("the threads of this process");
    let children = threads.flatten().filter_map(|thread| {
        // One that has just ended has no children.
        std::fs::read_to_string(thread.path().join("children")).ok()
    });
    children
        .flat_map(|text| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .map(|id| id.parse().expect("the number of a process"))
        .collect()
}
