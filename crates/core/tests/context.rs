//! Joins with a context: among themselves, among everything else, and on a deque that is full.
//! `oracle.rs` has random programs of them.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;

use heist_core::{in_place_scope, join, scope, spawn, with_context};
use heist_core::{JoinContext, ThreadPool, ThreadPoolBuilder};
use send_wrapper::SendWrapper;

fn pool(workers: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    pool.expect("a pool")
}

fn fib(mut cx: JoinContext<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(move |cx| fib(cx, n - 1), move |cx| fib(cx, n - 2));
    a + b
}

#[test]
fn a_recursion_gives_what_it_gives_serially_with_any_number_of_workers() {
    for workers in [1, 2, 3, 8] {
        let pool = pool(workers);
        for _ in 0..20 {
            assert_eq!(pool.install(|| with_context(|cx| fib(cx, 18))), 2584);
        }
    }
    assert_eq!(with_context(|cx| fib(cx, 18)), 2584, "a caller, or moved");
}

#[test]
fn jobs_that_the_first_closure_left_run_before_the_second_on_a_single_worker() {
    let order = Mutex::new(Vec::new());
    let say = |what| order.lock().unwrap().push(what);
    pool(1).install(|| {
        scope(|scope| {
            with_context(|mut cx| {
                cx.join(
                    |mut cx| {
                        scope.spawn(|_| say("spawned"));
                        cx.join(|_| say("inner first"), |_| say("inner second"));
                    },
                    |mut cx| {
                        say("second");
                        cx.join(|_| say("first of second"), |_| ());
                    },
                );
            });
        });
    });
    let expected = [
        "inner first",
        "inner second",
        "spawned",
        "second",
        "first of second",
    ];
    assert_eq!(order.into_inner().unwrap(), expected);
}

#[test]
fn jobs_that_are_left_behind_by_all_closures_outlive_the_context() {
    static RAN: AtomicU32 = AtomicU32::new(0);
    fn spread(mut cx: JoinContext<'_>, depth: u32) {
        spawn(|| {
            RAN.fetch_add(1, Ordering::Relaxed);
        });
        if depth > 0 {
            cx.join(
                move |cx| spread(cx, depth - 1),
                move |cx| spread(cx, depth - 1),
            );
        }
        spawn(|| {
            RAN.fetch_add(1, Ordering::Relaxed);
        });
    }
    for workers in [1, 3] {
        let pool = pool(workers);
        pool.install(|| with_context(|cx| spread(cx, 8)));
        pool.shutdown();
    }
    assert_eq!(RAN.load(Ordering::Relaxed), 2 * 2 * 511);
}

/// Everything that pushes, pops or waits, in the middle of a recursion.
#[test]
fn other_operations_may_come_between() {
    fn count(mut cx: JoinContext<'_>, depth: u32, other: &ThreadPool) -> u32 {
        if depth == 0 {
            return 1;
        }
        let (below, kind) = (depth - 1, depth % 6);
        let here = |cx: JoinContext<'_>| match kind {
            0 => with_context(|cx| count(cx, below, other)),
            1 => join(|| with_context(|cx| count(cx, below, other)), || ()).0,
            2 => other.install(|| with_context(|cx| count(cx, below, other))),
            3 => {
                let mut sums = [0; 3];
                let (first, rest) = sums.split_first_mut().unwrap();
                in_place_scope(|scope| {
                    for sum in rest {
                        scope.spawn(move |_| *sum = with_context(|cx| fib(cx, 5)) as u32);
                    }
                    *first = count(cx, below, other);
                });
                sums[0] + (sums[1] - 5) + (sums[2] - 5)
            }
            4 => {
                heist_core::yield_local();
                heist_core::yield_now();
                count(cx, below, other)
            }
            _ => {
                assert!(heist_core::current_thread_index().is_some());
                let lost = catch_unwind(AssertUnwindSafe(|| {
                    with_context(|mut cx| cx.join(|_| panic!("first"), |cx| fib(cx, 6)))
                }));
                assert!(lost.is_err());
                count(cx, below, other)
            }
        };
        let (a, b) = cx.join(here, move |cx| count(cx, below, other));
        a + b
    }
    for workers in [1, 2, 4] {
        let (pool, other) = (pool(workers), pool(2));
        for _ in 0..10 {
            let leaves = pool.install(|| with_context(|cx| count(cx, 9, &other)));
            assert_eq!(leaves, 512);
        }
    }
}

#[test]
fn both_closures_end_before_a_panic_goes_on() {
    let pool = pool(2);
    for bomb in 0..64 {
        let ran = AtomicU32::new(0);
        fn tree(mut cx: JoinContext<'_>, from: u32, to: u32, bomb: u32, ran: &AtomicU32) {
            if to - from == 1 {
                ran.fetch_add(1, Ordering::Relaxed);
                assert_ne!(from, bomb, "a bomb");
                return;
            }
            let middle = from.midpoint(to);
            cx.join(
                |cx| tree(cx, from, middle, bomb, ran),
                |cx| tree(cx, middle, to, bomb, ran),
            );
        }
        let run = || pool.install(|| with_context(|cx| tree(cx, 0, 64, bomb, &ran)));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(ran.load(Ordering::Relaxed), 64);
        assert_eq!(pool.install(|| with_context(|cx| fib(cx, 12))), 144);
    }
}

#[test]
fn closures_and_results_of_any_size_come_back() {
    fn sum(mut cx: JoinContext<'_>, depth: usize, cargo: [u64; 40]) -> [u64; 40] {
        if depth == 0 {
            return cargo;
        }
        let (a, b) = cx.join(
            move |cx| sum(cx, depth - 1, cargo),
            move |cx| sum(cx, depth - 1, cargo),
        );
        std::array::from_fn(|i| a[i] + b[i])
    }
    let cargo = std::array::from_fn(|i| i as u64);
    let expected: [u64; 40] = std::array::from_fn(|i| 1024 * i as u64);
    let pool = pool(3);
    assert_eq!(
        pool.install(|| with_context(|cx| sum(cx, 10, cargo))),
        expected
    );
}

/// Contexts that were taken along into closures that must be `Send`.
type Smuggled<'call> = Vec<SendWrapper<JoinContext<'call>>>;

fn and<'call>(mut contexts: Smuggled<'call>, cx: JoinContext<'call>) -> Smuggled<'call> {
    contexts.push(SendWrapper::new(cx));
    contexts
}

/// Joins, with any of these contexts and without, in an order that the seed says.
fn mingle(mut contexts: Smuggled<'_>, seed: u64, depth: u32) -> u64 {
    if depth == 0 {
        return seed >> 32;
    }
    let [kind, index, left, right] = [1, 2, 3, 4].map(|n| mixed(seed.wrapping_add(n)));
    let depth = depth - 1;
    let (a, b) = match kind % 5 {
        0 => with_context(move |cx| (mingle(and(contexts, cx), left, depth), right)),
        1 => join(
            move || mingle(contexts, left, depth),
            || mingle(vec![], right, depth),
        ),
        2 => scope(|scope| {
            let spawned = Mutex::new(0);
            let result = in_place_scope(|inner| {
                inner.spawn(|_| *spawned.lock().unwrap() = mingle(vec![], right, depth));
                mingle(contexts, left, depth)
            });
            scope.spawn(|_| ());
            (result, spawned.into_inner().unwrap())
        }),
        _ if contexts.is_empty() => (mingle(contexts, left, depth), right),
        _ => {
            let mut chosen = contexts.swap_remove(index as usize % contexts.len());
            let cargo = [right; 5];
            chosen.join(
                move |cx| mingle(and(contexts, cx), left, depth),
                move |cx| {
                    assert_eq!(cargo, [right; 5]);
                    mingle(and(vec![], cx), right, depth)
                },
            )
        }
    };
    mixed(a) ^ b
}

/// The same with nothing in parallel.
fn mingled(contexts: usize, seed: u64, depth: u32) -> u64 {
    if depth == 0 {
        return seed >> 32;
    }
    let [kind, _, left, right] = [1, 2, 3, 4].map(|n| mixed(seed.wrapping_add(n)));
    let depth = depth - 1;
    let (a, b) = match kind % 5 {
        0 => (mingled(contexts + 1, left, depth), right),
        1 | 2 => (mingled(contexts, left, depth), mingled(0, right, depth)),
        _ if contexts == 0 => (mingled(0, left, depth), right),
        _ => (mingled(contexts, left, depth), mingled(1, right, depth)),
    };
    mixed(a) ^ b
}

fn mixed(n: u64) -> u64 {
    let z = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
}

/// Types cannot exclude it: a wrapper that is `Send` and checks its thread takes an outer context
/// to where an inner one is in use.
#[test]
fn contexts_that_are_used_among_each_other_take_no_job_from_each_other() {
    for workers in [1, 2, 5] {
        let pool = pool(workers);
        for seed in 0..300 {
            let result = pool.install(|| mingle(vec![], mixed(seed), 14));
            assert_eq!(result, mingled(0, mixed(seed), 14), "seed {seed}");
        }
    }
}
