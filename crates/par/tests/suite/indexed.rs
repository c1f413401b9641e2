//! The adaptors and consumers of iterators that can be cut anywhere do what those of std do,
//! wherever they are cut.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use heist_core::ThreadPoolBuilder;
use heist_par::prelude::*;

use crate::pieces::pool;

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

/// The items in parallel, in pieces with splits between them, and one after the other.
fn check<I>(iter: I, expected: &[I::Item])
where
    I: ParallelIterator<Item: Debug + PartialEq> + Clone,
{
    let collected: Vec<_> = {
        let iter = iter.clone();
        pool().install(|| iter.collect())
    };
    assert_eq!(collected, expected);
    if let Some(len) = iter.opt_len() {
        assert_eq!(len, expected.len());
    }
    for piece in [1, 2, 3, 1000] {
        let mut items = Vec::new();
        run_and_split(iter.clone(), piece, &mut items);
        assert_eq!(items, expected, "pieces of {piece}");
    }
}

/// A piece, then the halves of the rest.
fn run_and_split<I: ParallelIterator>(mut part: I, piece: usize, items: &mut Vec<I::Item>) {
    while part.steps() > 0 {
        let flow = part.run(&mut { piece }, |item| {
            items.push(item);
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        if let Some(upper) = part.split() {
            run_and_split(part, piece, items);
            part = upper;
        }
    }
}

/// As [`check`], and cuts at all places of short sequences and some of long ones.
fn check_indexed<I>(iter: I, expected: &[I::Item])
where
    I: IndexedParallelIterator<Item: Debug + PartialEq> + Clone,
{
    check(iter.clone(), expected);
    let len = expected.len();
    let mut cuts = vec![0, 1, 2, 3, len / 3, len / 2, len.saturating_sub(1), len];
    if len < 10 {
        cuts.extend(0..len);
    }
    for cut in cuts.into_iter().filter(|&cut| cut <= len) {
        let mut lower = iter.clone();
        let mut upper = lower.split_off(cut);
        let top = upper.split_off((len - cut) / 2);
        assert_eq!(lower.len(), cut);
        assert_eq!(upper.len() + top.len(), len - cut);
        let parts = [lower, upper, top].into_iter();
        let items: Vec<_> = parts
            .flat_map(|part| from_both_ends(part.into_seq()))
            .collect();
        assert_eq!(items, expected, "cut at {cut}");
    }
}

/// The items by turns from the front and from the back, in their order.
fn from_both_ends<S: DoubleEndedIterator + ExactSizeIterator>(mut seq: S) -> Vec<S::Item> {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while seq.len() > 0 {
        let left = seq.len();
        front.extend(seq.next());
        back.extend(seq.next_back());
        assert_eq!(seq.len(), left.saturating_sub(2));
    }
    assert!(seq.next().is_none() && seq.next_back().is_none());
    front.extend(back.into_iter().rev());
    front
}

fn numbers(len: usize) -> Vec<usize> {
    (0..len).map(|n| n * 7 % 101).collect()
}

#[test]
fn steps_take_each_nth_item() {
    for len in SIZES {
        let items = numbers(len);
        for step in [1, 2, 3, 10, 20_000, usize::MAX] {
            let expected: Vec<_> = items.iter().step_by(step).collect();
            check_indexed(items.par_iter().step_by(step), &expected);
        }
    }
}

#[test]
fn skip_and_take_cut_at_their_number_or_at_the_end() {
    for len in SIZES {
        let items = numbers(len);
        for n in [0, 1, 2, 50, len, len + 1, usize::MAX] {
            let expected: Vec<_> = items.iter().skip(n).collect();
            check_indexed(items.par_iter().skip(n), &expected);
            let expected: Vec<_> = items.iter().take(n).collect();
            check_indexed(items.par_iter().take(n), &expected);
        }
    }
}

#[test]
fn chunks_have_their_size_but_for_the_last() {
    for len in SIZES {
        let items = numbers(len);
        for size in [1, 2, 3, 64, 20_000, usize::MAX] {
            let expected: Vec<Vec<usize>> = items.chunks(size).map(<[_]>::to_vec).collect();
            let iter = items.clone().into_par_iter();
            check_indexed(iter.clone().chunks(size), &expected);
            let text = |text: String, n| format!("{text} {n}");
            let expected: Vec<String> = expected
                .into_iter()
                .map(|chunk| chunk.into_iter().fold("of".to_owned(), text))
                .collect();
            check_indexed(
                iter.clone().fold_chunks(size, || "of".to_owned(), text),
                &expected,
            );
            check_indexed(
                iter.fold_chunks_with(size, "of".to_owned(), text),
                &expected,
            );
        }
    }
}

#[test]
fn interleaved_items_come_by_turns() {
    let lens = [0, 1, 2, 3, 7, 1000];
    for (a_len, b_len) in lens.iter().flat_map(|&a| lens.map(|b| (a, b))) {
        let (a, b): (Vec<_>, Vec<_>) = ((0..a_len).collect(), (10_000..10_000 + b_len).collect());
        let mut all = Vec::new();
        let mut shortest_len = None;
        for turn in 0..a_len.max(b_len) {
            for items in [&a, &b] {
                if turn >= items.len() {
                    shortest_len.get_or_insert(all.len());
                }
                all.extend(items.get(turn));
            }
        }
        let of_both = a.par_iter().interleave(&b);
        check_indexed(of_both, &all);
        all.truncate(shortest_len.unwrap_or(all.len()));
        check_indexed(a.par_iter().interleave_shortest(&b), &all);
    }
}

#[test]
fn what_is_interspersed_stands_between_each_two_items() {
    for len in SIZES {
        let items = numbers(len);
        let mut expected: Vec<_> = items.iter().flat_map(|&item| [1000, item]).collect();
        expected.splice(..expected.len().min(1), []);
        check_indexed(items.clone().into_par_iter().intersperse(1000), &expected);
        let iter = items.clone().into_par_iter().intersperse(1000);
        let twice: Vec<_> = expected
            .iter()
            .flat_map(|&item| [2000, item])
            .skip(1)
            .collect();
        check_indexed(iter.intersperse(2000), &twice);
    }
}

#[test]
fn what_is_interspersed_stands_between_the_items_that_a_filter_leaves() {
    for len in SIZES {
        for (from, every) in [
            (0, 1),
            (0, 3),
            (len / 2, 1),
            (len.saturating_sub(1), 1),
            (len, 1),
        ] {
            let leave = |&n: &usize| n >= from && n % every == 0;
            let left = (0..len).filter(leave);
            let expected: Vec<_> = left.flat_map(|n| [usize::MAX, n]).skip(1).collect();
            let iter = (0..len).into_par_iter().filter(leave);
            check(iter.intersperse(usize::MAX), &expected);
        }
    }
}

#[test]
fn positions_are_those_of_the_items_that_fit() {
    for len in SIZES {
        let items = numbers(len);
        let fits = |&n: &usize| n % 10 == 3;
        let expected: Vec<_> = (0..len).filter(|&index| fits(&items[index])).collect();
        let iter = items.clone().into_par_iter();
        check(iter.clone().positions(|n| fits(&n)), &expected);
        pool().install(|| {
            let (first, last) = (expected.first().copied(), expected.last().copied());
            assert_eq!(iter.clone().position_first(|n| fits(&n)), first);
            assert_eq!(iter.clone().position_last(|n| fits(&n)), last);
            let any = iter.clone().position_any(|n| fits(&n));
            assert_eq!(any.is_some(), first.is_some());
            assert!(any.iter().all(|index| expected.contains(index)));
            assert_eq!(iter.position_any(|_| false), None);
        });
    }
}

#[test]
fn blocks_give_all_items_in_order() {
    for len in SIZES {
        let items = numbers(len);
        let expected: Vec<_> = items.iter().collect();
        check(items.par_iter().by_exponential_blocks(), &expected);
        for size in [1, 3, 1000, usize::MAX] {
            check(items.par_iter().by_uniform_blocks(size), &expected);
        }
    }
}

#[test]
fn a_block_begins_when_the_one_before_is_done() {
    let done = AtomicUsize::new(0);
    let see = |index: usize, size: usize| {
        assert!(done.load(Ordering::Relaxed) >= index / size * size);
        std::hint::black_box((0..100).fold(index, |a, b| a ^ std::hint::black_box(b)));
        done.fetch_add(1, Ordering::Relaxed);
        index
    };
    let indices = (0..10_000_usize).into_par_iter();
    pool().install(|| {
        let blocks = indices
            .clone()
            .by_uniform_blocks(64)
            .map(|index| see(index, 64));
        assert_eq!(blocks.sum::<usize>(), 49_995_000);
        done.store(0, Ordering::Relaxed);
        // Blocks of 4, 8, 16 and so on: block `b` begins at 4 times 2 to the b less 4.
        let begin_of = |index: usize| 4 * ((1 << (index / 4 + 1).ilog2()) - 1);
        let blocks = indices.by_exponential_blocks().map(|index| {
            assert!(done.load(Ordering::Relaxed) >= begin_of(index));
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(blocks.count(), 10_000);
    });
}

#[test]
fn a_search_by_blocks_looks_at_no_later_block() {
    pool().install(|| {
        for len in [10_000, 100_000] {
            let looks = AtomicUsize::new(0);
            let blocks = (0..len).into_par_iter().by_uniform_blocks(100);
            let found = blocks.find_first(|&n| {
                looks.fetch_add(1, Ordering::Relaxed);
                n == 7_777
            });
            assert_eq!(found, Some(7_777));
            assert!(looks.into_inner() <= 7_800);
            let blocks = (0..len).into_par_iter().by_exponential_blocks();
            assert_eq!(blocks.find_last(|&n| n < 9_000), Some(8_999));
        }
    });
}

#[test]
fn sequences_compare_as_in_a_dictionary() {
    let sequences = [
        vec![],
        vec![1.0],
        vec![1.0, 2.0],
        vec![1.0, 3.0],
        vec![2.0],
        vec![f64::NAN],
        vec![1.0, f64::NAN],
        vec![1.0; 5000],
        vec![1.0; 5001],
        [vec![1.0; 4000], vec![f64::NAN], vec![0.0; 999]].concat(),
        [vec![1.0; 4999], vec![0.5]].concat(),
    ];
    let pairs = sequences
        .iter()
        .flat_map(|a| sequences.iter().map(move |b| (a, b)));
    for (a, b) in pairs {
        pool().install(|| {
            let iter = a.par_iter();
            assert_eq!(iter.clone().partial_cmp(b), a.iter().partial_cmp(b.iter()));
            assert_eq!(iter.clone().eq(b), a.iter().eq(b.iter()));
            assert_eq!(iter.clone().ne(b), a.iter().ne(b.iter()));
            assert_eq!(iter.clone().lt(b), a.iter().lt(b.iter()));
            assert_eq!(iter.clone().le(b), a.iter().le(b.iter()));
            assert_eq!(iter.clone().gt(b), a.iter().gt(b.iter()));
            assert_eq!(iter.clone().ge(b), a.iter().ge(b.iter()));
            let [a, b] = [a, b].map(|items| items.iter().map(|n| n.to_bits()).collect::<Vec<_>>());
            assert_eq!(a.par_iter().cmp(&b), a.cmp(&b));
        });
    }
}

#[test]
fn no_item_is_looked_at_if_the_lengths_differ() {
    let touchy = (0..100)
        .into_par_iter()
        .map(|_| -> u8 { panic!("it is looked at") });
    assert!(!touchy.clone().eq(vec![0; 99]));
    assert!(touchy.ne(vec![0; 101]));
}

#[test]
fn a_comparison_stops_at_the_first_difference() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    let looks = AtomicUsize::new(0);
    let ones = (0..100_000).into_par_iter().map(|n| {
        looks.fetch_add(1, Ordering::Relaxed);
        u32::from(n != 500)
    });
    pool.install(|| {
        assert!(ones.clone().lt(vec![1; 100_000]));
        assert!(!ones.eq(vec![1; 100_000]));
    });
    assert_eq!(looks.into_inner(), 2 * 501);
}

#[test]
fn vectors_that_are_collected_into_keep_their_memory_and_lose_their_items() {
    for len in SIZES {
        let mut target: Vec<String> = vec!["old".to_owned(); 20_000];
        let memory = target.as_ptr();
        let expected: Vec<_> = (0..len).map(|n| n.to_string()).collect();
        let iter = (0..len).into_par_iter().map(|n| n.to_string());
        pool().install(|| iter.collect_into_vec(&mut target));
        assert_eq!(target, expected);
        assert_eq!(target.as_ptr(), memory);

        let (mut left, mut right) = (vec![1, 2, 3], target);
        let iter = (0..len).into_par_iter().map(|n| (n, n.to_string()));
        pool().install(|| iter.unzip_into_vecs(&mut left, &mut right));
        assert!(left.iter().copied().eq(0..len));
        assert_eq!(right, expected);
        assert_eq!(right.as_ptr(), memory);
    }
}

#[test]
fn a_panic_leaves_vectors_that_are_collected_into_empty() {
    let mut target = vec!["old".to_owned()];
    let result = catch_unwind(AssertUnwindSafe(|| {
        let iter = (0..10_000).into_par_iter().map(|n| {
            assert!(n != 7_000, "stop");
            n.to_string()
        });
        pool().install(|| iter.collect_into_vec(&mut target));
    }));
    assert!(result.is_err());
    assert!(target.is_empty());
}

#[test]
fn items_that_are_cut_away_are_dropped_once() {
    struct Counted<'c>(&'c AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = AtomicUsize::new(0);
    let items = |len: usize| -> Vec<_> { (0..len).map(|_| Counted(&drops)).collect() };
    pool().install(|| {
        let rest = items(1000).into_par_iter().skip(100).take(500).step_by(7);
        let chunks = rest
            .chunks(5)
            .interleave_shortest(items(10).into_par_iter().chunks(2));
        drop(chunks.rev().collect::<Vec<_>>());
        items(50)
            .into_par_iter()
            .zip_eq(items(50))
            .rev()
            .take(3)
            .for_each(drop);
    });
    assert_eq!(drops.into_inner(), 1110);
}

fn message(call: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("it panics");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[test]
fn impossible_numbers_are_refused_with_what_is_possible() {
    let iter = || [1, 2, 3].into_par_iter();
    for message in [
        message(|| drop(iter().chunks(0))),
        message(|| drop(iter().fold_chunks(0, || 0, |a, b| a + b))),
        message(|| drop(iter().fold_chunks_with(0, 0, |a, b| a + b))),
        message(|| drop(iter().step_by(0))),
        message(|| drop(iter().by_uniform_blocks(0))),
    ] {
        assert!(message.contains("at least 1"), "{message}");
    }
    let message = message(|| drop(iter().zip_eq([1, 2])));
    assert!(message.contains("3 items with 2"), "{message}");
}
