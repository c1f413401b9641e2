//! The trait of all parallel iterators, and those of what becomes one or is made of one.
//!
//! They name each other, and so lie in one file.
// Long: a trait cannot be divided.

use std::cmp::Ordering;
use std::collections::LinkedList;
use std::iter::{Product, Sum};
use std::ops::ControlFlow;

use heist_core::CancellationToken;

use super::adaptor::{
    Chain, Cloned, Copied, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter, Fold,
    FoldWith, Inspect, Intersperse, Itself, Map, MapInit, MapWith, PanicFuse, SkipAny,
    SkipAnyWhile, TakeAny, TakeAnyWhile, TryFold, TryFoldWith, Update, WhileSome, WithCancellation,
    WithPolicy,
};
use super::consumer::{self, find, partition, partition_map, try_reduce, Chunks, ForEach, Wanted};
use super::{Either, Try};
use crate::algorithm::{par_exclusive_scan, par_inclusive_scan};
use crate::driver::drive;
use crate::granularity::{Granularity, SplitPolicy};
use crate::part::Part;
use crate::vec::IntoIter;

/// A sequence of items that several workers can go through at the same time.
///
/// Adaptors, such as [`map`](Self::map), give another parallel iterator and do nothing yet.
/// Consumers, such as [`for_each`](Self::for_each), run the whole chain, each item on one worker,
/// and return when all is done.
///
/// An external caller participates in the global pool: items run on the calling thread too, which
/// saves two changes of threads (rayon's never do). Where they must not, because they rely on what
/// only the pool's threads have or on the caller's locks and thread-locals being out of their way,
/// build that pool with `ThreadPoolBuilder::callers(Callers::Move)`, or run the loop in
/// `ThreadPool::install` of any pool.
///
/// Names and meanings are those of [`Iterator`] where it has them. Items are handed on in no
/// particular order of time, but the results of ordered consumers, such as
/// [`collect`](Self::collect), are in the order of the sequence.
///
/// # Panics
///
/// A consumer panics if a closure of its chain does, with the payload of one of the calls. Items
/// that had not begun may be dropped.
///
/// # Cost
///
/// An item costs what it costs in a loop. A worker keeps half of its part on offer, and splits
/// again when that is gone or done: lazy binary splitting (Tzannes, Caragea, Barua and Vishkin,
/// PPoPP 2010), with grains by the clock.
///
/// # Your own
///
/// Implemented for each [`Part`]: see [`plumbing`](super::plumbing) for how to write an iterator of
/// one's own.
pub trait ParallelIterator: Part<Output = <Self as ParallelIterator>::Item> {
    /// The type of the items.
    type Item: Send;

    /// The exact number of items, if it is known.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let numbers = (0..10).into_par_iter();
    /// assert_eq!(numbers.opt_len(), Some(10));
    /// assert_eq!(numbers.filter(|n| n % 2 == 0).opt_len(), None);
    /// ```
    fn opt_len(&self) -> Option<usize> {
        self.known_len()
    }

    /// Calls `op` with each item.
    ///
    /// # Panics
    ///
    /// Panics if `op` does, with the payload of one of the calls. Items that had not begun may be
    /// dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut squares = vec![0; 1000];
    /// squares.par_iter_mut().enumerate().for_each(|(i, square)| *square = i * i);
    /// assert_eq!(squares[30], 900);
    /// ```
    fn for_each<F>(self, op: F)
    where
        F: Fn(Self::Item) + Sync + Send,
    {
        drive(self, ForEach::new(&op));
    }

    /// Gives the result of `op` for each item.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let doubled: Vec<_> = (0..5).into_par_iter().map(|n| n * 2).collect();
    /// assert_eq!(doubled, [0, 2, 4, 6, 8]);
    /// ```
    fn map<F, R>(self, op: F) -> Map<Self, F>
    where
        F: Fn(Self::Item) -> R + Sync + Send,
        R: Send,
    {
        Map::new(self, op)
    }

    /// Gives the items of which `predicate` is true.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let even: Vec<_> = (0..10).into_par_iter().filter(|n| n % 2 == 0).collect();
    /// assert_eq!(even, [0, 2, 4, 6, 8]);
    /// ```
    fn filter<P>(self, predicate: P) -> Filter<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        Filter::new(self, predicate)
    }

    /// Gives the items with `element` between each two of them.
    ///
    /// # Cost
    ///
    /// A clone of `element` for each item. An iterator that does not know how many items it has is
    /// not split before it has given the first one, and so not at all where parts are cut
    /// beforehand.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let path: String = ["usr", "local", "bin"].into_par_iter().intersperse("/").collect();
    /// assert_eq!(path, "usr/local/bin");
    /// ```
    fn intersperse(self, element: Self::Item) -> Intersperse<Self>
    where
        Self::Item: Clone,
    {
        Intersperse::new(self, element)
    }

    /// Sets how finely to cut the whole chain, later adaptors included: see [`Granularity`], which
    /// also tells when that helps. The last call in a chain that is not
    /// [`Automatic`](Granularity::Automatic) holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use heist::Granularity;
    ///
    /// let squares = (0..10_000_u64).into_par_iter().map(|n| n * n);
    /// let squares = squares.with_granularity(Granularity::Static(2500));
    /// assert_eq!(squares.sum::<u64>(), 333_283_335_000);
    /// ```
    fn with_granularity(self, granularity: Granularity) -> WithPolicy<Self> {
        let policy = SplitPolicy {
            granularity,
            ..SplitPolicy::default()
        };
        WithPolicy::new(self, policy)
    }

    /// Makes the result of the chain independent of the machine and of chance: the order of
    /// combination depends on the number of items only. So a sum of floating-point numbers is the
    /// same to the last bit, on however many workers and however often, and a fold gives the same
    /// parts.
    ///
    /// The number of steps before the chain begins counts: the items of the source, and of those
    /// that are [chained](Self::chain) to it, before any filter. Where there are few, those of
    /// nested iterators count as well. There are two exceptions. Consumers that take *any* item,
    /// such as [`find_any`](Self::find_any), stay free to. And [`by_exponential_blocks`] begins
    /// with a block of as many items as there are workers.
    ///
    /// [`by_exponential_blocks`]: crate::iter::IndexedParallelIterator::by_exponential_blocks
    ///
    /// # Cost
    ///
    /// One to two thousand parts are cut beforehand, or as many as there are items: some tens of
    /// microseconds. A few items that take much longer than all others are not split further. If
    /// the number of steps is unknown nothing is split at all.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sum = || (1..100_000_i32).into_par_iter().map(|n| 1.0 / f64::from(n));
    /// assert_eq!(
    ///     sum().deterministic().sum::<f64>().to_bits(),
    ///     sum().deterministic().sum::<f64>().to_bits(),
    /// );
    /// ```
    fn deterministic(self) -> WithPolicy<Self> {
        self.with_granularity(Granularity::Deterministic)
    }

    /// Gives the result of `op` for each item, which also gets a value to work with, such as a
    /// buffer or a channel: each part of the items has a clone of `init`.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::fmt::Write;
    ///
    /// let lengths = (8..12_u32).into_par_iter().map_with(String::new(), |text, n| {
    ///     text.clear();
    ///     write!(text, "{n}").expect("a string takes all");
    ///     text.len()
    /// });
    /// assert_eq!(lengths.collect::<Vec<_>>(), [1, 1, 2, 2]);
    /// ```
    ///
    /// # Cost
    ///
    /// Two clones for each part, of which there are some for each worker and one for each theft.
    /// But above it, [`rev`](crate::iter::IndexedParallelIterator::rev),
    /// [`zip`](crate::iter::IndexedParallelIterator::zip) and the like make that two for each grain
    /// of some microseconds.
    fn map_with<F, T, R>(self, init: T, op: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Send,
    {
        MapWith::with(self, init, op)
    }

    /// Gives the result of `op` for each item, which also gets a value to work with, such as a
    /// buffer or a generator of random numbers: each part of the items has one that `init` has
    /// made, on the thread that uses it.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["steal", "least", "join"];
    /// let sorted = words.par_iter().map_init(Vec::new, |letters, word| {
    ///     letters.clear();
    ///     letters.extend(word.chars());
    ///     letters.sort_unstable();
    ///     letters.iter().collect::<String>()
    /// });
    /// assert_eq!(sorted.collect::<Vec<_>>(), ["aelst", "aelst", "ijno"]);
    /// ```
    ///
    /// # Cost
    ///
    /// One call of `init` for each part, of which there are some for each worker and one for each
    /// theft. But above it, [`rev`](crate::iter::IndexedParallelIterator::rev),
    /// [`zip`](crate::iter::IndexedParallelIterator::zip) and the like make that one for each grain
    /// of some microseconds.
    fn map_init<F, INIT, T, R>(self, init: INIT, op: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Send,
    {
        MapInit::init(self, init, op)
    }

    /// Gives clones of the items, which are references.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let names = ["owner".to_string(), "thief".to_string()];
    /// let owned: Vec<String> = names.par_iter().cloned().collect();
    /// assert_eq!(owned, names);
    /// ```
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: 'a + Clone + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Cloned::new(self)
    }

    /// Gives copies of the items, which are references.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let numbers = [3, 1, 2];
    /// assert_eq!(numbers.par_iter().copied().reduce(|| 0, i32::max), 3);
    /// ```
    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: 'a + Copy + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Copied::new(self)
    }

    /// Gives the same items, and shows each to `op` as it passes by.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let seen = AtomicU32::new(0);
    /// let count = |_: &u32| {
    ///     seen.fetch_add(1, Ordering::Relaxed);
    /// };
    /// let odd = (0..10_u32).into_par_iter().inspect(count).filter(|n| n % 2 == 1);
    /// assert_eq!((odd.sum::<u32>(), seen.into_inner()), (25, 10));
    /// ```
    fn inspect<OP>(self, op: OP) -> Inspect<Self, OP>
    where
        OP: Fn(&Self::Item) + Sync + Send,
    {
        Inspect::new(self, op)
    }

    /// Gives the items as `op` has changed them.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let lists = vec![vec![2, 1], vec![4, 3]];
    /// let sorted: Vec<_> = lists.into_par_iter().update(|list| list.sort()).collect();
    /// assert_eq!(sorted, [[1, 2], [3, 4]]);
    /// ```
    fn update<F>(self, op: F) -> Update<Self, F>
    where
        F: Fn(&mut Self::Item) + Sync + Send,
    {
        Update::new(self, op)
    }

    /// Gives the results of `op`, where it gives any.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["1", "two", "3"];
    /// let numbers = words.par_iter().filter_map(|word| word.parse::<u32>().ok());
    /// assert_eq!(numbers.sum::<u32>(), 4);
    /// ```
    fn filter_map<P, R>(self, op: P) -> FilterMap<Self, P>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        FilterMap::new(self, op)
    }

    /// Gives the items of the parallel iterators that `op` makes of each item, one after the other.
    /// Each of those is split too if a worker is hungry: so it is for few items that become many.
    /// See also [`flat_map_iter`](Self::flat_map_iter).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sizes = [2, 3_u32];
    /// let cells = sizes.par_iter().flat_map(|size| 0..size * size);
    /// assert_eq!(cells.sum::<u32>(), (0..4).sum::<u32>() + (0..9).sum::<u32>());
    /// ```
    fn flat_map<F, PI>(self, op: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
        PI: IntoParallelIterator,
    {
        FlatMap::new(self, op)
    }

    /// Gives the items of the sequences that `op` makes of each item, one after the other. Only the
    /// outer items are shared among workers: so it is faster than [`flat_map`](Self::flat_map) if
    /// each becomes a few, and cannot share the work if one becomes most of all. The sequences need
    /// not be `Send`.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let lines = ["a deque", "a thief"];
    /// let words = lines.par_iter().flat_map_iter(|line| line.split(' '));
    /// assert_eq!(words.filter(|word| *word == "a").map(str::len).sum::<usize>(), 2);
    /// ```
    fn flat_map_iter<F, SI>(self, op: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
        SI: IntoIterator<Item: Send>,
    {
        FlatMapIter::new(self, op)
    }

    /// Gives the items of the items, as [`flat_map`](Self::flat_map) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let rows = vec![vec![1, 2], vec![], vec![3]];
    /// assert_eq!(rows.into_par_iter().flatten().sum::<u32>(), 6);
    /// ```
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        FlatMap::new(self, Itself)
    }

    /// Gives the items of the items, as [`flat_map_iter`](Self::flat_map_iter) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let found = vec![Some(1), None, Some(3)];
    /// assert_eq!(found.into_par_iter().flatten_iter().sum::<u32>(), 4);
    /// ```
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        FlattenIter::new(self)
    }

    /// Folds each part of the items into one value, beginning with `identity()`, and gives these
    /// values. The accumulator may be of another type than the items, unlike that of
    /// [`reduce`](Self::reduce), which mostly follows. There is at least one part; the number of
    /// parts, and the items of each, depend on which workers were free.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let bits = (0..1000_u32).into_par_iter().fold(
    ///     || [0; 10],
    ///     |mut ones, n| {
    ///         (0..10).for_each(|bit| ones[bit] += n >> bit & 1);
    ///         ones
    ///     },
    /// );
    /// let ones = bits.reduce(|| [0; 10], |a, b| std::array::from_fn(|bit| a[bit] + b[bit]));
    /// assert_eq!(ones[0], 500);
    /// ```
    fn fold<T, ID, F>(self, identity: ID, op: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        T: Send,
    {
        Fold::from_identity(self, identity, op)
    }

    /// As [`fold`](Self::fold), but each part begins with a clone of `init`.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let letters = ["b", "c"].par_iter().fold_with(String::new(), |text, letter| text + letter);
    /// assert_eq!(letters.reduce(String::new, |a, b| a + &b), "bc");
    /// ```
    fn fold_with<F, T>(self, init: T, op: F) -> FoldWith<Self, T, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        T: Send + Clone,
    {
        FoldWith::from_init(self, init, op)
    }

    /// As [`fold`](Self::fold), with an `op` that may fail: it returns an `Option`, a `Result` or
    /// the like. A failure ends its own part of the items, which gives it; the other parts go on.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sums = (0..300_u32).into_par_iter().try_fold(|| 0_u8, |sum, _| sum.checked_add(1));
    /// let sum = sums.reduce(|| Some(0), |a, b| a?.checked_add(b?));
    /// assert_eq!(sum, None, "300 is too much for a `u8`");
    /// ```
    fn try_fold<T, R, ID, F>(self, identity: ID, op: F) -> TryFold<Self, R, ID, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        R: Try<Output = T> + Send,
    {
        TryFold::from_identity(self, identity, op)
    }

    /// As [`try_fold`](Self::try_fold), but each part begins with a clone of `init`.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sums = ["1", "2"].par_iter().try_fold_with(0, |sum, word| {
    ///     word.parse::<u32>().map(|number| sum + number)
    /// });
    /// assert_eq!(sums.reduce(|| Ok(0), |a, b| Ok(a? + b?)), Ok(3));
    /// ```
    fn try_fold_with<F, T, R>(self, init: T, op: F) -> TryFoldWith<Self, R, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        R: Try<Output = T> + Send,
        T: Clone + Send,
    {
        TryFoldWith::from_init(self, init, op)
    }

    /// Gives the items of this iterator, and then those of the other.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let chained: Vec<_> = (0..3).into_par_iter().chain(vec![10, 11]).collect();
    /// assert_eq!(chained, [0, 1, 2, 10, 11]);
    /// ```
    fn chain<C>(self, other: C) -> Chain<Self, C::Iter>
    where
        C: IntoParallelIterator<Item = Self::Item>,
    {
        Chain::new(self, other.into_par_iter())
    }

    /// Gives the contents of the options, until one is `None`: then all stop soon. Which items
    /// before and after it are given depends on which workers were free.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let roots = (0..1000_u32).into_par_iter().map(|n| (n < 900).then_some(n)).while_some();
    /// assert!(roots.reduce(|| 0, u32::max) < 900);
    /// ```
    fn while_some<T>(self) -> WhileSome<Self>
    where
        Self: ParallelIterator<Item = Option<T>>,
        T: Send,
    {
        WhileSome::new(self)
    }

    /// Gives the same items, but stops soon everywhere when one part panics. Without it, the other
    /// parts run to their ends before the panic reaches the caller.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let checked = (0..1_000_000_u32).into_par_iter().panic_fuse();
    /// let outcome = std::panic::catch_unwind(|| checked.for_each(|n| assert_ne!(n, 500)));
    /// assert!(outcome.is_err());
    /// ```
    ///
    /// # Cost
    ///
    /// One look at a flag for each item.
    fn panic_fuse(self) -> PanicFuse<Self> {
        PanicFuse::new(self)
    }

    /// Gives `n` items, or all if there are fewer: the first in time, wherever they lie, in the
    /// order of the sequence.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let some = (0..1000).into_par_iter().filter(|n| n % 2 == 0).take_any(5);
    /// assert_eq!(some.map(|_| 1).sum::<u32>(), 5);
    /// ```
    ///
    /// # Cost
    ///
    /// All workers count down one number: it is for few items, or expensive ones.
    fn take_any(self, n: usize) -> TakeAny<Self> {
        TakeAny::new(self, n)
    }

    /// Gives all items but `n`, the first in time, wherever they lie.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let others = (0..1000).into_par_iter().skip_any(5);
    /// assert_eq!(others.map(|_| 1).sum::<u32>(), 995);
    /// ```
    ///
    /// # Cost
    ///
    /// Until they are skipped, all workers count down one number.
    fn skip_any(self, n: usize) -> SkipAny<Self> {
        SkipAny::new(self, n)
    }

    /// Gives items, wherever they lie, until `predicate` is false of one: then all stop soon. It
    /// may as well depend on something else, such as the time.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let small = (0..1000_u32).into_par_iter().take_any_while(|n| *n < 900);
    /// assert!(small.reduce(|| 0, u32::max) < 900);
    /// ```
    fn take_any_while<P>(self, predicate: P) -> TakeAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        TakeAnyWhile::new(self, predicate)
    }

    /// Leaves out items, wherever they lie, until `predicate` is false of one: that and all that
    /// come later in time are given.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let rest = (0..1000_u32).into_par_iter().skip_any_while(|n| *n < 100);
    /// assert!(rest.map(|_| 1).sum::<u32>() >= 900);
    /// ```
    fn skip_any_while<P>(self, predicate: P) -> SkipAnyWhile<Self, P>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        SkipAnyWhile::new(self, predicate)
    }

    /// Combines all items by `op`, neighbours with neighbours, in an order of time that depends on
    /// which workers are free: `op` should be associative. `identity()` gives a value that changes
    /// nothing it is combined with.
    ///
    /// It is called once, if there are no items, and else never. rayon begins each part of its own
    /// with one, as its contract allows, and this one's does too: so where `identity()` does change
    /// something, as in `reduce(|| 1, |a, b| a + b)`, rayon adds as many ones as it has made parts,
    /// and this method none.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let text = ["a", "b", "c"].par_iter().map(|s| s.to_string());
    /// assert_eq!(text.reduce(String::new, |a, b| a + &b), "abc");
    /// ```
    fn reduce<OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        ID: Fn() -> Self::Item + Sync + Send,
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        self.reduce_with(op).unwrap_or_else(identity)
    }

    /// As [`reduce`](Self::reduce); `None` if there are no items.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!((1..=10_u32).into_par_iter().reduce_with(u32::max), Some(10));
    /// ```
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        consumer::reduce_with(self, op)
    }

    /// Adds all items up.
    ///
    /// Grains of some microseconds are added up on their own. So sums of floating-point numbers
    /// differ in their last bits from time to time, on one worker too: see
    /// [`deterministic`](Self::deterministic).
    ///
    /// # Cost
    ///
    /// One addition for each item, and two for each grain.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!((1..=100_u32).into_par_iter().sum::<u32>(), 5050);
    /// ```
    fn sum<S>(self) -> S
    where
        S: Send + Sum<Self::Item> + Sum<S>,
    {
        consumer::sum(self)
    }

    /// Gives, for each item, the combination of all up to it: the first item, then `op(first,
    /// second)`, and so on. `op` must be associative.
    ///
    /// # Panics
    ///
    /// Panics if `op` or the iterator does.
    ///
    /// # Cost
    ///
    /// Not lazy: the items are collected and combined by this call, with twice as many calls of
    /// `op` as items if there are several workers, and one clone of each.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let balance = [100, -30, -20].into_par_iter().scan_inclusive(|a, b| a + b);
    /// assert_eq!(balance.collect::<Vec<_>>(), [100, 70, 50]);
    /// ```
    fn scan_inclusive<F>(self, op: F) -> IntoIter<Self::Item>
    where
        Self::Item: Clone + Sync,
        F: Fn(&Self::Item, &Self::Item) -> Self::Item + Sync + Send,
    {
        let mut items: Vec<_> = self.collect();
        par_inclusive_scan(&mut items, op);
        items.into_par_iter()
    }

    /// Gives, for each item, the combination of `first` and all items before it: `first`, then
    /// `op(first, first item)`, and so on. `op` must be associative.
    ///
    /// # Panics
    ///
    /// Panics if `op` or the iterator does.
    ///
    /// # Cost
    ///
    /// As [`scan_inclusive`](Self::scan_inclusive).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// // Where each word begins in the concatenation.
    /// let lengths = ["work", "stealing"].par_iter().map(|word| word.len());
    /// assert_eq!(lengths.scan_exclusive(0, |a, b| a + b).collect::<Vec<_>>(), [0, 4]);
    /// ```
    fn scan_exclusive<F>(self, first: Self::Item, op: F) -> IntoIter<Self::Item>
    where
        Self::Item: Clone + Sync,
        F: Fn(&Self::Item, &Self::Item) -> Self::Item + Sync + Send,
    {
        let mut items: Vec<_> = self.collect();
        par_exclusive_scan(&mut items, first, op);
        items.into_par_iter()
    }

    /// Gives the items until the token is [cancelled](CancellationToken::cancel): then no worker
    /// begins another one.
    ///
    /// The consumer's result is that of the items before it. How many those are depends on chance:
    /// [`completion`](WithCancellation::completion) tells whether they are all.
    ///
    /// # Cost
    ///
    /// A look at the token for each item; at the clock, if it has a deadline, for each grain.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use heist::CancellationToken;
    ///
    /// let token = CancellationToken::new();
    /// let seen = (0..u32::MAX).into_par_iter().with_cancellation(&token);
    /// let completion = seen.completion();
    /// // Anybody may set it, from any thread: here one of the items does.
    /// seen.for_each(|n| {
    ///     if n == 1_000 {
    ///         token.cancel();
    ///     }
    /// });
    /// assert!(!completion.is_complete());
    /// ```
    fn with_cancellation(self, token: &CancellationToken) -> WithCancellation<Self> {
        WithCancellation::new(self, token.clone())
    }

    /// Calls `op` with each item, one after the other and in their order, while others work at the
    /// items that follow.
    ///
    /// For the end of a pipeline that is parallel up to there: writing to a file, sending over a
    /// connection. If `op` is slow the workers wait for it, so that only some blocks of items are
    /// in memory, whatever the length of the whole; the blocks grow as long as they take less than
    /// a millisecond, to 16,384 steps at most. Where the number of steps is unknown, as with
    /// [`par_bridge`](super::ParallelBridge::par_bridge), one worker makes a block;
    /// `par_bridge_ordered` is for this.
    ///
    /// # Panics
    ///
    /// Panics if `op` or the iterator does; items that were ready and had not reached `op` are
    /// dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::io::Write;
    ///
    /// let mut file = Vec::new();
    /// (0..5)
    ///     .into_par_iter()
    ///     .map(|n| format!("{n} squared is {}", n * n))
    ///     .for_each_ordered(|line| writeln!(file, "{line}").unwrap());
    /// assert!(file.starts_with(b"0 squared is 0\n1 squared is 1\n"));
    /// ```
    fn for_each_ordered<F>(self, op: F)
    where
        F: FnMut(Self::Item) + Send,
    {
        consumer::in_order(self, op);
    }

    /// Makes a collection of all items, in their order where the collection has one.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let squares: Vec<_> = (0..4).into_par_iter().map(|n| n * n).collect();
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    fn collect<C>(self) -> C
    where
        C: FromParallelIterator<Self::Item>,
    {
        C::from_par_iter(self)
    }

    /// Calls `op` with each item and a clone of `init` to work with: one for each part in which the
    /// items are done.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, receiver) = channel();
    /// (0..10).into_par_iter().for_each_with(sender, |sender, n| sender.send(n).unwrap());
    /// assert_eq!(receiver.into_iter().sum::<i32>(), 45);
    /// ```
    fn for_each_with<OP, T>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        T: Send + Clone,
    {
        self.map_with(init, op).for_each(|()| ());
    }

    /// Calls `op` with each item and a value that `init` has made to work with: one for each part
    /// in which the items are done.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut rows = vec![vec![3, 1, 2], vec![9, 7, 8]];
    /// let reverse = |buffer: &mut Vec<_>, row: &mut Vec<_>| {
    ///     buffer.extend(row.drain(..).rev());
    ///     row.append(buffer);
    /// };
    /// rows.par_iter_mut().for_each_init(Vec::new, reverse);
    /// assert_eq!(rows, [[2, 1, 3], [8, 7, 9]]);
    /// ```
    fn for_each_init<OP, INIT, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        self.map_init(init, op).for_each(|()| ());
    }

    /// The number of items. All of them are made and dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sevens = (0..1000).into_par_iter().filter(|n| n % 7 == 0);
    /// assert_eq!(sevens.count(), 143);
    /// ```
    fn count(self) -> usize {
        consumer::count(self)
    }

    /// Calls `op` with each item until one of the calls fails, and returns such a failure: any of
    /// them, if there are several. `op` gives an [`Option`], a [`Result`] or a [`ControlFlow`].
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let check = |word: &&str| word.parse::<u32>().map(drop);
    /// assert!(["1", "2"].par_iter().try_for_each(check).is_ok());
    /// assert!(["1", "two"].par_iter().try_for_each(check).is_err());
    /// ```
    fn try_for_each<OP, R>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        let failure = |item| match op(item).branch() {
            ControlFlow::Continue(()) => None,
            ControlFlow::Break(residual) => Some(R::from_residual(residual)),
        };
        find(self, Wanted::Any, failure).unwrap_or_else(|| R::from_output(()))
    }

    /// As [`try_for_each`](Self::try_for_each), and gives `op` a clone of `init` to work with: one
    /// for each part in which the items are done.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, receiver) = channel();
    /// let numbers = (0..10).into_par_iter();
    /// numbers.try_for_each_with(sender, |sender, n| sender.send(n)).unwrap();
    /// assert_eq!(receiver.into_iter().sum::<i32>(), 45);
    /// ```
    fn try_for_each_with<OP, T, R>(self, init: T, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Try<Output = ()> + Send,
    {
        self.map_with(init, op).try_for_each(|result| result)
    }

    /// As [`try_for_each`](Self::try_for_each), and gives `op` a value that `init` has made to work
    /// with: one for each part in which the items are done.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::fmt::Write;
    ///
    /// let is_palindrome = |text: &mut String, n: u32| {
    ///     text.clear();
    ///     write!(text, "{n}").unwrap();
    ///     text.bytes().eq(text.bytes().rev()).then_some(())
    /// };
    /// let numbers = vec![4, 77, 161, 2332];
    /// let result = numbers.into_par_iter().try_for_each_init(String::new, is_palindrome);
    /// assert_eq!(result, Some(()));
    /// ```
    fn try_for_each_init<OP, INIT, T, R>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map_init(init, op).try_for_each(|result| result)
    }

    /// Combines the contents of all items by `op`, as [`reduce`](Self::reduce) does, until an item
    /// or a call is a failure, and returns that: any of them, if there are several. Items are
    /// [`Option`]s, [`Result`]s or [`ControlFlow`]s.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let total = |sizes: &[u8]| {
    ///     let sizes = sizes.par_iter().map(|&size| Some(size));
    ///     sizes.try_reduce(|| 0, |a, b| a.checked_add(b))
    /// };
    /// assert_eq!(total(&[100, 50, 5]), Some(155));
    /// assert_eq!(total(&[100, 50, 150]), None);
    /// ```
    fn try_reduce<T, OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        let reduced = self.try_reduce_with(op);
        reduced.unwrap_or_else(|| Self::Item::from_output(identity()))
    }

    /// As [`try_reduce`](Self::try_reduce); `None` if there are no items.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["9", "12", "5"].par_iter().map(|word| word.parse::<u32>());
    /// assert_eq!(words.try_reduce_with(|a, b| Ok(a.max(b))), Some(Ok(12)));
    /// ```
    fn try_reduce_with<T, OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        try_reduce(self, op)
    }

    /// Multiplies all items, as [`sum`](Self::sum) adds them up.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!((1..11_u32).into_par_iter().product::<u32>(), 3_628_800);
    /// ```
    fn product<P>(self) -> P
    where
        P: Send + Product<Self::Item> + Product<P>,
    {
        consumer::product(self)
    }

    /// The smallest item, and the first of several that are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([4, 2, 3].par_iter().min(), Some(&2));
    /// ```
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.min_by(Ord::cmp)
    }

    /// The smallest item by an order of your own, and the first of several that are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let temperatures = [4.5, -2.0, 3.25_f64];
    /// let lowest = temperatures.par_iter().min_by(|a, b| a.total_cmp(b));
    /// assert_eq!(lowest, Some(&-2.0));
    /// ```
    fn min_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        consumer::reduce_with(self, |a, b| if f(&a, &b).is_gt() { b } else { a })
    }

    /// The item with the smallest key, and the first of several whose keys are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["thief", "job", "pool", "set"];
    /// assert_eq!(words.par_iter().min_by_key(|word| word.len()), Some(&"job"));
    /// ```
    fn min_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        let keyed = self.map(|item| (f(&item), item));
        let least = keyed.min_by(|a, b| a.0.cmp(&b.0));
        least.map(|(_, item)| item)
    }

    /// The largest item, and the last of several that are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!([2, 4, 3].par_iter().max(), Some(&4));
    /// ```
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        // Not by `Ord::max`, whose loop over references is three times as long.
        self.max_by(Ord::cmp)
    }

    /// The largest item by an order of your own, and the last of several that are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let temperatures = [4.5, -2.0, 3.25_f64];
    /// let highest = temperatures.par_iter().max_by(|a, b| a.total_cmp(b));
    /// assert_eq!(highest, Some(&4.5));
    /// ```
    fn max_by<F>(self, f: F) -> Option<Self::Item>
    where
        F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering,
    {
        consumer::reduce_with(self, |a, b| if f(&a, &b).is_gt() { a } else { b })
    }

    /// The item with the largest key, and the last of several whose keys are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["thief", "job", "owner", "set"];
    /// assert_eq!(words.par_iter().max_by_key(|word| word.len()), Some(&"owner"));
    /// ```
    fn max_by_key<K, F>(self, f: F) -> Option<Self::Item>
    where
        K: Ord + Send,
        F: Sync + Send + Fn(&Self::Item) -> K,
    {
        let keyed = self.map(|item| (f(&item), item));
        let greatest = keyed.max_by(|a, b| a.0.cmp(&b.0));
        greatest.map(|(_, item)| item)
    }

    /// An item of which `predicate` is true: whichever is found, and then all stop.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let divisor = (2..9991).into_par_iter().find_any(|n| 9991 % n == 0);
    /// assert!(divisor == Some(97) || divisor == Some(103));
    /// ```
    fn find_any<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_any(|item| predicate(&item).then_some(item))
    }

    /// The first item, in the order of the sequence, of which `predicate` is true.
    ///
    /// # Cost
    ///
    /// Parts behind a find stop; the parts before it are searched to the end.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let divisor = (2..9991).into_par_iter().find_first(|n| 9991 % n == 0);
    /// assert_eq!(divisor, Some(97));
    /// ```
    fn find_first<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_first(|item| predicate(&item).then_some(item))
    }

    /// The last item, in the order of the sequence, of which `predicate` is true.
    ///
    /// # Cost
    ///
    /// Parts before a find stop; the part of the find and those behind it are searched to the end.
    /// If the sequence can be reversed, [`rev`] and then [`find_first`](Self::find_first) looks at
    /// fewer items.
    ///
    /// [`rev`]: crate::iter::IndexedParallelIterator::rev
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let divisor = (2..9991).into_par_iter().find_last(|n| 9991 % n == 0);
    /// assert_eq!(divisor, Some(103));
    /// ```
    fn find_last<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_map_last(|item| predicate(&item).then_some(item))
    }

    /// The result of `predicate` for any item for which it gives one: whichever is found, and then
    /// all stop.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["width", "=", "80"];
    /// let number = words.par_iter().find_map_any(|word| word.parse::<u32>().ok());
    /// assert_eq!(number, Some(80));
    /// ```
    fn find_map_any<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        find(self, Wanted::Any, predicate)
    }

    /// The result of `predicate` for the first item, in the order of the sequence, for which it
    /// gives one. It costs what [`find_first`](Self::find_first) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["from", "3", "to", "5"];
    /// let number = words.par_iter().find_map_first(|word| word.parse::<u32>().ok());
    /// assert_eq!(number, Some(3));
    /// ```
    fn find_map_first<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        find(self, Wanted::First, predicate)
    }

    /// The result of `predicate` for the last item, in the order of the sequence, for which it
    /// gives one. It costs what [`find_last`](Self::find_last) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = ["from", "3", "to", "5", "metres"];
    /// let number = words.par_iter().find_map_last(|word| word.parse::<u32>().ok());
    /// assert_eq!(number, Some(5));
    /// ```
    fn find_map_last<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        find(self, Wanted::Last, predicate)
    }

    #[doc(hidden)]
    #[deprecated(
        note = "it finds any item, not the first: say `find_any`, `find_first` or \
                         `find_last`"
    )]
    fn find<P>(self, predicate: P) -> Option<Self::Item>
    where
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.find_any(predicate)
    }

    /// Whether `predicate` is true of any item. All stop when it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert!(["", "steal"].par_iter().any(|word| word.is_empty()));
    /// ```
    fn any<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.find_map_any(|item| predicate(item).then_some(()))
            .is_some()
    }

    /// Whether `predicate` is true of all items. All stop when it was not.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert!((2..97).into_par_iter().all(|n| 97 % n != 0));
    /// ```
    fn all<P>(self, predicate: P) -> bool
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        !self.any(|item| !predicate(item))
    }

    /// Makes a collection of the left halves of all pairs and one of the right halves, in one pass.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    /// use std::collections::HashSet;
    ///
    /// let numbers = 0..100_u32;
    /// let (numbers, digits): (Vec<_>, HashSet<_>) =
    ///     numbers.into_par_iter().map(|n| (n, n % 10)).unzip();
    /// assert_eq!((numbers.len(), digits.len()), (100, 10));
    /// ```
    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
        A: Send,
        B: Send,
    {
        let mut both = (FromA::default(), FromB::default());
        both.par_extend(self);
        both
    }

    /// Makes a collection of the items of which `predicate` is true and one of the others.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let (low, high): (Vec<_>, Vec<_>) = (0..6).into_par_iter().partition(|&n| n < 2);
    /// assert_eq!((low, high), (vec![0, 1], vec![2, 3, 4, 5]));
    /// ```
    fn partition<A, B, P>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        let (chosen, others) = partition(self, predicate);
        let mut both = (A::default(), B::default());
        both.0.extend_collected(chosen);
        both.1.extend_collected(others);
        both
    }

    /// Makes two collections of the results of `predicate`, which tells for each to which of the
    /// two it belongs.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::iter::Either;
    /// use heist::prelude::*;
    ///
    /// let words = vec!["3", "workers", "40", "jobs"];
    /// let (numbers, names): (Vec<u32>, Vec<&str>) =
    ///     words.into_par_iter().partition_map(|word| match word.parse::<u32>() {
    ///         Ok(number) => Either::Left(number),
    ///         Err(_) => Either::Right(word),
    ///     });
    /// assert_eq!((numbers, names), (vec![3, 40], vec!["workers", "jobs"]));
    /// ```
    fn partition_map<A, B, P, L, R>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<L>,
        B: Default + Send + ParallelExtend<R>,
        P: Fn(Self::Item) -> Either<L, R> + Sync + Send,
        L: Send,
        R: Send,
    {
        let (left, right) = partition_map(self, predicate);
        let mut both = (A::default(), B::default());
        both.0.extend_collected(left);
        both.1.extend_collected(right);
        both
    }

    /// All items, in their order, in vectors, whose number and lengths depend on the run.
    ///
    /// For a collection of your own that takes one item after the other: it need not wait until all
    /// items lie in one vector.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let chunks = (0..100_u32).into_par_iter().filter(|n| n % 3 == 0).collect_vec_list();
    /// assert_eq!(chunks.iter().map(Vec::len).sum::<usize>(), 34);
    /// ```
    fn collect_vec_list(self) -> LinkedList<Vec<Self::Item>> {
        match self.opt_len() {
            Some(0) => LinkedList::new(),
            Some(_) => LinkedList::from([self.collect()]),
            None => Chunks::of(self).into_list(),
        }
    }
}

impl<P: Part> ParallelIterator for P {
    type Item = P::Output;
}

/// A value that turns into a parallel iterator, such as a collection or a range.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!((1..=4_u32).into_par_iter().sum::<u32>(), 10);
/// assert_eq!(vec![1, 2, 3].into_par_iter().map(|n| n * n).sum::<u32>(), 14);
/// ```
pub trait IntoParallelIterator {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items.
    type Item: Send;

    /// Turns this into a parallel iterator.
    fn into_par_iter(self) -> Self::Iter;
}

impl<I: ParallelIterator> IntoParallelIterator for I {
    type Iter = Self;
    type Item = I::Item;

    fn into_par_iter(self) -> Self {
        self
    }
}

/// A collection, or another value, that is made from the items of a parallel iterator: see
/// [`collect`](ParallelIterator::collect).
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// /// The largest number, and how many there were.
/// struct Largest(Option<u32>, usize);
///
/// impl FromParallelIterator<u32> for Largest {
///     fn from_par_iter<I: IntoParallelIterator<Item = u32>>(numbers: I) -> Self {
///         let each = numbers.into_par_iter().map(|number| (Some(number), 1));
///         let (largest, count) = each.reduce(|| (None, 0), |a, b| (a.0.max(b.0), a.1 + b.1));
///         Largest(largest, count)
///     }
/// }
///
/// let Largest(largest, count) = vec![5, 9, 7].into_par_iter().collect();
/// assert_eq!((largest, count), (Some(9), 3));
/// ```
pub trait FromParallelIterator<T: Send>: Sized {
    /// Makes it from all the items.
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>;

    /// Makes it from items that have been collected already.
    #[doc(hidden)]
    fn from_collected(items: Vec<T>) -> Self {
        Self::from_par_iter(items)
    }
}

/// A collection that takes in the items of a parallel iterator.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let mut numbers = vec![1, 2];
/// numbers.par_extend(3..6);
/// assert_eq!(numbers, [1, 2, 3, 4, 5]);
/// ```
pub trait ParallelExtend<T: Send> {
    /// Takes in all the items, in their order where there is one.
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = T>;

    /// Takes in items that have been collected already.
    #[doc(hidden)]
    fn extend_collected(&mut self, items: Vec<T>) {
        self.par_extend(items);
    }
}
