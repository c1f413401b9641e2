//! Jobs that an initialiser waits for, begun by parts of it that run on other workers: somebody
//! runs them, though all other workers wait for the value (ON-3).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use heist_core::{
    join, scope, scope_fifo, submit, with_cancellation, with_waiting, CancellationToken, Once,
    Priority, Strand, TaskGroup, ThreadPoolBuilder, Waiting,
};

/// Joins all the way down, which gives thieves time to come.
fn leaves(depth: u32) -> usize {
    if depth == 0 {
        return 1;
    }
    let (a, b) = join(|| leaves(depth - 1), || leaves(depth - 1));
    a + b
}

/// Has several callers on several workers want the value of this initialiser, in many rounds.
fn wanted_by_all(initialiser: impl Fn() -> usize + Sync, value: usize) {
    let rounds = if cfg!(debug_assertions) { 150 } else { 1000 };
    for (workers, compensation) in [(2, 0), (4, 0), (2, 2)] {
        let builder = ThreadPoolBuilder::new().num_threads(workers);
        let pool = builder.compensation_workers(compensation).build();
        let pool = pool.expect("a pool");
        for _ in 0..rounds {
            let once = Once::new();
            pool.scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|_| assert_eq!(*once.get_or_init(&initialiser), value));
                }
            });
        }
    }
}

fn count(sum: &AtomicUsize) {
    sum.fetch_add(leaves(4), Ordering::Relaxed);
}

#[test]
fn a_part_spawns_jobs_of_a_scope() {
    wanted_by_all(
        || {
            let sum = AtomicUsize::new(0);
            scope(|scope| {
                let spawns = || {
                    leaves(3);
                    scope.spawn(|_| count(&sum));
                };
                join(|| join(spawns, spawns), || join(spawns, spawns));
            });
            sum.into_inner()
        },
        64,
    );
}

#[test]
fn a_part_spawns_jobs_of_an_ordered_scope() {
    wanted_by_all(
        || {
            let sum = AtomicUsize::new(0);
            scope_fifo(|scope| {
                let spawns = || scope.spawn_fifo(|_| count(&sum));
                join(|| join(spawns, spawns), || join(spawns, spawns));
            });
            sum.into_inner()
        },
        64,
    );
}

/// The jobs that are stolen are no parts, and neither are the halves of their joins.
#[test]
fn jobs_of_a_scope_spawn_more_of_them() {
    wanted_by_all(
        || {
            let sum = AtomicUsize::new(0);
            scope(|outer| {
                for _ in 0..2 {
                    outer.spawn(|outer| {
                        scope(|inner| {
                            let spawns = || {
                                inner.spawn(|inner| inner.spawn(|_| count(&sum)));
                                outer.spawn(|outer| outer.spawn(|_| count(&sum)));
                            };
                            join(spawns, spawns);
                        });
                    });
                }
            });
            sum.into_inner()
        },
        128,
    );
}

#[test]
fn a_part_begins_jobs_of_a_group() {
    for priority in [Priority::Normal, Priority::High] {
        wanted_by_all(
            || {
                let sum = Arc::new(AtomicUsize::new(0));
                let group = TaskGroup::new().with_priority(priority);
                let begins = || {
                    let sum = sum.clone();
                    group.run(move || count(&sum));
                };
                join(|| join(begins, begins), || join(begins, begins));
                group.wait();
                sum.load(Ordering::Relaxed)
            },
            64,
        );
    }
}

#[test]
fn a_part_submits_jobs() {
    wanted_by_all(
        || {
            let submits = || submit(|| leaves(4));
            let (a, b) = join(|| join(submits, submits), || join(submits, submits));
            a.0.join() + a.1.join() + b.0.join() + b.1.join()
        },
        64,
    );
}

#[test]
fn a_part_queues_jobs_of_a_strand() {
    wanted_by_all(
        || {
            let sum = Arc::new(AtomicUsize::new(0));
            let strand = Strand::new();
            let queues = || {
                let sum = sum.clone();
                strand.spawn(move || count(&sum));
                strand.submit(|| leaves(4))
            };
            // So that the other half is stolen.
            let late = || {
                let until = Instant::now() + Duration::from_micros(100);
                while Instant::now() < until {}
            };
            let (a, b) = join(|| join(late, queues).1, || join(late, queues).1);
            strand.wait();
            a.join() + b.join() + sum.load(Ordering::Relaxed)
        },
        64,
    );
}

#[test]
fn a_thread_of_the_initialiser_spawns_jobs_of_its_scope() {
    wanted_by_all(
        || {
            let counter = AtomicUsize::new(0);
            let sum = &counter;
            scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(move || scope.spawn(move |_| count(sum)));
                });
            });
            counter.into_inner()
        },
        16,
    );
}

#[test]
fn a_thread_of_the_initialiser_begins_jobs_of_its_group_and_strand() {
    wanted_by_all(
        || {
            let sum = Arc::new(AtomicUsize::new(0));
            let (group, strand) = (TaskGroup::new(), Strand::new());
            thread::scope(|threads| {
                threads.spawn(|| {
                    let (first, second) = (sum.clone(), sum.clone());
                    group.run(move || count(&first));
                    strand.spawn(move || count(&second));
                });
            });
            group.wait();
            strand.wait();
            sum.load(Ordering::Relaxed)
        },
        32,
    );
}

#[test]
fn a_part_spawns_where_waits_are_for_descendants() {
    wanted_by_all(
        || {
            let sum = AtomicUsize::new(0);
            with_waiting(Waiting::Descendants, || {
                scope(|scope| {
                    let spawns = || scope.spawn(|_| count(&sum));
                    join(spawns, spawns);
                });
            });
            sum.into_inner()
        },
        32,
    );
}

/// One job cancels the scope, and those that have not begun are dropped.
#[test]
fn jobs_of_a_cancelled_scope_are_dropped() {
    wanted_by_all(
        || {
            let held = Arc::new(());
            let token = CancellationToken::new();
            let _ = with_cancellation(&token, || {
                scope(|scope| {
                    let spawns = || {
                        for _ in 0..4 {
                            let held = held.clone();
                            scope.spawn(move |scope| {
                                scope.cancel();
                                drop(held);
                            });
                        }
                    };
                    join(spawns, spawns);
                });
                token.cancel();
            });
            Arc::strong_count(&held)
        },
        1,
    );
}

/// The panic of a job that whoever waits has run in its wait.
#[test]
fn a_panic_in_such_a_job_reaches_the_caller() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("a pool");
    for _ in 0..100 {
        let once: Once<()> = Once::new();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.install(|| {
                once.get_or_init(|| {
                    scope(|scope| {
                        let spawns = || scope.spawn(|_| std::panic::resume_unwind(Box::new(7)));
                        join(spawns, spawns);
                    });
                });
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&7));
        assert!(once.get().is_none());
    }
}

/// A part submits a job and leaves it to its worker. The initialiser waits for it, so that nothing
/// may run on top of it which waits for the value.
#[test]
fn nothing_unrelated_runs_on_top_of_a_job_that_a_part_has_submitted() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build();
    let pool = pool.expect("a pool");
    let stage = Arc::new(AtomicUsize::new(0));
    let reach = |at: usize| stage.fetch_max(at, Ordering::Relaxed);
    let until = |at: usize| {
        while stage.load(Ordering::Relaxed) < at {
            thread::yield_now();
        }
    };
    let (once, asked) = (Once::new(), AtomicUsize::new(0));
    let job = {
        let stage = Arc::clone(&stage);
        move || {
            stage.store(3, Ordering::Relaxed);
            let until = Instant::now() + Duration::from_millis(200);
            let has_begun = || stage.load(Ordering::Relaxed) == 4;
            join(
                || while !has_begun() {},
                || {
                    stage.store(4, Ordering::Relaxed);
                    while Instant::now() < until {}
                },
            );
        }
    };
    let initialiser = || {
        let handle = Mutex::new(None);
        join(
            || until(3),
            || {
                reach(2);
                *handle.lock().unwrap() = Some(submit(job.clone()));
            },
        );
        handle.into_inner().unwrap().expect("submitted").join();
    };
    pool.in_place_scope(|scope| {
        // The third worker, which would steal the job, is busy until that has begun.
        scope.spawn(|_| {
            reach(1);
            until(3);
        });
        until(1);
        scope.spawn(|_| {
            once.get_or_init(initialiser);
        });
        until(4);
        for _ in 0..3 {
            scope.spawn(|_| {
                asked.fetch_add(1, Ordering::Relaxed);
                once.get_or_init(|| unreachable!("it is being made"));
            });
        }
    });
    assert_eq!(asked.into_inner(), 3);
}

/// It tells all that wait, and only those.
#[test]
fn a_strand_in_an_initialiser_wakes_no_compensation_worker_that_has_no_thread() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.compensation_workers(1).build().expect("a pool");
    for _ in 0..3 {
        let once = Once::new();
        let made = pool.install(|| {
            *once.get_or_init(|| {
                let strand = Strand::new();
                strand.spawn(|| ());
                strand.wait();
                1
            })
        });
        assert_eq!(made, 1);
        // The worker falls asleep, and somebody has to see that nobody is awake.
        thread::sleep(Duration::from_millis(20));
    }
}
