//! Adaptors give what the standard library's give, wherever they are cut.

mod stopping;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::ControlFlow::{self, Break, Continue};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Barrier;
use std::task::Poll;

use heist_core::ThreadPoolBuilder;
use heist_par::iter::plumbing::Part;
use heist_par::prelude::*;
use heist_par::{Granularity, SplitPolicy};

use crate::pieces::pool;

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

/// Small numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

/// The same iterator, for which another granularity was asked.
struct Asking<I>(I, Granularity);

impl<I: Part> Part for Asking<I> {
    type Output = I::Output;

    fn steps(&self) -> usize {
        self.0.steps()
    }

    fn split(&mut self) -> Option<Self> {
        Some(Self(self.0.split()?, self.1))
    }

    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(I::Output) -> ControlFlow<()>,
    {
        self.0.run(budget, consume)
    }

    fn known_len(&self) -> Option<usize> {
        self.0.known_len()
    }

    fn split_policy(&self) -> SplitPolicy {
        let mut policy = SplitPolicy::default();
        policy.granularity = self.1;
        policy
    }
}

/// All items, in their order, gathered by the pool.
fn gathered<I: ParallelIterator>(iter: I) -> Vec<I::Item> {
    let singles = iter.map(|item| vec![item]);
    pool().install(|| {
        singles.reduce(Vec::new, |mut lower, upper| {
            lower.extend(upper);
            lower
        })
    })
}

/// All items, in their order, on this thread and without any split.
fn in_sequence<I: ParallelIterator>(mut iter: I) -> Vec<I::Item> {
    let mut items = Vec::new();
    while iter.steps() > 0 {
        let flow = iter.run(&mut { usize::MAX }, |item| {
            items.push(item);
            Continue(())
        });
        assert!(flow.is_continue());
    }
    items
}

/// All items, in their order, of a part that is split and run at random.
fn cut<I: ParallelIterator>(mut part: I, dice: &mut Dice, items: &mut Vec<I::Item>) {
    while part.steps() > 0 {
        if dice.below(3) == 0 {
            if let Some(upper) = part.split() {
                cut(part, dice, items);
                part = upper;
                continue;
            }
        }
        let given = dice.below(20) + 1;
        let mut budget = given;
        let flow = part.run(&mut budget, |item| {
            items.push(item);
            Continue(())
        });
        assert!(flow.is_continue() && budget <= given);
    }
}

/// An adaptor gives these items, in whatever way it is run.
fn gives<I>(iter: I, items: &[I::Item])
where
    I: ParallelIterator<Item: PartialEq + Debug> + Clone,
{
    assert_eq!(in_sequence(iter.clone()), items);
    assert_eq!(gathered(iter.clone()), items);
    for granularity in [
        Granularity::Static(1),
        Granularity::Static(5),
        Granularity::Deterministic,
    ] {
        assert_eq!(gathered(Asking(iter.clone(), granularity)), items);
    }
    for seed in 0..5 {
        let mut pieces = Vec::new();
        cut(iter.clone(), &mut Dice(seed), &mut pieces);
        assert_eq!(pieces, items);
    }
    if let Some(len) = iter.opt_len() {
        assert_eq!(len, items.len());
    }
    // A consumer that wants no more gets no more.
    for wanted in [1, items.len() / 2, items.len()] {
        let (mut part, mut got, mut flow) = (iter.clone(), Vec::new(), Continue(()));
        while flow.is_continue() && part.steps() > 0 {
            flow = part.run(&mut { 13 }, |item| {
                got.push(item);
                if got.len() == wanted {
                    Break(())
                } else {
                    Continue(())
                }
            });
        }
        assert_eq!(flow.is_break(), (1..=items.len()).contains(&wanted));
        assert_eq!(
            got,
            items[..if wanted == 0 {
                items.len()
            } else {
                wanted.min(items.len())
            }]
        );
    }
}

/// An adaptor with an index gives these items, in whatever way it is run.
fn gives_indexed<I>(iter: I, items: &[I::Item])
where
    I: IndexedParallelIterator<Item: PartialEq + Debug + Clone> + Clone,
{
    gives(iter.clone(), items);
    let len = items.len();
    assert_eq!((iter.len(), iter.opt_len()), (len, Some(len)));
    for index in (0..=len).step_by(len / 50 + 1) {
        let mut lower = iter.clone();
        let upper = lower.split_off(index);
        assert_eq!((lower.len(), upper.len()), (index, len - index));
        let upper = upper.into_seq();
        assert_eq!(upper.len(), len - index);
        let pieces: Vec<_> = lower.into_seq().chain(upper).collect();
        assert_eq!(pieces, items);
    }
    let mut back = items.to_vec();
    back.reverse();
    gives(iter.clone().rev(), &back);
    let pairs: Vec<_> = items.iter().cloned().zip(0..).collect();
    gives(iter.clone().zip(0..len), &pairs);
    let all: Vec<_> = pool().install(|| iter.collect());
    assert_eq!(all, items);
}

#[test]
fn one_item_for_each() {
    for size in SIZES {
        let numbers: Vec<usize> = (0..size).map(|n| n * 3).collect();
        let doubled: Vec<_> = numbers.iter().map(|n| n * 2).collect();
        let seen = AtomicUsize::new(0);
        let look = |_: &usize| {
            seen.fetch_add(1, Relaxed);
        };
        gives_indexed(numbers.par_iter().cloned(), &numbers);
        gives_indexed(numbers.par_iter().copied(), &numbers);
        gives_indexed(numbers.par_iter().copied().update(|n| *n *= 2), &doubled);
        gives_indexed(numbers.par_iter().copied().panic_fuse(), &numbers);
        gives_indexed(numbers.par_iter().copied().inspect(&look), &numbers);
        seen.store(0, Relaxed);
        gathered(numbers.par_iter().copied().inspect(&look));
        assert_eq!(seen.load(Relaxed), size);
    }
}

#[test]
fn what_a_closure_makes_of_some() {
    for size in SIZES {
        let some = |n: usize| (n % 3 == 1).then(|| n * 2);
        let items: Vec<_> = (0..size).filter_map(some).collect();
        gives((0..size).into_par_iter().filter_map(some), &items);
    }
}

#[test]
fn a_value_to_work_with() {
    for size in SIZES {
        let items: Vec<_> = (0..size).map(|n| n.to_string()).collect();
        let write = |text: &mut String, n: usize| {
            text.clear();
            text.push_str(&n.to_string());
            text.clone()
        };
        let numbers = (0..size).into_par_iter();
        gives_indexed(numbers.clone().map_with(String::new(), write), &items);
        gives_indexed(numbers.map_init(String::new, write), &items);
    }
}

#[test]
fn the_value_to_work_with_is_made_once_for_a_part_and_is_not_sent() {
    let made = AtomicUsize::new(0);
    let mut part = (0..100).into_par_iter().map_init(
        || {
            made.fetch_add(1, Relaxed);
            Rc::new(RefCell::new(0))
        },
        |count, _| {
            *count.borrow_mut() += 1;
            *count.borrow()
        },
    );
    let mut counts = Vec::new();
    for _ in 0..10 {
        let _ = part.run(&mut { 5 }, |count| {
            counts.push(count);
            Continue(())
        });
    }
    let upper = part.split().expect("half of the rest");
    assert_eq!(made.load(Relaxed), 1);
    counts.extend(in_sequence(part));
    assert_eq!(counts, Vec::from_iter(1..=75));
    assert_eq!(in_sequence(upper), Vec::from_iter(1..=25));
    assert_eq!(made.load(Relaxed), 2);
}

#[test]
fn a_part_begins_with_a_clone_of_the_value_that_was_given() {
    let mut lower = (0..10).into_par_iter().map_with(vec![7], |list, n| {
        list.push(n);
        list.clone()
    });
    let _ = lower.run(&mut { 2 }, |_| Continue(()));
    let upper = lower.split().expect("half of the rest");
    assert_eq!(in_sequence(upper)[0], [7, 6]);
    assert_eq!(in_sequence(lower)[0], [7, 0, 1, 2]);
}

#[test]
fn items_of_items() {
    for size in SIZES {
        // Many of a few, none of some, and one of very many.
        let len = |n: usize| if n == 5 { 3000 } else { n % 4 };
        let lists: Vec<Vec<usize>> = (0..size).map(|n| (n..n + len(n)).collect()).collect();
        let items = lists.concat();
        let outer = (0..size).into_par_iter();
        gives(outer.clone().flat_map(|n| n..n + len(n)), &items);
        gives(outer.clone().flat_map(|n| lists[n].clone()), &items);
        gives(outer.clone().flat_map_iter(|n| n..n + len(n)), &items);
        gives(lists.par_iter().flatten().copied(), &items);
        gives(lists.clone().into_par_iter().flatten(), &items);
        gives(lists.par_iter().flatten_iter().copied(), &items);
        // A base that gives several items in a step, or none.
        let pairs = outer
            .clone()
            .flat_map_iter(|n| [n, n])
            .filter(|n| n % 2 == 1);
        let twice: Vec<_> = (0..size)
            .filter(|n| n % 2 == 1)
            .flat_map(|n| [n..n + len(n), n..n + len(n)])
            .flatten()
            .collect();
        gives(pairs.flat_map(|n| n..n + len(n)), &twice);
        let nested = outer.flat_map(|n| {
            (0..2_usize)
                .into_par_iter()
                .flat_map(move |_| n..n + len(n))
        });
        let nested_items: Vec<_> = (0..size)
            .flat_map(|n| [n..n + len(n), n..n + len(n)])
            .flatten()
            .collect();
        gives(nested, &nested_items);
    }
}

#[test]
fn what_one_item_becomes_is_shared_among_workers() {
    let both = Barrier::new(2);
    // Its own, so that its worker has nothing else on offer.
    let pool = ThreadPoolBuilder::new().num_threads(2).build();
    pool.expect("a pool").install(|| {
        let halves = (0..1_usize).into_par_iter().flat_map(|_| 0..2_usize);
        halves.for_each(|_| {
            both.wait();
        });
    });
}

#[test]
fn a_value_that_is_not_sent_may_lie_below_what_items_become() {
    let numbers = (0..1000_usize)
        .into_par_iter()
        .map_init(|| Rc::new(3), |three, n| n * **three);
    let items: Vec<_> = (0..1000).flat_map(|n| 3 * n..3 * n + 50).collect();
    gives(numbers.flat_map(|n| n..n + 50), &items);
}

#[test]
fn one_after_the_other() {
    for size in SIZES {
        for other in [0, 1, 5, 20_000] {
            let items: Vec<_> = (0..size).chain(500..500 + other).collect();
            let (a, b) = (0..size, 500..500 + other);
            gives_indexed(a.clone().into_par_iter().chain(b.clone()), &items);
            let odd: Vec<_> = items.iter().copied().filter(|n| n % 2 == 1).collect();
            let is_odd = |n: &usize| n % 2 == 1;
            let (a, b) = (
                a.into_par_iter().filter(is_odd),
                b.into_par_iter().filter(is_odd),
            );
            gives(a.chain(b), &odd);
        }
    }
}

#[test]
fn a_chain_knows_its_length_if_both_do() {
    let known = (0..5_usize).into_par_iter();
    let unknown = known.clone().filter(|_| true);
    assert_eq!(known.clone().chain(known.clone()).opt_len(), Some(10));
    assert_eq!(known.clone().chain(unknown.clone()).opt_len(), None);
    assert_eq!(unknown.chain(known).opt_len(), None);
}

#[test]
fn each_part_is_folded_into_one_item() {
    let push = |mut list: Vec<usize>, n| {
        list.push(n);
        list
    };
    for size in SIZES {
        let items: Vec<_> = (0..size).collect();
        let fold = (0..size).into_par_iter().fold(Vec::new, push);
        assert_eq!(in_sequence(fold.clone()), [&*items]);
        assert_eq!(gathered(fold.clone()).concat(), items);
        assert_eq!(
            gathered(Asking(fold.clone(), Granularity::Static(2))).len(),
            fixed_parts(size)
        );
        for seed in 0..5 {
            let mut pieces = Vec::new();
            cut(fold.clone(), &mut Dice(seed), &mut pieces);
            assert_eq!(pieces.concat(), items);
        }
        let fold = (0..size).into_par_iter().fold_with(vec![9], push);
        assert!(gathered(fold.clone()).iter().all(|list| list[0] == 9));
        assert_eq!(in_sequence(fold)[0].len(), size + 1);
    }
}

/// How many parts of at most two items there are if parts are halved.
fn fixed_parts(size: usize) -> usize {
    match size {
        0..=2 => 1,
        _ => fixed_parts(size / 2) + fixed_parts(size - size / 2),
    }
}

#[test]
fn a_fold_goes_on_where_it_was_when_it_is_split() {
    let mut lower = (1..11_u32).into_par_iter().fold(|| 0, |sum, n| sum + n);
    let _ = lower.run(&mut { 4 }, |_| panic!("it is not at its end"));
    let upper = lower.split().expect("half of the rest");
    assert_eq!(
        (in_sequence(lower), in_sequence(upper)),
        (vec![28], vec![27])
    );
}

#[test]
fn a_failure_ends_its_part_of_a_fold() {
    let seen = AtomicUsize::new(0);
    let numbers = || {
        (0..100_u32).into_par_iter().inspect(|_| {
            seen.fetch_add(1, Relaxed);
        })
    };
    let add = |sum: u32, n: u32| if n == 60 { None } else { Some(sum + n) };
    let mut lower = numbers().try_fold(|| 0, add);
    let upper = lower.split().expect("half");
    assert_eq!(in_sequence(lower), [Some((0..50).sum())]);
    assert_eq!(seen.load(Relaxed), 50);
    assert_eq!(in_sequence(upper), [None]);
    assert_eq!(seen.load(Relaxed), 61);

    let sums = gathered(numbers().try_fold_with(1, add));
    assert_eq!(sums.iter().filter(|sum| sum.is_none()).count(), 1);

    let result = |sum: u32, n: u32| add(sum, n).ok_or(n);
    assert_eq!(in_sequence(numbers().try_fold(|| 0, result)), [Err(60)]);
    let flow = |sum: u32, n: u32| add(sum, n).map_or(Break(n), Continue);
    assert_eq!(in_sequence(numbers().try_fold(|| 0, flow)), [Break(60)]);
    let poll = |sum: Poll<u32>, n: u32| match sum {
        Poll::Ready(sum) => Poll::Ready(result(sum, n)),
        Poll::Pending => Poll::Pending,
    };
    let ready = numbers().try_fold(|| Poll::Ready(0), poll);
    assert_eq!(in_sequence(ready), [Poll::Ready(Err(60))]);
    let pending = numbers().try_fold(|| Poll::Pending, poll);
    assert_eq!(in_sequence(pending), [Poll::Pending]);
    let stream = |sum: Poll<Option<u32>>, n: u32| sum.map(|sum| sum.map(|sum| result(sum, n)));
    let some = numbers().try_fold(|| Poll::Ready(Some(0)), stream);
    assert_eq!(in_sequence(some), [Poll::Ready(Some(Err(60)))]);
    let none = numbers().try_fold(|| Poll::Ready(None), stream);
    assert_eq!(in_sequence(none), [Poll::Ready(None)]);
}

#[test]
fn a_fold_that_does_not_fail_gives_all() {
    for size in SIZES {
        let count = |sum: usize, _| sum.checked_add(1);
        let counts = gathered((0..size).into_par_iter().try_fold(|| 0, count));
        let counts: Option<Vec<_>> = counts.into_iter().collect();
        assert_eq!(counts.expect("no failure").iter().sum::<usize>(), size);
    }
}

#[test]
fn iterators_are_shown_without_their_closures() {
    let numbers = (0..3_usize)
        .into_par_iter()
        .map_with(0, |_, n| n)
        .flat_map(|n| 0..n);
    let shown = format!(
        "{:?}",
        numbers.fold(|| 0, |sum, n| sum + n).chain(0..1_usize)
    );
    assert!(shown.contains("Chain") && shown.contains("FlatMap") && shown.contains("0..3"));
}

#[test]
fn one_of_two_kinds_is_a_parallel_iterator_as_well() {
    let up_or_down = |down| {
        let numbers = (0..1_000).into_par_iter();
        if down {
            heist_par::iter::Either::Left(numbers.rev())
        } else {
            heist_par::iter::Either::Right(numbers)
        }
    };
    assert!(up_or_down(false)
        .collect::<Vec<_>>()
        .into_iter()
        .eq(0..1_000));
    let zipped: Vec<_> = up_or_down(true).zip(0..3).collect();
    assert_eq!(zipped, [(999, 0), (998, 1), (997, 2)]);
}

/// Each split of the blocks parts with one item. Two workers could rob each other of the rest by
/// turns, each time on top of the frame that waits for the last rest.
#[test]
fn lopsided_splits_do_not_pile_up_on_the_stacks() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("a pool");
    for _ in 0..100 {
        let count = pool.install(|| {
            let blocks = (0..3_000).into_par_iter().by_uniform_blocks(1);
            // The number of items before the first is unknown, so that the blocks are not gone
            // through one by one.
            let few = blocks.flat_map_iter(|n| 0..n % 2).intersperse(0);
            few.map(|n| std::hint::black_box((0..100).fold(n, |a, b| a ^ std::hint::black_box(b))))
                .count()
        });
        assert_eq!(count, 2_999);
    }
}
