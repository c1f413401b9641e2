//! Futures and a process that calls `fork`: in the child, which has none of the parent's workers,
//! each call that would wait for them is refused, and a pool of its own works.
//!
//! A child that hangs is killed by an alarm, and fails.
// The thread sanitizer starts no thread in the child of a process that had several.
#![cfg(all(unix, not(heist_tsan)))]

use std::future::pending;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;

use futures_lite::StreamExt;
use heist::futures::{block_on, spawn_future, IntoStream, JoinError, SpawnFuture};
use heist::iter::IntoParallelIterator;
use heist::{Callers, ThreadPool, ThreadPoolBuilder};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.callers(Callers::Move).build().expect("a pool")
}

/// `call` panics, and says what it attempted and why that cannot be.
fn assert_refused<R>(attempt: &str, call: impl FnOnce() -> R) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("the attempt to {attempt} the parent's pool was not refused")
    };
    let text: &String = payload.downcast_ref().expect("a message");
    let says = format!("could not {attempt} a pool that was built before this process was forked");
    assert!(text.starts_with(&says), "{text}");
}

/// Calls `f` in a forked child, which is to end well.
fn in_fork(f: impl FnOnce()) {
    // SAFETY: what the child does with its copy of the memory is what is tested.
    match unsafe { libc::fork() } {
        -1 => panic!("could not fork: {}", io::Error::last_os_error()),
        0 => {
            // SAFETY: it sets a timer that kills the process.
            unsafe { libc::alarm(60) };
            let ended_well = catch_unwind(AssertUnwindSafe(f)).is_ok();
            // SAFETY: ends the process, without the parent's exit handlers.
            unsafe { libc::_exit(i32::from(!ended_well)) }
        }
        child => {
            let mut status = 0;
            // SAFETY: the place for the status is ours.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "the child's");
        }
    }
}

/// Away from the threads of the test harness.
#[test]
fn a_child_is_refused_what_would_wait_for_a_future_of_its_parent() {
    let program = std::env::current_exe().expect("the path of this test");
    let output = Command::new(program)
        .args(["in_a_process", "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "forks; run by the test above"]
fn in_a_process() {
    let pool = pool(2);
    let done = pool.spawn_future(async { 1 });
    while !done.is_finished() {
        std::thread::yield_now();
    }
    let (awaited, joined, mut aborted) = (
        pool.spawn_future(pending::<()>()),
        pool.spawn_future(pending::<()>()),
        pool.spawn_local_on(1, pending::<()>),
    );
    let stream = pool.install(|| (0..100_u32).into_par_iter().into_stream(4));
    in_fork(|| {
        assert_eq!(done.join(), 1, "what is done is done");
        let wait = "wait for a future of";
        assert_refused(wait, || block_on(awaited));
        assert_refused(wait, || joined.join());
        aborted.abort();
        assert!(matches!(block_on(aborted), Err(JoinError::Cancelled)));
        let spawn = "spawn a future in";
        assert_refused(spawn, || pool.spawn_future(async {}));
        assert_refused(spawn, || pool.spawn_local_on(0, || async {}));
        // It has begun a part at least, or begins one.
        let items = catch_unwind(AssertUnwindSafe(|| block_on(stream.collect::<Vec<_>>())));
        assert!(items.is_err(), "all items were the parent's to compute");
        let sum = self::pool(2).install(|| spawn_future(async { 1 + 2 }).join());
        assert_eq!(sum, 3);
    });
}
