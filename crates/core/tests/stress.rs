//! Every one of some millions of jobs runs exactly once, with more workers than processors,
//! whatever operation it comes through.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::thread;

use heist_core::{TaskGroup, ThreadPool, ThreadPoolBuilder};

/// Counts how often each job ran.
#[derive(Clone)]
struct Ledger(Arc<Vec<AtomicU8>>);

impl Ledger {
    fn new(jobs: usize) -> Self {
        Self(Arc::new((0..jobs).map(|_| AtomicU8::new(0)).collect()))
    }

    fn ran(&self, job: usize) {
        self.0[job].fetch_add(1, Ordering::Relaxed);
    }

    fn assert_each_once(&self) {
        let wrong = self.0.iter().filter(|job| job.load(Ordering::Relaxed) != 1);
        assert_eq!(wrong.count(), 0);
    }
}

/// Two million jobs in a release build; fewer where every step is checked.
const JOBS: usize = if cfg!(debug_assertions) {
    1 << 16
} else {
    1 << 21
};

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

/// The sums that a pool's counters must give when it is idle.
fn assert_the_books_balance(pool: &ThreadPool) {
    let total = pool.counters().total();
    assert_eq!(total.pushes, total.pops + total.steals, "{total:?}");
    let taken = total.pops + total.steals + total.injected + total.mailed;
    assert_eq!(total.jobs, taken, "{total:?}");
}

#[test]
fn every_leaf_of_a_tree_of_joins_runs_once() {
    fn tree(first: usize, count: usize, ledger: &Ledger) {
        if count == 1 {
            return ledger.ran(first);
        }
        // Lopsided, so that there is always something to steal.
        let left = count.div_ceil(3);
        heist_core::join(
            || tree(first, left, ledger),
            || tree(first + left, count - left, ledger),
        );
    }
    for workers in [1, 2, 16, 64] {
        let (pool, ledger) = (pool(workers), Ledger::new(JOBS));
        pool.install(|| tree(0, JOBS, &ledger));
        ledger.assert_each_once();
        assert_the_books_balance(&pool);
    }
}

#[test]
fn every_job_of_nested_scopes_runs_once() {
    for workers in [1, 2, 16, 64] {
        let (pool, ledger) = (pool(workers), Ledger::new(JOBS));
        let width = 64;
        pool.scope(|scope| {
            for first in (0..JOBS).step_by(width) {
                let ledger = &ledger;
                scope.spawn(move |scope| {
                    for job in first..first + width {
                        scope.spawn(move |_| ledger.ran(job));
                    }
                });
            }
        });
        ledger.assert_each_once();
        assert_the_books_balance(&pool);
    }
}

#[test]
fn every_job_that_outside_threads_spawn_at_once_runs_once() {
    let (pool, ledger) = (pool(8), Ledger::new(JOBS));
    let group = TaskGroup::new_in(&pool);
    thread::scope(|scope| {
        let submitters = 4;
        for submitter in 0..submitters {
            let (ledger, group) = (ledger.clone(), &group);
            scope.spawn(move || {
                for job in (submitter..JOBS).step_by(submitters) {
                    let ledger = ledger.clone();
                    group.run(move || ledger.ran(job));
                }
            });
        }
    });
    group.wait();
    ledger.assert_each_once();
    assert_the_books_balance(&pool);
    pool.shutdown();
}

/// All the ways at once, from several pools' workers and from outside: latches, sleeping and
/// waking, injection and stealing cross each other.
#[test]
fn a_mixture_of_all_operations_loses_nothing() {
    let pools: Arc<Vec<_>> = Arc::new(vec![pool(3), pool(5)]);
    let rounds = if cfg!(debug_assertions) { 50 } else { 400 };
    let per_round = 600;
    let ledger = Ledger::new(rounds * per_round);
    for round in 0..rounds {
        let base = round * per_round;
        let mine = &pools[round % 2];
        mine.scope(|scope| {
            for part in 0..6 {
                let (pools, ledger) = (&pools, &ledger);
                scope.spawn(move |_| {
                    let first = base + part * 100;
                    let other = &pools[(round + part) % 2];
                    match part {
                        0 => heist_core::scope_fifo(|scope| {
                            for job in first..first + 100 {
                                scope.spawn_fifo(move |_| ledger.ran(job));
                            }
                        }),
                        1 => other.install(|| {
                            for job in (first..first + 100).step_by(2) {
                                heist_core::join(|| ledger.ran(job), || ledger.ran(job + 1));
                            }
                        }),
                        2 => {
                            let group = TaskGroup::new_in(other);
                            for job in first..first + 100 {
                                let ledger = ledger.clone();
                                group.run(move || ledger.ran(job));
                            }
                            group.wait();
                        }
                        3 => {
                            let forks: Vec<_> = (first..first + 100)
                                .map(|job| {
                                    let ledger = ledger.clone();
                                    other.submit(move || ledger.ran(job))
                                })
                                .collect();
                            forks.into_iter().for_each(heist_core::JoinHandle::join);
                        }
                        4 => other.in_place_scope(|scope| {
                            for job in first..first + 100 {
                                scope.spawn(move |_| ledger.ran(job));
                            }
                        }),
                        _ => {
                            for job in first..first + 100 {
                                ledger.ran(job);
                                heist_core::yield_now();
                            }
                        }
                    }
                });
            }
        });
    }
    ledger.assert_each_once();
}

/// Workers fall asleep and are woken over and over: each round must come to its end, or the test
/// hangs.
#[test]
fn no_wake_up_is_lost_in_many_short_bursts() {
    let rounds = if cfg!(debug_assertions) {
        2_000
    } else {
        20_000
    };
    for workers in [2, 4] {
        let pool = pool(workers);
        for round in 0..rounds {
            let (a, b) = pool.join(|| round, || round + 1);
            assert_eq!(a + 1, b);
            if round % 64 == 0 {
                thread::yield_now(); // lets them fall asleep now and then
            }
        }
    }
}
