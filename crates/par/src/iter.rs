//! Parallel iterators: chains of operations over a collection, run by all workers.

mod adaptor;
mod bridge;
pub(crate) mod consumer;
pub(crate) mod drain;
mod either;
mod extend;
mod indexed;
mod parallel;
pub mod plumbing;
mod source;
mod try_trait;

pub use ::either::Either;
pub use adaptor::*;
pub use bridge::{IterBridge, OrderedBridge, ParallelBridge};
pub use drain::{ParallelDrainFull, ParallelDrainRange};
pub use extend::{FromParallelIterator, ParallelExtend};
pub use indexed::IndexedParallelIterator;
pub use parallel::ParallelIterator;
pub use source::*;
pub(crate) use try_trait::Try;

/// What can be turned into a parallel iterator.
///
/// # Examples
///
/// ```
/// use heist_par::prelude::*;
///
/// assert_eq!((1..=4_u32).into_par_iter().sum::<u32>(), 10);
/// assert_eq!(vec![1, 2, 3].into_par_iter().map(|n| n * n).sum::<u32>(), 14);
/// ```
pub trait IntoParallelIterator {
    /// What it turns into.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// What that gives.
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
