//! Serial pools: one worker, no thread, callers run everything in place, and nothing is forgotten.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, current, ThreadId};

use heist_core::{
    blocking, broadcast, current_num_threads, current_thread_index, join, scope, spawn, spawn_fifo,
    submit, with_context, with_waiting, yield_now, Callers, Injected, Once, Priority, Strand,
    TaskGroup, ThreadPool, ThreadPoolBuilder, Waiting, Yield,
};

fn serial() -> ThreadPool {
    let builder = ThreadPoolBuilder::new().serial();
    builder.build().expect("a pool without threads")
}

fn threaded(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// A job that says on which thread it runs.
fn told(say: &Sender<ThreadId>) -> impl FnOnce() + Send + 'static {
    let say = say.clone();
    move || say.send(current().id()).unwrap()
}

#[test]
fn every_operation_runs_on_the_thread_that_calls_it() {
    let pool = serial();
    let here = current().id();
    assert_eq!(pool.current_num_threads(), 1);
    assert_eq!(pool.install(|| current().id()), here);
    assert_eq!(pool.participate(|| current().id()), here);
    assert_eq!(pool.install(current_thread_index), Some(0));
    assert_eq!(pool.install(current_num_threads), 1);
    assert_eq!(current_thread_index(), None, "only for the time of a call");
    assert_eq!(
        pool.join(|| current().id(), || current().id()),
        (here, here)
    );
    assert_eq!(pool.install(|| fib(15)), 610);
    assert_eq!(
        pool.install(|| with_context(|mut cx| cx.join(|_| 1, |_| 2))),
        (1, 2)
    );
    assert_eq!(pool.submit(|| current().id()).join(), here);
    assert_eq!(pool.broadcast(|_| current().id()), [here]);
    assert_eq!(
        pool.yield_now(),
        None,
        "nobody is in the place, and nothing queued"
    );

    let (say, heard) = channel();
    pool.spawn(told(&say));
    pool.spawn_fifo(told(&say));
    pool.spawn_broadcast({
        let say = Mutex::new(say.clone());
        move |_| told(&say.lock().unwrap())()
    });
    pool.job().priority(Priority::Low).spawn(told(&say));
    pool.job().near(0).spawn(told(&say));
    pool.job().only_on(0).spawn(told(&say));
    let group = TaskGroup::new_in(&pool);
    (0..3).for_each(|_| group.run(told(&say)));
    group.wait();
    pool.scope(|scope| (0..3).for_each(|_| scope.spawn(|_| told(&say)())));
    pool.in_place_scope(|scope| {
        scope.spawn(|_| told(&say)());
        scope.spawn_broadcast(|_, _| told(&say)());
    });
    pool.scope_fifo(|scope| scope.spawn_fifo(|_| told(&say)()));
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [here; 15]);
}

#[test]
fn a_job_that_is_spawned_inside_is_queued_and_run_before_the_caller_leaves() {
    let pool = serial();
    let (say, heard) = channel();
    let heard = pool.install(move || {
        spawn(told(&say));
        spawn_fifo(told(&say));
        assert!(heard.try_recv().is_err(), "a spawn runs nothing");
        assert_eq!(yield_now(), Some(Yield::Executed));
        assert_eq!(heard.try_iter().count(), 1);
        spawn(move || spawn(told(&say)));
        heard
    });
    assert_eq!(heard.try_iter().count(), 2);
}

#[test]
fn what_is_queued_while_another_is_in_the_place_runs_there_before_that_one_leaves() {
    let pool = serial();
    let (say, heard) = channel();
    let inside = Barrier::new(2);
    let there = thread::scope(|threads| {
        let (pool, inside) = (&pool, &inside);
        let visitor = threads.spawn(move || {
            pool.install(|| {
                inside.wait(); // has the place
                inside.wait(); // until all is queued
            });
            current().id()
        });
        inside.wait();
        pool.spawn(told(&say));
        pool.spawn_broadcast({
            let say = Mutex::new(say.clone());
            move |_| told(&say.lock().unwrap())()
        });
        let handle = pool.submit(|| current().id());
        assert!(heard.try_recv().is_err() && !handle.is_finished());
        inside.wait();
        let there = visitor.join().unwrap();
        assert_eq!(handle.join(), there);
        there
    });
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [there; 2]);
}

/// Counts what runs, and fails if two run at a time.
struct Alone {
    is_there: AtomicBool,
    ran: AtomicUsize,
}

impl Alone {
    fn new() -> Self {
        Self {
            is_there: AtomicBool::new(false),
            ran: AtomicUsize::new(0),
        }
    }

    fn run(&self) {
        assert!(!self.is_there.swap(true, Ordering::Relaxed));
        thread::yield_now();
        self.ran.fetch_add(1, Ordering::Relaxed);
        assert!(self.is_there.swap(false, Ordering::Relaxed));
    }
}

#[test]
fn strands_handles_and_values_that_are_made_once_work_in_place() {
    let (one, many) = (serial(), threaded(2));
    let here = current().id();
    let strand = Strand::new_in(&one);
    let (say, heard) = channel();
    for _ in 0..100 {
        strand.spawn(told(&say));
    }
    assert_eq!(strand.submit(|| current().id()).join(), here);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [here; 100]);

    let never = one.install(|| {
        let never = submit(|| panic!("it is aborted"));
        assert!(never.abort(), "it has not begun");
        never
    });
    assert!(never.try_join().is_err());

    let value = Once::new();
    let make = || *value.get_or_init(|| one.install(|| many.install(|| fib(10))));
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| assert_eq!(many.install(|| one.install(make)), 55));
        }
        assert_eq!(one.install(make), 55);
    });
    // A thread that is two workers blocks, and is both of them afterwards.
    let sum = many.install(|| one.install(|| blocking(|| many.join(|| 1, || 2).1) + fib(3)));
    assert_eq!(sum, 4);
}

#[test]
fn callers_from_many_threads_take_turns_and_no_job_is_lost() {
    let rounds = if cfg!(debug_assertions) { 100 } else { 1000 };
    let pool = serial();
    let alone = &Arc::new(Alone::new());
    let job = || {
        let alone = Arc::clone(alone);
        move || alone.run()
    };
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for round in 0..rounds {
                    match round % 8 {
                        0 => pool.install(|| alone.run()),
                        1 => pool.spawn(job()),
                        2 => pool.submit(job()).join(),
                        3 => pool.scope(|scope| scope.spawn(|_| alone.run())),
                        4 => pool.in_place_scope(|scope| scope.spawn(|_| alone.run())),
                        5 => _ = pool.broadcast(|_| alone.run()),
                        6 => {
                            let group = TaskGroup::new_in(&pool);
                            group.run(job());
                            group.wait();
                        }
                        _ => _ = pool.join(|| alone.run(), || ()),
                    }
                }
            });
        }
    });
    pool.shutdown();
    assert_eq!(alone.ran.load(Ordering::Relaxed), 4 * rounds);
}

#[test]
fn a_panic_reaches_the_caller_or_the_handler_and_the_place_is_free_again() {
    let (caught, panics) = channel();
    let builder = ThreadPoolBuilder::new().serial();
    let pool = builder
        .panic_handler(move |payload| caught.send(payload).unwrap())
        .build()
        .unwrap();
    for _ in 0..3 {
        let ran = AtomicBool::new(false);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                scope.spawn(|_| ran.store(true, Ordering::Relaxed));
                panic!("in the place");
            });
        }));
        assert!(panicked.is_err() && ran.into_inner());
        assert_eq!(current_thread_index(), None);
        pool.spawn(|| panic!("nobody waits for this"));
        let payload = panics.try_recv().expect("it has run");
        assert_eq!(payload.downcast_ref(), Some(&"nobody waits for this"));
        let handle = pool.submit(|| panic!("somebody waits for this"));
        assert!(catch_unwind(AssertUnwindSafe(|| handle.join())).is_err());
        assert_eq!(pool.install(|| 1), 1);
    }
}

#[test]
fn ending_the_pool_runs_what_is_queued() {
    // Dropped and shut down by others while a visitor is in the place.
    for ends in [drop::<ThreadPool>, ThreadPool::shutdown] {
        let pool = serial();
        let (say, heard) = channel();
        let (enter, entered) = channel();
        let (go, gone) = channel::<()>();
        let group = TaskGroup::new_in(&pool);
        let visitor = thread::spawn(move || {
            group.run(move || {
                enter.send(()).unwrap();
                gone.recv().unwrap();
            });
        });
        entered.recv().unwrap();
        for _ in 0..10 {
            let say = say.clone();
            pool.spawn(move || spawn(told(&say)));
        }
        drop(say);
        let ended = thread::spawn(move || ends(pool));
        go.send(()).unwrap();
        assert_eq!(heard.iter().count(), 10);
        ended.join().unwrap();
        visitor.join().unwrap();
    }
}

#[test]
fn the_last_handle_can_be_dropped_in_a_job_of_the_pool() {
    let pool = Arc::new(serial());
    let (say, heard) = channel();
    let own = Arc::clone(&pool);
    let group = TaskGroup::new_in(&pool);
    let last = Arc::clone(&pool);
    drop(pool);
    own.spawn(move || {
        drop(last);
        spawn(told(&say));
    });
    drop(own);
    assert_eq!(heard.iter().count(), 1);
    let refused = catch_unwind(AssertUnwindSafe(|| group.run(|| ())));
    assert!(refused.is_err(), "the pool has ended");
}

#[test]
fn shutting_down_returns_the_books() {
    let pool = serial();
    pool.install(|| fib(10));
    pool.spawn(|| ());
    let counters = pool.shutdown_within(std::time::Duration::from_secs(60));
    let total = counters.expect("nothing is left").total();
    assert_eq!(total.pushes, total.pops);
    assert_eq!((total.injected, total.steals, total.sleeps), (1, 0, 0));
}

#[test]
fn workers_of_other_pools_and_serial_pools_call_each_other() {
    for workers in [1, 2] {
        let (many, one, other) = (&threaded(workers), &serial(), &serial());
        for _ in 0..20 {
            assert_eq!(many.install(|| one.install(|| fib(5))), 5);
            assert_eq!(one.install(|| many.install(|| fib(5))), 5);
            assert_eq!(one.install(|| many.install(|| one.install(|| fib(5)))), 5);
            assert_eq!(many.install(|| one.install(|| many.install(|| fib(5)))), 5);
            // Each waits for the others, on one thread.
            let deep = || many.install(|| one.install(|| many.broadcast(|_| 1).len()));
            assert_eq!(
                other.install(|| one.install(|| other.install(deep))),
                workers
            );
            let deep = || other.install(|| many.submit(|| fib(5))).join();
            assert_eq!(many.install(|| one.install(deep)), 5);
            let sum =
                many.install(|| one.install(|| current_num_threads()) + 10 * current_num_threads());
            assert_eq!(sum, 1 + 10 * workers, "it is its old self afterwards");
            // In both places of both pools at a time, from both sides.
            let both = Barrier::new(2);
            let (a, b) = thread::scope(|threads| {
                let a = threads.spawn(|| {
                    one.install(|| {
                        both.wait();
                        other.install(|| fib(5))
                    })
                });
                let b = other.install(|| {
                    both.wait();
                    one.install(|| fib(6))
                });
                (a.join().unwrap(), b)
            });
            assert_eq!((a, b), (5, 8));
        }
    }
}

#[test]
fn many_workers_call_into_one_serial_pool_and_back() {
    let (many, one) = (&threaded(3), &serial());
    let alone = Alone::new();
    for _ in 0..if cfg!(debug_assertions) { 20 } else { 200 } {
        many.scope(|scope| {
            for n in 0..8 {
                let alone = &alone;
                scope.spawn(move |_| match n % 4 {
                    0 => one.install(|| alone.run()),
                    1 => one.scope(|scope| scope.spawn(|_| alone.run())),
                    2 => {
                        one.install(|| many.install(|| one.install(|| alone.run())));
                    }
                    _ => {
                        one.install(|| {
                            many.join(|| (), || ());
                            many.submit(|| ()).join();
                        });
                        one.broadcast(|_| alone.run());
                    }
                });
            }
        });
    }
    let rounds = if cfg!(debug_assertions) { 20 } else { 200 };
    assert_eq!(alone.ran.into_inner(), 8 * rounds);
}

#[test]
fn the_settings_that_are_not_about_threads_work() {
    let builders: [fn(ThreadPoolBuilder) -> ThreadPoolBuilder; 7] = [
        |builder| builder.num_threads(1),
        |builder| builder.callers(Callers::Participate),
        |builder| builder.compensation_workers(0),
        |builder| builder.waiting(Waiting::Descendants),
        |builder| builder.injected(Injected::Prompt),
        ThreadPoolBuilder::breadth_first,
        |builder| builder.record_events(100),
    ];
    for setting in builders {
        let pool = setting(ThreadPoolBuilder::new().serial()).build().unwrap();
        let (say, heard) = channel();
        let sum = pool.install(|| {
            spawn(told(&say));
            scope(|scope| scope.spawn(|_| blocking(|| ())));
            let strict = with_waiting(Waiting::Descendants, || fib(6));
            blocking(|| strict + submit(|| fib(7)).join()) + broadcast(|_| fib(8)).remove(0)
        });
        assert_eq!(sum, 8 + 13 + 21);
        assert_eq!(heard.try_iter().count(), 1);
    }
    let pool = ThreadPoolBuilder::new().serial().breadth_first().build();
    let (say, heard) = channel();
    pool.unwrap().install(move || {
        for n in 0..3 {
            let say = say.clone();
            spawn(move || say.send(n).unwrap());
        }
    });
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn settings_that_are_about_threads_are_refused_by_name() {
    let serial = || ThreadPoolBuilder::new().serial();
    let refused = [
        (serial().num_threads(2).build(), "num_threads(2)"),
        (serial().use_current_thread().build(), "use_current_thread"),
        (
            serial().compensation_workers(3).build(),
            "compensation_workers(3)",
        ),
        (serial().start_handler(|_| ()).build(), "start_handler"),
        (serial().exit_handler(|_| ()).build(), "exit_handler"),
        (serial().spawn_handler(|_| Ok(())).build(), "spawn_handler"),
        (
            serial().thread_name(|_| String::new()).build(),
            "thread_name",
        ),
        (serial().stack_size(1 << 20).build(), "stack_size"),
        (serial().callers(Callers::Move).build(), "Callers::Move"),
    ];
    for (built, setting) in refused {
        let text = built.map(|_| ()).unwrap_err().to_string();
        assert!(text.contains(setting) && text.contains("serial"), "{text}");
    }
}

#[test]
fn one_thread_that_uses_the_pool_runs_its_jobs_in_the_same_order_each_time() {
    let order = || {
        let pool = serial();
        let (say, heard) = channel();
        pool.scope(|scope| {
            for n in 0..20 {
                let say = say.clone();
                scope.spawn(move |scope| {
                    let inner = say.clone();
                    scope.spawn(move |_| inner.send(100 + n).unwrap());
                    join(|| say.send(n).unwrap(), || fib(n));
                });
            }
        });
        heard.try_iter().collect::<Vec<_>>()
    };
    assert_eq!(order(), order());
}

/// Runs one of the tests below in a process of its own.
fn assert_passes(test: &str) {
    let program = std::env::current_exe().expect("the path of this test");
    let output = Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("HEIST_NUM_THREADS", "none of its business")
        // Nor is the watchdog, which is a thread.
        .env("HEIST_STALL", "10")
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
fn a_serial_pool_starts_no_thread_and_asks_for_no_number() {
    assert_passes("in_a_process::threads");
}

#[test]
fn the_global_pool_can_be_serial() {
    assert_passes("in_a_process::the_global_pool");
}

/// Only run by the tests above, each in a process of its own.
mod in_a_process {
    use super::*;

    #[test]
    #[ignore = "counts the threads of its process; run by another test"]
    fn threads() {
        let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        let before = threads();
        let pool = serial();
        assert_eq!(pool.install(|| fib(10)), 55);
        pool.spawn(|| ());
        assert_eq!(pool.broadcast(|_| threads()), [before]);
        pool.shutdown();
        assert_eq!(threads(), before);
    }

    #[test]
    #[ignore = "builds the global pool; run by another test"]
    fn the_global_pool() {
        ThreadPoolBuilder::new().serial().build_global().unwrap();
        let here = current().id();
        assert_eq!(join(|| current().id(), || current().id()), (here, here));
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..100).for_each(|_| assert_eq!(fib(6), 8)));
            }
        });
        let (say, heard) = channel();
        spawn(told(&say));
        assert_eq!(heard.try_recv(), Ok(here));
    }
}
