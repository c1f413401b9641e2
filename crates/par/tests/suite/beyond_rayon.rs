//! Methods that rayon lacks: weights, order with back-pressure, worker-local values, cancellation.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use heist_core::CancellationToken;
use heist_core::ThreadPoolBuilder;
use heist_par::iter::plumbing::Part;
use heist_par::prelude::*;
use heist_par::WorkerLocal;

use crate::pieces::pool;

/// All items of a part, and of those into which it can be split, in their order.
fn split_everywhere<I: ParallelIterator>(mut part: I) -> Vec<I::Item> {
    if let Some(upper) = part.split() {
        let mut items = split_everywhere(part);
        items.extend(split_everywhere(upper));
        return items;
    }
    let mut items = Vec::new();
    while part.steps() > 0 {
        let _ = part.run(&mut 1, |item| {
            items.push(item);
            ControlFlow::Continue(())
        });
    }
    items
}

#[test]
fn weights_change_who_does_what_and_not_the_result() {
    for len in [0, 1, 2, 3, 100, 3_000] {
        let items: Vec<usize> = (0..len).collect();
        for weight in [
            |_: &&usize| 0,
            |_: &&usize| 1,
            |item: &&usize| **item,
            |_: &&usize| usize::MAX,
        ] {
            let weighted = items.par_iter().with_weight(weight);
            assert_eq!(weighted.len(), len);
            assert!(split_everywhere(weighted.clone()).into_iter().eq(&items));
            let collected: Vec<_> = pool().install(|| weighted.collect());
            assert!(collected.into_iter().eq(&items));
        }
    }
}

#[test]
fn the_first_split_is_where_half_of_the_weight_is() {
    let weights = [1_usize, 1, 1, 1, 1, 1, 94, 100];
    let mut lower = weights.par_iter().with_weight(|weight| **weight);
    let upper = lower.split().expect("there are eight items");
    assert_eq!((lower.len(), upper.len()), (7, 1));
    let mut lower = [90_usize, 1, 1, 1]
        .par_iter()
        .with_weight(|weight| **weight);
    assert_eq!(lower.split().map(|upper| upper.len()), Some(3));
}

#[test]
fn an_ordered_consumer_sees_what_a_sequential_loop_sees() {
    for len in [0, 1, 2, 3, 100, 100_000] {
        let mut seen = Vec::new();
        let numbers = (0..len).into_par_iter();
        pool().install(|| {
            let odd = numbers.filter(|n| n % 2 == 1).map(|n| n * 3);
            odd.for_each_ordered(|n| seen.push(n));
        });
        assert!(seen
            .into_iter()
            .eq((0..len).filter(|n| n % 2 == 1).map(|n| n * 3)));
    }
}

/// Parts of a bridge without order can be split for ever.
#[test]
fn an_ordered_consumer_of_a_bridge_without_order_gets_each_item_once() {
    let mut seen = Vec::new();
    pool().install(|| {
        let numbers = (0..50_000).par_bridge().map_init(|| (), |(), n: u32| n);
        numbers.for_each_ordered(|n| seen.push(n));
    });
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..50_000));
}

/// While the consumer stands still the workers stop: they are two blocks ahead at most.
#[test]
fn an_ordered_consumer_that_is_slow_holds_the_workers_back() {
    let (made, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let most_ahead = AtomicUsize::new(0);
    pool().install(|| {
        let numbers = (0..500_000_u32).into_par_iter().map(|n| {
            let ahead = made.fetch_add(1, Ordering::Relaxed) - taken.load(Ordering::Relaxed);
            most_ahead.fetch_max(ahead, Ordering::Relaxed);
            n
        });
        numbers.for_each_ordered(|_: u32| {
            taken.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(taken.into_inner(), 500_000);
    assert!(most_ahead.into_inner() <= 2 * 16_384);
}

#[test]
fn a_panic_of_an_ordered_consumer_reaches_the_caller() {
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool().install(|| {
            let numbers = (0..10_000).into_par_iter();
            numbers.for_each_ordered(|n| assert_ne!(n, 5_000));
        });
    }));
    assert!(result.is_err());
}

#[test]
fn a_worker_local_value_is_nobody_elses_while_it_is_used() {
    let made = AtomicUsize::new(0);
    let values = WorkerLocal::new(|| made.fetch_add(1, Ordering::Relaxed));
    let in_use = Mutex::new(HashSet::new());
    pool().install(|| {
        (0..200).into_par_iter().for_each(|_| {
            values.with(|&mut value| {
                assert!(in_use.lock().unwrap().insert(value));
                // The worker runs other items while it waits in here.
                (0..50).into_par_iter().for_each(|n| {
                    std::hint::black_box(n);
                });
                assert!(in_use.lock().unwrap().remove(&value));
            });
        });
    });
    let left: HashSet<_> = values.into_iter().collect();
    assert_eq!(left.len(), made.into_inner(), "each is given back");
}

#[test]
fn two_workers_have_two_values() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("a pool");
    let both = Barrier::new(2);
    let addresses = pool.install(|| {
        let values = WorkerLocal::new(|| 0_u8);
        let address = || {
            values.with(|value| {
                both.wait();
                std::ptr::from_mut(value) as usize
            })
        };
        heist_core::join(address, address)
    });
    assert_ne!(addresses.0, addresses.1);
}

#[test]
fn a_value_whose_user_panics_is_dropped_and_replaced() {
    let made = AtomicUsize::new(0);
    let values = WorkerLocal::new(|| made.fetch_add(1, Ordering::Relaxed));
    let panicked = catch_unwind(AssertUnwindSafe(|| values.with(|_| panic!("on purpose"))));
    assert!(panicked.is_err());
    assert_eq!(values.with(|&mut value| value), 1);
    assert!(values.into_iter().eq([1]));
}

#[test]
fn nobody_begins_an_item_after_the_one_that_cancels() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    let token = CancellationToken::new();
    let (seen, stop) = (AtomicUsize::new(0), 1_000);
    pool.install(|| {
        (0..1_000_000_usize)
            .into_par_iter()
            .with_cancellation(&token)
            .for_each(|n| {
                seen.fetch_add(1, Ordering::Relaxed);
                if n == stop {
                    token.cancel();
                }
            });
    });
    assert_eq!(
        seen.into_inner(),
        stop + 1,
        "one worker goes in ascending order"
    );
}

#[test]
fn a_loop_under_a_cancelled_token_does_nothing() {
    let token = CancellationToken::new();
    token.clone().cancel();
    let none: Vec<i32> = vec![1, 2, 3]
        .into_par_iter()
        .with_cancellation(&token)
        .map(|n| n)
        .collect();
    assert!(none.is_empty());
}

#[test]
fn a_loop_tells_whether_the_token_kept_items_back() {
    const LEN: usize = 10_000;
    let run = |cancel_at: usize| {
        let (token, seen) = (CancellationToken::new(), AtomicUsize::new(0));
        let numbers = (0..LEN).into_par_iter().with_cancellation(&token);
        let completion = numbers.completion();
        pool().install(|| {
            numbers.for_each(|n| {
                seen.fetch_add(1, Ordering::Relaxed);
                if n == cancel_at {
                    token.cancel();
                }
            });
        });
        token.cancel();
        assert_eq!(completion.is_complete(), seen.into_inner() == LEN);
        completion.is_complete()
    };
    for cancel_at in [0, 1, LEN / 2, LEN - 2, LEN - 1] {
        run(cancel_at);
    }
    assert!(run(LEN), "it was cancelled behind the loop");
}

#[test]
fn no_loop_is_cut_that_has_no_items_or_whose_consumer_wants_no_more() {
    let token = CancellationToken::new();
    let found = (0..1_000_u32).into_par_iter().with_cancellation(&token);
    let (clone, completion) = (found.clone(), found.completion());
    assert!(found.any(|n| n == 0) && completion.is_complete());
    token.cancel();
    let none = (0..0_u32).into_par_iter().with_cancellation(&token);
    let of_none = none.completion();
    assert!(none.count() == 0 && of_none.is_complete());
    assert!(clone.count() == 0 && !completion.is_complete());
}

/// The standard library's sort of all items, on one worker, saw no token.
#[test]
fn a_cancelled_sort_ends_after_some_comparisons_and_keeps_the_items() {
    const LEN: usize = if cfg!(miri) { 4_000 } else { 300_000 };
    type Sort = fn(&mut [usize], &(dyn Fn() + Sync));
    let sorts: [(&str, Sort); 2] = [
        ("stable", |items, compared| {
            items.par_sort_by(|a, b| {
                compared();
                a.cmp(b)
            });
        }),
        ("unstable", |items, compared| {
            items.par_sort_unstable_by(|a, b| {
                compared();
                a.cmp(b)
            });
        }),
    ];
    let shuffled: Vec<usize> = (0..LEN).map(|n| n * 7_919 % LEN).collect();
    for (name, sort) in sorts {
        for workers in [1, 2] {
            let builder = ThreadPoolBuilder::new().num_threads(workers);
            let pool = builder.build().expect("a pool");
            let run = |cancel_at: usize| {
                let (mut items, token) = (shuffled.clone(), CancellationToken::new());
                let comparisons = AtomicUsize::new(0);
                let compared = || {
                    if comparisons.fetch_add(1, Ordering::Relaxed) == cancel_at {
                        token.cancel();
                    }
                };
                let sort = || sort(&mut items, &compared);
                let ended = pool.install(|| heist_core::with_cancellation(&token, sort));
                (items, ended, comparisons.into_inner())
            };
            let (sorted, ended, all) = run(usize::MAX);
            assert!(ended.is_ok() && sorted.iter().copied().eq(0..LEN), "{name}");
            for share in [2, 5] {
                let (mut items, ended, comparisons) = run(all / 10 * share);
                assert!(ended.is_err(), "{name} with {workers}");
                let late = comparisons - all / 10 * share;
                assert!(late <= all / 4, "{late} of {all}, {name} with {workers}");
                items.sort_unstable();
                assert!(items == sorted, "{name} with {workers} loses items");
            }
        }
    }
}

#[test]
fn a_scan_gives_what_a_sequential_scan_gives() {
    for len in [0, 1, 2, 1_000, 100_000] {
        // Not commutative, so that the order shows.
        let op = |a: &(u64, u64), b: &(u64, u64)| {
            (
                a.0.wrapping_mul(b.0),
                a.1.wrapping_mul(b.0).wrapping_add(b.1),
            )
        };
        let items = (0..len).map(|n| (2 * n + 1, n));
        let mut sum = None;
        let expected: Vec<_> = items
            .clone()
            .map(|item| *sum.insert(sum.map_or(item, |sum| op(&sum, &item))))
            .collect();
        let vec: Vec<_> = items.collect();
        let (inclusive, exclusive): (Vec<_>, Vec<_>) = pool().install(|| {
            let inclusive = vec.par_iter().copied().filter(|_| true).scan_inclusive(op);
            let exclusive = vec.par_iter().copied().scan_exclusive((1, 0), op);
            (inclusive.collect(), exclusive.collect())
        });
        assert_eq!(inclusive, expected);
        let first = std::iter::once((1, 0)).take(vec.len().min(1));
        let before = expected.iter().copied().take(vec.len().saturating_sub(1));
        assert!(exclusive.into_iter().eq(first.chain(before)));
    }
}

/// Of rayon's types its own tests see to that.
#[test]
fn clones_give_the_same_and_debug_shows_no_closures() {
    fn check<I: ParallelIterator<Item: PartialEq> + Clone + std::fmt::Debug>(iter: I) {
        assert!(!format!("{iter:?}").contains("closure"));
        let clone = split_everywhere(iter.clone());
        assert!(clone == split_everywhere(iter));
    }
    let numbers = || (0..100_u32).into_par_iter().map(|n| n / 2);
    check(numbers().with_weight(|n| *n as usize));
    check(numbers().with_cancellation(&CancellationToken::new()));
    check(numbers().with_granularity(heist_par::Granularity::Static(3)));
    check(numbers().deterministic());
    check(numbers().scan_inclusive(|a, b| a + b));
    check(heist_par::sub_ranges(3..50));
    check(heist_par::tiles([0..5, 0..7]));
    check((0..50).par_bridge_ordered());
}
