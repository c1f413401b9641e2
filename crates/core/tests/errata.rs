//! The faults of the pools in the documents that heist grew from, each by its number in their list
//! of errata (A15 to A33) as a case that must come out right. A20, A28, A29, A31 and A32 are also
//! tested beside the policies, the races of A16 also in `stress.rs`, and A15 beside the deque. Of
//! A23, (b) and (c) hold for a pool that waits for descendants only, in `waiting.rs`.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use heist_core::{TaskGroup, ThreadPool, ThreadPoolBuilder, WorkerCounters};

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

#[test]
fn a16_jobs_submitted_by_many_threads_at_once_all_run() {
    let pool = pool(2);
    let ran = Arc::new(AtomicUsize::new(0));
    for round in 1..=250 {
        let group = TaskGroup::new_in(&pool);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..40 {
                        let ran = Arc::clone(&ran);
                        group.run(move || {
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        group.wait();
        assert_eq!(ran.load(Ordering::Relaxed), round * 80);
    }
}

/// Each inner node waits for its halves; where waiting holds a worker, this hangs as soon as there
/// are more inner nodes than workers.
#[test]
fn a17_a_merge_sort_that_waits_at_every_node_ends_on_any_number_of_workers() {
    fn sort(mut items: Vec<u32>) -> Vec<u32> {
        if items.len() <= 16 {
            items.sort_unstable();
            return items;
        }
        let right = items.split_off(items.len() / 2);
        let left = heist_core::submit(move || sort(items));
        let right = heist_core::submit(move || sort(right));
        let (mut left, mut right) = (
            left.join().into_iter().peekable(),
            right.join().into_iter().peekable(),
        );
        std::iter::from_fn(|| match (left.peek(), right.peek()) {
            (Some(l), Some(r)) if l <= r => left.next(),
            (Some(_), None) => left.next(),
            _ => right.next(),
        })
        .collect()
    }
    for (workers, len) in [
        (1, 2048),
        (1, 4096),
        (2, 4096),
        (2, 8192),
        (4, 16384),
        (8, 65536),
    ] {
        let items: Vec<u32> = (0..len)
            .map(|i: u32| i.wrapping_mul(2_654_435_761))
            .collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        assert_eq!(pool(workers).install(|| sort(items)), expected);
    }
}

#[test]
fn a18_a_job_that_panics_counts_as_ended() {
    let pool = pool(1);
    let group = TaskGroup::new_in(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    for job in 0..10 {
        let ran = Arc::clone(&ran);
        group.run(move || {
            ran.fetch_add(1, Ordering::Relaxed);
            assert!(job % 2 == 0, "an odd job");
        });
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| group.wait()));
    assert!(result.is_err(), "the wait ends, with the panic");
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

#[test]
fn a19_shutting_down_runs_what_is_queued_and_what_that_queues() {
    let pool = pool(2);
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let ran = Arc::clone(&ran);
        pool.spawn(move || {
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                heist_core::spawn(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    }
    pool.shutdown();
    assert_eq!(ran.load(Ordering::Relaxed), 1000);
}

#[test]
fn a21_the_workers_of_a_pool_choose_different_victims() {
    // Two thieves with one sequence would always try the same victim first.
    use heist_core::policy::{Rng, Victims};
    let first_victims = |seed| {
        let mut rng = Rng::new(seed);
        (0..16)
            .map(|_| Victims::new(&mut rng, 0, 32).next())
            .collect::<Vec<_>>()
    };
    let sequences: BTreeSet<_> = (0..32_u64)
        .map(|worker| first_victims(worker << 48))
        .collect();
    assert_eq!(sequences.len(), 32);
}

/// A22, A30: an idle pool neither spins nor polls. Time that passes must not show in anything that
/// a worker counts but the time asleep.
#[test]
fn a22_a30_nothing_runs_when_there_is_nothing_to_do() {
    let pool = pool(4);
    pool.install(|| ());
    // The counters of the workers while this thread was busy for some milliseconds.
    let meanwhile = || {
        let before = pool.counters();
        let busy = (0..10_000_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        std::hint::black_box(busy);
        pool.counters().since(&before).total()
    };
    let at_rest = |done: &WorkerCounters| {
        let WorkerCounters {
            sleeps,
            working_ns,
            searching_ns,
            steals_empty,
            ..
        } = *done;
        (sleeps, working_ns, searching_ns, steals_empty) == (0, 0, 0, 0)
    };
    // They come to rest in a while, and then they stay.
    while !at_rest(&meanwhile()) {}
    for _ in 0..5 {
        let done = meanwhile();
        assert!(at_rest(&done), "{done:?}");
        assert!(done.asleep_ns > 0);
    }
}

/// A23 (a), as far as it holds with a policy that runs whatever is ready: a chain of spawns returns
/// to the main loop between links and does not nest.
#[test]
#[cfg_attr(heist_asan, ignore = "the sanitizer keeps locals away from the stack")]
fn a23_a_chain_of_spawns_does_not_grow_the_stack() {
    let pool = pool(1);
    let (say, heard) = channel();
    fn link(left: usize, say: std::sync::mpsc::Sender<usize>) {
        let marker = 0_u8;
        say.send(&raw const marker as usize)
            .expect("the test listens");
        if left > 0 {
            heist_core::spawn(move || link(left - 1, say));
        }
    }
    pool.spawn(move || link(1000, say));
    let addresses: BTreeSet<usize> = heard.iter().collect();
    let span = addresses.last().expect("links") - addresses.first().expect("links");
    assert!(span < 4096, "the links' frames lie {span} bytes apart");
}

/// A wait counts the children of its own frame, not those of the caller.
#[test]
fn a24_an_inner_wait_does_not_wait_for_the_outer_frames_children() {
    let pool = pool(2);
    let inner_is_done = AtomicBool::new(false);
    pool.scope(|outer| {
        outer.spawn(|_| {
            // Stolen by the other worker; ends only after the inner scope has.
            while !inner_is_done.load(Ordering::Acquire) {
                thread::yield_now();
            }
        });
        heist_core::scope(|inner| inner.spawn(|_| ()));
        inner_is_done.store(true, Ordering::Release);
    });
}

#[test]
fn a25_operations_work_on_a_thread_that_is_no_worker() {
    assert_eq!(heist_core::current_thread_index(), None);
    assert_eq!(heist_core::join(|| 1, || 2), (1, 2));
    let mut value = 0;
    heist_core::scope(|scope| scope.spawn(|_| value = 1));
    assert_eq!(value, 1);
    assert_eq!(heist_core::yield_now(), None);
    assert_eq!(heist_core::submit(|| 5).join(), 5);
}

#[test]
fn a26_a_scope_that_returns_without_waiting_waits() {
    let pool = pool(2);
    let values: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    pool.scope(|scope| {
        for value in 0..100 {
            let values = &values;
            scope.spawn(move |_| values.lock().unwrap().push(value));
        }
    });
    assert_eq!(values.into_inner().unwrap().len(), 100);
}

/// The identity of a worker is its own, whatever processor it runs on.
#[test]
fn a27_a_workers_index_is_stable_and_no_two_workers_share_one() {
    let pool = pool(8);
    for _ in 0..20 {
        let seen = pool.broadcast(|context| {
            let before = heist_core::current_thread_index();
            thread::yield_now(); // perhaps onto another processor
            assert_eq!(heist_core::current_thread_index(), before);
            (context.index(), before, thread::current().id())
        });
        let threads: BTreeSet<_> = seen.iter().map(|(_, _, id)| format!("{id:?}")).collect();
        assert_eq!(threads.len(), 8);
        assert!(seen
            .iter()
            .enumerate()
            .all(|(i, &(index, own, _))| index == i && own == Some(i)));
    }
}

#[test]
fn a28_a_single_worker_never_tries_to_steal() {
    let pool = pool(1);
    fn fib(n: u32) -> u32 {
        if n < 2 {
            return n;
        }
        let (a, b) = heist_core::join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    assert_eq!(pool.install(|| fib(15)), 610);
    let total = pool.counters().total();
    assert_eq!((total.steals, total.steals_failed()), (0, 0));
    assert_eq!(total.pops, total.pushes);
}

#[test]
fn a33_a_panicking_job_costs_no_worker_and_shutdown_joins_them_all() {
    let ended = Arc::new(AtomicUsize::new(0));
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .panic_handler(|_| ())
        .exit_handler({
            let ended = Arc::clone(&ended);
            move |_| {
                ended.fetch_add(1, Ordering::Relaxed);
            }
        })
        .build()
        .expect("a pool");
    for _ in 0..30 {
        pool.spawn(|| panic!("a job"));
    }
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    pool.shutdown();
    assert_eq!(ended.load(Ordering::Relaxed), 3);
}
