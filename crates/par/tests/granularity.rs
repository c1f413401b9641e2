//! Wishes about parts hold, and decide nothing but how the work is cut.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use heist_core::{with_cancellation, CancellationToken, Cancelled};
use heist_core::{Injected, ThreadPool, ThreadPoolBuilder};
use heist_par::iter::plumbing::IndexedPart;
use heist_par::iter::{MaxLen, MinLen};
use heist_par::prelude::*;
use heist_par::{range, Granularity};

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

fn pools() -> &'static [ThreadPool] {
    static POOLS: OnceLock<Vec<ThreadPool>> = OnceLock::new();
    POOLS.get_or_init(|| {
        let pools = [1, 2, 4, 16].map(|workers| {
            let pool = ThreadPoolBuilder::new().num_threads(workers).build();
            pool.expect("a pool")
        });
        pools.into()
    })
}

/// The results of `op` in all pools, several times each.
fn everywhere<R: Send>(op: impl Fn() -> R + Sync) -> Vec<R> {
    let times = pools().iter().flat_map(|pool| [pool; 5]);
    times.map(|pool| pool.install(&op)).collect()
}

/// The lengths of the parts: what each value of a fold has counted.
fn part_lens<I: ParallelIterator>(iter: I) -> Vec<usize> {
    let counted = iter.fold(
        || 0,
        |count, item| {
            black_box(item);
            // Some work, or else nobody comes to help.
            black_box((0..50).fold(count, |a, b| a ^ black_box(b)));
            count + 1
        },
    );
    counted.collect()
}

#[test]
fn no_part_is_shorter_than_asked_for() {
    for len in SIZES {
        for min in [0, 1, 2, 30, 1234] {
            let iter = (0..len).into_par_iter().with_min_len(min);
            for lens in everywhere(|| part_lens(iter.clone())) {
                assert_eq!(lens.iter().sum::<usize>(), len);
                assert!(
                    lens.iter().all(|&part| part >= min.min(len)),
                    "{min}: {lens:?}"
                );
            }
        }
    }
}

#[test]
fn no_part_is_longer_than_asked_for() {
    for len in SIZES {
        for max in [0, 1, 2, 30, 1234] {
            let iter = (0..len).into_par_iter().with_max_len(max);
            for lens in everywhere(|| part_lens(iter.clone())) {
                assert_eq!(lens.iter().sum::<usize>(), len);
                assert!(
                    lens.iter().all(|&part| part <= max.max(1)),
                    "{max}: {lens:?}"
                );
            }
        }
    }
}

#[test]
fn the_least_length_goes_before_the_greatest() {
    let iter = (0..16).into_par_iter().with_max_len(15).with_min_len(10);
    for lens in everywhere(|| part_lens(iter.clone())) {
        assert_eq!(lens, [16]);
    }
    let iter = (0..1000).into_par_iter().with_min_len(10).with_max_len(15);
    for lens in everywhere(|| part_lens(iter.clone())) {
        assert!(
            lens.iter().all(|&part| (10..20).contains(&part)),
            "{lens:?}"
        );
    }
}

#[test]
fn both_sides_of_a_zip_are_heard() {
    let min: MinLen<range::Iter<u32>> = (0..1000).into_par_iter().with_min_len(10);
    let max: MaxLen<range::Iter<u32>> = (0..1000).into_par_iter().with_max_len(40);
    let is_heard = |lens: Vec<usize>| lens.iter().all(|part| (10..=40).contains(part));
    let (min, max) = (&min, &max);
    assert!(everywhere(|| part_lens(min.clone().zip(max.clone())))
        .into_iter()
        .all(is_heard));
    assert!(everywhere(|| part_lens(max.clone().zip(min.clone())))
        .into_iter()
        .all(is_heard));
}

#[test]
fn static_parts_are_always_the_same() {
    for len in SIZES {
        for part_len in [0, 1, 7, 1000, usize::MAX] {
            let iter = (0..len).into_par_iter();
            let iter = iter.with_granularity(Granularity::Static(part_len));
            let all = everywhere(|| part_lens(iter.clone()));
            assert_eq!(all[0].iter().sum::<usize>(), len);
            assert!(all[0].iter().all(|&part| part <= part_len.max(1)));
            assert!(all.iter().all(|lens| *lens == all[0]));
        }
    }
}

#[test]
fn every_granularity_gives_all_items_in_order() {
    let granularities = [
        Granularity::Automatic,
        Granularity::Static(10),
        Granularity::Adaptive,
        Granularity::Deterministic,
    ];
    for (len, granularity) in SIZES
        .iter()
        .flat_map(|&len| granularities.map(|g| (len, g)))
    {
        let iter = (0..len).into_par_iter().with_granularity(granularity);
        let expected: Vec<_> = (0..len).filter(|n| n % 3 > 0).collect();
        for items in everywhere(|| iter.clone().filter(|n| n % 3 > 0).collect::<Vec<_>>()) {
            assert_eq!(items, expected);
        }
        assert_eq!(iter.clone().rev().skip(1).len(), len.saturating_sub(1));
        assert!(iter.into_seq().eq(0..len));
    }
}

/// Numbers whose sums depend on the order in which they are added.
fn random_numbers(len: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f64::from(state as u32) * 10_f64.powi((state >> 60) as i32 - 8)
    };
    (0..len).map(|_| next()).collect()
}

fn is_one_sum(sum: impl Fn() -> f64 + Sync) -> bool {
    let sums = everywhere(|| sum().to_bits());
    sums.iter().all(|&bits| bits == sums[0])
}

#[test]
fn deterministic_sums_are_equal_to_the_last_bit() {
    let numbers = random_numbers(30_000);
    let iter = || numbers.par_iter().deterministic();
    assert!(is_one_sum(|| iter().sum()));
    assert!(is_one_sum(|| iter().map(|n| n.sqrt()).sum()));
    assert!(is_one_sum(|| iter().filter(|n| **n > 1.0).sum()));
    assert!(is_one_sum(|| iter().chain(&numbers[..777]).sum()));
    assert!(is_one_sum(|| numbers
        .par_iter()
        .chain(iter().rev())
        .product::<f64>()
        .ln()));
    assert!(is_one_sum(|| iter()
        .zip(&numbers)
        .map(|(a, b)| a * b)
        .sum()));
    assert!(is_one_sum(|| iter().chunks(7).map(|chunk| chunk[0]).sum()));
    assert!(is_one_sum(|| iter().copied().reduce(|| 0.0, |a, b| a + b)));
    assert!(is_one_sum(|| iter().fold(|| 0.0, |a, b| a + b).sum()));
    assert!(is_one_sum(|| numbers
        .par_iter()
        .by_uniform_blocks(999)
        .deterministic()
        .sum()));
    let nested = |len: usize| {
        let numbers = &numbers;
        move |start: usize| numbers[start..start + len].par_iter()
    };
    for (outer, inner) in [(1, 20_000), (3, 9000), (100, 50), (9_000, 3)] {
        let nested = nested(inner);
        let outer = (0..outer).into_par_iter().deterministic();
        assert!(is_one_sum(|| outer.clone().flat_map(&nested).sum()));
    }
}

#[test]
fn sums_that_are_not_deterministic_would_show_it() {
    let numbers = random_numbers(30_000);
    let forwards = numbers.iter().sum::<f64>();
    let backwards = numbers.iter().rev().sum::<f64>();
    assert_ne!(forwards.to_bits(), backwards.to_bits());
}

#[test]
fn deterministic_folds_give_the_same_parts_each_time() {
    for len in SIZES {
        let all = everywhere(|| part_lens((0..len).into_par_iter().deterministic()));
        assert_eq!(all[0].iter().sum::<usize>(), len);
        assert!(all[0].len() >= len.min(1024));
        assert!(all.iter().all(|lens| *lens == all[0]));
    }
}

/// One code, so that a loop knows how long the last ones were, and more than a grain of work after
/// some that had none.
fn a_long_loop_after_short_ones(token: &CancellationToken, first: &(dyn Fn() + Sync)) -> bool {
    const LEN: usize = 320;
    let run = |token: &CancellationToken, item: &(dyn Fn(usize) + Sync)| {
        let iter = (0..LEN).into_par_iter().with_cancellation(token);
        let completion = iter.completion();
        iter.for_each(item);
        completion.is_complete()
    };
    for _ in 0..300 {
        run(&CancellationToken::new(), &|_| {});
    }
    run(token, &|item| {
        if item == 0 {
            first();
        }
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(20) {
            black_box(());
        }
    })
}

#[test]
fn a_long_loop_after_short_ones_is_left_when_it_is_cancelled() {
    for pool in &pools()[..2] {
        let token = CancellationToken::new();
        let run = || {
            let never = CancellationToken::new();
            a_long_loop_after_short_ones(&never, &|| token.cancel())
        };
        let left = pool.install(|| with_cancellation(&token, run));
        assert_eq!(left, Err(Cancelled));
    }
}

#[test]
fn a_long_loop_after_short_ones_ends_at_its_deadline() {
    for pool in &pools()[..2] {
        let at = Instant::now() + Duration::from_millis(30);
        let token = CancellationToken::new().with_deadline(at);
        let until_then = || while Instant::now() < at {};
        let is_complete = pool.install(|| a_long_loop_after_short_ones(&token, &until_then));
        assert!(!is_complete);
    }
}

#[test]
fn a_job_from_outside_does_not_wait_for_a_long_loop_after_short_ones_in_a_prompt_pool() {
    let pool = ThreadPoolBuilder::new().num_threads(1);
    let pool = pool.injected(Injected::Prompt).build().expect("a pool");
    let has_run = Arc::new(AtomicBool::new(false));
    let submit = || {
        let has_run = Arc::clone(&has_run);
        thread::scope(|scope| {
            let spawn = || pool.spawn(move || has_run.store(true, Ordering::Relaxed));
            scope.spawn(spawn);
        });
    };
    let ran_before_its_end = pool.install(|| {
        a_long_loop_after_short_ones(&CancellationToken::new(), &submit);
        has_run.load(Ordering::Relaxed)
    });
    assert!(ran_before_its_end);
}
