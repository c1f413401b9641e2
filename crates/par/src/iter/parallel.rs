//! The trait of all parallel iterators.

use super::adaptor::{Filter, Map, WithCancellation};
use super::consumer::{self, ForEach, Reduce};
use super::FromParallelIterator;
use crate::cancellation::CancellationToken;
use crate::engine::drive;
use crate::granularity::SplitPolicy;
use std::iter::{once, Sum};
use std::ops::ControlFlow;

/// A sequence of items that several workers can go through at the same time.
///
/// Adaptors, such as [`map`](Self::map), give another parallel iterator and do nothing
/// yet. Consumers, such as [`for_each`](Self::for_each), run the whole chain, each item
/// on one worker, and return when all is done. From outside of all pools the caller
/// takes part in the global one.
///
/// Names and meanings are those of [`Iterator`] where it has them. Items are handed on
/// in no particular order of time, but the results of ordered consumers, such as
/// [`collect`](Self::collect), are in the order of the sequence.
///
/// The first four methods are for those who write an iterator of their own: see
/// [`plumbing`](super::plumbing).
pub trait ParallelIterator: Sized + Send {
    /// What it gives.
    type Item: Send;

    /// How many steps of [`run`](Self::run) are left: 0 if there are no items, 1 if it
    /// is not worth splitting, and the largest number if nobody knows.
    fn steps(&self) -> usize;

    /// Splits the upper part off, about half, if it can be split.
    fn split(&mut self) -> Option<Self>;

    /// Takes steps from the lower end, as many as the budget says or are left, and hands
    /// the items that they give to `consume`. The budget falls by the steps that were
    /// taken. `Break` if `consume` has said so: then there is no more to do.
    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(Self::Item) -> ControlFlow<()>;

    /// How many items there are exactly, if that is known of this part and of all
    /// those into which it can be split.
    fn opt_len(&self) -> Option<usize> {
        None
    }

    /// What was asked for by [`with_min_len`](super::IndexedParallelIterator::with_min_len)
    /// and its kin.
    fn split_policy(&self) -> SplitPolicy {
        SplitPolicy::default()
    }

    /// Calls `op` with each item.
    ///
    /// # Panics
    ///
    /// Panics if `op` does, with the payload of one of the calls. Items that had not
    /// begun may be dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
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

    /// Gives what `op` makes of each item.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
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
    /// use heist_par::prelude::*;
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

    /// Combines all items by `op`, neighbours with neighbours, in an order of time that
    /// depends on who is free: `op` should be associative. `identity()` is what combines
    /// with anything to the same, and may come in any number of times.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let text = ["a", "b", "c"].par_iter().map(|s| s.to_string());
    /// assert_eq!(text.reduce(String::new, |a, b| a + &b), "abc");
    /// ```
    fn reduce<ID, OP>(self, identity: ID, op: OP) -> Self::Item
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
    /// use heist_par::prelude::*;
    ///
    /// assert_eq!((1..=10_u32).into_par_iter().reduce_with(u32::max), Some(10));
    /// ```
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        let take = |sum: &mut Option<Self::Item>, item| {
            *sum = Some(match sum.take() {
                None => item,
                Some(sum) => op(sum, item),
            });
            ControlFlow::Continue(())
        };
        let merge = |sum: &mut Option<Self::Item>, upper: Option<Self::Item>| {
            if let Some(upper) = upper {
                let _ = take(sum, upper);
            }
        };
        drive(self, Reduce::new(&|| None, &take, &merge)).into_result()
    }

    /// Adds all items up.
    ///
    /// Sums of floating-point numbers depend on the order in which they are added, and so
    /// on who was free: see [`deterministic`](Self::deterministic).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// assert_eq!((1..=100_u32).into_par_iter().sum::<u32>(), 5050);
    /// ```
    fn sum<S>(self) -> S
    where
        S: Send + Sum<Self::Item> + Sum<S>,
    {
        let add = |sum: &mut Option<S>, item: S| {
            *sum = Some(match sum.take() {
                None => item,
                Some(sum) => once(sum).chain(once(item)).sum(),
            });
        };
        let take = |sum: &mut Option<S>, item| {
            add(sum, once(item).sum());
            ControlFlow::Continue(())
        };
        let merge = |sum: &mut Option<S>, upper: Option<S>| {
            if let Some(upper) = upper {
                add(sum, upper);
            }
        };
        let sum = drive(self, Reduce::new(&|| None, &take, &merge)).into_result();
        sum.unwrap_or_else(|| std::iter::empty::<S>().sum())
    }

    /// Gives the items until the token is [cancelled](CancellationToken::cancel): then
    /// nobody begins another one.
    ///
    /// What a consumer makes of the items that were before it is its result. Which those
    /// are depends on who was where: look at the token to see whether they are all.
    ///
    /// # Cost
    ///
    /// A look at the token for each item.
    ///
    /// # Examples
    ///
    /// See [`CancellationToken`].
    fn with_cancellation(self, token: &CancellationToken) -> WithCancellation<Self> {
        WithCancellation::new(self, token.clone())
    }

    /// Calls `op` with each item, one after the other and in their order, while others
    /// work at the items that follow.
    ///
    /// For the end of a pipeline that is parallel up to there: writing to a file,
    /// sending over a connection. If `op` is slow the workers wait for it, so that only
    /// some blocks of items are in memory, whatever the length of the whole; the blocks
    /// grow as long as they take less than a millisecond, to 16,384 steps at most.
    ///
    /// # Panics
    ///
    /// Panics if `op` or the iterator does; items that were ready and had not reached
    /// `op` are dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
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
    /// use heist_par::prelude::*;
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
}
