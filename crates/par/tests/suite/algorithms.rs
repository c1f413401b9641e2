//! Algorithms on slices do what the standard library's do, whatever the items, the comparison and
//! the number of workers.

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::OnceLock;

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_par::algorithm::*;
use heist_par::prelude::*;
use proptest::prelude::{any, prop, proptest, ProptestConfig, Strategy};

const LENS: [usize; 8] = [0, 1, 2, 3, 100, 8191, 16_385, 50_000];

fn pools() -> &'static [ThreadPool] {
    static POOLS: OnceLock<Vec<ThreadPool>> = OnceLock::new();
    POOLS.get_or_init(|| {
        let pool = |workers| ThreadPoolBuilder::new().num_threads(workers).build();
        [1, 2, 4, 16]
            .map(|workers| pool(workers).expect("a pool"))
            .into()
    })
}

fn in_each_pool(op: impl Fn() + Sync) {
    for pool in pools() {
        pool.install(&op);
    }
}

/// A number that looks random.
fn mix(n: usize) -> u64 {
    let z = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (z ^ (z >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 16
}

/// Numbers in many patterns, so many of them.
fn patterns(len: usize) -> Vec<Vec<u64>> {
    let make = |number: &dyn Fn(usize) -> u64| (0..len).map(number).collect::<Vec<_>>();
    let mut patterns = vec![
        make(&mix),
        make(&|n| n as u64),
        make(&|n| (len - n) as u64),
        make(&|n| n as u64 / 3),
        make(&|n| (len - n) as u64 / 3),
        make(&|n| mix(n) % 16),
        make(&|n| mix(n) % 2),
        make(&|n| {
            if mix(n) % 50 == 0 {
                mix(n + 1)
            } else {
                1 << 40
            }
        }),
        make(&|n| n as u64 % 1000),
        make(&|n| (n % (len / 10 + 1)) as u64),
        make(&|n| n.min(len - n) as u64),
        make(&|n| n.max(len - n) as u64),
        make(&|_| 7),
        make(&|n| if n + 3 < len { n as u64 } else { mix(n) % 1000 }),
    ];
    // Sorted but for a pair where the parts of different workers meet.
    let mut pair = make(&|n| n as u64);
    if len > 1 {
        pair.swap(len / 2, len / 2 - 1);
    }
    patterns.push(pair);
    patterns
}

#[test]
fn sorts_give_what_the_standard_library_gives() {
    for len in LENS {
        for pattern in patterns(len) {
            let mut sorted = pattern.clone();
            sorted.sort();
            let reversed: Vec<_> = sorted.iter().copied().rev().collect();
            in_each_pool(|| {
                let check = |sort: &dyn Fn(&mut [u64]), expected: &[u64]| {
                    let mut items = pattern.clone();
                    sort(&mut items);
                    assert!(
                        items == expected,
                        "{len} items like {:?}",
                        &pattern[..len.min(20)]
                    );
                };
                check(&|items| items.par_sort(), &sorted);
                check(&|items| items.par_sort_by(|a, b| b.cmp(a)), &reversed);
                check(&|items| items.par_sort_by_key(|item| !item), &reversed);
                check(&|items| items.par_sort_unstable(), &sorted);
                check(
                    &|items| items.par_sort_unstable_by(|a, b| b.cmp(a)),
                    &reversed,
                );
                check(
                    &|items| items.par_sort_unstable_by_key(|item| !item),
                    &reversed,
                );
                check(
                    &|items| items.par_sort_by_cached_key(|item| !item),
                    &reversed,
                );
            });
        }
    }
}

#[test]
fn stable_sorts_keep_the_order_of_equal_items() {
    for len in LENS {
        for pattern in patterns(len) {
            let indexed: Vec<_> = pattern.iter().map(|n| n % 1000).zip(0..len).collect();
            let mut sorted = indexed.clone();
            sorted.sort();
            in_each_pool(|| {
                let check = |sort: fn(&mut [(u64, usize)])| {
                    let mut items = indexed.clone();
                    sort(&mut items);
                    assert!(
                        items == sorted,
                        "{len} items like {:?}",
                        &pattern[..len.min(20)]
                    );
                };
                check(|items| items.par_sort_by(|a, b| a.0.cmp(&b.0)));
                check(|items| items.par_sort_by_key(|item| item.0));
                check(|items| items.par_sort_by_cached_key(|item| item.0));
            });
        }
    }
}

#[test]
fn items_without_size_large_ones_and_those_with_memory_of_their_own_are_sorted() {
    in_each_pool(|| {
        let mut nothings = vec![(); 100_000];
        nothings.par_sort();
        nothings.par_sort_unstable();
        nothings.par_sort_by_cached_key(|()| 1);
        assert_eq!(par_merge(nothings, vec![(); 5]).len(), 100_005);

        let large: Vec<_> = (0..20_000).map(|n| [mix(n) % 5000; 40]).collect();
        let mut sorted = large.clone();
        sorted.sort();
        let (mut stable, mut unstable) = (large.clone(), large);
        stable.par_sort();
        unstable.par_sort_unstable();
        assert!(stable == sorted && unstable == sorted);

        let words: Vec<_> = (0..20_000).map(|n| format!("{}", mix(n) % 5000)).collect();
        let mut sorted = words.clone();
        sorted.sort();
        let (mut stable, mut unstable, mut cached) = (words.clone(), words.clone(), words);
        stable.par_sort();
        unstable.par_sort_unstable();
        cached.par_sort_by_cached_key(String::clone);
        assert!(stable == sorted && unstable == sorted && cached == sorted);
    });
}

#[test]
fn a_long_run_that_is_merged_alone_holds_each_item_once_after_a_panic() {
    const LEN: usize = 20_000;
    for limit in (0..2 * LEN + 100).step_by(397) {
        let item = |n: usize| Box::new((n.min(LEN - n) / 2, n));
        let mut items: Vec<_> = (0..LEN).map(item).collect();
        let comparisons = AtomicUsize::new(0);
        let panics = catch_unwind(AssertUnwindSafe(|| {
            pools()[0].install(|| {
                items.par_sort_by(|a, b| {
                    if comparisons.fetch_add(1, Relaxed) == limit {
                        panic_any("enough");
                    }
                    a.0.cmp(&b.0)
                });
            });
        }))
        .is_err();
        assert!(panics || items.is_sorted(), "equal items keep their order");
        items.sort_by_key(|item| item.1);
        assert!(items.into_iter().eq((0..LEN).map(item)));
    }
}

/// An item that counts how often it is dropped, and its comparisons in itself.
struct Counted<'a> {
    key: u64,
    comparisons: Cell<usize>,
    drops: &'a AtomicUsize,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        assert_eq!(
            self.drops.fetch_add(1, Relaxed),
            0,
            "an item is dropped twice"
        );
    }
}

/// Calls `op` with items and a comparison that panics sooner or later, in each pool, and checks
/// that each item is there once afterwards, and is dropped once.
fn panicking_everywhere(
    op: impl Fn(&mut Vec<Counted<'_>>, &(dyn Fn(&Counted<'_>, &Counted<'_>) -> Ordering + Sync)) + Sync,
) {
    const LEN: usize = 18_000;
    for pool in pools() {
        let mut limit = 1;
        loop {
            let drops: Vec<_> = (0..LEN).map(|_| AtomicUsize::new(0)).collect();
            let items = drops.iter().zip((0..).map(mix));
            let mut items: Vec<_> = items
                .map(|(drops, key)| Counted {
                    key,
                    comparisons: Cell::new(0),
                    drops,
                })
                .collect();
            let comparisons = AtomicUsize::new(0);
            let compare = |a: &Counted<'_>, b: &Counted<'_>| {
                // Both are this worker's alone: or else some are lost.
                a.comparisons.set(a.comparisons.get() + 1);
                b.comparisons.set(b.comparisons.get() + 1);
                if comparisons.fetch_add(1, Relaxed) == limit {
                    panic_any("enough");
                }
                a.key.cmp(&b.key)
            };
            let panics = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| op(&mut items, &compare));
            }))
            .is_err();
            assert!(drops.iter().all(|drops| drops.load(Relaxed) == 0));
            let seen: usize = items.iter().map(|item| item.comparisons.get()).sum();
            let compared = comparisons.load(Relaxed);
            assert_eq!((items.len(), seen), (LEN, 2 * compared));
            drop(items);
            assert!(drops.iter().all(|drops| drops.load(Relaxed) == 1));
            if !panics {
                break;
            }
            limit += limit / 8 + 997;
        }
    }
}

#[test]
fn each_item_is_there_once_after_a_comparison_has_panicked() {
    panicking_everywhere(|items, compare| items.par_sort_by(compare));
    panicking_everywhere(|items, compare| items.par_sort_unstable_by(compare));
    panicking_everywhere(|items, compare| {
        par_partition(items, |item| {
            compare(item, item).is_eq() && item.key % 3 == 0
        });
    });
}

#[test]
fn a_merge_drops_each_item_once_if_a_comparison_panics() {
    for pool in pools() {
        for limit in (0..60_000).step_by(9999) {
            let drops: Vec<_> = (0..40_000).map(|_| AtomicUsize::new(0)).collect();
            let items = |range: std::ops::Range<usize>| -> Vec<_> {
                range
                    .map(|n| Counted {
                        key: n as u64 % 20_000,
                        comparisons: Cell::new(0),
                        drops: &drops[n],
                    })
                    .collect()
            };
            let comparisons = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| {
                    par_merge_by(items(0..20_000), items(20_000..40_000), |a, b| {
                        assert_ne!(comparisons.fetch_add(1, Relaxed), limit);
                        a.key.cmp(&b.key)
                    })
                })
            }));
            assert_eq!(result.is_err(), limit < comparisons.load(Relaxed));
            drop(result);
            assert!(drops.iter().all(|drops| drops.load(Relaxed) == 1));
        }
    }
}

/// An answer that looks random.
fn any_ordering(n: usize) -> Ordering {
    [Ordering::Less, Ordering::Equal, Ordering::Greater][mix(n) as usize % 3]
}

/// Calls `op` with so many items, and checks that it has lost and doubled none.
fn keeps_all_items(len: usize, op: impl FnOnce(&mut Vec<String>)) {
    let mut items: Vec<_> = (0..len).map(|n| n.to_string()).collect();
    // It may panic, as that of the standard library may.
    let _ = catch_unwind(AssertUnwindSafe(|| op(&mut items)));
    let mut numbers: Vec<usize> = items.iter().map(|item| item.parse().unwrap()).collect();
    numbers.sort();
    assert!(numbers.into_iter().eq(0..len));
}

#[test]
fn inconsistent_comparisons_lose_and_double_nothing() {
    const LEN: usize = 18_000;
    let mostly_less = |n| {
        if mix(n) % 100 == 0 {
            Ordering::Greater
        } else {
            Ordering::Less
        }
    };
    let answers: [&(dyn Fn(usize) -> Ordering + Sync); 4] = [
        &any_ordering,
        &|_| Ordering::Less,
        &|_| Ordering::Greater,
        &mostly_less,
    ];
    for answer in answers {
        in_each_pool(|| {
            let calls = AtomicUsize::new(0);
            let compare = |_: &String, _: &String| answer(calls.fetch_add(1, Relaxed));
            keeps_all_items(LEN, |items| items.par_sort_by(compare));
            keeps_all_items(LEN, |items| items.par_sort_unstable_by(compare));
            keeps_all_items(LEN, |items| {
                let upper = items.split_off(LEN / 3);
                *items = par_merge_by(std::mem::take(items), upper, compare);
            });
        });
    }
}

#[test]
fn a_selection_by_inconsistent_comparisons_loses_and_doubles_nothing() {
    in_each_pool(|| {
        let calls = AtomicUsize::new(0);
        keeps_all_items(40_000, |items| {
            par_select_nth_unstable_by(items, 13_000, |_, _| {
                any_ordering(calls.fetch_add(1, Relaxed))
            });
        });
    });
}

#[test]
fn a_merge_is_stable_and_cut_anywhere() {
    for (left_len, right_len) in [
        (0, 0),
        (0, 5),
        (5, 0),
        (1, 20_000),
        (20_000, 1),
        (30_000, 50_000),
    ] {
        for values in [1, 3, 1000, 1 << 30] {
            let run = |start: usize, len: usize| {
                let mut run: Vec<_> = (start..start + len).map(|n| (mix(n) % values, n)).collect();
                run.sort();
                run
            };
            let (left, right) = (run(0, left_len), run(left_len, right_len));
            let mut expected = [&left[..], &right[..]].concat();
            expected.sort();
            in_each_pool(|| {
                let merged = par_merge_by(left.clone(), right.clone(), |a, b| a.0.cmp(&b.0));
                assert!(merged == expected);
            });
        }
    }
}

#[test]
fn a_partition_puts_what_was_asked_for_first() {
    for len in LENS {
        for pattern in patterns(len) {
            let mut sorted = pattern.clone();
            sorted.sort();
            for limit in [0, 8, len as u64 / 3] {
                let expected = pattern.iter().filter(|&&n| n < limit).count();
                in_each_pool(|| {
                    let mut items = pattern.clone();
                    assert_eq!(par_partition(&mut items, |&n| n < limit), expected);
                    assert!(items[..expected].iter().all(|&n| n < limit));
                    items.sort();
                    assert!(items == sorted);
                });
            }
        }
    }
}

#[test]
fn a_selected_item_is_where_sorting_would_put_it() {
    for len in LENS {
        for pattern in patterns(len) {
            let mut sorted = pattern.clone();
            sorted.sort();
            for index in [
                0,
                1,
                len / 5,
                len / 2,
                len.saturating_sub(2),
                len.saturating_sub(1),
            ] {
                if index >= len {
                    continue;
                }
                in_each_pool(|| {
                    let mut items = pattern.clone();
                    let (before, &mut item, behind) = par_select_nth_unstable(&mut items, index);
                    assert_eq!((before.len(), item), (index, sorted[index]));
                    assert!(before.iter().all(|&other| other <= item));
                    assert!(behind.iter().all(|&other| other >= item));
                    items.sort();
                    assert!(items == sorted);
                });
            }
        }
    }
}

#[test]
#[should_panic(expected = "the item at index 3 of 3 items was asked for")]
fn an_index_behind_the_items_cannot_be_selected() {
    par_select_nth_unstable(&mut [1, 2, 3], 3);
}

#[test]
fn scans_combine_in_order() {
    // Affine maps: associative, and not commutative.
    let then = |a: &(u64, u64), b: &(u64, u64)| {
        (
            a.0.wrapping_mul(b.0),
            a.1.wrapping_mul(b.0).wrapping_add(b.1),
        )
    };
    for len in LENS {
        let items: Vec<_> = (0..len).map(|n| (mix(n) | 1, mix(n + 1))).collect();
        let mut sum = (3, 4);
        let mut exclusive = vec![];
        for item in &items {
            exclusive.push(sum);
            sum = then(&sum, item);
        }
        let mut inclusive = items.clone();
        for i in 1..len {
            inclusive[i] = then(&inclusive[i - 1], &inclusive[i]);
        }
        in_each_pool(|| {
            let mut scanned = items.clone();
            par_inclusive_scan(&mut scanned, then);
            assert!(scanned == inclusive);
            let mut scanned = items.clone();
            assert_eq!(par_exclusive_scan(&mut scanned, (3, 4), then), sum);
            assert!(scanned == exclusive);
        });
    }
}

#[test]
fn a_histogram_counts_each_item_once() {
    for len in LENS {
        let items: Vec<_> = (0..len).map(mix).collect();
        let mut counts = vec![0; 256];
        for item in &items {
            counts[*item as usize % 256] += 1;
        }
        in_each_pool(|| assert_eq!(par_histogram(&items, 256, |&n| n as usize % 256), counts));
    }
}

#[test]
#[should_panic(expected = "an item belongs to bucket 3, but there are 3")]
fn a_histogram_refuses_a_bucket_that_is_not_there() {
    let _ = par_histogram(&[0, 1, 3], 3, |&n| n);
}

#[test]
fn slices_are_filled_and_copied_whole() {
    for len in LENS {
        let source: Vec<_> = (0..len).map(mix).collect();
        let words: Vec<_> = source.iter().map(u64::to_string).collect();
        in_each_pool(|| {
            let mut items = vec![0; len];
            par_copy_from_slice(&mut items, &source);
            assert!(items == source);
            par_fill(&mut items, 5);
            assert!(items.iter().all(|&n| n == 5));
            let mut copies = vec![String::new(); len];
            par_clone_from_slice(&mut copies, &words);
            assert!(copies == words);
        });
    }
}

#[test]
#[should_panic(expected = "2 items were to be copied to a slice of 3")]
fn slices_of_other_lengths_are_not_copied() {
    par_copy_from_slice(&mut [1, 2, 3], &[4, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 1_000 }))]
    /// Runs, ascending and descending, with many equal items or few.
    #[test]
    fn sorts_of_any_runs_give_what_the_standard_library_gives(
        runs in prop::collection::vec((any::<bool>(), 0..6000_usize, (0..40_u32).prop_map(|n| 1 << n)), 0..10),
    ) {
        let mut items = vec![];
        for (descending, len, values) in runs {
            let start = items.len();
            items.extend((start..start + len).map(|n| (mix(n) % values, n)));
            items[start..].sort_by_key(|item| if descending { !item.0 } else { item.0 });
        }
        let mut sorted = items.clone();
        sorted.sort_by_key(|item| item.0);
        in_each_pool(|| {
            let (mut stable, mut unstable) = (items.clone(), items.clone());
            stable.par_sort_by_key(|item| item.0);
            assert!(stable == sorted);
            let mut boxed: Vec<_> = items.iter().copied().map(Box::new).collect();
            boxed.par_sort_by_key(|item| item.0);
            assert!(boxed.into_iter().map(|item| *item).eq(sorted.iter().copied()));
            unstable.par_sort_unstable_by_key(|item| item.0);
            assert!(unstable.is_sorted_by_key(|item| item.0));
            unstable.sort_by_key(|item| item.1);
            assert!(unstable.iter().map(|item| item.1).eq(0..items.len()));
        });
    }
}
