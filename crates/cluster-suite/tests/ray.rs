//! The suite on Ray, inside of `cargo lab cluster with ray -- cargo test ..`.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{stderr, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use heist_cluster::backend::{Backend, BackendError, BackendOptions, Program};
use heist_cluster::planner::NodeId;
use heist_cluster::{Calls, Cluster, Fingerprint, JobOptions, Ray, RemoteError, RemoteFuture};
use heist_cluster_suite::jobs::{self, Counting};
use heist_cluster_suite::logs;
use heist_cluster_suite::stage::{Stage, PATIENCE};
use heist_cluster_suite::world::{self, World};
use heist_cluster_suite::{calls, claims, crashes, until};

heist_cluster_suite::suite!(OnRay);

struct OnRay;

impl World for OnRay {
    type Backend = Ray;
    const TASK: Duration = Duration::from_millis(500);
    const TAKES_TURNS: bool = true;
    const SHARES: bool = true;

    fn backend(_: &Path) -> Ray {
        Ray::new()
    }

    fn absence() -> Option<String> {
        let missing = ["RAY_ADDRESS", "HEIST_LAB"]
            .into_iter()
            .find(|name| std::env::var_os(name).is_none());
        missing.map(|name| format!("{name} is not set; `cargo lab cluster with ray` sets it"))
    }

    fn kill(_: &Cluster, node: &NodeId) {
        world::disturb(&["kill", "ray", node.as_str()]);
    }

    fn revive(cluster: &Cluster, node: &NodeId) {
        world::disturb(&["start", "ray", node.as_str()]);
        until(&format!("{node} to come back"), || is_alive(cluster, node));
        let (_, at) = cluster
            .pin(node.clone())
            .call(calls::echo, Vec::new())
            .get()
            .expect("echo");
        assert_eq!(at, node.as_str(), "the node is used again");
    }
}

fn is_alive(cluster: &Cluster, wanted: &NodeId) -> bool {
    let nodes = cluster.nodes().expect("nodes");
    nodes.iter().any(|node| node.is_alive && node.id == *wanted)
}

/// Runs a test.
fn on_ray(test: impl FnOnce(&Cluster)) {
    world::on::<OnRay>(|stage| test(stage.cluster));
}

/// Half-second calls, and in their middle a node falls silent without a word; nothing waits
/// for it for ever.
#[test]
fn results_survive_a_silent_node() {
    on_ray_cut_off(|stage| {
        let cut_off = || world::disturb(&["partition", "n3"]);
        calls::results_survive(stage.cluster, 120, OnRay::TASK, cut_off);
    });
}

/// The node of a running job falls silent; another attempt goes on from the checkpoint, and
/// when the old one is heard again, it changes nothing.
#[test]
fn a_job_survives_its_silent_node() {
    on_ray_cut_off(|stage| {
        let cut_off = |_: &NodeId| world::disturb(&["partition", "n3"]);
        jobs::a_job_survives_its_node(stage, "silent", &cut_off);
    });
}

/// Runs a test that cuts n3 off, where nodes can be cut off.
fn on_ray_cut_off(test: impl FnOnce(&Stage<'_>)) {
    if has_namespaces() {
        world::on::<OnRay>(|stage| {
            world::whatever_happens(|| test(stage), || come_back(stage.cluster));
        });
    }
}

/// Whether nodes can be cut off.
fn has_namespaces() -> bool {
    let has = std::env::var_os("HEIST_CLUSTER_NETNS").is_some();
    if !has {
        let _ = stderr().write_all(b"test skipped: HEIST_CLUSTER_NETNS is not set\n");
    }
    has
}

/// Connects n3 again. Ray has declared it dead, and it does not come back by itself.
fn come_back(cluster: &Cluster) {
    world::disturb(&["heal", "n3"]);
    world::disturb(&["kill", "ray", "n3"]);
    OnRay::revive(cluster, &NodeId::from("n3"));
}

#[test]
fn a_stopped_worker_holds_up_nobody() {
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
        return;
    };
    let cluster = Cluster::connect(Ray::new()).expect("a connection of its own");
    calls::a_stopped_worker_holds_up_nobody(cluster);
}

/// Its worker dies, and in a process of Python nothing says why.
#[test]
fn a_recursion_without_end_is_an_error() {
    on_ray(|cluster| {
        let deep = cluster.on("n1").retries(1);
        let error = deep.call(crashes::use_up_stack, 1 << 40).get();
        let error = error.expect_err("no stack is so deep");
        assert!(
            matches!(&error, RemoteError::Backend { attempts: 2, .. }),
            "{error}"
        );
        assert_eq!(cluster.pin("n1").call(calls::add, (1, 2)).get(), Ok(3));
    });
}

/// A worker whose start fails is killed, and calls and jobs say why they have none.
#[test]
fn a_worker_whose_start_fails_is_killed() {
    on_faulty_ray(|cluster, fault| {
        let large = cluster.anywhere().cpus(2).retries(0);
        fault("learn", true);
        let error = large.call(calls::add, (1, 2)).get();
        let error = error.expect_err("no worker starts").to_string();
        assert!(error.contains("Fault: of the test"), "{error}");
        let options = JobOptions::new("nowhere").losses_max(1);
        let job = cluster
            .submit(Counting::new(3, 1), options)
            .expect("submit");
        let answer = job.wait_timeout(PATIENCE).expect("it is given up");
        let error = answer.expect_err("no worker starts").to_string();
        assert!(error.contains("Fault: of the test"), "{error}");
        let begun = fault("learn", false).with_extension("files");
        let begun = std::fs::read_to_string(begun).expect("workers were started");
        assert!(begun.lines().count() >= 4, "{begun}");
        for file in begun.lines() {
            // Ray names it after the process.
            let process = file.trim_end_matches(".out").rsplit('-').next();
            let process = format!("/proc/{}", process.expect("a number"));
            until("a worker to end", || !Path::new(&process).exists());
        }
        assert_eq!(large.call(calls::add, (1, 2)).get(), Ok(3));
    });
}

/// A pinned call to a node that is gone is an error, and not a wait.
#[test]
fn a_call_pinned_to_a_dead_node_is_an_error() {
    on_ray(|cluster| {
        let n3 = NodeId::from("n3");
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
        world::disturb(&["kill", "ray", "n3"]);
        let error = running.get().expect_err("its node has died");
        assert!(error.is_node_death(), "{error}");
        until("n3 to be known as dead", || !is_alive(cluster, &n3));
        let call = cluster.pin("n3").call(calls::add, (1, 2));
        let error = call.get().expect_err("the node is dead");
        assert!(error.is_node_death(), "{error}");
        OnRay::revive(cluster, &n3);
    });
}

/// Short calls travel together, and a long one among them keeps none of the others waiting.
#[test]
fn short_calls_do_not_wait_for_a_long_one() {
    on_ray(|cluster| {
        let add_many = |count| -> Vec<_> {
            (0..count)
                .map(|x| cluster.call(calls::add, (x, 1)))
                .collect()
        };
        for (x, call) in (0..).zip(add_many(100)) {
            assert_eq!(
                call.get(),
                Ok(x + 1),
                "workers know now that these are short"
            );
        }
        let before = add_many(200);
        let long = cluster.call(calls::work_for, (1, 600_000));
        let behind = add_many(200);
        for (x, call) in (0..).zip(before).chain((0..).zip(behind)) {
            assert_eq!(call.get(), Ok(x + 1));
        }
        long.cancel();
        assert_eq!(long.get(), Err(RemoteError::Cancelled));
    });
}

/// Workers know calls as short, and one is not: the next does not wait for it.
#[test]
fn a_call_does_not_wait_for_a_long_one_that_was_thought_short() {
    on_ray(|cluster| {
        let short: Vec<_> = (0..200)
            .map(|x| cluster.pin("n2").call(calls::add, (x, 1)))
            .collect();
        for (x, call) in (0..).zip(short) {
            assert_eq!(call.get(), Ok(x + 1));
        }
        calls::calls_on_one_node_run_together(cluster);
    });
}

/// A call that ends its worker takes none of those with it that travel beside it.
#[test]
fn a_call_that_ends_its_worker_spares_short_ones() {
    on_ray(|cluster| {
        let add = |x| cluster.call(calls::add, (x, 1));
        for (x, call) in (0..).zip((0..200).map(add).collect::<Vec<_>>()) {
            assert_eq!(call.get(), Ok(x + 1));
        }
        let before: Vec<_> = (0..300).map(add).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let dies = cluster.call(calls::note_and_die, folder.path().join("attempts"));
        let behind: Vec<_> = (300..600).map(add).collect();
        for (x, call) in (0..).zip(before.into_iter().chain(behind)) {
            assert_eq!(call.get(), Ok(x + 1));
        }
        let error = dies.get().expect_err("it ends its worker").to_string();
        assert!(error.contains("SIGABRT"), "{error}");
    });
}

/// A worker that was killed has not crashed, whatever it has said, and the others go on.
#[test]
fn words_that_look_like_a_crash_are_none() {
    on_ray(|cluster| {
        let once = cluster.on("n1").retries(0);
        let error = once.call(crashes::pretend_and_be_killed, ()).get();
        let error = error.expect_err("its worker is gone").to_string();
        assert!(!error.contains("(SIG"), "{error}");
        assert_eq!(cluster.pin("n1").call(calls::add, (1, 2)).get(), Ok(3));
    });
}

/// Every line comes once, with the call or the attempt that printed it.
#[test]
fn lines_come_from_the_nodes() {
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
        return;
    };
    logs::lines_come_with_their_origin(Ray::new(), true);
    logs::lines_come_while_their_call_runs(Ray::new());
    logs::bytes_without_an_end_come_in_harmless_parts(Ray::new());
    logs::lines_of_jobs_come_with_their_attempt(Ray::new());
}

/// Many short calls, which travel together, print each its own line.
#[test]
fn short_calls_print_under_their_own_numbers() {
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
        return;
    };
    logs::short_calls_print_under_their_own_numbers(Ray::new(), 500);
}

/// Resources beside processors are Ray's: each node of the test cluster says that it has one GPU
/// and one `disk`.
#[test]
fn resources_are_had_of_ray() {
    world::on::<OnRay>(|stage| {
        let cluster = stage.cluster;
        let nodes = cluster.nodes().expect("nodes");
        for node in &nodes {
            let named = [("disk".to_owned(), 1), ("gpu".to_owned(), 1)];
            assert_eq!(node.resources, named.into(), "{node:?}");
            assert!(node.memory_bytes > 0, "{node:?}");
        }
        for name in ["gpu", "disk"] {
            let calls = cluster.pin("n1").resource(name, 1).memory(16 << 20);
            claims::a_resource_is_had_alone(&calls, stage.folder);
        }
        let tight = cluster.pin("n1").memory(nodes[0].memory_bytes / 4 * 3);
        claims::a_resource_is_had_alone(&tight, stage.folder);
        let says = |calls: Calls<'_>, expected: &str| {
            let refused = calls.call(calls::add, (1, 2)).get();
            let error = refused.expect_err("nobody has it").to_string();
            assert!(error.contains(expected), "{error}");
        };
        says(
            cluster.anywhere().resource("gpu", 2),
            "1 processors, 2 of gpu were wanted on any node; there are n1 (2, 1 of gpu), n2 (2, 1",
        );
        says(
            cluster.pin("n2").resource("tpu", 1),
            "1 processors, 1 of tpu were wanted on n2; there are n1 (2, 0 of tpu)",
        );
        says(
            cluster.anywhere().memory(1 << 50),
            "1073741824 MiB of memory",
        );
        let submit = |name: &str, count| {
            let options = JobOptions::new(name).resource("gpu", count);
            let job = cluster
                .submit(Counting::new(3, 1), options)
                .expect("submit");
            job.wait_timeout(PATIENCE).expect("it ends")
        };
        assert_eq!(submit("has one", 1), Ok(Counting::new(3, 1).expected()));
        let error = submit("wants two", 2)
            .expect_err("nobody has two")
            .to_string();
        assert!(error.contains("2 of gpu were wanted"), "{error}");
    });
}

/// A library that was built from other code is refused before anything is run.
#[test]
fn a_library_of_another_build_is_refused() {
    struct OtherBuild;
    impl BackendOptions for OtherBuild {
        fn connect(self, mut program: Program) -> Result<Arc<dyn Backend>, BackendError> {
            program.fingerprint = Fingerprint::parse("0123456789abcdef").expect("16 digits");
            Ray::new().connect(program)
        }
    }
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
        return;
    };
    let error = Cluster::connect(OtherBuild)
        .expect_err("another build")
        .to_string();
    assert!(error.contains("0123456789abcdef"), "{error}");
    assert!(error.contains("libheist_cluster_suite.so"), "{error}");
}

/// Set-ups that cannot work are refused with the reason.
#[test]
fn setup_errors_say_what_was_tried() {
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
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
        Ray::new().cdylib("/no/such/library.so"),
        "/no/such/library.so",
    );
    let program = std::env::current_exe().expect("this program");
    says(Ray::new().cdylib(program), "the library cannot be used");
}

/// When the side-car dies, whatever it was to do is an error, and so is what comes later.
#[test]
fn the_death_of_the_side_car_is_an_error() {
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
        return;
    };
    let before = children();
    let cluster = Cluster::connect(Ray::new()).expect("a connection of its own");
    let is_sidecar = |child: &u32| {
        // Not what a test before has left for a moment.
        let line = std::fs::read_to_string(format!("/proc/{child}/cmdline"));
        !before.contains(child) && line.is_ok_and(|line| line.contains("sidecar.py"))
    };
    let mut sidecar = None;
    // While another process ends, the list may lack some.
    until("the side-car to be seen", || {
        sidecar = children().into_iter().find(is_sidecar);
        sidecar.is_some()
    });
    // However often they may be tried again.
    let calls = cluster.anywhere().retries(1_000_000);
    let running: Vec<_> = (0..4)
        .map(|seed| calls.call(calls::work_for, (seed, 600_000)))
        .collect();
    let shared = cluster.put(&vec![1_u64]).expect("put");
    let sidecar = sidecar.expect("a side-car").to_string();
    let killed = Command::new("kill").args(["-9", &sidecar]).status();
    assert!(killed.is_ok_and(|status| status.success()));
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

/// An exception in the side-car that is about one call is the answer to that call alone.
#[test]
fn an_exception_about_one_call_is_its_answer() {
    on_faulty_ray(|cluster, fault| {
        for name in ["answers", "results"] {
            fault(name, true);
            let mut call = cluster.anywhere().retries(0).call(calls::add, (1, 2));
            let answer = call.wait_timeout(PATIENCE).expect("an answer");
            let error = answer.expect_err(name).to_string();
            assert!(error.contains("TypeError"), "{error}");
            fault(name, false);
            let mut next = cluster.call(calls::add, (1, 2));
            assert_eq!(next.wait_timeout(PATIENCE), Some(Ok(3)), "{name}");
        }
    });
}

/// An exception after which calls would wait for ever ends the side-car, and is its reason.
#[test]
fn an_exception_about_all_calls_ends_them_all() {
    on_faulty_ray(|cluster, fault| {
        let work = |seed| cluster.call(calls::work_for, (seed, 600_000));
        let running: Vec<_> = (0..12).map(work).collect();
        fault("nodes", true);
        ends_with_the_reason(running);
        let error = cluster
            .put(&1_u64)
            .expect_err("nobody is there")
            .to_string();
        assert!(error.contains("Fault"), "{error}");
    });
    on_faulty_ray(|cluster, fault| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("begun");
        let n2 = cluster.pin("n2").cpus(2);
        let deaf = n2.call(calls::never_end, path.clone());
        until("the call to begin", || path.exists());
        fault("kill", true);
        deaf.kill();
        ends_with_the_reason([n2.call(calls::work_for, (1, 0))]);
    });
}

fn ends_with_the_reason(calls: impl IntoIterator<Item = RemoteFuture<u64>>) {
    for mut call in calls {
        let answer = call.wait_timeout(PATIENCE).expect("an answer");
        let error = answer.expect_err("nobody can answer").to_string();
        assert!(error.contains("side-car"), "{error}");
        assert!(error.contains("Fault: of the test"), "{error}");
    }
}

/// Runs a test on a connection of its own, in whose side-car it can switch faults on and off, by a
/// file each.
fn on_faulty_ray(test: impl FnOnce(&Cluster, &dyn Fn(&str, bool) -> PathBuf)) {
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let python = std::env::var("HEIST_RAY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let faults = folder.path().join("faults.py");
    std::fs::write(&faults, include_str!("faults.py")).expect("room for a file");
    let faulty = folder.path().join("python");
    let script = format!("#!/bin/sh\nexec '{python}' '{}' \"$@\"\n", faults.display());
    std::fs::write(&faulty, script).expect("room for a file");
    std::fs::set_permissions(&faulty, Permissions::from_mode(0o700)).expect("it is ours");
    let cluster = Cluster::connect(Ray::new().python(faulty)).expect("a connection of its own");
    assert_eq!(cluster.call(calls::add, (1, 2)).get(), Ok(3));
    test(&cluster, &|name, is_on| {
        let fault = folder.path().join(name);
        let done = match is_on {
            true => std::fs::write(&fault, ""),
            false => std::fs::remove_file(&fault),
        };
        done.expect("the folder is there");
        fault
    });
}

/// Nothing stays behind in this process's family when a cluster is dropped.
#[test]
fn the_side_car_ends_with_the_cluster() {
    let Some(_turn) = world::turn_or_skipped::<OnRay>() else {
        return;
    };
    let before = children();
    let cluster = Cluster::connect(Ray::new()).expect("a connection of its own");
    assert_eq!(cluster.call(calls::add, (1, 2)).get(), Ok(3));
    assert!(!children().is_subset(&before), "there is a side-car");
    drop(cluster);
    // The thread that brought the result may have been the last to hold the cluster.
    // A process of the test before may end meanwhile as well.
    until("the side-car to end", || children().is_subset(&before));
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
