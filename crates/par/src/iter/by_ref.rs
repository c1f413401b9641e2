//! Parallel iterators over what a collection lends.

use super::{IntoParallelIterator, ParallelIterator};

/// What lends its items to a parallel iterator.
///
/// Implemented for whatever implements [`IntoParallelIterator`] by reference.
///
/// # Examples
///
/// ```
/// use heist_par::prelude::*;
///
/// let words = ["work", "stealing"];
/// assert_eq!(words.par_iter().map(|word| word.len()).sum::<usize>(), 12);
/// ```
pub trait IntoParallelRefIterator<'data> {
    /// What it turns into.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What that gives: references, mostly.
    type Item: Send + 'data;

    /// A parallel iterator over what is in here.
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

/// What lends its items to a parallel iterator that may change them.
///
/// Implemented for whatever implements [`IntoParallelIterator`] by mutable reference.
///
/// # Examples
///
/// ```
/// use heist_par::prelude::*;
///
/// let mut numbers = [1, 2, 3];
/// numbers.par_iter_mut().for_each(|number| *number *= 10);
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
pub trait IntoParallelRefMutIterator<'data> {
    /// What it turns into.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What that gives: mutable references, mostly.
    type Item: Send + 'data;

    /// A parallel iterator over what is in here, which may change it.
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
