//! The suite on worker processes of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use heist_cluster::event::{ClusterEvent, EventKind};
use heist_cluster::planner::NodeId;
use heist_cluster::{remote, Cluster, JobOptions, Local, Options, RemoteError};
use heist_cluster_suite::calls;
use heist_cluster_suite::claims;
use heist_cluster_suite::crashes;
use heist_cluster_suite::jobs::{self, Counting, Deaf};
use heist_cluster_suite::logs;
use heist_cluster_suite::stage::{self, Stage, PATIENCE};
use heist_cluster_suite::until;
use heist_cluster_suite::world::{self, World};
use heist_sync::thread;

heist_cluster_suite::suite!(Here);

struct Here;

impl World for Here {
    type Backend = Local;
    const TASK: Duration = Duration::from_millis(50);
    const TAKES_TURNS: bool = false;

    fn backend(_: &Path) -> Local {
        Local::new().nodes(3).cpus(2).under_test_harness()
    }

    fn kill(cluster: &Cluster, node: &NodeId) {
        let died = cluster
            .pin(node.clone())
            .retries(0)
            .call(calls::die, ())
            .get();
        assert!(died.is_err_and(|error| error.is_node_death()));
    }

    /// A worker that has died is replaced.
    fn revive(cluster: &Cluster, node: &NodeId) {
        assert_eq!(
            cluster.pin(node.clone()).call(calls::add, (1, 2)).get(),
            Ok(3)
        );
    }
}

/// Starts a program that stays, with its number in a file, and ends the worker.
#[remote]
fn die_and_leave_a_program(file: PathBuf) {
    let mut stays = Command::new("sh");
    stays
        .args(["-c", "echo $$ > \"$0\"; exec sleep 600"])
        .arg(&file);
    stays.spawn().expect("sh starts");
    until("the program to stay", || {
        fs::read_to_string(&file).is_ok_and(|number| number.ends_with('\n'))
    });
    std::process::abort();
}

/// A cluster whose workers may not be silent for long.
fn watched() -> Local {
    Here::backend(Path::new("")).lost_after(Duration::from_secs(2))
}

#[test]
fn a_job_survives_its_stopped_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let (options, events) = stage::listening(Options::new());
    let cluster = Cluster::connect_with(watched(), options).expect("workers");
    let stage = Stage {
        cluster: &cluster,
        events: &events,
        folder: folder.path(),
    };
    let stop = |node: &NodeId| {
        calls::stop_worker(&cluster, node);
    };
    jobs::a_job_survives_its_node(&stage, "stopped", &stop);
}

#[test]
fn calls_at_a_stopped_worker_go_elsewhere_or_say_why_they_do_not() {
    calls::calls_at_a_stopped_worker_end(&Cluster::connect(watched()).expect("workers"));
}

/// A program that a function has started does not keep the connection of a dead worker open.
#[test]
fn a_worker_that_leaves_a_program_behind_is_lost_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stays");
    let cluster = Cluster::connect(Here::backend(Path::new(""))).expect("workers");
    let mut died = cluster
        .pin("n2")
        .retries(0)
        .call(die_and_leave_a_program, file.clone());
    let died = died.wait_timeout(PATIENCE);
    let stays = fs::read_to_string(&file).expect("it was started");
    let killed = Command::new("kill").args(["-KILL", stays.trim()]).status();
    assert!(
        killed.expect("kill starts").success(),
        "it stayed until then"
    );
    let error = died.expect("it was noticed").expect_err("it died");
    assert!(error.to_string().contains("SIGABRT"), "{error}");
    assert_eq!(cluster.pin("n2").call(calls::add, (5, 6)).get(), Ok(11));
}

/// A call for which nobody has the resource is refused with what there is; so is a job, and a name
/// that is none.
#[test]
fn a_resource_that_nobody_has_is_refused_with_what_there_is() {
    let local = Here::backend(Path::new("")).resource("gpu", 1);
    let cluster = Cluster::connect(local).expect("workers");
    let there = "there are n1 (2, 1 of gpu), n2 (2, 1 of gpu), n3 (2, 1 of gpu)";
    let calls = cluster.anywhere();
    let refused = calls
        .clone()
        .resource("tpu", 2)
        .call(calls::add, (1, 2))
        .get();
    let error = refused.expect_err("nobody has one").to_string();
    assert!(
        error.contains("2 of tpu were wanted on any node"),
        "{error}"
    );
    assert!(error.ends_with(there), "{error}");
    let bad = calls
        .clone()
        .resource("gpu,tpu", 1)
        .call(calls::add, (1, 2))
        .get();
    let error = bad.expect_err("it is no name").to_string();
    assert!(error.contains("no resource \"gpu,tpu\""), "{error}");
    assert_eq!(
        calls.resource("gpu", 1).call(calls::add, (1, 2)).get(),
        Ok(3)
    );
    let options = JobOptions::new("wants much").resource("gpu", 2);
    let job = cluster.submit(Counting::new(1, 0), options).expect("a job");
    let refused = job.wait_timeout(PATIENCE).expect("it ends");
    let error = refused.expect_err("nobody has two").to_string();
    assert!(error.ends_with(there), "{error}");
    let no_name = cluster.submit(Counting::new(1, 0), JobOptions::new("bad").resource("", 1));
    assert!(no_name.is_err_and(|error| error.to_string().contains("no resource \"\"")));
}

/// A call ends, however long its pauses: by its attempts, at its deadline, with its cluster.
#[test]
fn a_call_that_waits_to_be_run_again_ends() {
    let cluster = Cluster::connect(Here::backend(Path::new(""))).expect("workers");
    let calls = cluster.anywhere().retries(u32::MAX);
    let short = calls
        .clone()
        .backoff(Duration::from_millis(1), Duration::MAX);
    let error = short.call(calls::die, ()).get().expect_err("it dies twice");
    assert!(error.to_string().contains("after 2 attempts"), "{error}");
    let long = calls.backoff(Duration::MAX, Duration::MAX);
    let within = Duration::from_secs(2);
    let late = long.clone().within(within).call(calls::die, ()).get();
    assert_eq!(late, Err(RemoteError::TimedOut { within }));
    let left = long.call(calls::die, ());
    drop(cluster);
    assert!(left.get().is_err(), "the cluster has ended");
}

/// Twenty calls on a node with two processors and one resource, which each of them wants.
#[test]
fn calls_with_a_resource_have_it_for_themselves() {
    let local = Here::backend(Path::new("")).resource("gpu", 1);
    let cluster = Cluster::connect(local).expect("workers");
    let folder = tempfile::tempdir().expect("a folder");
    let calls = cluster.pin("n1").resource("gpu", 1);
    claims::a_resource_is_had_alone(&calls, folder.path());
}

#[test]
fn lines_come_with_their_origin() {
    logs::lines_come_with_their_origin(Here::backend(Path::new("")), true);
}

#[test]
fn lines_come_while_their_call_runs() {
    logs::lines_come_while_their_call_runs(Here::backend(Path::new("")));
}

#[test]
fn bytes_without_an_end_come_in_harmless_parts() {
    logs::bytes_without_an_end_come_in_harmless_parts(Here::backend(Path::new("")));
}

#[test]
fn lines_of_jobs_come_with_their_attempt() {
    logs::lines_of_jobs_come_with_their_attempt(Here::backend(Path::new("")));
}

/// Large requests for a stopped worker keep nothing waiting: no call elsewhere, and not the end.
#[test]
fn a_stopped_node_holds_up_nobody() {
    let cluster = Cluster::connect(Here::backend(Path::new(""))).expect("workers");
    calls::a_stopped_worker_holds_up_nobody(cluster);
}

#[test]
fn a_node_without_worker_is_given_up_and_calls_say_why() {
    let backend = Local::new().nodes(2).program("/bin/false");
    let cluster = Cluster::connect(backend).expect("a process starts");
    for _ in 0..2 {
        for call in [cluster.pin("n2"), cluster.on("n2")] {
            let error = call.call(calls::add, (1, 2)).get();
            let error = error.expect_err("there is no worker").to_string();
            assert!(error.contains("n2 was given up"), "{error}");
            assert!(error.contains("exited with code 1"), "{error}");
        }
    }
}

/// A call waits for memory, or is told that there is none. A request that a stopped worker
/// does not read holds its memory until it is killed, though its call was cancelled.
#[test]
fn calls_have_as_much_memory_as_they_may() {
    const BYTES: u64 = 1 << 20;
    let options = Options::new().calls_bytes_max(BYTES);
    let backend = Here::backend(Path::new(""));
    let cluster = Cluster::connect_with(backend, options).expect("workers");
    calls::stop_worker(&cluster, &NodeId::from("n2"));
    let large = serde_bytes::ByteBuf::from(vec![1; BYTES as usize]);
    let held = cluster.pin("n2").call(calls::mirror, large);
    held.cancel();
    let refused = cluster.anywhere().try_call(calls::add, (1, 2));
    let full = refused.expect_err("all is used");
    assert_eq!(full.args, (1, 2));
    assert_eq!((full.used_bytes, full.bytes_max), (BYTES, BYTES));
    let within = Duration::from_millis(50);
    let late = cluster.within(within).call(calls::add, (1, 2)).get();
    assert_eq!(late, Err(RemoteError::TimedOut { within }));
    let calling = cluster.clone();
    let waiting = thread::spawn(move || calling.call(calls::add, (3, 4)).get());
    held.kill();
    assert_eq!(waiting.join().expect("it waited"), Ok(7));
    let begun = cluster.anywhere().try_call(calls::add, (5, 6));
    assert_eq!(begun.expect("there is room").get(), Ok(11));
}

/// A job that was cancelled and goes on has its processors until it is killed; what else runs in
/// its process is run again.
#[test]
fn a_job_that_is_killed_takes_nothing_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::connect(Here::backend(folder.path())).expect("workers");
    let begun = folder.path().join("job");
    let deaf = cluster.submit(Deaf::new(&begun), JobOptions::new("deaf").pin("n2"));
    let deaf = deaf.expect("submit");
    let beside = cluster
        .pin("n2")
        .call(calls::succeed_again, folder.path().join("call"));
    for begun in [begun, folder.path().join("call.begun")] {
        until("both to begin", || begun.exists());
    }
    deaf.cancel();
    assert_eq!(
        deaf.wait_timeout(PATIENCE),
        Some(Err(RemoteError::Cancelled))
    );
    let next = cluster.pin("n2").call(calls::add, (1, 2));
    assert_eq!(cluster.pin("n1").call(calls::add, (3, 4)).get(), Ok(7));
    assert!(!next.is_done(), "both processors are in use");
    deaf.kill();
    assert_eq!((beside.get(), next.get()), (Ok(()), Ok(3)));
}

/// A job with a large state for a stopped worker keeps nothing waiting: no job elsewhere, and not
/// the end.
#[test]
fn a_large_job_for_a_stopped_node_holds_up_nobody() {
    let (options, events) = stage::listening(Options::new());
    let backend = Here::backend(Path::new(""));
    let cluster = Cluster::connect_with(backend, options).expect("workers");
    let endless = JobOptions::new("beside").pin("n1");
    let endless = endless.checkpoint_every(Duration::from_millis(100));
    let beside = cluster.submit(Counting::new(u64::MAX, 1000), endless);
    let beside = beside.expect("submit");
    calls::stop_worker(&cluster, &NodeId::from("n2"));
    let large = Counting::new(1, 1).ballast(8 << 20);
    let held_up = cluster.submit(large, JobOptions::new("large").pin("n2"));
    let held_up = held_up.expect("submit");
    let small = cluster.submit(Counting::new(3, 1), JobOptions::new("small").pin("n3"));
    let small = small.expect("submit").wait_timeout(PATIENCE);
    assert_eq!(small, Some(Ok(Counting::new(3, 1).expected())));
    checkpoint_of("beside", &events);
    beside.cancel();
    assert_eq!(
        beside.wait_timeout(PATIENCE),
        Some(Err(RemoteError::Cancelled))
    );
    drop(cluster);
    assert_eq!(
        held_up.wait_timeout(PATIENCE),
        Some(Err(RemoteError::Cancelled))
    );
}

/// Waits for a checkpoint of the job `name`.
fn checkpoint_of(name: &str, events: &Receiver<ClusterEvent>) {
    stage::wait_for(events, |what| match what {
        EventKind::Checkpoint { job, .. } => (job.as_str() == name).then_some(()),
        _ => None,
    });
}

#[test]
fn the_error_says_that_there_was_no_stack() {
    world::on::<Here>(crashes::the_error_says_that_there_was_no_stack);
}
