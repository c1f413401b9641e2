//! The stack guard: joins that wait do not pile up foreign jobs until the stack overflows, and no
//! pool stands still for that (SG-1).
// The address sanitizer keeps locals away from the stack, and for the thread sanitizer frames are
// compiled without probes of the stack, so that it overflows into the next one.
#![cfg(not(any(heist_loom, heist_shuttle, heist_asan, heist_tsan)))]

use std::cell::Cell;
use std::hint::black_box;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heist_core::{join, poll_for_thieves, scope, spawn, submit, ThreadPool, ThreadPoolBuilder};

/// The stack of each worker.
const STACK: usize = 1 << 20;
/// At least so much of it is taken by a job.
const FRAME: usize = 32 << 10;
/// More jobs than have room on one stack.
const JOBS: usize = 4 * STACK / FRAME;

std::thread_local! {
    static TOP: Cell<usize> = const { Cell::new(0) }
}

/// The most that was in use of a stack where a job began.
static DEEPEST: AtomicUsize = AtomicUsize::new(0);

fn address() -> usize {
    let here = 0_u8;
    &raw const here as usize
}

fn pool(guard: Option<usize>) -> ThreadPool {
    let builder = ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(STACK)
        .start_handler(|_| TOP.with(|top| top.set(address())));
    match guard {
        None => builder.build(),
        Some(bytes) => builder.stack_guard(bytes).build(),
    }
    .expect("a pool")
}

/// The first half of a join waits until the second is stolen, and so the join waits for the thief.
/// That spawns the next such job, and gives the waiting worker time to run it on top.
fn pile(jobs: usize, patience: Duration) {
    let depth = TOP.with(Cell::get) - address();
    DEEPEST.fetch_max(depth, Ordering::Relaxed);
    black_box([0_u8; FRAME]);
    if jobs == 0 {
        return;
    }
    let is_stolen = AtomicBool::new(false);
    join(
        || {
            while !is_stolen.load(Ordering::Relaxed) {
                _ = poll_for_thieves();
                thread::yield_now();
            }
        },
        || {
            is_stolen.store(true, Ordering::Relaxed);
            let has_begun = Arc::new(AtomicBool::new(false));
            let next = Arc::clone(&has_begun);
            spawn(move || {
                next.store(true, Ordering::Relaxed);
                pile(jobs - 1, patience);
            });
            let began = Instant::now();
            while !has_begun.load(Ordering::Relaxed) && began.elapsed() < patience {
                _ = poll_for_thieves();
                thread::yield_now();
            }
        },
    );
}

/// Runs one of the tests below in a process of its own.
fn alone(test: &str) -> Output {
    let program = std::env::current_exe().expect("the path of this test");
    Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .output()
        .expect("the test runs again")
}

#[test]
#[cfg_attr(heist_lsan, ignore = "the sanitizer says nothing of an overflow")]
fn without_the_guard_waiting_frames_pile_up_until_the_stack_overflows() {
    let output = alone("in_a_process::unguarded");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("overflowed its stack"), "{text}");
}

#[test]
fn with_the_guard_no_more_of_the_stack_is_in_use_than_it_allows_and_one_job_takes() {
    for test in ["half", "a_quarter", "all"] {
        let output = alone(&format!("in_a_process::{test}"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{test}: {text}");
    }
}

/// Only run by the tests above, each in a process of its own.
mod in_a_process {
    use super::*;

    fn guarded(guard: Option<usize>, open: usize) {
        let pool = pool(guard);
        pool.spawn(|| pile(JOBS, Duration::from_millis(5)));
        pool.shutdown();
        let deepest = DEEPEST.load(Ordering::Relaxed);
        // The frames of one job, unoptimized, and of the scheduler below it.
        let one = 3 * FRAME;
        assert!(
            deepest <= open + one,
            "{deepest} bytes were in use, {open} are open to foreign jobs"
        );
        assert!(
            deepest >= open.saturating_sub(one),
            "{deepest} bytes: none were piled up"
        );
    }

    #[test]
    #[ignore = "overflows its stack; run by another test"]
    fn unguarded() {
        let pool = pool(Some(0));
        pool.spawn(|| pile(JOBS, Duration::from_secs(10)));
        pool.shutdown();
    }

    #[test]
    #[ignore = "measures the stack; run by another test"]
    fn half() {
        guarded(None, STACK / 2);
    }

    #[test]
    #[ignore = "measures the stack; run by another test"]
    fn a_quarter() {
        guarded(Some(STACK / 4), STACK / 4 * 3);
    }

    #[test]
    #[ignore = "measures the stack; run by another test"]
    fn all() {
        guarded(Some(usize::MAX), 0);
    }
}

/// Every operation, a few levels deep; the number of leaves.
fn all_operations(pools: &[ThreadPool; 2], on: usize, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let down = |on: usize| all_operations(pools, on, depth - 1);
    match depth % 5 {
        0 => {
            let (a, b) = join(|| down(on), || down(on));
            a + b
        }
        1 => {
            let sum = AtomicUsize::new(0);
            scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|scope| {
                        scope.spawn(|_| _ = sum.fetch_add(1, Ordering::Relaxed));
                        let leaves = join(|| down(on), || heist_core::blocking(|| 1)).0;
                        sum.fetch_add(leaves, Ordering::Relaxed);
                    });
                }
            });
            sum.into_inner()
        }
        2 => pools[1 - on].install(|| down(1 - on)),
        3 => {
            let handle = submit(|| join(|| 1, || 1).0);
            let (a, b) = join(|| down(on), move || handle.join());
            a + b
        }
        _ => {
            let (a, b) = join(
                || pools[on].broadcast(|_| 1).len(),
                || pools[1 - on].participate(|| down(1 - on)),
            );
            a / pools[on].current_num_threads() + b
        }
    }
}

#[test]
fn every_operation_ends_if_each_join_that_waits_is_guarded() {
    for workers in [1, 2, 3] {
        let pools = [0, 1].map(|compensation| {
            ThreadPoolBuilder::new()
                .num_threads(workers)
                .compensation_workers(compensation)
                .stack_guard(usize::MAX)
                .build()
                .expect("a pool")
        });
        let expected = pools[0].install(|| all_operations(&pools, 0, 10));
        thread::scope(|threads| {
            for caller in 0..4 {
                let pools = &pools;
                threads.spawn(move || {
                    for _ in 0..if cfg!(debug_assertions) { 5 } else { 50 } {
                        let leaves = match caller % 2 {
                            0 => pools[0].install(|| all_operations(pools, 0, 10)),
                            _ => pools[0].participate(|| all_operations(pools, 0, 10)),
                        };
                        assert_eq!(leaves, expected);
                    }
                });
            }
        });
    }
}
