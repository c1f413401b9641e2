//! The trait of parallel iterators that know their length and can be cut anywhere.

use super::adaptor::{Enumerate, Rev, Zip};
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
}
