//! Panics reach whoever waits, once; the pool lives on; everything is dropped exactly once.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::any::Any;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, Barrier};

use heist_core::{TaskGroup, ThreadPool, ThreadPoolBuilder};

/// A value that counts its drops.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new() -> (Self, Arc<AtomicUsize>) {
        let drops = Arc::new(AtomicUsize::new(0));
        (Self(Arc::clone(&drops)), drops)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A value whose drop panics.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(self.0);
    }
}

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

/// The payload with which `f` panics.
fn payload_of<R>(f: impl FnOnce() -> R) -> Box<dyn Any + Send> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("it did not panic"),
        Err(payload) => payload,
    }
}

fn text_of<R>(f: impl FnOnce() -> R) -> &'static str {
    *payload_of(f).downcast().expect("a text")
}

fn assert_alive(pool: &ThreadPool) {
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    assert_eq!(pool.broadcast(|_| ()).len(), pool.current_num_threads());
}

/// Runs a join whose second half is certainly stolen: both halves must be under way before either
/// goes on.
fn join_with_theft<RA: Send, RB: Send>(
    pool: &ThreadPool,
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let both = Barrier::new(2);
    pool.join(
        || {
            both.wait();
            a()
        },
        || {
            both.wait();
            b()
        },
    )
}

/// A pool, and the payloads that its panic handler is given.
fn listening(workers: usize) -> (ThreadPool, Receiver<Box<dyn Any + Send>>) {
    let (caught, payloads) = channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .panic_handler(move |payload| caught.send(payload).expect("the test listens"))
        .build()
        .expect("a pool");
    (pool, payloads)
}

#[test]
fn a_panic_in_the_first_half_waits_for_the_second_and_drops_its_result() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let (value, drops) = Counted::new();
        let text = text_of(|| pool.join(|| panic_any("first"), move || value));
        assert_eq!(text, "first");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_alive(&pool);
    }
}

#[test]
fn a_panic_in_the_second_half_drops_the_first_ones_result() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let (value, drops) = Counted::new();
        let text = text_of(|| pool.join(move || value, || panic_any("second")));
        assert_eq!(text, "second");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_alive(&pool);
    }
}

#[test]
fn of_two_panics_the_first_halfs_wins() {
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let text = text_of(|| pool.join(|| panic_any("first"), || panic_any("second")));
        assert_eq!(text, "first");
        assert_alive(&pool);
    }
}

/// The fault that makes heartbeat libraries unsound: the inline half panics, and the frame dies
/// while the other half can still be reached.
#[test]
fn no_frame_dies_while_a_thief_can_reach_it() {
    let pool = pool(2);
    for _ in 0..200 {
        let local = vec![1_u64; 1000];
        let (value, drops) = Counted::new();
        let text = text_of(|| {
            join_with_theft(
                &pool,
                || panic_any("inline"),
                || {
                    // Reads the frame for some time after the panic began.
                    let sum: u64 = (0..50).map(|_| local.iter().sum::<u64>()).sum();
                    assert_eq!(sum, 50_000);
                    value
                },
            )
        });
        assert_eq!(text, "inline");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }
    assert_alive(&pool);
}

#[test]
fn a_stolen_half_panics_at_the_join_and_the_thief_lives_on() {
    let pool = pool(2);
    for _ in 0..100 {
        assert_eq!(
            text_of(|| join_with_theft(&pool, || 1, || panic_any("stolen"))),
            "stolen"
        );
    }
    assert_alive(&pool);
}

#[test]
fn a_panicking_drop_of_a_result_is_swallowed_when_the_sibling_panicked() {
    for workers in [1, 2] {
        let pool = pool(workers);
        let text = text_of(|| pool.join(|| panic_any("first"), || Bomb("in drop")));
        assert_eq!(text, "first");
        assert_alive(&pool);
    }
    let pool = pool(2);
    let text = text_of(|| join_with_theft(&pool, || Bomb("in drop"), || panic_any("stolen")));
    assert_eq!(text, "stolen");
    assert_alive(&pool);
}

#[test]
fn a_scope_waits_for_all_jobs_and_panics_with_the_first() {
    let pool = pool(4);
    let ran = AtomicUsize::new(0);
    let text = text_of(|| {
        pool.scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|_| {
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            }
            scope.spawn(|_| panic_any("job"));
            for _ in 0..50 {
                scope.spawn(|_| {
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(text, "job");
    assert_eq!(ran.load(Ordering::Relaxed), 100);
    assert_alive(&pool);
}

#[test]
fn a_scope_whose_own_closure_panics_waits_for_its_jobs() {
    let pool = pool(2);
    let ran = AtomicUsize::new(0);
    let text = text_of(|| {
        pool.scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|_| {
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            }
            panic_any("closure")
        });
    });
    assert_eq!(text, "closure");
    assert_eq!(ran.load(Ordering::Relaxed), 20);
    assert_alive(&pool);
}

#[test]
fn a_broadcast_panics_once_after_all_have_ended_and_drops_the_results() {
    let pool = pool(4);
    let (value, drops) = Counted::new();
    let text = text_of(|| {
        pool.broadcast(|context| {
            if context.index() % 2 == 1 {
                panic_any("odd");
            }
            value.clone()
        })
    });
    assert_eq!(text, "odd");
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    assert_alive(&pool);
}

#[test]
fn a_spawned_panic_goes_to_the_handler_and_the_worker_lives_on() {
    let (pool, payloads) = listening(2);
    for _ in 0..10 {
        pool.spawn(|| panic_any("spawned"));
        let payload = payloads.recv().expect("a payload");
        assert_eq!(payload.downcast_ref(), Some(&"spawned"));
    }
    assert_alive(&pool);
    pool.shutdown();
    assert!(payloads.recv().is_err(), "one panic, one call");
}

#[test]
fn a_groups_panic_reaches_the_next_wait_and_no_other() {
    let pool = pool(2);
    let group = TaskGroup::new_in(&pool);
    group.run(|| panic_any("in the group"));
    assert_eq!(text_of(|| group.wait()), "in the group");
    group.run(|| ());
    group.wait();
    assert_alive(&pool);
}

#[test]
fn a_forks_panic_reaches_its_join() {
    let pool = pool(2);
    let handle = pool.submit(|| -> u32 { panic_any("forked") });
    assert_eq!(text_of(|| handle.join()), "forked");
    assert_alive(&pool);
}

#[test]
fn a_panic_in_the_destructor_of_an_output_that_nobody_takes_goes_to_the_handler() {
    struct Output;
    impl Drop for Output {
        fn drop(&mut self) {
            panic_any("output");
        }
    }
    let (pool, payloads) = listening(1);
    drop(pool.submit(|| Output));
    let ended = pool.submit(|| Output);
    while !ended.is_finished() {
        std::thread::yield_now();
    }
    drop(ended);
    for _ in 0..2 {
        let payload = payloads.recv().expect("a payload");
        assert_eq!(payload.downcast_ref(), Some(&"output"));
    }
}

#[test]
fn panics_that_nobody_waits_for_go_to_the_handler() {
    let (pool, payloads) = listening(1);
    drop(pool.submit(|| -> u32 { panic_any("fork") }));
    assert_eq!(
        payloads.recv().expect("a payload").downcast_ref(),
        Some(&"fork")
    );
    let group = TaskGroup::new_in(&pool);
    group.run(|| panic_any("group"));
    drop(group);
    assert_eq!(
        payloads.recv().expect("a payload").downcast_ref(),
        Some(&"group")
    );
}

#[test]
fn a_broadcast_whose_closure_panics_when_it_is_dropped_panics_as_others_do() {
    for workers in [1, 3] {
        let (caught, payloads) = channel();
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .panic_handler(move |payload| caught.send(payload).expect("the test listens"))
            .build()
            .expect("a pool");
        let bomb = Bomb("spawned");
        pool.spawn_broadcast(move |_| {
            let _captured = &bomb;
        });
        let payload = payloads.recv().expect("a payload");
        assert_eq!(payload.downcast_ref(), Some(&"spawned"));
        let bomb = Bomb("in a scope");
        let broadcast = |scope: &heist_core::Scope<'_>| {
            scope.spawn_broadcast(move |_, _| {
                let _captured = &bomb;
            });
        };
        assert_eq!(text_of(|| pool.scope(broadcast)), "in a scope");
        assert_alive(&pool);
    }
}

#[test]
fn a_group_whose_pool_has_ended_refuses_jobs_and_can_still_be_waited_for() {
    let pool = pool(1);
    let group = TaskGroup::new_in(&pool);
    pool.shutdown();
    let payload = payload_of(|| group.run(|| ()));
    let text: &&str = payload.downcast_ref().expect("a text");
    assert!(text.contains("a pool that has ended"), "{text}");
    group.wait();
}

#[test]
fn values_that_nobody_joins_are_dropped_once() {
    let pool = pool(2);
    let (value, drops) = Counted::new();
    drop(pool.submit(move || value));
    pool.shutdown();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

/// Runs one of the tests below in a process of its own, which must abort, and returns what it
/// wrote.
fn stderr_of_abort(test: &str) -> String {
    let program = std::env::current_exe().expect("the path of this test");
    let output = Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("HEIST_TEST_ABORTS", "1")
        .output()
        .expect("the test runs again");
    assert!(!output.status.success(), "the process should have aborted");
    assert_eq!(
        output.status.code(),
        None,
        "ended by a signal, not by a failed test"
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_process_that_cannot_go_on_aborts_with_a_word() {
    let no_handler = stderr_of_abort("aborts::a_spawned_panic_without_a_handler");
    assert!(no_handler.contains("has no panic handler"), "{no_handler}");
    let handler = stderr_of_abort("aborts::a_panic_in_the_panic_handler");
    assert!(handler.contains("a panic handler panicked"), "{handler}");
    let payload = stderr_of_abort("aborts::a_payload_whose_drop_panics");
    assert!(
        payload.contains("dropping the payload of a panic panicked"),
        "{payload}"
    );
}

/// Only run by `a_process_that_cannot_go_on_aborts_with_a_word`, in a child process.
mod aborts {
    use super::*;

    #[test]
    #[ignore = "ends the process; run by another test"]
    fn a_spawned_panic_without_a_handler() {
        let pool = pool(1);
        pool.spawn(|| panic_any("spawned"));
        pool.shutdown();
    }

    #[test]
    #[ignore = "ends the process; run by another test"]
    fn a_panic_in_the_panic_handler() {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .panic_handler(|_| panic_any("handler"))
            .build()
            .expect("a pool");
        pool.spawn(|| panic_any("spawned"));
        pool.shutdown();
    }

    #[test]
    #[ignore = "ends the process; run by another test"]
    fn a_payload_whose_drop_panics() {
        let pool = pool(1);
        pool.join(|| panic_any("first"), || panic_any(Bomb("payload")));
    }
}
