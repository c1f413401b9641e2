//! Parallel iterators over what a collection lends.

use super::{IntoParallelIterator, ParallelIterator};

/// A collection that lends its items to a parallel iterator.
///
/// Implemented for each type of which a reference is [`IntoParallelIterator`].
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let words = ["work", "stealing"];
/// assert_eq!(words.par_iter().map(|word| word.len()).sum::<usize>(), 12);
/// ```
pub trait IntoParallelRefIterator<'data> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items, mostly references.
    type Item: Send + 'data;

    /// Goes through the items by reference.
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, C> IntoParallelRefIterator<'data> for C
where
    C: ?Sized + 'data,
    &'data C: IntoParallelIterator,
{
    type Iter = <&'data C as IntoParallelIterator>::Iter;
    type Item = <&'data C as IntoParallelIterator>::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A collection that lends its items to a parallel iterator that may change them.
///
/// Implemented for each type of which a mutable reference is [`IntoParallelIterator`].
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let mut numbers = [1, 2, 3];
/// numbers.par_iter_mut().for_each(|number| *number *= 10);
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
pub trait IntoParallelRefMutIterator<'data> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items, mostly mutable references.
    type Item: Send + 'data;

    /// Goes through the items by mutable reference.
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, C> IntoParallelRefMutIterator<'data> for C
where
    C: ?Sized + 'data,
    &'data mut C: IntoParallelIterator,
{
    type Iter = <&'data mut C as IntoParallelIterator>::Iter;
    type Item = <&'data mut C as IntoParallelIterator>::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}
