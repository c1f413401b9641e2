//! Pools whose workers are recalled and made active again while they work: no job and no broadcast
//! is lost, and a recalled worker takes none (RS-1).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::collections::BTreeSet;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use heist_core::{
    blocking, current_thread_index, join, scope, spawn, yield_now, ThreadPool, ThreadPoolBuilder,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// From when this returns, the recalled workers take no jobs: each has run a job of its own since.
fn resize(pool: &ThreadPool, active: usize) {
    assert_eq!(pool.set_active_threads(active), active);
    pool.broadcast(|_| ());
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// The indices of the workers on which many jobs run.
fn workers_of_many_jobs(pool: &ThreadPool) -> BTreeSet<usize> {
    let seen = Mutex::new(BTreeSet::new());
    let see = || {
        let index = current_thread_index().expect("jobs run on workers");
        seen.lock().unwrap().insert(index);
    };
    for _ in 0..20 {
        pool.scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|_| {
                    join(see, see);
                    yield_now();
                });
            }
        });
        pool.participate(|| join(see, see));
        pool.install(|| scope(|scope| scope.spawn(|_| see())));
    }
    seen.into_inner().unwrap()
}

#[test]
fn recalled_workers_take_no_jobs() {
    let pool = pool(4);
    for active in [1, 3, 2, 1, 4, 1] {
        resize(&pool, active);
        assert_eq!(pool.active_threads(), active);
        assert_eq!(pool.current_num_threads(), 4);
        let seen = workers_of_many_jobs(&pool);
        assert!(
            seen.iter().all(|&index| index < active),
            "{seen:?} of {active}"
        );
    }
}

#[test]
fn workers_that_are_active_again_take_jobs() {
    let pool = pool(4);
    for _ in 0..50 {
        resize(&pool, 1);
        pool.set_active_threads(4);
        // None of the four can go on before all have begun.
        let all = Barrier::new(4);
        pool.scope(|scope| (0..4).for_each(|_| scope.spawn(|_| _ = all.wait())));
    }
}

#[test]
fn the_jobs_that_a_recalled_worker_leaves_behind_are_run() {
    let pool = pool(3);
    resize(&pool, 1);
    for jobs in 1..50 {
        let (say, heard) = channel();
        pool.spawn_broadcast(move |context| {
            if context.index() > 0 {
                let say = say.clone();
                for _ in 0..jobs {
                    let say = say.clone();
                    spawn(move || say.send(current_thread_index()).unwrap());
                }
            }
        });
        let ran_on: Vec<_> = heard.iter().collect();
        assert_eq!(ran_on.len(), 2 * jobs);
        assert!(ran_on.iter().all(|&index| index == Some(0)), "{ran_on:?}");
    }
}

#[test]
fn a_caller_leaves_a_place_that_was_recalled_meanwhile() {
    let pool = pool(2);
    for _ in 0..50 {
        resize(&pool, 2);
        pool.participate(|| resize(&pool, 1));
        pool.broadcast(|_| ());
        assert_ne!(pool.participate(current_thread_index), Some(1));
    }
}

#[test]
fn a_job_may_recall_the_worker_that_it_runs_on() {
    let pool = pool(2);
    for _ in 0..100 {
        let sum = pool.install(|| {
            pool.set_active_threads(1);
            let sum = fib(10);
            blocking(|| ());
            sum
        });
        assert_eq!(sum, 55);
        assert_eq!(pool.install(|| fib(10)), 55);
        pool.set_active_threads(2);
    }
}

#[test]
fn a_pool_ends_while_workers_are_recalled() {
    for active in 1..=3 {
        let pool = pool(3);
        pool.set_active_threads(active);
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            pool.spawn(move || _ = ran.fetch_add(1, Ordering::Relaxed));
        }
        pool.shutdown();
        assert_eq!(ran.load(Ordering::Relaxed), 100);
    }
}

#[test]
fn an_absurd_number_is_refused_with_what_would_be_accepted() {
    let pool = pool(2);
    for active in [0, 3, usize::MAX] {
        let panic = catch_unwind(AssertUnwindSafe(|| pool.set_active_threads(active)));
        let text = *panic.unwrap_err().downcast::<String>().expect("a text");
        assert!(
            text.contains(&active.to_string()) && text.contains("1 to 2"),
            "{text}"
        );
        assert_eq!(pool.active_threads(), 2, "as before");
    }
}

#[test]
fn a_compensation_worker_works_in_the_place_of_an_active_one() {
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let pool = builder.compensation_workers(1).build().expect("a pool");
    resize(&pool, 1);
    for _ in 0..50 {
        let (say, heard) = channel();
        let answer = pool.submit(move || blocking(|| heard.recv()));
        pool.spawn(move || say.send(7).unwrap());
        assert_eq!(answer.join(), Ok(7));
    }
}

/// Joins, scopes, broadcasts, jobs from outside and callers, while the pool is resized all the
/// time.
#[test]
fn no_resize_loses_a_job_or_a_broadcast() {
    let rounds = if cfg!(debug_assertions) { 200 } else { 2000 };
    let pool = pool(4);
    let is_over = AtomicBool::new(false);
    let resizes = thread::scope(|threads| {
        let resizer = threads.spawn(|| {
            let mut resizes = 0_usize;
            while !is_over.load(Ordering::Relaxed) {
                let active = 1 + resizes * 7 % 11 % 4;
                assert_eq!(pool.set_active_threads(active), active);
                resizes += 1;
                if resizes % 3 == 0 {
                    thread::yield_now();
                }
            }
            resizes
        });
        let caller = threads.spawn(|| {
            for _ in 0..rounds {
                assert_eq!(pool.join(|| fib(8), || fib(9)), (21, 34));
                let ran = AtomicUsize::new(0);
                pool.scope(|scope| {
                    (0..20).for_each(|_| scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed)));
                });
                assert_eq!(ran.into_inner(), 20);
            }
        });
        for round in 0..rounds {
            assert_eq!(pool.install(|| fib(12)), 144);
            assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2, 3]);
            let (say, heard) = channel();
            for n in 0..10 {
                let say = say.clone();
                pool.spawn(move || say.send(n).unwrap());
            }
            drop(say);
            assert_eq!(heard.iter().sum::<usize>(), 45, "round {round}");
        }
        caller.join().unwrap();
        is_over.store(true, Ordering::Relaxed);
        resizer.join().unwrap()
    });
    assert!(resizes > 0);
    pool.shutdown();
}
