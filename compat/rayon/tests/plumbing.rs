//! Iterators and consumers of other crates, which speak rayon's plumbing, in one chain with ours.

use std::env;
use std::ops::Range;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon::iter::plumbing::{
    bridge, bridge_unindexed, Consumer, Folder, Producer, ProducerCallback, Reducer,
    UnindexedConsumer, UnindexedProducer,
};
use rayon::iter::Either;
use rayon::prelude::*;

/// Numbers, by a producer of its own, which counts its pieces.
struct Numbers<'a> {
    range: Range<usize>,
    pieces: &'a AtomicUsize,
}

fn numbers(len: usize, pieces: &AtomicUsize) -> Numbers<'_> {
    let range = 0..len;
    Numbers { range, pieces }
}

impl ParallelIterator for Numbers<'_> {
    type Item = usize;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.range.len())
    }
}

impl IndexedParallelIterator for Numbers<'_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn drive<C: Consumer<usize>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<usize>>(self, callback: CB) -> CB::Output {
        callback.callback(self)
    }
}

impl Producer for Numbers<'_> {
    type Item = usize;
    type IntoIter = Range<usize>;

    fn into_iter(self) -> Range<usize> {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        self.range
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (Range { start, end }, pieces) = (self.range, self.pieces);
        let middle = start + index;
        assert!(middle <= end);
        let part = |range| Self { range, pieces };
        (part(start..middle), part(middle..end))
    }
}

/// The numbers of a range, which does not tell how many they are.
struct Tree(Range<usize>);

impl ParallelIterator for Tree {
    type Item = usize;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

impl UnindexedProducer for Tree {
    type Item = usize;

    fn split(self) -> (Self, Option<Self>) {
        let Range { start, end } = self.0;
        let middle = start + (end - start) / 3;
        match middle > start {
            true => (Self(start..middle), Some(Self(middle..end))),
            false => (self, None),
        }
    }

    fn fold_with<F: Folder<usize>>(self, folder: F) -> F {
        folder.consume_iter(self.0)
    }
}

/// Passes items on and counts them, as a progress bar does.
struct Counted<'a, I>(I, &'a AtomicUsize);

impl<I: ParallelIterator> ParallelIterator for Counted<'_, I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.0.drive_unindexed(Counted(consumer, self.1))
    }
}

impl<'a, T, C: Consumer<T>> Consumer<T> for Counted<'a, C> {
    type Folder = Counted<'a, C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let (left, right, reducer) = self.0.split_at(index);
        (Counted(left, self.1), Counted(right, self.1), reducer)
    }

    fn into_folder(self) -> Self::Folder {
        Counted(self.0.into_folder(), self.1)
    }

    fn full(&self) -> bool {
        self.0.full()
    }
}

impl<T, C: UnindexedConsumer<T>> UnindexedConsumer<T> for Counted<'_, C> {
    fn split_off_left(&self) -> Self {
        Counted(self.0.split_off_left(), self.1)
    }

    fn to_reducer(&self) -> C::Reducer {
        self.0.to_reducer()
    }
}

impl<T, F: Folder<T>> Folder<T> for Counted<'_, F> {
    type Result = F::Result;

    fn consume(self, item: T) -> Self {
        self.1.fetch_add(1, Ordering::Relaxed);
        Counted(self.0.consume(item), self.1)
    }

    fn complete(self) -> F::Result {
        self.0.complete()
    }

    fn full(&self) -> bool {
        self.0.full()
    }
}

/// Lists what it gets, in order, up to a number of items for each part.
#[derive(Clone, Copy)]
struct List {
    at_most: usize,
}

struct Listing(Vec<usize>, usize);

struct Joined;

impl Consumer<usize> for List {
    type Folder = Listing;
    type Reducer = Joined;
    type Result = Vec<usize>;

    fn split_at(self, _index: usize) -> (Self, Self, Joined) {
        (self, self, Joined)
    }

    fn into_folder(self) -> Listing {
        Listing(Vec::new(), self.at_most)
    }

    fn full(&self) -> bool {
        false
    }
}

impl UnindexedConsumer<usize> for List {
    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> Joined {
        Joined
    }
}

impl Folder<usize> for Listing {
    type Result = Vec<usize>;

    fn consume(mut self, item: usize) -> Self {
        assert!(self.0.len() < self.1, "it was full");
        self.0.push(item);
        self
    }

    fn complete(self) -> Vec<usize> {
        self.0
    }

    fn full(&self) -> bool {
        self.0.len() == self.1
    }
}

impl Reducer<Vec<usize>> for Joined {
    fn reduce(self, mut left: Vec<usize>, right: Vec<usize>) -> Vec<usize> {
        left.extend(right);
        left
    }
}

const ALL: List = List {
    at_most: usize::MAX,
};
const LEN: usize = 100_000;

#[test]
fn a_foreign_producer_is_driven_by_our_adaptors_and_consumers() {
    let pieces = &AtomicUsize::new(0);
    let even = numbers(LEN, pieces).map(|n| n + 1).filter(|n| n % 2 == 0);
    assert_eq!(even.count(), LEN / 2);
    assert!(pieces.load(Ordering::Relaxed) > 1, "piece by piece");

    let doubled: Vec<_> = numbers(LEN, pieces).map(|n| 2 * n).collect();
    assert!(doubled.into_iter().eq((0..LEN).map(|n| 2 * n)));
    assert_eq!(numbers(LEN, pieces).sum::<usize>(), LEN * (LEN - 1) / 2);
    assert_eq!(
        numbers(LEN, pieces).find_first(|n| n % 777 == 776),
        Some(776)
    );
    assert_eq!(
        numbers(LEN, pieces).find_last(|n| n % 2 == 0),
        Some(LEN - 2)
    );
    assert_eq!(numbers(0, pieces).max(), None);
}

#[test]
fn a_foreign_producer_is_cut_where_our_adaptors_want_it() {
    let pieces = &AtomicUsize::new(0);
    let back: Vec<_> = numbers(1000, pieces)
        .rev()
        .enumerate()
        .skip(10)
        .take(100)
        .collect();
    assert!(back.into_iter().eq((10..110).map(|i| (i, 999 - i))));
    let zipped: Vec<_> = (0..500)
        .into_par_iter()
        .zip(numbers(1000, pieces))
        .collect();
    assert!(zipped.into_iter().all(|(a, b)| a == b));
    let chunks: Vec<_> = numbers(10, pieces)
        .chunks(4)
        .map(|chunk| chunk.len())
        .collect();
    assert_eq!(chunks, [4, 4, 2]);
    let chained = numbers(10, pieces)
        .chain(vec![7; 3])
        .chain(numbers(5, pieces));
    assert_eq!(chained.sum::<usize>(), 45 + 21 + 10);
    let mixed: Vec<_> = (numbers(9, pieces), vec!['x'; 9], 0..9)
        .into_par_iter()
        .collect();
    assert_eq!(mixed[8], (8, 'x', 8));
    assert!(numbers(9, pieces).eq(0..9) && numbers(9, pieces).lt(numbers(10, pieces)));
}

#[test]
fn items_below_stateless_adaptors_are_not_collected_first() {
    let pieces = &AtomicUsize::new(0);
    let found = numbers(1 << 60, pieces)
        .map(|n| n + 1)
        .filter(|n| n % 2 == 0)
        .filter_map(|n| n.checked_sub(100))
        .find_first(|&n| n > 1000);
    assert_eq!(found, Some(1002));
}

#[test]
fn a_search_ends_below_each_adaptor_that_opens() {
    // Collecting so many numbers would take all memory.
    fn found<T: Send>(adapt: impl FnOnce(Numbers<'static>) -> Option<T>) {
        static PIECES: AtomicUsize = AtomicUsize::new(0);
        assert!(adapt(numbers(usize::MAX, &PIECES)).is_some());
    }

    found(|all| all.inspect(|_| ()).find_any(|_| true));
    found(|all| all.update(|n| *n ^= 1).find_any(|_| true));
    found(|all| all.flat_map_iter(|n| [n, n]).find_any(|_| true));
    found(|all| all.map(Some).flatten_iter().find_any(|_| true));
    found(|all| all.map(|_| &7).cloned().find_any(|_| true));
    found(|all| all.map(|_| &7).copied().find_any(|_| true));
    found(|all| all.map(Some).while_some().find_any(|_| true));
    found(|all| all.take_any(9).reduce_with(usize::max));
    found(|all| all.skip_any(9).find_any(|_| true));
    // The first that comes is taken, whoever brings it: a condition on the item itself may be false
    // of the first.
    let asked = AtomicUsize::new(0);
    let early = |_: &usize| asked.fetch_add(1, Ordering::Relaxed) < 9;
    found(|all| all.take_any_while(early).min());
    found(|all| all.skip_any_while(|n| *n == 0).find_any(|_| true));
    let enough = |sum, n| if n < 9 { Some(sum + n) } else { None };
    found(|all| all.try_fold(|| 0, enough).find_any(Option::is_none));
    found(|all| all.map_with(1, |one, n| n ^ *one).find_any(|_| true));
    found(|all| all.map_init(|| 1, |one, n| n ^ *one).find_any(|_| true));
    found(|all| all.panic_fuse().find_any(|_| true));
    found(|all| all.with_min_len(9).find_any(|_| true));
    found(|all| all.intersperse(7).find_any(|&n| n == 7));
    found(|all| all.flat_map(|n| [n, n]).find_any(|_| true));
    // Either side of `Either` is taken as it is.
    let either = |n| match n % 2 {
        0 => Either::Left(rayon::iter::repeat(n)),
        _ => Either::Right(rayon::iter::repeat(n).map(|n| n + 1)),
    };
    found(|all| all.flat_map(either).find_any(|_| true));
    found(|all| {
        Either::<_, Tree>::Left(all)
            .map(|n| n + 1)
            .find_any(|_| true)
    });
    found(|all| all.chain([1]).find_first(|&n| n == 8));
    found(|all| [1].into_par_iter().chain(all).find_first(|&n| n == 8));
}

#[test]
fn a_search_ends_below_each_adaptor_with_a_length_that_opens() {
    fn found<T: Send>(adapt: impl FnOnce(Numbers<'static>) -> Option<T>) {
        static PIECES: AtomicUsize = AtomicUsize::new(0);
        assert!(adapt(numbers(1 << 60, &PIECES)).is_some());
    }

    let shorter = || (0..(1 << 60) - 5_usize).into_par_iter();
    let either = || Either::<_, rayon::range::Iter<usize>>::Left(shorter());
    found(|all| all.zip(either()).rev().find_any(|_| true));
    found(|all| all.enumerate().find_any(|(i, n)| i == n));
    found(|all| all.map(|n| n ^ 1).update(|_| ()).rev().find_any(|_| true));
    found(|all| all.step_by(3).find_first(|&n| n == 9));
    found(|all| all.zip(shorter()).find_any(|(a, b)| a == b));
    found(|all| shorter().zip(all).rev().find_any(|(a, b)| a == b));
    found(|all| shorter().map(|n| n / 2).interleave(all).find_any(|_| true));
    let fused = |all: Numbers<'static>| all.panic_fuse().map_init(|| 1, |one, n| n ^ *one);
    found(|all| fused(all).with_max_len(99).enumerate().find_any(|_| true));
    found(|all| all.skip(9).find_first(|&n| n == 12));
    found(|all| all.take(1 << 59).enumerate().find_any(|_| true));
    found(|all| all.interleave_shortest(shorter()).find_any(|_| true));
    found(|all| all.chunks(4).rev().find_any(|chunk| chunk.len() == 4));
    found(|all| all.fold_chunks(4, || 0, |a, n| a ^ n).find_any(|_| true));
    found(|all| all.fold_chunks_with(4, 0, |a, n| a ^ n).find_any(|_| true));
    found(|all| all.positions(|n| n % 9 == 8).find_any(|_| true));
    found(|all| all.by_uniform_blocks(1000).find_first(|&n| n == 2008));
    found(|all| all.by_exponential_blocks().find_first(|&n| n == 2008));
}

#[test]
fn what_counts_or_cuts_the_items_of_a_foreign_producer_gives_the_right_ones() {
    let pieces = &AtomicUsize::new(0);
    let all = || numbers(1000, pieces);
    let seen = AtomicUsize::new(0);
    let count = |_: &usize| _ = seen.fetch_add(1, Ordering::Relaxed);
    let rest: Vec<_> = all().inspect(count).skip(990).collect();
    assert!(rest.into_iter().eq(990..1000));
    assert_eq!(seen.into_inner(), 1000, "what is skipped is gone through");
    assert_eq!(all().skip(2000).count() + all().take(0).count(), 0);
    assert_eq!((all().skip(10).len(), all().take(10).len()), (990, 10));
    assert!(all().take(2000).eq(0..1000));
    assert!(all().take(20).skip(15).rev().eq(vec![19, 18, 17, 16, 15]));

    let sums: Vec<_> = all().fold_chunks(400, || 0, |sum, n| sum + n).collect();
    assert_eq!(sums, [79_800, 239_800, 179_900]);
    assert_eq!(all().chunks(300).map(|chunk| chunk[0]).max(), Some(900));
    let threes: Vec<_> = all().positions(|n| n % 300 == 3).collect();
    assert_eq!(threes, [3, 303, 603, 903]);
    assert_eq!(all().by_uniform_blocks(7).sum::<usize>(), 499_500);
    assert_eq!(all().by_exponential_blocks().sum::<usize>(), 499_500);
    let turns: Vec<_> = all().interleave_shortest(all().take(2)).collect();
    assert_eq!(turns, [0, 0, 1, 1, 2]);
}

#[test]
fn lent_iterators_of_two_lengths_give_pairs_of_the_shorter() {
    let pieces = &AtomicUsize::new(0);
    let pairs = || numbers(2000, pieces).zip(numbers(1000, pieces).map(|n| n + 1));
    assert_eq!((pairs().len(), pairs().count()), (1000, 1000));
    assert!(pairs()
        .rev()
        .enumerate()
        .all(|(i, (a, b))| a == 999 - i && b == a + 1));
    let skipped: Vec<_> = pairs().skip(990).chain(pairs().take(1)).collect();
    assert!(skipped.iter().map(|pair| pair.0).eq((990..1000).chain([0])));
    let mut all = vec![(9, 9)];
    pairs().collect_into_vec(&mut all);
    assert!(all.into_iter().eq((0..1000).map(|n| (n, n + 1))));
    let turns = pairs()
        .map(|(a, _)| a)
        .interleave_shortest(numbers(5, pieces));
    assert!(turns
        .collect::<Vec<_>>()
        .into_iter()
        .eq([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]));
    let between = numbers(3, pieces)
        .map_with(1, |one, n| n + *one)
        .intersperse(0);
    assert_eq!(
        between.enumerate().collect::<Vec<_>>(),
        [(0, 1), (1, 0), (2, 2), (3, 0), (4, 3)]
    );
}

#[test]
fn folds_take_all_items_of_a_foreign_producer() {
    let pieces = AtomicUsize::new(0);
    let sum = numbers(10_000, &pieces).fold(|| 0, |sum, n| sum + n);
    assert_eq!(sum.sum::<usize>(), 49_995_000);
    let texts = numbers(3_000, &pieces)
        .inspect(|_| ())
        .flat_map_iter(|n| [n, n])
        .fold_with(Vec::new(), |mut all, n| {
            all.push(n);
            all
        });
    let all = texts.reduce(Vec::new, |a, b| [a, b].concat());
    assert!(all.iter().copied().eq((0..3_000).flat_map(|n| [n, n])));
}

#[test]
fn what_does_not_tell_its_length_is_driven_too() {
    assert_eq!(Tree(0..LEN).sum::<usize>(), LEN * (LEN - 1) / 2);
    let odd: Vec<_> = Tree(0..LEN).filter(|n| n % 2 == 1).collect();
    assert!(odd.into_iter().eq((0..LEN).filter(|n| n % 2 == 1)));
    assert_eq!(Tree(0..LEN).find_any(|&n| n == 12_345), Some(12_345));
    assert_eq!(Tree(0..LEN).position_of(54_321), Some(54_321));
    assert_eq!(Tree(0..0).min(), None);
}

trait PositionOf {
    fn position_of(self, item: usize) -> Option<usize>;
}

impl<I: ParallelIterator<Item = usize>> PositionOf for I {
    fn position_of(self, item: usize) -> Option<usize> {
        let all: Vec<_> = self.collect();
        all.par_iter().position_first(|&it| it == item)
    }
}

#[test]
fn foreign_iterators_lie_within_flat_map() {
    let pieces = &AtomicUsize::new(0);
    let inner = |n| numbers(n, pieces).map(move |m| m + n);
    let flat: Vec<_> = (0..200).into_par_iter().flat_map(inner).collect();
    assert!(flat
        .into_iter()
        .eq((0..200).flat_map(|n| (0..n).map(move |m| m + n))));
    let trees = vec![Tree(0..3), Tree(3..LEN)];
    assert_eq!(trees.into_par_iter().flatten().count(), LEN);
}

#[test]
fn a_foreign_consumer_gets_the_items_of_our_iterators() {
    let even = || (0..LEN).into_par_iter().filter(|n| n % 2 == 0);
    assert!(even()
        .drive_unindexed(ALL)
        .into_iter()
        .eq((0..LEN).step_by(2)));
    let squares = vec![1, 2, 3].into_par_iter().map(|n: usize| n * n);
    assert_eq!(squares.drive(ALL), [1, 4, 9]);
    let first = even().drive_unindexed(List { at_most: 1 });
    assert!(first[0] == 0 && first.len() < LEN / 2);
}

#[test]
fn a_foreign_consumer_meets_a_foreign_producer_below_our_adaptors() {
    let pieces = &AtomicUsize::new(0);
    let all = numbers(LEN, pieces).map(|n| n + 1).drive_unindexed(ALL);
    assert!(all.into_iter().eq(1..=LEN));
    let all = numbers(LEN, pieces).rev().drive(ALL);
    assert!(all.into_iter().eq((0..LEN).rev()));
    assert!(Tree(0..LEN).drive_unindexed(ALL).into_iter().eq(0..LEN));
    assert!(numbers(LEN, pieces).drive(ALL).into_iter().eq(0..LEN));
}

#[test]
fn an_iterator_that_wraps_the_consumer_sees_each_item_once() {
    let (seen, pieces) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    let sum = Counted((0..LEN).into_par_iter().map(|n| n + 1), seen).filter(|n| n % 2 == 0);
    assert_eq!(sum.count(), LEN / 2);
    assert_eq!(seen.load(Ordering::Relaxed), LEN);
    let list: Vec<_> = Counted(numbers(LEN, pieces), seen).map(|n| n / 2).collect();
    assert!(list.into_iter().eq((0..LEN).map(|n| n / 2)));
    assert_eq!(seen.load(Ordering::Relaxed), 2 * LEN);
}

/// Heist's defaults let a caller take part, which rayon's do not: a way past `enter` would make the
/// global pool with those, if it is the first.
#[test]
fn no_way_into_the_pool_makes_it_with_heists_defaults() {
    const HEISTS: &str = "HEIST_GLOBAL";
    if env::var_os(HEISTS).is_some() {
        // Not skipped: the other tests of this process are run for the one that started it.
        return;
    }
    let mut again = Command::new(env::current_exe().unwrap());
    let output = again.env(HEISTS, "explicit").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn no_item_runs_on_the_calling_thread() {
    let caller = thread::current().id();
    let elsewhere = |n: usize| {
        assert_ne!(thread::current().id(), caller);
        n
    };
    for len in [2, LEN] {
        assert_eq!((0..len).into_par_iter().map(elsewhere).count(), len);
        let collected: Vec<_> = vec![7; len].into_par_iter().map(elsewhere).collect();
        assert_eq!(collected.len(), len);
        let pieces = &AtomicUsize::new(0);
        numbers(len, pieces).map(elsewhere).for_each(|_| ());
    }
    let mut items: Vec<_> = (0..LEN).rev().collect();
    items.par_sort_by(|a, b| elsewhere(*a).cmp(b));
    assert!(items.into_iter().eq(0..LEN));
}

#[test]
fn a_panic_in_a_foreign_chain_reaches_the_caller_and_drops_all() {
    struct Alive<'a>(&'a AtomicUsize);
    impl Drop for Alive<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let (alive, pieces) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    let result = std::panic::catch_unwind(|| {
        let made = numbers(LEN, pieces).map(|n| {
            assert_ne!(n, LEN / 2);
            alive.fetch_add(1, Ordering::Relaxed);
            Alive(alive)
        });
        made.collect::<Vec<_>>().len()
    });
    assert!(result.is_err());
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Takes the items of a producer one by one from its front, and the last from its back.
struct OneByOne;

impl<T> ProducerCallback<T> for OneByOne {
    type Output = Vec<T>;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> Vec<T> {
        let mut items = producer.into_iter();
        let last = items.next_back();
        let mut all = Vec::new();
        while let Some(item) = items.next() {
            all.push(item);
            assert_eq!(items.len(), items.size_hint().0);
        }
        all.extend(last);
        all
    }
}

/// A step of ours may give two items.
#[test]
fn a_producer_of_ours_gives_each_item_that_stands_between_others() {
    let spaced = |len: usize| (0..len).into_par_iter().intersperse(7);
    assert_eq!(spaced(4).with_producer(OneByOne), [0, 7, 1, 7, 2, 7, 3]);
    assert_eq!(spaced(1).with_producer(OneByOne), [0]);
    assert!(spaced(0).with_producer(OneByOne).is_empty());
    let chunks = spaced(3).chunks(2).with_producer(OneByOne);
    assert_eq!(chunks, [vec![0, 7], vec![1, 7], vec![2]]);
}
