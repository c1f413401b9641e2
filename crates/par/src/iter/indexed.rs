//! The trait of parallel iterators that know their length and can be cut anywhere.
// Long: a trait cannot be divided.

use std::cmp::Ordering;

use super::adaptor::{
    Chunks, Enumerate, ExponentialBlocks, FoldChunks, FoldChunksWith, Interleave,
    InterleaveShortest, MaxLen, MinLen, Positions, Rev, Skip, StepBy, Take, UniformBlocks,
    WithPolicy, WithWeight, Zip, ZipEq,
};
use super::consumer::{collect_into, unzip_into};
use super::{IntoParallelIterator, ParallelIterator};
use crate::granularity::SplitPolicy;
use crate::part::IndexedPart;

/// A parallel iterator that knows how many items it has, and can be cut at any index.
///
/// Implemented for each [`IndexedPart`]. Each method has an example.
#[expect(
    clippy::len_without_is_empty,
    reason = "as the trait that it stands for"
)]
pub trait IndexedParallelIterator: ParallelIterator + IndexedPart {
    /// The number of items.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!((0..10).into_par_iter().chunks(4).len(), 3);
    /// ```
    fn len(&self) -> usize {
        self.part_len()
    }

    /// Gives each item with its index.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let indexed: Vec<_> = ["a", "b"].par_iter().enumerate().collect();
    /// assert_eq!(indexed, [(0, &"a"), (1, &"b")]);
    /// ```
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate::new(self)
    }

    /// Gives the items from the last to the first.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let back: Vec<_> = (0..4).into_par_iter().rev().collect();
    /// assert_eq!(back, [3, 2, 1, 0]);
    /// ```
    fn rev(self) -> Rev<Self> {
        Rev::new(self)
    }

    /// Gives pairs: an item of this one, and the item of the other at the same index. It is as long
    /// as the shorter one.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let pairs: Vec<_> = (0..3).into_par_iter().zip(vec!['a', 'b', 'c']).collect();
    /// assert_eq!(pairs, [(0, 'a'), (1, 'b'), (2, 'c')]);
    /// ```
    fn zip<Z>(self, other: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Zip::new(self, other.into_par_iter())
    }

    /// As [`zip`](Self::zip), for two iterators of the same length.
    ///
    /// # Panics
    ///
    /// Panics if the lengths differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let (prices, amounts) = ([3, 5, 8], [10, 1, 2]);
    /// let total = prices.par_iter().zip_eq(&amounts).map(|(p, n)| p * n);
    /// assert_eq!(total.sum::<i32>(), 51);
    /// ```
    #[track_caller]
    fn zip_eq<Z>(self, other: Z) -> ZipEq<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let other = other.into_par_iter();
        let (len, other_len) = (self.len(), other.len());
        assert!(
            len == other_len,
            "zip_eq of {len} items with {other_len}: iterators must have the same length"
        );
        Zip::new(self, other)
    }

    /// Gives an item of this one, then one of the other, and so on by turns. When one has no more,
    /// the rest of the other follows.
    ///
    /// # Panics
    ///
    /// Panics when it is consumed, if both together have more than `usize::MAX` items.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let cards = vec!["red", "red", "red"].into_par_iter().interleave(vec!["black"]);
    /// assert_eq!(cards.collect::<Vec<_>>(), ["red", "black", "red", "red"]);
    /// ```
    fn interleave<I>(self, other: I) -> Interleave<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Interleave::new(self, other.into_par_iter())
    }

    /// As [`interleave`](Self::interleave), but ends when it is the turn of one that has no more.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let cards = vec!["red", "red", "red"].into_par_iter().interleave_shortest(vec!["black"]);
    /// assert_eq!(cards.collect::<Vec<_>>(), ["red", "black", "red"]);
    /// ```
    fn interleave_shortest<I>(self, other: I) -> InterleaveShortest<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        InterleaveShortest::shortest(self, other.into_par_iter())
    }

    /// Gives the items in vectors of `chunk_size`; the last one may be shorter.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Cost
    ///
    /// An allocation for each chunk: [`fold_chunks`](Self::fold_chunks) does without, as do chunks
    /// of slices.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let rows: Vec<_> = (1..8).into_par_iter().chunks(3).collect();
    /// assert_eq!(rows, [vec![1, 2, 3], vec![4, 5, 6], vec![7]]);
    /// ```
    #[track_caller]
    fn chunks(self, chunk_size: usize) -> Chunks<Self> {
        Chunks::vectors(self, chunk_size)
    }

    /// Folds each `chunk_size` items, beginning with `identity()`, and gives the results.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let noise = [4, 6, 1, 1, 9, 2];
    /// let peaks = noise.par_iter().fold_chunks(2, || 0, |peak, &level| peak.max(level));
    /// assert_eq!(peaks.collect::<Vec<_>>(), [6, 1, 9]);
    /// ```
    #[track_caller]
    fn fold_chunks<T, ID, F>(
        self,
        chunk_size: usize,
        identity: ID,
        fold_op: F,
    ) -> FoldChunks<Self, ID, F>
    where
        ID: Fn() -> T + Send + Sync,
        F: Fn(T, Self::Item) -> T + Send + Sync,
        T: Send,
    {
        FoldChunks::from_identity(self, chunk_size, identity, fold_op)
    }

    /// As [`fold_chunks`](Self::fold_chunks); each fold begins with a clone of `init`.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let digits = (0..6_u32).into_par_iter().fold_chunks_with(3, String::new(), |text, n| {
    ///     text + &n.to_string()
    /// });
    /// assert_eq!(digits.collect::<Vec<_>>(), ["012", "345"]);
    /// ```
    #[track_caller]
    fn fold_chunks_with<T, F>(
        self,
        chunk_size: usize,
        init: T,
        fold_op: F,
    ) -> FoldChunksWith<Self, T, F>
    where
        T: Send + Clone,
        F: Fn(T, Self::Item) -> T + Send + Sync,
    {
        FoldChunksWith::from_init(self, chunk_size, init, fold_op)
    }

    /// Compares as words are compared in a dictionary: the first items that differ decide, and if
    /// there are none, the lengths.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let version = [1, 10, 2];
    /// assert!(version.par_iter().cmp(&[1, 9, 9]).is_gt());
    /// assert!(version.par_iter().cmp(&[1, 10]).is_gt());
    /// ```
    fn cmp<I>(self, other: I) -> Ordering
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
        Self::Item: Ord,
    {
        let other = other.into_par_iter();
        let by_len = self.len().cmp(&other.len());
        let difference = |(a, b): (Self::Item, I::Item)| Some(a.cmp(&b)).filter(|o| o.is_ne());
        self.zip(other).find_map_first(difference).unwrap_or(by_len)
    }

    /// As [`cmp`](Self::cmp), for items of which some cannot be compared: `None` if such a pair is
    /// the first that is not equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::cmp::Ordering;
    ///
    /// let point = [1.0, 2.0];
    /// assert_eq!(point.par_iter().partial_cmp(&[1.0, 3.0]), Some(Ordering::Less));
    /// assert_eq!(point.par_iter().partial_cmp(&[1.0, f64::NAN]), None);
    /// ```
    fn partial_cmp<I>(self, other: I) -> Option<Ordering>
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        let other = other.into_par_iter();
        let by_len = self.len().cmp(&other.len());
        let difference = |(a, b): (Self::Item, I::Item)| {
            Some(a.partial_cmp(&b)).filter(|&order| order != Some(Ordering::Equal))
        };
        self.zip(other)
            .find_map_first(difference)
            .unwrap_or(Some(by_len))
    }

    /// Whether there are as many items in both and all are equal. If the lengths differ, no item is
    /// looked at.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let word = ['r', 'o', 't', 'o', 'r'];
    /// assert!(word.par_iter().eq(word.par_iter().rev()));
    /// ```
    fn eq<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        let other = other.into_par_iter();
        self.len() == other.len() && self.zip(other).all(|(a, b)| a == b)
    }

    /// Whether the lengths differ or any two items do: the contrary of [`eq`](Self::eq).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert!([1, 2].par_iter().ne(&[1, 2, 3]));
    /// ```
    fn ne<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        !self.eq(other)
    }

    /// Whether this one is less by [`partial_cmp`](Self::partial_cmp).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert!([1, 2].par_iter().lt(&[1, 2, 3]));
    /// ```
    fn lt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_lt)
    }

    /// Whether this one is less or equal by [`partial_cmp`](Self::partial_cmp).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert!([1, 2].par_iter().le(&[1, 2]));
    /// ```
    fn le<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_le)
    }

    /// Whether this one is greater by [`partial_cmp`](Self::partial_cmp).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert!([2].par_iter().gt(&[1, 2, 3]));
    /// ```
    fn gt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_gt)
    }

    /// Whether this one is greater or equal by [`partial_cmp`](Self::partial_cmp).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert!(![1.0].par_iter().ge(&[f64::NAN]), "they cannot be compared");
    /// ```
    fn ge<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_ge)
    }

    /// Gives the first item and then each one that is `step` items further.
    ///
    /// # Panics
    ///
    /// Panics if `step` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let years: Vec<_> = (2020..2030).into_par_iter().step_by(4).collect();
    /// assert_eq!(years, [2020, 2024, 2028]);
    /// ```
    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        StepBy::new(self, step)
    }

    /// Gives all but the first `n` items. Those are gone through, as in a sequential iterator, and
    /// dropped: closures before this see them.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let fields = ["name:", "heist", "par"];
    /// assert_eq!(fields.into_par_iter().skip(1).collect::<Vec<_>>(), ["heist", "par"]);
    /// ```
    fn skip(self, n: usize) -> Skip<Self> {
        Skip::new(self, n)
    }

    /// Gives the first `n` items only; the others are dropped at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!((1..1_000_000).into_par_iter().take(3).collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    fn take(self, n: usize) -> Take<Self> {
        Take::new(self, n)
    }

    /// The index of an item of which `predicate` is true: whichever is found, and then all stop.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let loads = [0.2, 0.9, 0.4, 0.95];
    /// let busy = loads.par_iter().position_any(|&load| load > 0.8);
    /// assert!(busy == Some(1) || busy == Some(3));
    /// ```
    fn position_any<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.positions(predicate).find_any(|_| true)
    }

    /// The index of the first item, in the order of the sequence, of which `predicate` is true. It
    /// costs what [`find_first`](ParallelIterator::find_first) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let loads = [0.2, 0.9, 0.4, 0.95];
    /// assert_eq!(loads.par_iter().position_first(|&load| load > 0.8), Some(1));
    /// ```
    fn position_first<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.positions(predicate).find_first(|_| true)
    }

    /// The index of the last item, in the order of the sequence, of which `predicate` is true. It
    /// costs what [`find_last`](ParallelIterator::find_last) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let loads = [0.2, 0.9, 0.4, 0.95];
    /// assert_eq!(loads.par_iter().position_last(|&load| load > 0.8), Some(3));
    /// ```
    fn position_last<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.positions(predicate).find_last(|_| true)
    }

    #[doc(hidden)]
    #[deprecated(note = "it finds any position, not the first: say `position_any`, \
                         `position_first` or `position_last`")]
    fn position<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.position_any(predicate)
    }

    /// Gives the indices of the items of which `predicate` is true.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let text = "to be or not to be".as_bytes();
    /// let blanks: Vec<_> = text.par_iter().positions(|&byte| byte == b' ').collect();
    /// assert_eq!(blanks, [2, 5, 8, 12, 15]);
    /// ```
    fn positions<P>(self, predicate: P) -> Positions<Self, P>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        Positions::new(self, predicate)
    }

    /// Gives the items in blocks, each twice as long as the one before: each is gone through by all
    /// workers, and the next begins when it is done.
    ///
    /// So a search for the [first](ParallelIterator::find_first) item of a kind, which may lie
    /// anywhere, looks at twice as many items as are before it, at most. The first block has as
    /// many items as there are workers.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let numbers = (1..1_000_000_000_u32).into_par_iter().by_exponential_blocks();
    /// let perfect = |n: &u32| (1..*n).filter(|d| n % d == 0).sum::<u32>() == *n;
    /// assert_eq!(numbers.find_first(perfect), Some(6));
    /// ```
    fn by_exponential_blocks(self) -> ExponentialBlocks<Self> {
        ExponentialBlocks::exponential(self)
    }

    /// Gives the items in blocks of `block_size`: each is gone through by all workers, and the next
    /// begins when it is done.
    ///
    /// So workers stay close to each other, which helps if a block fits into a cache that they
    /// share.
    ///
    /// # Panics
    ///
    /// Panics if `block_size` is 0.
    ///
    /// # Cost
    ///
    /// At the end of each block workers wait for each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let numbers = (0..1000_u32).into_par_iter().by_uniform_blocks(100);
    /// assert_eq!(numbers.map(|n| n % 10).sum::<u32>(), 4500);
    /// ```
    #[track_caller]
    fn by_uniform_blocks(self, block_size: usize) -> UniformBlocks<Self> {
        UniformBlocks::uniform(self, block_size)
    }

    /// Replaces what is in `target` by all items. The memory of the vector is used again if it is
    /// large enough.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut row = vec![0; 100];
    /// for n in 0..3 {
    ///     (0..5).into_par_iter().map(|i| i * n).collect_into_vec(&mut row);
    /// }
    /// assert_eq!(row, [0, 2, 4, 6, 8]);
    /// ```
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        let len = self.len();
        target.clear();
        collect_into(target, self, len);
    }

    /// Replaces what is in `left` and `right` by the halves of all pairs. The memory of the vectors
    /// is used again if it is large enough.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let (mut halves, mut rests) = (vec![7], vec![]);
    /// let divided = (0..4).into_par_iter().map(|n| (n / 2, n % 2));
    /// divided.unzip_into_vecs(&mut halves, &mut rests);
    /// assert_eq!((halves, rests), (vec![0, 0, 1, 1], vec![0, 1, 0, 1]));
    /// ```
    fn unzip_into_vecs<A, B>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
        A: Send,
        B: Send,
    {
        let len = IndexedParallelIterator::len(&self);
        left.clear();
        right.clear();
        unzip_into(left, right, self, len);
    }

    /// Never cuts the items into parts of fewer than `min`. Of two such wishes in one chain the
    /// greater holds.
    ///
    /// For work that is only worth while in one piece: what a part begins with, such as the value
    /// of a fold, is then shared by so many items. To spare the cost of splitting it is not needed:
    /// that is some microseconds of work apart anyway.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let bytes = (0..10_000_u32).into_par_iter().with_min_len(1000);
    /// assert_eq!(bytes.map(|n| n % 256).max(), Some(255));
    /// ```
    fn with_min_len(self, min: usize) -> MinLen<Self> {
        let policy = SplitPolicy {
            min_len: min,
            ..SplitPolicy::default()
        };
        WithPolicy::new(self, policy)
    }

    /// Cuts the items into parts of at most `max`, whether a worker wants them or not, unless that
    /// would make parts shorter than [`with_min_len`](Self::with_min_len) allows. Of two such
    /// wishes in one chain the lesser holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let bytes = (0..10_000_u32).into_par_iter().with_max_len(50);
    /// assert_eq!(bytes.map(|n| n % 256).max(), Some(255));
    /// ```
    fn with_max_len(self, max: usize) -> MaxLen<Self> {
        let policy = SplitPolicy {
            max_len: max,
            ..SplitPolicy::default()
        };
        WithPolicy::new(self, policy)
    }

    /// Splits by the cost of the items, not by their number: `weight` gives it for each, in any
    /// unit, beforehand.
    ///
    /// Parts are split when a worker is hungry, so that a loop is balanced at its end without this.
    /// It helps where few items cost much more than the others: a thief gets half of the work with
    /// its first theft, and not half of the items.
    ///
    /// # Cost
    ///
    /// One call of `weight` for each item, one after the other, and eight bytes per item.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let files = [("a.txt", 1_000_000_usize), ("b.txt", 10), ("c.txt", 20)];
    /// let names = files.par_iter().with_weight(|(_, bytes)| *bytes);
    /// assert_eq!(names.map(|(name, _)| name.len()).sum::<usize>(), 15);
    /// ```
    fn with_weight<F>(self, weight: F) -> WithWeight<Self>
    where
        Self: Clone,
        F: Fn(&Self::Item) -> usize,
    {
        let weights = self.clone().into_seq().map(|item| weight(&item));
        WithWeight::new(self, weights)
    }
}

impl<P: IndexedPart> IndexedParallelIterator for P {}
