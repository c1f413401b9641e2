//! External callers that participate, in the place of a worker that sleeps.
#![cfg(not(any(heist_loom, heist_shuttle)))]

#[cfg(target_os = "linux")]
use std::io::Write as _;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::Barrier;
use std::thread;

use heist_core::{
    current_num_threads, current_thread_index, BarrierMode, ThreadPool, ThreadPoolBuilder,
};

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

/// Calls until some worker sleeps, so that the caller can have its place.
fn participate<R: Send>(pool: &ThreadPool, op: impl Fn() -> R + Sync) -> R {
    let here = thread::current().id();
    loop {
        let part = pool.participate(|| (thread::current().id() == here).then(&op));
        if let Some(result) = part {
            return result;
        }
        thread::yield_now();
    }
}

fn sum(from: usize, to: usize) -> usize {
    if to - from < 2 {
        return from;
    }
    let middle = from + (to - from) / 2;
    let (low, high) = heist_core::join(|| sum(from, middle), || sum(middle, to));
    low + high
}

#[test]
fn a_caller_is_a_worker_with_an_index_while_its_call_lasts() {
    let pool = pool(2);
    let (index, threads) = participate(&pool, || (current_thread_index(), current_num_threads()));
    assert!(index.is_some_and(|index| index < 2));
    assert_eq!(threads, 2);
    assert_eq!(current_thread_index(), None);
}

#[test]
fn install_moves_into_the_pool_even_if_all_workers_sleep() {
    let pool = pool(2);
    participate(&pool, || ());
    assert_ne!(
        pool.install(|| thread::current().id()),
        thread::current().id()
    );
}

#[test]
fn no_caller_participates_in_a_pool_whose_threads_are_special() {
    let builders = [
        ThreadPoolBuilder::new().stack_size(1 << 20),
        ThreadPoolBuilder::new().start_handler(|_| ()),
        ThreadPoolBuilder::new().callers(heist_core::Callers::Move),
    ];
    for builder in builders {
        let pool = builder.num_threads(1).build().expect("a pool");
        for _ in 0..100 {
            let (there, _) = pool.join(|| thread::current().id(), || ());
            assert_ne!(there, thread::current().id());
        }
    }
}

#[test]
fn jobs_that_a_caller_spawns_run_when_it_has_left() {
    let pool = pool(1);
    for _ in 0..100 {
        let (say, heard) = channel();
        participate(&pool, || {
            let say = say.clone();
            heist_core::spawn(move || say.send(1).expect("the test listens"));
        });
        assert_eq!(heard.recv(), Ok(1));
    }
}

#[test]
fn a_callers_scope_waits_for_its_jobs_whoever_runs_them() {
    let pool = pool(2);
    for _ in 0..100 {
        let ran = AtomicUsize::new(0);
        participate(&pool, || {
            heist_core::scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|scope| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        scope.spawn(|_| {
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                }
            });
            assert_eq!(ran.load(Ordering::Relaxed) % 20, 0);
        });
        assert_eq!(ran.into_inner(), 20);
    }
}

#[test]
fn a_caller_that_panics_leaves_its_place() {
    let pool = pool(1);
    for _ in 0..10 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            participate(&pool, || panic!("a caller"));
        }));
        let payload: Box<dyn std::any::Any + Send> = panicked.expect_err("it panics");
        assert_eq!(payload.downcast_ref(), Some(&"a caller"));
        assert_eq!(current_thread_index(), None);
    }
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

/// Whether there is a lookout or not: somebody comes for the job although the caller is silent.
#[test]
fn a_callers_job_starts_while_the_caller_is_in_a_closure_that_never_calls_the_pool() {
    let pool = pool(2);
    for regions in [0, 1, 5, 100] {
        for _ in 0..regions {
            assert_eq!(pool.join(|| 1, || 2), (1, 2));
        }
        let both = Barrier::new(2);
        participate(&pool, || heist_core::join(|| both.wait(), || both.wait()));
    }
}

#[test]
fn many_callers_at_once_get_their_own_results_and_every_job_runs_once() {
    let pool = pool(2);
    let before = pool.counters();
    thread::scope(|scope| {
        for caller in 0..8 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..50 {
                    let to = caller * 10 + round;
                    assert_eq!(pool.participate(|| sum(0, to + 1)), to * (to + 1) / 2);
                }
            });
        }
    });
    let done = pool.counters().since(&before).total();
    assert_eq!(done.pushes, done.pops + done.steals);
    let joins: u64 = (0..8).flat_map(|c| (0..50).map(move |r| c * 10 + r)).sum();
    assert_eq!(done.pushes, joins);
}

#[test]
fn a_callers_broadcast_reaches_every_worker_once() {
    let pool = pool(3);
    for _ in 0..20 {
        let indices = participate(&pool, || heist_core::broadcast(|context| context.index()));
        assert_eq!(indices, [0, 1, 2]);
    }
}

#[test]
fn a_broadcast_to_a_pool_with_a_caller_arrives_when_the_caller_has_left() {
    let pool = pool(2);
    let (say, heard) = channel();
    let reached = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (pool, reached) = (&pool, &reached);
        scope.spawn(move || {
            heard.recv().expect("the caller is there");
            pool.broadcast(|_| reached.fetch_add(1, Ordering::Relaxed));
        });
        participate(pool, || say.send(()).expect("the other listens"));
    });
    assert_eq!(reached.load(Ordering::Relaxed), 2);
}

#[test]
fn a_caller_of_one_pool_can_call_another() {
    let (first, second) = (pool(1), pool(2));
    let seen = participate(&first, || {
        second.join(|| sum(0, 100), || first.install(|| 7))
    });
    assert_eq!(seen, (4950, 7));
}

/// Only the lookout sees a brief job of a caller that is silent, and the lookout may be the worker
/// in whose place the caller is.
#[test]
fn a_callers_job_starts_even_if_the_caller_has_the_place_of_the_lookout() {
    let pool = pool(2);
    let sleeps = |worker: usize| pool.counters().workers()[worker].sleeps;
    for _ in 0..50 {
        // The last worker wakes for what a caller has left, and falls asleep after it.
        let (before, (say, heard)) = (sleeps(1), channel());
        participate(&pool, || {
            let say = say.clone();
            heist_core::spawn(move || say.send(()).expect("the test listens"));
        });
        assert_eq!(heard.recv(), Ok(()));
        for _ in 0..1000 {
            if sleeps(1) == before {
                thread::yield_now();
            }
        }
        let both = Barrier::new(2);
        pool.join(|| both.wait(), || both.wait());
    }
}

/// The worker has written its own fields before a caller can take its down: or else both would
/// write at the same time.
#[test]
fn the_caller_comes_after_all_that_the_worker_noted_before_its_sleep() {
    use heist_core::EventKind::{self, SearchBegin, SearchEnd, Sleep, Wake};
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .record_events(1 << 16)
        .build()
        .expect("a pool");
    for _ in 0..2_000 {
        // Somebody wakes, finds the job and falls asleep, while the caller wants a place.
        pool.spawn(|| ());
        participate(&pool, || ());
    }
    pool.install(|| ()); // what the last caller has noted is there to be read
    let turns = |kind: &EventKind| matches!(kind, SearchBegin | SearchEnd | Sleep | Wake);
    for worker in pool.events() {
        assert_eq!(worker.dropped, 0);
        let kinds = worker.events.iter().map(|event| event.kind).filter(turns);
        let kinds: Vec<_> = kinds.collect();
        for pair in kinds.windows(2) {
            let is_next = match pair[0] {
                Sleep => pair[1] == Wake,
                SearchEnd => pair[1] == SearchBegin,
                _ => matches!(pair[1], SearchEnd | Sleep),
            };
            assert!(is_next, "{pair:?}");
        }
    }
}

/// The caller pushes once, in its first microseconds, when nobody is woken for it, and then
/// computes, looking up from time to time.
#[test]
fn a_caller_that_looks_up_gets_help_without_another_push() {
    let pool = pool(2);
    participate(&pool, || {
        let started = AtomicUsize::new(0);
        heist_core::join(
            || {
                while started.load(Ordering::Relaxed) == 0 {
                    let _ = heist_core::poll_for_thieves();
                }
                assert!(heist_core::poll_for_thieves(), "what was on offer is gone");
            },
            || started.store(1, Ordering::Relaxed),
        );
    });
}

/// How often the threads whose names begin so have given up their processors of their own accord.
#[cfg(target_os = "linux")]
fn voluntary_switches(name: &str) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads of this process");
    let status = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("status")).ok()
    };
    let of = |status: String| {
        let is_meant = status.lines().next()?.contains(name);
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        is_meant.then(|| count.trim().parse::<u64>().expect("a number"))
    };
    tasks.filter_map(status).filter_map(of).sum()
}

/// Returns when none of these threads has woken up for many times the period of a lookout.
#[cfg(target_os = "linux")]
fn await_stillness(name: &str) {
    for _ in 0..400 {
        let before = voluntary_switches(name);
        thread::sleep(std::time::Duration::from_millis(50));
        if voluntary_switches(name) == before {
            return;
        }
    }
    panic!("the threads `{name}` never stop waking up");
}

/// The program `ticks.rs` of the findings: a timer that went on for as long as somebody worked.
#[test]
#[cfg(target_os = "linux")]
fn no_timer_runs_once_the_callers_have_gone() {
    let builder = |name: &'static str| {
        ThreadPoolBuilder::new().thread_name(move |index| format!("{name}-{index}"))
    };
    let pool = builder("blocked").num_threads(4).build().expect("a pool");
    if pool.diagnostics().barrier_mode == BarrierMode::Fence {
        let reason =
            "test skipped: without membarrier a sleeper looks for jobs while anybody is awake\n";
        let _ = std::io::stderr().write_all(reason.as_bytes());
        return;
    }
    let (hang_up, line) = channel::<()>();
    let (begin, begun) = channel();
    pool.spawn(move || {
        begin.send(()).expect("the test waits");
        assert!(line.recv().is_err());
    });
    // A worker that waits for a part of the sum would run it on top, and the sum never end.
    begun.recv().expect("it begins");
    participate(&pool, || heist_core::join(|| sum(0, 100_000), || ()));
    await_stillness("blocked");
    drop(hang_up);

    // The thread that built the pool is the worker that is awake for ever, outside.
    let adopting = builder("adopting").num_threads(3).use_current_thread();
    let pool = adopting.build().expect("a pool");
    thread::scope(|scope| {
        scope.spawn(|| participate(&pool, || heist_core::join(|| sum(0, 100_000), || ())));
    });
    await_stillness("adopting");
}
