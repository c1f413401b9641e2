//! Tests of calls.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use heist_cluster::planner::NodeId;
use heist_cluster::{remote, CallContext, Cluster, Remote, RemoteError};
use heist_sync::thread;
use serde_bytes::ByteBuf;

use crate::stage::PATIENCE;
use crate::until;
use crate::work::{stay, sum_of_mix};

/// Adds two numbers.
#[remote]
pub fn add(a: u64, b: u64) -> u64 {
    a + b
}

/// Fails, as the caller wishes.
#[remote]
pub fn divide(a: u64, b: u64) -> Result<u64, String> {
    a.checked_div(b)
        .ok_or_else(|| format!("{a} cannot be divided by {b}"))
}

/// Panics, with a message.
#[remote]
pub fn panic_with(message: String) {
    panic!("{message}");
}

/// Says that it is here, and whether the other is as well before a minute is over.
#[remote]
pub fn meet(here: PathBuf, other: PathBuf) -> Result<bool, String> {
    std::fs::write(here, "").map_err(|error| error.to_string())?;
    let began = Instant::now();
    while !other.exists() && began.elapsed() < Duration::from_secs(60) {
        thread::yield_now();
    }
    Ok(other.exists())
}

/// Ends the worker's process, as an accident would.
#[remote]
pub fn die() {
    std::process::abort();
}

/// The number of the worker's process.
#[remote]
pub fn own_process_id() -> u32 {
    std::process::id()
}

/// Stops the process of the worker that answers calls bound to a node, and says its number: it
/// lives, and says nothing.
pub fn stop_worker(cluster: &Cluster, node: &NodeId) -> u32 {
    let process = cluster.pin(node.clone()).call(own_process_id, ()).get();
    let process = process.expect("it runs");
    let mut kill = Command::new("kill");
    let stopped = kill.args(["-STOP", &process.to_string()]).status();
    assert!(stopped.expect("kill starts").success());
    process
}

/// Calls whose worker has been stopped are run again elsewhere, or say why they are not. Workers of
/// the cluster may be silent for two seconds.
pub fn calls_at_a_stopped_worker_end(cluster: &Cluster) {
    let node = NodeId::from("n2");
    let stopped = stop_worker(cluster, &node);
    let bound = cluster.pin("n2").retries(0).call(add, (1, 2));
    let free = cluster.on("n2").call(add, (3, 4));
    let error = bound.get().expect_err("nobody answers");
    assert!(error.is_node_death(), "{error}");
    assert!(error.to_string().contains("silent for 2s"), "{error}");
    assert_eq!(free.get(), Ok(7));
    assert_eq!(cluster.pin("n2").call(add, (5, 6)).get(), Ok(11));
    let process = format!("/proc/{stopped}");
    until("the stopped process to end", || {
        !Path::new(&process).exists()
    });
}

/// A large request for a stopped worker holds up neither other calls nor the end of the cluster,
/// which is dropped here, and the worker ends with it.
pub fn a_stopped_worker_holds_up_nobody(cluster: Cluster) {
    let stopped = stop_worker(&cluster, &NodeId::from("n2"));
    let large = ByteBuf::from(vec![1; 8 << 20]);
    let held_up = cluster.pin("n2").retries(0).call(mirror, large);
    for node in ["n1", "n3"] {
        assert_eq!(cluster.pin(node).call(add, (1, 2)).get(), Ok(3));
    }
    drop(cluster);
    // Another worker of that node may have answered it.
    drop(held_up.get());
    let process = format!("/proc/{stopped}");
    until("the stopped process to end", || {
        !Path::new(&process).exists()
    });
}

/// Sums with the worker's own pool.
#[remote(cpus = 2)]
pub fn sum_in_parallel(end: u64) -> (u64, usize) {
    let (left, right) = heist_core::join(|| sum_of_mix(0..end / 2), || sum_of_mix(end / 2..end));
    (left.wrapping_add(right), heist_core::current_num_threads())
}

/// Sums shared data.
#[remote]
pub fn sum_shared(numbers: Remote<Vec<u64>>) -> Result<u64, String> {
    let numbers = numbers.get().map_err(|error| error.to_string())?;
    Ok(numbers.iter().sum())
}

/// Returns what it was given, and where it was.
#[remote]
pub fn echo(bytes: Vec<u8>) -> (Vec<u8>, String) {
    (bytes, CallContext::current().node().to_owned())
}

/// Returns what it was given, written as one piece.
#[remote]
pub fn mirror(bytes: ByteBuf) -> ByteBuf {
    bytes
}

/// Works for a time, unless cancelled; returns a value that depends on `seed`.
#[remote]
pub fn work_for(seed: u64, time_ms: u64) -> u64 {
    let call = CallContext::current();
    let began = Instant::now();
    let mut work = 0;
    while began.elapsed() < Duration::from_millis(time_ms) && !call.is_cancelled() {
        work = sum_of_mix(0..10_000);
    }
    work.wrapping_add(seed)
}

/// Writes a file, and does nothing for ever, whoever asks it to end.
#[remote]
pub fn never_end(path: PathBuf) {
    stay(&path);
}

/// Adds a line to a file, and never ends unless it is the second to do so.
#[remote(retries = 3)]
pub fn succeed_again(path: PathBuf) {
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let noted = file.and_then(|mut file| file.write_all(b"again\n"));
    noted.expect("the folder is there");
    let lines = std::fs::read_to_string(&path).expect("it was just written");
    if lines.lines().count() == 1 {
        stay(&path.with_extension("begun"));
    }
}

/// Adds a line to a file, and ends the worker's process.
#[remote]
pub fn note_and_die(path: PathBuf) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let noted = file.and_then(|mut file| file.write_all(b"again\n"));
    noted.expect("the folder is there");
    std::process::abort();
}

/// Arguments of several kinds arrive, and so do results.
pub fn arguments_and_results_arrive(cluster: &Cluster) {
    assert_eq!(cluster.call(add, (2, 3)).get(), Ok(5));
    assert_eq!(cluster.call(divide, (7, 2)).get(), Ok(Ok(3)));
    let bytes: Vec<u8> = (0..100_000).map(|at| at as u8).collect();
    let (echoed, node) = cluster.call(echo, bytes.clone()).get().expect("echo");
    assert!(echoed == bytes, "{} bytes came back", echoed.len());
    assert!(!node.is_empty(), "a worker knows where it is");
    let mut sum = cluster.call(add, (2, 2));
    assert_eq!(sum.wait_timeout(PATIENCE), Some(Ok(4)));
    // It is given once, and another wait ends at once.
    sum.cancel();
    assert!(sum.is_done());
    assert!(matches!(sum.get(), Err(RemoteError::Malformed(why)) if why.contains("already")));
}

/// An error of the function is its result; a panic is an error; both happen once.
pub fn errors_and_panics_are_values(cluster: &Cluster) {
    let failed = cluster.call(divide, (7, 0)).get();
    assert_eq!(failed, Ok(Err("7 cannot be divided by 0".to_owned())));
    let panicked = cluster.call(panic_with, "on purpose".to_owned()).get();
    assert_eq!(
        panicked,
        Err(RemoteError::Panicked("on purpose".to_owned()))
    );
    assert_eq!(
        cluster.call(add, (1, 1)).get(),
        Ok(2),
        "the worker lives on"
    );
}

/// Reads all of the standard input, itself and with a program that it starts.
#[remote]
pub fn read_input() -> Result<u64, String> {
    let read = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    let program = Command::new("cat").status();
    match (read, program) {
        (Ok(bytes), Ok(status)) if status.success() => Ok(bytes),
        other => Err(format!("{other:?}")),
    }
}

/// A function that reads its standard input finds it empty, and takes no request from the worker.
pub fn the_input_of_a_function_is_empty(cluster: &Cluster) {
    let mut read = cluster.pin("n2").call(read_input, ());
    let sums = (0..10).map(|number| cluster.pin("n2").call(add, (number, 1)));
    let sums: Vec<_> = sums.collect();
    assert_eq!(read.wait_timeout(PATIENCE), Some(Ok(Ok(0))));
    for (number, sum) in (1..).zip(sums) {
        assert_eq!(sum.get(), Ok(number));
    }
}

/// A function runs in a pool of as many threads as it has processors.
pub fn a_function_has_a_pool(cluster: &Cluster) {
    let sum = cluster.call(sum_in_parallel, 100_000).get();
    assert_eq!(sum, Ok((sum_of_mix(0..100_000), 2)));
}

/// Two calls that have a processor each on one node run at the same time.
pub fn calls_on_one_node_run_together(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let first = cluster.pin("n2").call(meet, (a.clone(), b.clone()));
    let second = cluster.pin("n2").call(meet, (b, a));
    assert_eq!((first.get(), second.get()), (Ok(Ok(true)), Ok(Ok(true))));
}

/// Data that was put once reaches all calls that name it.
pub fn shared_data_reaches_all_calls(cluster: &Cluster) {
    let numbers: Vec<u64> = (0..50_000).collect();
    let sum = numbers.iter().sum();
    let shared = cluster.put(&numbers).expect("put");
    assert_eq!(*shared.get().expect("get"), numbers);
    let calls: Vec<_> = (0..8)
        .map(|_| cluster.near(&shared).call(sum_shared, shared.clone()))
        .collect();
    for call in calls {
        assert_eq!(call.get(), Ok(Ok(sum)));
    }
}

/// Many small calls all come back, each with its own result.
pub fn many_calls_come_back(cluster: &Cluster) {
    let running: Vec<_> = (0..3000).map(|x| cluster.call(add, (x, 1))).collect();
    for (x, call) in (0..).zip(running) {
        assert_eq!(call.get(), Ok(x + 1));
    }
}

/// Arguments and results that fill every pipe go both ways at once, and all arrive, while usage
/// is measured and calls are cancelled.
pub fn large_payloads_pass_both_ways(cluster: &Cluster) {
    let (cluster, (sender, done)) = (cluster.clone(), mpsc::channel());
    let calling = thread::spawn(move || {
        pass_large_payloads(&cluster);
        drop(cluster);
        sender.send(()).expect("the test waits");
    });
    // A watchdog: beginning a call may hang, too.
    let passed = done.recv_timeout(Duration::from_secs(300));
    assert_ne!(passed, Err(RecvTimeoutError::Timeout), "the calls hang");
    if let Err(panic) = calling.join() {
        panic::resume_unwind(panic);
    }
}

/// All of it on one node, whose next call begins when one has ended.
fn pass_large_payloads(cluster: &Cluster) {
    const CALLS: usize = 120;
    let bytes = ByteBuf::from(vec![5; 2 << 20]);
    let mut calls = (0..CALLS).map(|_| cluster.pin("n2").call(mirror, bytes.clone()));
    let mut open: VecDeque<_> = calls.by_ref().take(12).collect();
    for at in 0..CALLS {
        let call = open.pop_front().expect("as many as that");
        // One of those that run now, perhaps.
        if let Some(next) = open.front().filter(|_| at % 3 == 0) {
            next.cancel();
        }
        let result = call.get();
        let is_cancelled = result == Err(RemoteError::Cancelled) && at % 3 == 1;
        assert!(is_cancelled || result.as_ref() == Ok(&bytes), "call {at}");
        open.extend(calls.next());
    }
}

/// A call on a named machine runs there.
pub fn a_pinned_call_runs_where_it_should(cluster: &Cluster) {
    for node in cluster.nodes().expect("nodes") {
        let name = node.id.to_string();
        let (_, ran_on) = cluster
            .pin(node.id)
            .call(echo, Vec::new())
            .get()
            .expect("echo");
        assert_eq!(ran_on, name);
    }
    let nowhere = cluster.pin("no-such-node").call(add, (1, 2)).get();
    let error = nowhere.expect_err("there is no such node").to_string();
    assert!(error.contains("no-such-node"), "{error}");
}

/// Cancelled calls end: those that wait never begin, and those that run do not keep the processors.
pub fn cancelled_calls_end(cluster: &Cluster) {
    let calls: Vec<_> = (0..40)
        .map(|seed| cluster.call(work_for, (seed, 600_000)))
        .collect();
    for call in &calls {
        call.cancel();
    }
    for call in calls {
        assert_eq!(call.get(), Err(RemoteError::Cancelled));
    }
    assert_eq!(
        cluster.call(add, (1, 1)).get(),
        Ok(2),
        "there is room again"
    );
}

/// A call that was cancelled and does not listen can be killed, and then its processors are free.
pub fn a_cancelled_call_can_be_killed(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("begun");
    let call = cluster.pin("n2").cpus(2).call(never_end, path.clone());
    until("the call to begin", || path.exists());
    call.cancel();
    call.kill();
    assert_eq!(call.get(), Err(RemoteError::Cancelled));
    let mut next = cluster.pin("n2").cpus(2).call(add, (1, 2));
    assert_eq!(next.wait_timeout(PATIENCE), Some(Ok(3)));
}

/// Calls that are not over at their deadline are cancelled, whether they have begun or not.
pub fn calls_end_at_their_deadline(cluster: &Cluster) {
    let within = Duration::from_millis(500);
    let calls: Vec<_> = (0..8)
        .map(|seed| cluster.within(within).call(work_for, (seed, 600_000)))
        .collect();
    for call in calls {
        assert_eq!(call.get(), Err(RemoteError::TimedOut { within }));
    }
    let within = cluster.within(Duration::from_secs(600));
    let result = within.call(add, (1, 1)).get();
    assert_eq!(result, Ok(2), "there is room again");
}

/// A call that does not listen at its deadline is killed, and then its processors are free.
pub fn a_deaf_call_is_killed_after_its_deadline(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("begun");
    let mut within = Duration::from_millis(500);
    let calls = cluster.pin("n2").cpus(2);
    // On a slow machine it may be late before it begins.
    while !path.exists() {
        within *= 2;
        let late = calls.clone().within(within).call(never_end, path.clone());
        assert_eq!(late.get(), Err(RemoteError::TimedOut { within }));
    }
    let mut next = calls.call(add, (1, 2));
    assert_eq!(next.wait_timeout(PATIENCE), Some(Ok(3)));
}

/// A result is given once; those who ask again are told so, and do not wait.
pub fn a_result_is_given_once(cluster: &Cluster) {
    let mut call = cluster.call(add, (1, 2));
    assert_eq!(call.wait_timeout(PATIENCE), Some(Ok(3)));
    for again in [call.wait_timeout(PATIENCE), Some(call.get())] {
        let error = again.expect("it does not wait").expect_err("it was given");
        assert!(error.to_string().contains("already"), "{error}");
    }
}

/// While `calls` run, `accident` happens; all results are right all the same.
pub fn results_survive(cluster: &Cluster, calls: u64, time: Duration, accident: impl FnOnce()) {
    let time_ms = u64::try_from(time.as_millis()).expect("a short time");
    let running: Vec<_> = (0..calls)
        .map(|seed| cluster.call(work_for, (seed, time_ms)))
        .collect();
    let mut running = running.into_iter().zip(0..);
    let (first, seed) = running.next().expect("one call at least");
    let work = sum_of_mix(0..10_000);
    assert_eq!(first.get(), Ok(work.wrapping_add(seed)));
    accident();
    for (call, seed) in running {
        assert_eq!(call.get(), Ok(work.wrapping_add(seed)), "call {seed}");
    }
}
