//! `parallel_for` calls its body with sub-ranges that together are the range.

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_par::parallel_for;
use proptest::prelude::*;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, OnceLock};

fn pool() -> &'static ThreadPool {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        ThreadPoolBuilder::new()
            .num_threads(4)
            .build()
            .expect("a pool")
    })
}

proptest! {
    #[test]
    fn each_index_is_visited_once_whatever_the_iterations_cost(
        start in 0..1000_usize,
        len in 0..3000_usize,
        expensive in prop::collection::vec(0..3000_usize, 0..20),
    ) {
        let visits: Vec<AtomicU8> = (0..len).map(|_| AtomicU8::new(0)).collect();
        pool().install(|| parallel_for(start..start + len, |part| {
            assert!(!part.is_empty());
            for i in part {
                visits[i - start].fetch_add(1, Ordering::Relaxed);
                if expensive.contains(&(i - start)) {
                    std::hint::black_box((0..20_000).fold(0_u64, |a, b| a ^ std::hint::black_box(b)));
                }
            }
        }));
        prop_assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn an_empty_range_calls_nothing_and_builds_no_pool() {
    parallel_for(5..5, |_| panic!("there is nothing to do"));
    #[expect(clippy::reversed_empty_ranges, reason = "what a caller may compute")]
    parallel_for(7..3, |_| panic!("there is nothing to do"));
}

#[test]
fn ranges_at_the_end_of_the_index_space_do_not_overflow() {
    let sum = AtomicUsize::new(0);
    parallel_for(usize::MAX - 10..usize::MAX, |part| {
        sum.fetch_add(part.len(), Ordering::Relaxed);
    });
    assert_eq!(sum.into_inner(), 10);
}

/// Two iterations that wait for each other end only if each runs on its own:
/// the loop does not glue expensive iterations into one piece.
#[test]
fn expensive_iterations_at_one_end_are_spread_over_the_workers() {
    let together = Barrier::new(2);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("a pool");
    pool.install(|| {
        parallel_for(0..2, |part| {
            for _ in part {
                together.wait();
            }
        });
    });
}

#[test]
fn one_worker_visits_in_ascending_order() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    let seen = Mutex::new(Vec::new());
    pool.install(|| parallel_for(0..10_000, |part| seen.lock().unwrap().extend(part)));
    assert!(seen.into_inner().unwrap().into_iter().eq(0..10_000));
}

#[test]
fn loops_nest() {
    let hits = AtomicUsize::new(0);
    pool().install(|| {
        parallel_for(0..50, |outer| {
            for _ in outer {
                parallel_for(0..50, |inner| {
                    hits.fetch_add(inner.len(), Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(hits.into_inner(), 2500);
}

#[test]
fn a_panic_in_the_body_reaches_the_caller_and_the_pool_lives_on() {
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool().install(|| {
            parallel_for(0..1000, |part| {
                if part.contains(&500) {
                    panic_any("five hundred");
                }
            });
        });
    }));
    let payload = result.expect_err("the body panics");
    assert_eq!(payload.downcast_ref(), Some(&"five hundred"));
    assert_eq!(pool().join(|| 1, || 2), (1, 2));
}
