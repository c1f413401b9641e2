//! The trait of parallel iterators that know their length and can be cut anywhere.

use super::adaptor::{Enumerate, Rev, WithWeight, Zip};
use super::{IntoParallelIterator, ParallelIterator};

/// A parallel iterator that knows how many items it has, and can be cut at any index.
pub trait IndexedParallelIterator: ParallelIterator {
    /// How many items there are.
    fn len(&self) -> usize;

    /// Cuts the items from this index on off. For those who write an iterator of their
    /// own.
    ///
    /// # Panics
    ///
    /// May panic if there are fewer items.
    fn split_off(&mut self, index: usize) -> Self;

    /// The same items one after the other. For those who write an iterator of their own.
    fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Item> + ExactSizeIterator;

    /// Gives each item with its index.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
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
    /// use heist_par::prelude::*;
    ///
    /// let back: Vec<_> = (0..4).into_par_iter().rev().collect();
    /// assert_eq!(back, [3, 2, 1, 0]);
    /// ```
    fn rev(self) -> Rev<Self> {
        Rev::new(self)
    }

    /// Gives pairs: an item of this one, and the item of the other at the same index. It
    /// is as long as the shorter one.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
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

    /// Splits by what the items cost, not by their number: `weight` says it for each, in
    /// any unit, beforehand.
    ///
    /// Parts are split when somebody is hungry, so that a loop is balanced at its end
    /// without this. It helps where few items cost much more than the others: a thief
    /// gets half of the work with its first theft, and not half of the items.
    ///
    /// # Cost
    ///
    /// One call of `weight` for each item, one after the other, and eight bytes per
    /// item.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
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
