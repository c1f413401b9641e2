//! Hints: a job near a worker is run whatever that worker does (HN-1), and one only for a worker
//! runs there (HN-2).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;

use heist_core::{
    current_thread_index, with_waiting, Priority, ThreadPool, ThreadPoolBuilder, Waiting,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

fn index() -> usize {
    current_thread_index().expect("on a worker")
}

/// The calling worker waits, in this way, for a job with a hint to it.
fn wait_for_a_job_near_this_worker(blocks: bool) {
    let (say, heard) = channel();
    heist_core::spawn_on(index(), move || say.send(()).expect("somebody waits"));
    let wait = || heard.recv().expect("it is run");
    if blocks {
        heist_core::blocking(wait);
    } else {
        wait();
    }
}

#[test]
fn hn_1_a_job_near_a_worker_that_is_busy_or_blocks_is_taken_by_another() {
    for workers in [2, 3] {
        let pool = pool(workers);
        for round in 0..200 {
            pool.install(|| wait_for_a_job_near_this_worker(round % 2 == 0));
        }
    }
}

#[test]
fn hn_1_so_is_one_near_the_place_of_an_external_caller() {
    let pool = pool(2);
    for _ in 0..200 {
        pool.participate(|| wait_for_a_job_near_this_worker(false));
    }
}

#[test]
fn hn_1_so_is_one_near_a_worker_in_whose_place_a_compensation_worker_works() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.compensation_workers(1).build().expect("a pool");
    for _ in 0..50 {
        pool.install(|| wait_for_a_job_near_this_worker(true));
    }
    // The worker withdraws: it waits for a job that it may not run.
    for _ in 0..50 {
        let value = pool.install(|| {
            with_waiting(Waiting::Descendants, || {
                heist_core::job().near(0).submit(|| 7).join()
            })
        });
        assert_eq!(value, 7);
    }
}

#[test]
fn hn_1_a_job_near_a_worker_that_sleeps_is_run() {
    let pool = pool(3);
    for round in 0..300 {
        let handle = pool.job().near(round % 3).submit(index);
        assert!(handle.join() < 3);
    }
}

#[test]
fn hn_1_so_is_one_near_a_worker_that_is_recalled_and_one_only_on_it_runs_there() {
    let pool = pool(3);
    for round in 0..100 {
        pool.set_active_threads(1 + round % 2);
        for worker in 0..3 {
            pool.spawn_on(worker, || ());
            assert!(pool.job().near(worker).submit(index).join() < 3);
            assert_eq!(pool.job().only_on(worker).submit(index).join(), worker);
        }
    }
}

/// Each of many jobs, most of them near one worker, which has some work of its own.
#[test]
fn hn_1_each_of_many_jobs_is_run_once_and_the_books_balance() {
    let (workers, jobs) = (
        4,
        if cfg!(debug_assertions) {
            4_000
        } else {
            40_000
        },
    );
    let pool = pool(workers);
    let ran: Arc<Vec<_>> = Arc::new((0..2 * jobs).map(|_| AtomicUsize::new(0)).collect());
    let count = |n: usize| {
        let ran = Arc::clone(&ran);
        move || _ = ran[n].fetch_add(1, Ordering::Relaxed)
    };
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            for n in 0..jobs {
                heist_core::spawn_on(n % workers, count(n));
                heist_core::join(|| (), || ());
            }
        });
        for n in jobs..2 * jobs {
            let near = if n % 8 == 0 { n % workers } else { 0 };
            pool.spawn_on(near, count(n));
        }
    });
    while ran.iter().any(|ran| ran.load(Ordering::Relaxed) == 0) {
        std::thread::yield_now();
    }
    let all = || ran.iter().map(|ran| ran.load(Ordering::Relaxed));
    assert!(all().all(|ran| ran == 1));
    let total = pool.counters().total();
    let taken = total.pops + total.steals + total.injected + total.mailed;
    assert_eq!(total.jobs, taken, "{total:?}");
}

#[test]
fn a_worker_runs_the_jobs_near_it_in_their_order_after_its_own() {
    let pool = pool(1);
    let (say, heard) = channel();
    pool.install(|| {
        for n in 1..=5 {
            let say = say.clone();
            heist_core::spawn_on(0, move || say.send(n).expect("somebody listens"));
        }
        let say = say.clone();
        heist_core::spawn(move || say.send(0).expect("somebody listens"));
    });
    drop(say);
    assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
}

/// A chain of jobs, each of which spawns the next, so that the only worker never runs dry.
#[test]
fn hn_1_a_job_near_a_worker_that_never_runs_dry_has_its_turn() {
    fn link(pool: &Arc<ThreadPool>, links: usize, has_run: &Arc<AtomicUsize>) {
        assert!(links < 1_000_000, "it starves");
        if has_run.load(Ordering::Relaxed) == 0 {
            let (next, has_run) = (Arc::clone(pool), Arc::clone(has_run));
            pool.spawn(move || link(&next, links + 1, &has_run));
        }
    }
    let pool = Arc::new(pool(1));
    let has_run = Arc::new(AtomicUsize::new(0));
    pool.install(|| {
        link(&pool, 0, &has_run);
        let job = Arc::clone(&has_run);
        pool.spawn_on(0, move || job.store(1, Ordering::Relaxed));
    });
    while has_run.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn hn_2_a_job_only_on_a_worker_runs_there_in_its_turn_whatever_others_do() {
    let (workers, jobs) = (3, 3_000);
    let pool = pool(workers);
    let ran: Arc<Vec<_>> = Arc::new((0..workers).map(|_| AtomicUsize::new(0)).collect());
    let (say, heard) = channel();
    for n in 0..jobs {
        let (say, ran) = (say.clone(), Arc::clone(&ran));
        pool.job().only_on(n % workers).spawn(move || {
            let before = ran[index()].fetch_add(1, Ordering::Relaxed);
            let place = (n % workers, n / workers);
            say.send((index(), before) == place)
                .expect("somebody listens");
        });
        if n % 7 == 0 {
            pool.spawn(|| _ = heist_core::join(|| (), || ()));
        }
    }
    drop(say);
    assert_eq!(
        heard.iter().filter(|&is_in_place| is_in_place).count(),
        jobs
    );
}

#[test]
fn hn_2_a_worker_that_joins_a_job_only_on_another_leaves_it_there() {
    let pool = pool(2);
    for _ in 0..200 {
        let (other, there) = pool.install(|| {
            let other = 1 - index();
            (other, heist_core::job().only_on(other).submit(index).join())
        });
        assert_eq!(there, other);
    }
}

/// It runs on a frame that waits for descendants only, as broadcasts do.
#[test]
fn hn_2_a_job_only_on_a_worker_runs_while_that_waits_for_it() {
    let pool = pool(2);
    for waiting in [Waiting::Any, Waiting::Descendants] {
        for _ in 0..100 {
            let is_here = pool.install(|| {
                let here = index();
                let wait = || heist_core::job().only_on(here).submit(index).join();
                with_waiting(waiting, wait) == here
            });
            assert!(is_here);
        }
    }
}

#[test]
fn a_worker_that_is_not_there_is_an_error_that_says_so_and_the_pool_lives_on() {
    let pool = pool(2);
    let calls: [(&str, &dyn Fn()); 4] = [
        ("spawn_on", &|| pool.spawn_on(2, || ())),
        ("near", &|| pool.job().near(2).spawn(|| ())),
        ("only_on", &|| drop(pool.job().only_on(7).submit(|| ()))),
        ("inside", &|| {
            pool.install(|| heist_core::spawn_on(9, || ()));
        }),
    ];
    for (name, call) in calls {
        let panic = catch_unwind(AssertUnwindSafe(call)).expect_err(name);
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(
            message.contains("the last worker of the pool is 1"),
            "{name}: {message}"
        );
    }
    pool.spawn_on(1, || ());
    pool.shutdown();
}

/// Threads outside run what they queue, in the one worker's place.
#[test]
fn jobs_with_hints_and_priorities_run_in_a_pool_without_threads() {
    let pool = ThreadPoolBuilder::new().serial().build().expect("a pool");
    let ran = Arc::new(AtomicUsize::new(0));
    let job = || {
        let ran = Arc::clone(&ran);
        move || _ = ran.fetch_add(1, Ordering::Relaxed)
    };
    pool.spawn_on(0, job());
    pool.job().only_on(0).spawn(job());
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        pool.job().priority(priority).spawn(job());
    }
    assert_eq!(ran.load(Ordering::Relaxed), 5);
    pool.install(|| {
        pool.spawn_on(0, job());
        assert_eq!(pool.job().near(0).submit(index).join(), 0);
        assert_eq!(pool.job().only_on(0).submit(index).join(), 0);
    });
    assert_eq!(ran.load(Ordering::Relaxed), 6);
}

#[test]
fn a_pool_ends_after_the_jobs_that_wait_for_its_workers() {
    for _ in 0..50 {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        for n in 0..40 {
            let ran = Arc::clone(&ran);
            let job = move || _ = ran.fetch_add(1, Ordering::Relaxed);
            match n % 2 {
                0 => pool.spawn_on(n % 4 / 2, job),
                _ => pool.job().only_on(n % 4 / 2).spawn(job),
            }
        }
        pool.shutdown();
        assert_eq!(ran.load(Ordering::Relaxed), 40);
    }
}

/// A worker whose jobs spawn others without an end has never nothing of its own.
#[test]
fn hn_2_a_job_only_on_a_worker_has_its_turn_beside_a_chain_of_jobs_there() {
    fn chain(is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Relaxed) {
            heist_core::spawn(move || chain(is_over));
        }
    }
    for in_a_wait in [false, true] {
        let (pool, is_over) = (pool(1), Arc::new(AtomicBool::new(false)));
        let over = Arc::clone(&is_over);
        pool.spawn(move || match in_a_wait {
            false => chain(over),
            true => heist_core::scope(|scope| scope.spawn(|_| chain(over))),
        });
        for n in 0..10 {
            assert_eq!(pool.job().only_on(0).submit(move || n).join(), n);
        }
        is_over.store(true, Ordering::Relaxed);
    }
}

/// Those who could have taken it had jobs of their own, as had the worker itself, which could not.
#[test]
fn hn_1_a_job_near_a_worker_is_run_though_all_workers_go_on_with_descendants() {
    fn chain<'s>(scope: &heist_core::Scope<'s>, is_over: &'s AtomicBool) {
        if !is_over.load(Ordering::Relaxed) {
            scope.spawn(move |scope| chain(scope, is_over));
        }
    }
    for workers in [1, 2] {
        let builder = ThreadPoolBuilder::new().num_threads(workers);
        let pool = builder.waiting(Waiting::Descendants).build();
        let (pool, is_over) = (pool.expect("a pool"), Arc::new(AtomicBool::new(false)));
        let (say, heard) = channel();
        for worker in 0..workers {
            let (say, is_over) = (say.clone(), Arc::clone(&is_over));
            pool.job().only_on(worker).spawn(move || {
                heist_core::scope(|scope| {
                    say.send(()).expect("it is waited for");
                    chain(scope, &is_over);
                });
            });
            heard.recv().expect("it begins");
        }
        for _ in 0..3 {
            let say = say.clone();
            pool.spawn_on(0, move || say.send(()).expect("it is waited for"));
            heard.recv().expect("it is run");
        }
        is_over.store(true, Ordering::Relaxed);
    }
}
