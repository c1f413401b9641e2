//! The life of a pool: building, naming, handlers, several at once, the end.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::cell::Cell;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use heist_core::{ThreadPool, ThreadPoolBuilder};

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

#[test]
fn handlers_run_once_on_each_thread_between_start_and_end() {
    let (say, heard) = channel();
    let say_exit = say.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(move |index| say.send(("start", index)).expect("the test listens"))
        .exit_handler(move |index| say_exit.send(("exit", index)).expect("the test listens"))
        .build()
        .expect("a pool");
    pool.shutdown();
    let mut heard: Vec<_> = heard.iter().collect();
    heard.sort_unstable();
    let expected = [
        ("exit", 0),
        ("exit", 1),
        ("exit", 2),
        ("start", 0),
        ("start", 1),
        ("start", 2),
    ];
    assert_eq!(heard, expected);
}

#[test]
fn a_start_handler_submits_jobs_even_if_the_handle_is_gone_before_it_runs() {
    let (say, heard) = channel();
    for _ in 0..100 {
        let say = say.clone();
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(move |_| {
                let say = say.clone();
                heist_core::spawn(move || say.send(()).expect("the test listens"));
            });
        drop(builder.build().expect("a pool"));
    }
    drop(say);
    assert_eq!(heard.iter().count(), 200);
}

#[test]
fn threads_of_the_program_may_begin_one_after_another_when_their_pool_has_ended() {
    let (say, heard) = channel();
    let mut threads = Vec::new();
    let builder = ThreadPoolBuilder::new()
        .num_threads(2)
        .exit_handler(move |index| say.send(index).expect("the test listens"));
    let keep = |thread| {
        threads.push(thread);
        Ok(())
    };
    builder.spawn_handler(keep).build().expect("a pool");
    // The first would wait for ever if the pool waited for the second to begin.
    threads.into_iter().for_each(heist_core::ThreadBuilder::run);
    assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn in_an_exit_handler_a_broadcast_is_refused_as_any_job_is() {
    let operations: [fn(); 3] = [
        || drop(heist_core::broadcast(|_| ())),
        || heist_core::spawn_broadcast(|_| ()),
        || heist_core::in_place_scope(|scope| scope.spawn_broadcast(|_, _| ())),
    ];
    for operation in operations {
        let (say, heard) = channel();
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .exit_handler(move |_| {
                let refused = catch_unwind(operation).expect_err("some workers are gone");
                let text: &&str = refused.downcast_ref().expect("a text");
                say.send(*text).expect("the test listens");
            });
        builder.build().expect("a pool").shutdown();
        for text in heard {
            assert!(text.contains("a pool that has ended"), "{text}");
        }
    }
}

#[test]
fn a_name_that_no_thread_can_have_is_an_error() {
    let builder = ThreadPoolBuilder::new().thread_name(|_| String::from("wor\0ker"));
    let error = builder.num_threads(2).build().expect_err("no such name");
    assert!(error.to_string().contains("NUL"), "{error}");
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error_and_the_others_end() {
    let ended = Arc::new(AtomicUsize::new(0));
    let threads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let started = Arc::clone(&threads);
    let counted = Arc::clone(&ended);
    let result = ThreadPoolBuilder::new()
        .num_threads(4)
        .exit_handler(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .spawn_handler(move |thread| {
            if thread.index() == 2 {
                return Err(io::Error::other("no third thread"));
            }
            started.lock().unwrap().push(thread::spawn(|| thread.run()));
            Ok(())
        })
        .build();
    assert_eq!(result.unwrap_err().to_string(), "no third thread");
    for thread in threads.lock().unwrap().drain(..) {
        thread.join().expect("the thread ends by itself");
    }
    assert_eq!(ended.load(Ordering::Relaxed), 2);
}

#[test]
fn a_panic_while_threads_are_started_ends_those_that_were_started() {
    let pools: [fn(ThreadPoolBuilder) -> bool; 2] = [
        |builder| {
            let name = |index| match index {
                2 => panic!("no third name"),
                _ => String::from("named"),
            };
            builder.thread_name(name).build().is_ok()
        },
        |builder| {
            let spawn = |thread: heist_core::ThreadBuilder| {
                assert_ne!(thread.index(), 2, "no third thread");
                thread::spawn(|| thread.run());
                Ok(())
            };
            builder.spawn_handler(spawn).build().is_ok()
        },
    ];
    for build in pools {
        let ended = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ended);
        let builder = ThreadPoolBuilder::new()
            .num_threads(4)
            .exit_handler(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
            });
        assert!(catch_unwind(AssertUnwindSafe(|| build(builder))).is_err());
        // The handler goes with the pool, and that with the last thread.
        while Arc::strong_count(&ended) > 1 {
            thread::yield_now();
        }
        assert_eq!(ended.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn a_failed_build_does_not_leave_the_caller_a_worker() {
    let result = ThreadPoolBuilder::new()
        .num_threads(2)
        .use_current_thread()
        .spawn_handler(|_| Err(io::Error::other("no second thread")))
        .build();
    assert_eq!(result.unwrap_err().to_string(), "no second thread");
    assert_eq!(heist_core::current_thread_index(), None);
}

/// A thread that ends drops its thread-local values one after the other, and what they do then
/// comes when ours may be gone already.
#[test]
fn a_thread_that_ends_becomes_no_worker_and_can_still_call_one() {
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            let builder = ThreadPoolBuilder::new().num_threads(1);
            let result = builder.use_current_thread().build();
            let text = result.map(drop).unwrap_err().to_string();
            assert!(text.contains("about to end"), "{text}");
            assert_eq!(heist_core::current_thread_index(), None);
            let pool = pool(1);
            assert_eq!(pool.install(|| heist_core::join(|| 1, || 2)), (1, 2));
            assert_eq!(pool.join(|| 3, || 4), (3, 4));
        }
    }
    thread_local! { static LATE: Cell<Option<Late>> = const { Cell::new(None) } }
    let thread = thread::spawn(|| {
        LATE.set(Some(Late));
        // Ours begins its life after the other, and so it ends before.
        let builder = ThreadPoolBuilder::new().num_threads(1);
        drop(builder.use_current_thread().build().expect("a pool"));
        let pool = pool(1);
        pool.install(|| ());
    });
    thread.join().expect("nothing panics in the destructor");
}

/// The workers, which end, may have passed their mailboxes for the last time.
#[test]
fn worker_zero_of_a_pool_that_was_just_dropped_broadcasts_to_all_or_panics() {
    for _ in 0..100 {
        let thread = thread::spawn(|| {
            let builder = ThreadPoolBuilder::new().num_threads(2);
            let pool = builder.use_current_thread().build().expect("a pool");
            pool.install(|| ());
            drop(pool);
            let of_scope = AtomicUsize::new(0);
            let runs = || _ = of_scope.fetch_add(1, Ordering::Relaxed);
            let scope = || heist_core::scope(|scope| scope.spawn_broadcast(|_, _| runs()));
            let whole = catch_unwind(AssertUnwindSafe(scope)).map(|()| of_scope.into_inner());
            let indices = catch_unwind(|| heist_core::broadcast(|context| context.index()));
            (whole, indices)
        });
        let (whole, indices) = thread.join().expect("no panic comes out");
        assert_eq!(whole.unwrap_or(2), 2);
        assert_eq!(indices.unwrap_or(vec![0, 1]), [0, 1]);
    }
}

#[test]
fn several_pools_work_at_once_and_into_each_other() {
    let (a, b) = (pool(2), pool(2));
    let deep = |n: u32| a.install(|| b.install(|| a.install(|| b.install(|| n + 1))));
    let results: Vec<u32> = thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|n| scope.spawn(move || deep(n))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(results, [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// A job is available to thieves from the moment it is pushed, while its owner is in the middle of
/// a closure that never calls the pool.
#[test]
fn the_second_half_of_a_join_starts_while_the_first_blocks() {
    let pool = pool(2);
    for _ in 0..200 {
        let both = Barrier::new(2);
        pool.join(|| both.wait(), || both.wait());
    }
}

#[test]
fn all_jobs_of_a_scope_can_run_at_the_same_time() {
    let workers = 4;
    let pool = pool(workers);
    for _ in 0..50 {
        let all = Barrier::new(workers);
        pool.scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|_| {
                    all.wait();
                });
            }
        });
    }
}

#[test]
fn join_context_says_who_migrated() {
    let pool = pool(2);
    let both = Barrier::new(2);
    let migrated = pool.install(|| {
        heist_core::join_context(
            |a| {
                both.wait();
                a.migrated()
            },
            |b| {
                both.wait();
                b.migrated()
            },
        )
    });
    assert_eq!(migrated, (false, true));
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .callers(heist_core::Callers::Move);
    let moved = pool.build_global();
    assert!(moved.is_ok(), "no other test here uses the global pool");
    let outside = heist_core::join_context(|a| a.migrated(), |b| b.migrated());
    assert_eq!(outside, (true, true));
}

#[test]
fn the_calling_thread_can_be_worker_zero() {
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .build()
            .expect("a pool");
        let here = thread::current().id();
        assert_eq!(pool.install(|| thread::current().id()), here);
        let again = ThreadPoolBuilder::new().use_current_thread().build();
        assert_eq!(
            again.unwrap_err().to_string(),
            "The current thread is already part of another thread pool."
        );
        let refused = catch_unwind(AssertUnwindSafe(|| pool.shutdown()));
        let payload = refused.expect_err("a worker cannot wait for itself");
        let text: &&str = payload.downcast_ref().expect("a text");
        assert!(text.contains("from outside the pool"), "{text}");
    })
    .join()
    .expect("the thread ends well");
}

#[test]
fn the_counters_of_a_theft_are_exact() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    // Or else it is the caller that joins, if a worker sleeps already.
    let pool = builder
        .callers(heist_core::Callers::Move)
        .build()
        .expect("a pool");
    let before = pool.counters();
    let both = Barrier::new(2);
    pool.join(|| both.wait(), || both.wait());
    let done = pool.counters().since(&before).total();
    assert_eq!((done.pushes, done.pops, done.steals), (1, 0, 1));
    assert_eq!((done.injected, done.jobs), (1, 2));
}

/// More jobs than a deque has slots, of which there are few at a time.
#[test]
fn slots_of_jobs_that_are_gone_are_used_again_without_a_pop() {
    let jobs = 2_500_000;
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .breadth_first()
        .build()
        .expect("a pool");
    pool.install(|| {
        for _ in 0..jobs {
            heist_core::spawn(|| ());
            // Takes the oldest job from the other end.
            heist_core::yield_now();
        }
    });
    let injected = pool.counters().total().injected;
    assert_eq!(injected, 1, "only the call from outside");
}

#[test]
fn a_pool_without_a_recorder_has_no_events() {
    let pool = pool(1);
    assert!(pool.events().is_empty());
    assert!(pool.diagnostics().recorder_started.is_none());
}

/// Runs one of the tests below in a process of its own with this variable set.
fn child(test: &str, variable: &str, value: &str) -> (bool, String) {
    let program = std::env::current_exe().expect("the path of this test");
    let output = Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(variable, value)
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (
        output.status.success(),
        text + &String::from_utf8_lossy(&output.stdout),
    )
}

#[test]
fn the_environment_sets_the_number_of_workers_and_a_malformed_one_stops_the_program() {
    let (ok, text) = child("in_a_child::three_workers", "HEIST_NUM_THREADS", "3");
    assert!(ok, "{text}");
    let (ok, text) = child("in_a_child::three_workers", "HEIST_NUM_THREADS", "three");
    assert!(!ok);
    let says = "the environment variable HEIST_NUM_THREADS is set to \"three\"; accepted is a whole number from 0 to 65535";
    assert!(text.contains(says), "{text}");
}

#[test]
fn every_operation_works_with_fences_in_place_of_membarrier() {
    let (ok, text) = child("in_a_child::fences", "HEIST_BARRIER", "fence");
    assert!(ok, "{text}");
    let (ok, text) = child("in_a_child::fences", "HEIST_BARRIER", "none");
    assert!(!ok);
    assert!(text.contains("auto, membarrier or fence"), "{text}");
}

#[test]
fn every_pool_announces_itself_if_the_environment_asks_for_it() {
    for (value, lines) in [("1", 2), ("0", 0)] {
        let (ok, text) = child("in_a_child::two_pools", "HEIST_BANNER", value);
        assert!(ok, "{text}");
        let banners: Vec<_> = text.lines().filter(|l| l.starts_with("heist ")).collect();
        assert_eq!(banners.len(), lines, "{text}");
        for (line, workers) in banners.iter().zip(2..) {
            assert!(line.contains(&format!("{workers} workers")), "{text}");
        }
    }
    let (ok, text) = child("in_a_child::two_pools", "HEIST_BANNER", "please");
    assert!(!ok);
    assert!(
        text.contains("value: \"please\", accepted: \"0 or 1\""),
        "{text}"
    );
}

#[test]
fn the_environment_forbids_a_global_pool_that_nobody_has_built() {
    let (ok, text) = child("in_a_child::no_implicit_global", "HEIST_GLOBAL", "explicit");
    assert!(ok, "{text}");
    for says in [
        "HEIST_GLOBAL=explicit forbids",
        // The line of the call.
        "panicked at crates/core/tests/pools.rs",
    ] {
        assert_eq!(text.matches(says).count(), 4, "{text}");
    }
    let (ok, text) = child("in_a_child::no_implicit_global", "HEIST_GLOBAL", "perhaps");
    assert!(!ok);
    assert!(text.contains("implicit or explicit"), "{text}");
}

#[test]
fn the_environment_switches_the_recorder_on() {
    let (ok, text) = child("in_a_child::recorder", "HEIST_RECORD_EVENTS", "100");
    assert!(ok, "{text}");
    let (ok, text) = child("in_a_child::recorder", "HEIST_RECORD_EVENTS", "-1");
    assert!(!ok);
    assert!(
        text.contains("HEIST_RECORD_EVENTS\", value: \"-1\""),
        "{text}"
    );
}

#[test]
fn only_the_implicit_global_pool_makes_do_without_threads() {
    let (ok, text) = child("in_a_child::no_threads", "CHILD", "1");
    assert!(ok, "{text}");
}

/// Only run by the tests above, in a child process.
mod in_a_child {
    use super::*;

    #[test]
    #[ignore = "needs an environment of its own; run by another test"]
    fn no_implicit_global() {
        let own = pool(2);
        assert_eq!(own.install(|| heist_core::join(|| 1, || 2)), (1, 2));
        let calls: [fn(); 4] = [
            || _ = heist_core::join(|| (), || ()),
            || heist_core::spawn(|| ()),
            || heist_core::scope(|_| ()),
            || _ = heist_core::submit(|| ()),
        ];
        for call in calls {
            assert!(catch_unwind(call).is_err());
        }
        ThreadPoolBuilder::new().build_global().unwrap();
        calls.into_iter().for_each(|call| call());
    }

    #[test]
    #[ignore = "needs an environment of its own; run by another test"]
    fn two_pools() {
        assert_eq!(pool(2).join(|| 1, || 2), (1, 2));
        assert_eq!(pool(3).join(|| 1, || 2), (1, 2));
    }

    #[test]
    #[ignore = "needs an environment of its own; run by another test"]
    fn recorder() {
        let pool = pool(2);
        pool.join(|| (), || ());
        assert!(pool.events().iter().any(|worker| !worker.events.is_empty()));
    }

    #[test]
    #[ignore = "needs a global pool of its own; run by another test"]
    fn no_threads() {
        let builder = || {
            ThreadPoolBuilder::new()
                .num_threads(3)
                .spawn_handler(|_| Err(io::ErrorKind::Unsupported.into()))
        };
        assert!(builder().build().unwrap_err().is_unsupported());
        assert!(builder().build_global().unwrap_err().is_unsupported());
        assert_eq!(heist_core::current_thread_index(), None);
        builder().build_global_if_absent();
        assert_eq!(heist_core::current_num_threads(), 1);
        assert_eq!(heist_core::current_thread_index(), Some(0));
        assert_eq!(heist_core::join(|| 1, || 2), (1, 2));
    }

    #[test]
    #[ignore = "needs an environment of its own; run by another test"]
    fn three_workers() {
        assert_eq!(heist_core::join(|| 1, || 2), (1, 2));
        assert_eq!(heist_core::current_num_threads(), 3);
        assert_eq!(pool(0).current_num_threads(), 3);
        assert_eq!(pool(1).current_num_threads(), 1, "the builder comes first");
    }

    #[test]
    #[ignore = "needs an environment of its own; run by another test"]
    fn fences() {
        let pool = pool(3);
        assert_eq!(
            pool.diagnostics().barrier_mode,
            heist_core::BarrierMode::Fence
        );
        for _ in 0..100 {
            let both = Barrier::new(2);
            pool.join(|| both.wait(), || both.wait());
        }
        for round in 0..2000 {
            assert_eq!(pool.join(|| round, || round), (round, round));
        }
    }
}

#[test]
fn a_shutdown_waits_for_the_thread_local_values_of_the_workers() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            (0..100).for_each(|_| thread::yield_now());
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    thread_local!(static VALUE: Slow = const { Slow });
    for rounds in 1..=50 {
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .start_handler(|_| VALUE.with(|_| ()))
            .build()
            .unwrap();
        assert_eq!(pool.install(|| heist_core::join(|| 1, || 2)), (1, 2));
        if rounds % 2 == 0 {
            pool.shutdown();
        } else {
            let counters = pool.shutdown_within(Duration::from_secs(60)).unwrap();
            assert_eq!(counters.workers().len(), 3);
        }
        assert_eq!(DROPPED.load(Ordering::Relaxed), 3 * rounds);
    }
}

#[test]
fn a_shutdown_in_vain_names_the_workers_that_work() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (release, held) = channel();
    let (say, heard) = channel();
    pool.spawn(move || {
        say.send(heist_core::current_thread_index()).unwrap();
        held.recv().unwrap();
    });
    let busy = heard.recv().unwrap().expect("a worker");
    let patience = Duration::from_millis(20);
    let error = pool.shutdown_within(patience).unwrap_err();
    assert!(error.waited >= patience);
    // The others wait for the end, which the job keeps away.
    assert_eq!(error.workers.len(), 2);
    for worker in &error.workers {
        assert_eq!(worker.working_for.is_some(), worker.index == busy);
    }
    let text = error.to_string();
    assert!(text.contains(&format!("worker {busy} for ")), "{text}");
    release.send(()).unwrap();
}
