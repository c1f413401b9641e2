//! Consumers give the same answer as std's iterators, however the work is split.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use heist_core::ThreadPoolBuilder;
use heist_par::iter::plumbing::Part;
use heist_par::iter::Either;
use heist_par::prelude::*;

use crate::pieces::pool;

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

/// An iterator that splits as long as it can, wherever it likes, and runs one item at a time: the
/// odd ones go to the upper part's end first, so that parts differ in size.
#[derive(Clone)]
struct Splitting {
    start: usize,
    end: usize,
    /// The lower part gets one in so many.
    share: usize,
}

impl Splitting {
    fn to(end: usize, share: usize) -> Self {
        Self {
            start: 0,
            end,
            share,
        }
    }
}

impl Part for Splitting {
    type Output = usize;

    fn steps(&self) -> usize {
        self.end - self.start
    }

    fn split(&mut self) -> Option<Self> {
        let len = self.end - self.start;
        if len < 2 {
            return None;
        }
        let middle = self.start + (len / self.share).max(1);
        let end = std::mem::replace(&mut self.end, middle);
        Some(Self {
            start: middle,
            end,
            share: self.share,
        })
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(usize) -> ControlFlow<()>,
    {
        while *budget > 0 && self.start < self.end {
            *budget -= 1;
            self.start += 1;
            consume(self.start - 1)?;
        }
        ControlFlow::Continue(())
    }

    // Every part is split to its last item, by whichever worker has it.
    fn split_policy(&self) -> heist_par::SplitPolicy {
        let mut policy = heist_par::SplitPolicy::default();
        policy.max_len = 1;
        policy
    }
}

/// Calls the closure with iterators over the numbers below each size, split in halves, unevenly,
/// and as the runtime likes.
fn for_all_sizes(check: impl Fn(usize, Splitting) + Sync) {
    pool().install(|| {
        for size in SIZES {
            for share in [2, 3, size.max(1)] {
                check(size, Splitting::to(size, share));
            }
        }
    });
}

#[test]
fn counting_and_folding_give_what_std_gives() {
    for_all_sizes(|size, iter| {
        assert_eq!(iter.clone().count(), size);
        assert_eq!((0..size).into_par_iter().count(), size);
        let factors = iter.map(|n| n as u64 | 1);
        let product = (0..size).fold(1_u64, |product, n| product.wrapping_mul(n as u64 | 1));
        assert_eq!(
            factors
                .map(std::num::Wrapping)
                .product::<std::num::Wrapping<u64>>()
                .0,
            product
        );
    });
}

#[test]
fn the_smallest_is_the_first_of_equals_and_the_largest_the_last() {
    // Pairs that compare by their first halves only.
    for_all_sizes(|size, iter| {
        for kinds in [1, 2, 10, 1000] {
            let pair = move |n: usize| (n * 7919 % kinds, n);
            let (pairs, serial) = (iter.clone().map(pair), || (0..size).map(pair));
            let by = |a: &(usize, usize), b: &(usize, usize)| a.0.cmp(&b.0);
            assert_eq!(pairs.clone().min_by(by), serial().min_by(by));
            assert_eq!(pairs.clone().max_by(by), serial().max_by(by));
            assert_eq!(
                pairs.clone().min_by_key(|p| p.0),
                serial().min_by_key(|p| p.0)
            );
            assert_eq!(
                pairs.clone().max_by_key(|p| p.0),
                serial().max_by_key(|p| p.0)
            );
            assert_eq!(
                pairs.clone().map(ByFirst).min().map(|p| p.0),
                serial().min_by(by)
            );
            assert_eq!(pairs.map(ByFirst).max().map(|p| p.0), serial().max_by(by));
        }
    });
}

#[derive(Clone, Copy)]
struct ByFirst((usize, usize));

impl PartialEq for ByFirst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByFirst {}

impl PartialOrd for ByFirst {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByFirst {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0).0.cmp(&(other.0).0)
    }
}

#[test]
fn the_first_and_the_last_are_found_wherever_they_lie() {
    for_all_sizes(|size, iter| {
        let wanted = [size, 0, size / 2, size.saturating_sub(1), size / 3];
        for wanted in wanted.map(|at| move |n: &usize| *n == at || *n == at + at / 8) {
            let serial = || (0..size).filter(wanted);
            assert_eq!(iter.clone().find_first(wanted), serial().next());
            assert_eq!(iter.clone().find_last(wanted), serial().next_back());
            let any = iter.clone().find_any(wanted);
            assert_eq!(any.is_some(), serial().next().is_some());
            assert!(any.iter().all(wanted));
        }
    });
}

/// A search looks elsewhere after 64 steps, then 128, up to 1024.
#[test]
fn what_is_wanted_is_found_at_each_place_of_a_grain() {
    let len = 5_000;
    for place in (0..len).filter(|n| n % 64 < 2 || n % 64 == 63 || n % 97 == 0) {
        pool().install(|| {
            let items = || (0..len).into_par_iter();
            assert_eq!(items().find_any(|n| *n == place), Some(place));
            assert_eq!(items().find_first(|n| *n >= place), Some(place));
            assert_eq!(items().find_last(|n| *n <= place), Some(place));
            assert_eq!(items().position_first(|n| n == place), Some(place));
            assert!(items().any(|n| n == place));
            assert!(!items().all(|n| n != place));
        });
    }
}

#[test]
fn the_first_and_the_last_are_found_among_very_many() {
    for_all_sizes(|size, iter| {
        for rarity in [1, 2, 5, 50] {
            let is_wanted =
                move |n: &usize| n.wrapping_mul(0x9E37_79B9) >> 7 & 1023 < 1024 / rarity;
            let map = |n| is_wanted(&n).then_some(n as u64);
            let serial = || (0..size).filter_map(map);
            assert_eq!(iter.clone().find_map_first(map), serial().next());
            assert_eq!(iter.clone().find_map_last(map), serial().next_back());
            let any = iter.clone().find_map_any(map);
            assert!(any.is_some() == serial().next().is_some());
            let indexed = (0..size).into_par_iter();
            assert_eq!(
                indexed.clone().find_first(is_wanted),
                (0..size).find(is_wanted)
            );
            assert_eq!(
                indexed.find_last(is_wanted),
                (0..size).rev().find(is_wanted)
            );
        }
    });
}

#[test]
fn the_keys_of_a_search_may_run_out() {
    // One item is split off at a time: far more splits in a row than keys can be halved.
    pool().install(|| {
        let len = 2_000;
        let iter = Splitting::to(len, len);
        for at in [0, 1, 63, 64, 65, 1000, len - 1] {
            assert_eq!(iter.clone().find_first(|&n| n >= at), Some(at));
            assert_eq!(iter.clone().find_last(|&n| n <= at), Some(at));
        }
    });
}

#[test]
fn a_search_for_the_first_looks_at_nothing_behind_it_if_one_worker_searches() {
    let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let looked_at = AtomicUsize::new(0);
    let found = one.install(|| {
        Splitting::to(10_000, 2).find_first(|&n| {
            looked_at.fetch_add(1, Ordering::Relaxed);
            n == 4321
        })
    });
    assert_eq!(found, Some(4321));
    assert_eq!(looked_at.into_inner(), 4322);
}

#[test]
fn any_and_all_stop_at_the_first_that_decides_if_one_worker_searches() {
    let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    one.install(|| {
        let looked_at = AtomicUsize::new(0);
        let look = |n, at| {
            looked_at.fetch_add(1, Ordering::Relaxed);
            n == at
        };
        assert!((0..10_000).into_par_iter().any(|n| look(n, 12)));
        assert_eq!(looked_at.swap(0, Ordering::Relaxed), 13);
        assert!(!(0..10_000).into_par_iter().all(|n| !look(n, 12)));
        assert_eq!(looked_at.swap(0, Ordering::Relaxed), 13);
        assert!(!(0..10_000).into_par_iter().any(|n| look(n, 10_000)));
        assert_eq!(looked_at.swap(0, Ordering::Relaxed), 10_000);
        assert!((0..10_000).into_par_iter().all(|n| !look(n, 10_000)));
    });
}

#[test]
fn each_item_is_done_once_with_a_value_to_work_with() {
    for_all_sizes(|size, iter| {
        let (sum, values) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let add = |begun: &mut bool, n: usize| {
            values.fetch_add(
                usize::from(!std::mem::replace(begun, true)),
                Ordering::Relaxed,
            );
            sum.fetch_add(n, Ordering::Relaxed);
        };
        let (expected, parts) = ((0..size).sum::<usize>(), usize::from(size > 0)..=size);
        let check = || {
            assert_eq!(sum.swap(0, Ordering::Relaxed), expected);
            assert!(parts.contains(&values.swap(0, Ordering::Relaxed)));
        };
        iter.clone().for_each_with(false, add);
        check();
        iter.clone().for_each_init(|| false, add);
        check();
        let succeed = |begun: &mut bool, n| {
            add(begun, n);
            Some(())
        };
        assert_eq!(iter.clone().try_for_each_with(false, succeed), Some(()));
        check();
        let fails_at = size / 2;
        let fail = |_: &mut bool, n| if n == fails_at { Err(n) } else { Ok(()) };
        let failure = if size > 0 { Err(fails_at) } else { Ok(()) };
        assert_eq!(iter.clone().try_for_each_with(false, fail), failure);
        assert_eq!(iter.try_for_each_init(|| false, fail), failure);
    });
}

#[test]
#[expect(
    deprecated,
    reason = "programs that were written for rayon may call it"
)]
fn the_old_name_of_find_any_works() {
    assert_eq!((0..100).into_par_iter().find(|&n| n == 7), Some(7));
}

#[test]
fn trying_returns_a_failure_if_there_is_one() {
    for_all_sizes(|size, iter| {
        let visited = AtomicUsize::new(0);
        let visit = |fails_at: usize| {
            let visited = &visited;
            move |n| {
                visited.fetch_add(1, Ordering::Relaxed);
                if n == fails_at {
                    Err(n)
                } else {
                    Ok(())
                }
            }
        };
        assert_eq!(iter.clone().try_for_each(visit(size)), Ok(()));
        assert_eq!(visited.load(Ordering::Relaxed), size);
        for at in [0, size / 2, size.saturating_sub(1)]
            .into_iter()
            .filter(|&at| at < size)
        {
            assert_eq!(iter.clone().try_for_each(visit(at)), Err(at));
            let option = iter.clone().try_for_each(|n| (n != at).then_some(()));
            assert_eq!(option, None);
            let flow = iter.clone().try_for_each(|n| match n == at {
                true => ControlFlow::Break(n),
                false => ControlFlow::Continue(()),
            });
            assert_eq!(flow, ControlFlow::Break(at));
        }
    });
}

#[test]
fn trying_to_reduce_combines_neighbours_in_order_or_fails() {
    for_all_sizes(|size, iter| {
        // Ranges that touch: out of order they would not.
        let join = |a: (usize, usize), b: (usize, usize)| {
            assert_eq!(a.1, b.0);
            Ok((a.0, b.1))
        };
        let ranges = iter.clone().map(|n| Ok::<_, usize>((n, n + 1)));
        let all = ranges.clone().try_reduce_with(join);
        assert_eq!(all, (size > 0).then_some(Ok((0, size))));
        assert_eq!(ranges.try_reduce(|| (0, 0), join), Ok((0, size)));
        for at in [0, size / 2, size.saturating_sub(1)]
            .into_iter()
            .filter(|&at| at < size)
        {
            let fails = iter
                .clone()
                .map(|n| if n == at { Err(n) } else { Ok((n, n + 1)) });
            assert_eq!(fails.try_reduce(|| (0, 0), join), Err(at));
        }
        if size > 1 {
            let never = iter.map(Some).try_reduce(|| 0, |_, _| None);
            assert_eq!(never, None);
        }
    });
}

#[test]
fn unzip_keeps_the_order_of_both_halves() {
    for_all_sizes(|size, iter| {
        let pair = |n: usize| (n, n.to_string());
        let serial: (Vec<_>, Vec<_>) = (0..size).map(pair).unzip();
        assert_eq!(iter.clone().map(pair).unzip(), serial);
        assert_eq!((0..size).into_par_iter().map(pair).unzip(), serial);
        let (set, text): (BTreeSet<_>, String) = iter.map(pair).unzip();
        assert!(set.into_iter().eq(0..size));
        assert_eq!(text, serial.1.concat());
    });
}

#[test]
fn a_pair_of_collections_is_collected_and_extended() {
    for_all_sizes(|size, iter| {
        let pair = |n: usize| (n, n % 10);
        let (numbers, digits): (Vec<_>, HashSet<_>) = iter.clone().map(pair).collect();
        assert!(numbers.iter().copied().eq(0..size));
        assert_eq!(digits.len(), size.min(10));
        let mut both = (numbers, vec![5]);
        both.par_extend(iter.map(pair));
        assert!(both.0.iter().copied().eq((0..size).chain(0..size)));
        assert!(both.1[1..].iter().copied().eq((0..size).map(|n| n % 10)));
        assert_eq!(both.1[0], 5);
    });
}

#[test]
fn partition_keeps_the_order_of_both_sides() {
    for_all_sizes(|size, iter| {
        let is_left = |n: &usize| n % 3 == 0;
        let serial: (Vec<_>, Vec<_>) = (0..size).partition(is_left);
        assert_eq!(iter.clone().partition(is_left), serial);
        assert_eq!((0..size).into_par_iter().partition(is_left), serial);
        let side = |n| {
            if is_left(&n) {
                Either::Left(n)
            } else {
                Either::Right(n as u64)
            }
        };
        let wide: Vec<_> = serial.1.iter().map(|&n| n as u64).collect();
        let serial = (serial.0, wide);
        assert_eq!(iter.clone().partition_map(side), serial);
        assert_eq!(iter.clone().map(side).collect::<(Vec<_>, Vec<_>)>(), serial);
        let mut both = (vec![1], vec![2]);
        both.par_extend(iter.map(side));
        assert_eq!((&both.0[1..], &both.1[1..]), (&serial.0[..], &serial.1[..]));
    });
}
