//! The suite on Slurm, inside of `cargo lab cluster with slurm -- cargo test ..`.

use std::path::Path;
use std::time::{Duration, Instant};

use heist_cluster::planner::NodeId;
use heist_cluster::{remote, Cluster, RemoteFuture, Slurm};
use heist_cluster_suite::calls;
use heist_cluster_suite::crashes;
use heist_cluster_suite::logs;
use heist_cluster_suite::world::{self, World};

heist_cluster_suite::suite!(OnSlurm);

struct OnSlurm;

impl World for OnSlurm {
    type Backend = Slurm;
    const TASK: Duration = Duration::from_millis(500);
    const TAKES_TURNS: bool = true;

    fn backend(folder: &Path) -> Slurm {
        Slurm::new()
            .under_test_harness()
            .environment(["CARGO_PKG_NAME"])
            .folder(folder.join("shared"))
    }

    fn absence() -> Option<String> {
        let missing = ["SLURM_CONF", "HEIST_LAB"]
            .into_iter()
            .find(|name| std::env::var_os(name).is_none());
        missing.map(|name| format!("{name} is not set; `cargo lab cluster with slurm` sets it"))
    }

    fn kill(_: &Cluster, node: &NodeId) {
        world::disturb(&["kill", "slurm", node.as_str()]);
    }

    fn revive(_: &Cluster, node: &NodeId) {
        world::disturb(&["start", "slurm", node.as_str()]);
    }
}

/// A variable of the worker's environment.
#[remote]
fn variable(name: String) -> Option<String> {
    std::env::var(name).ok()
}

/// Cargo has set both for this program.
#[test]
fn functions_have_of_our_environment_only_what_they_need() {
    world::on::<OnSlurm>(|stage| {
        let there = |name: &str| stage.cluster.call(variable, name.to_owned()).get();
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert_eq!(there("CARGO_MANIFEST_DIR"), Ok(None));
        let wished = env!("CARGO_PKG_NAME").to_owned();
        assert_eq!(there("CARGO_PKG_NAME"), Ok(Some(wished)));
        assert_eq!(there("PATH"), Ok(std::env::var("PATH").ok()));
    });
}

#[test]
fn lines_come_from_the_nodes() {
    let Some(_turn) = world::turn_or_skipped::<OnSlurm>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    logs::lines_come_with_their_origin(OnSlurm::backend(folder.path()), false);
    logs::lines_come_while_their_call_runs(OnSlurm::backend(folder.path()));
    logs::lines_of_jobs_come_with_their_attempt(OnSlurm::backend(folder.path()));
}

/// Calls that want different things share the workers of one connection.
#[test]
fn calls_of_different_kinds_share_a_connection() {
    world::on::<OnSlurm>(|stage| {
        calls::many_calls_come_back(stage.cluster);
        calls::a_function_has_a_pool(stage.cluster);
        calls::a_pinned_call_runs_where_it_should(stage.cluster);
        calls::shared_data_reaches_all_calls(stage.cluster);
    });
}

/// Slurm does not notice it.
#[test]
fn calls_at_a_stopped_worker_go_elsewhere_or_say_why_they_do_not() {
    let Some(_turn) = world::turn_or_skipped::<OnSlurm>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let slurm = OnSlurm::backend(folder.path()).lost_after(Duration::from_secs(2));
    calls::calls_at_a_stopped_worker_end(&Cluster::connect(slurm).expect("Slurm can be used"));
}

/// Slurm takes a while to kill a worker, and the next call must not come to that one.
#[test]
fn a_killed_call_takes_no_other_with_it() {
    world::on::<OnSlurm>(|stage| {
        let calls = stage.cluster.anywhere().retries(0);
        for _ in 0..30 {
            let killed = calls.call(calls::add, (1, 2));
            killed.cancel();
            killed.kill();
            for _ in 0..10 {
                assert_eq!(calls.call(calls::add, (1, 2)).get(), Ok(3));
            }
        }
    });
}

#[test]
fn killed_calls_give_their_processors_back() {
    world::on::<OnSlurm>(|stage| {
        let cluster = stage.cluster;
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
            .map(|file| cluster.call(calls::never_end, file.clone()))
            .collect();
        let deadline = Instant::now() + Duration::from_secs(60);
        for file in files {
            while std::fs::remove_file(&file).is_err() {
                assert!(Instant::now() < deadline, "not all calls have begun");
                std::thread::yield_now();
            }
        }
        calls.iter().for_each(RemoteFuture::kill);
        calls::many_calls_come_back(cluster);
    });
}

#[test]
fn the_error_says_that_there_was_no_stack() {
    world::on::<OnSlurm>(crashes::the_error_says_that_there_was_no_stack);
}
