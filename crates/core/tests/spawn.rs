//! Spawned jobs: their order, their closures, and who counts them.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::Barrier;
use std::thread;

use heist_core::{ThreadPool, ThreadPoolBuilder};

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

#[test]
fn jobs_from_one_thread_outside_start_in_order_on_one_worker() {
    let pool = pool(1);
    let (say, heard) = channel();
    let at_work = Barrier::new(2);
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            at_work.wait();
        });
        for n in 0..1000 {
            let say = say.clone();
            scope.spawn(move |scope| {
                say.send(n).expect("the test listens");
                // More work of its own than the worker does without a look outside.
                for _ in 0..(if n == 10 { 200 } else { 1 }) {
                    scope.spawn(|_| ());
                }
            });
        }
        at_work.wait();
    });
    assert!(heard.try_iter().eq(0..1000));
}

/// oneTBB#889: a task that is queued and that no thread waits for in the pool never begins. Each
/// job comes while the workers fall asleep after the one before, or have not begun to work.
#[test]
fn a_job_that_nobody_waits_for_in_its_pool_begins() {
    let (say, heard) = channel();
    for workers in [1, 2, 4] {
        let pools: Vec<_> = (0..8).map(|_| pool(workers)).collect();
        for n in 0..1000 {
            let say = say.clone();
            pools[n % 8].spawn(move || say.send(n).expect("the test listens"));
            assert_eq!(heard.recv(), Ok(n));
        }
    }
}

/// Smaller than a slot, as large, and larger.
#[test]
fn a_closure_of_any_size_runs_whole_from_inside_and_from_outside() {
    fn check<const WORDS: usize>(pool: &ThreadPool) {
        let (say, heard) = channel();
        let words: [u64; WORDS] = std::array::from_fn(|word| word as u64 + 1);
        let job = move || {
            // The capture is the array, not a reference to it.
            let words = words;
            say.send(words.iter().sum::<u64>())
                .expect("the test listens");
        };
        pool.spawn(job.clone());
        pool.spawn_fifo(job.clone());
        pool.install(|| {
            heist_core::spawn(job.clone());
            heist_core::spawn_fifo(job.clone());
        });
        pool.in_place_scope(|scope| scope.spawn(|_| job.clone()()));
        pool.scope(|scope| scope.spawn(|_| job.clone()()));
        drop(job);
        let sum = (WORDS * (WORDS + 1) / 2) as u64;
        // Comes to an end when every copy was dropped.
        assert_eq!(heard.iter().collect::<Vec<_>>(), [sum; 6]);
    }
    let pool = pool(2);
    check::<0>(&pool);
    check::<3>(&pool);
    check::<4>(&pool);
    check::<5>(&pool);
    check::<6>(&pool);
    check::<7>(&pool);
    check::<40>(&pool);
}

#[test]
fn a_scope_waits_for_what_a_thread_that_is_no_worker_spawns_there() {
    for workers in [1, 2] {
        let pool = pool(workers);
        for _ in 0..100 {
            let ran = AtomicUsize::new(0);
            pool.scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| {
                        for _ in 0..10 {
                            scope.spawn(|_| {
                                ran.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    });
                    scope.spawn(|_| {
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                });
            });
            assert_eq!(ran.into_inner(), 11);
        }
    }
}

/// The waits nest on one thread, and each counts its own jobs.
#[test]
fn a_scope_inside_a_job_of_another_counts_for_itself_and_spawns_in_the_other() {
    for workers in [1, 3] {
        let pool = pool(workers);
        for _ in 0..100 {
            let (inner, outer) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.scope(|first| {
                for _ in 0..5 {
                    first.spawn(|first| {
                        let here = AtomicUsize::new(0);
                        heist_core::scope(|second| {
                            for _ in 0..5 {
                                second.spawn(|_| {
                                    here.fetch_add(1, Ordering::Relaxed);
                                    first.spawn(|_| {
                                        outer.fetch_add(1, Ordering::Relaxed);
                                    });
                                });
                            }
                        });
                        inner.fetch_add(here.into_inner(), Ordering::Relaxed);
                    });
                }
            });
            assert_eq!((inner.into_inner(), outer.into_inner()), (25, 25));
        }
    }
}
