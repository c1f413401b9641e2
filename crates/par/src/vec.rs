//! Parallel iterators that take items out of a vector.

mod into_iter;
mod taken;

pub use into_iter::IntoIter;
pub(crate) use taken::{Lent, Taken};

use std::ops::RangeBounds;

use crate::iter::drain::range_within;
use crate::iter::{IntoParallelIterator, ParallelDrainRange};
use crate::part::{delegate, delegate_indexed, delegate_open, IndexedPart, Part};

impl<T: Send> IntoParallelIterator for Vec<T> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter::new(self)
    }
}

impl<T: Send> IntoParallelIterator for Box<[T]> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        self.into_vec().into_par_iter()
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data Vec<T> {
    type Iter = crate::slice::Iter<'data, T>;
    type Item = &'data T;

    fn into_par_iter(self) -> Self::Iter {
        self.as_slice().into_par_iter()
    }
}

impl<'data, T: Send> IntoParallelIterator for &'data mut Vec<T> {
    type Iter = crate::slice::IterMut<'data, T>;
    type Item = &'data mut T;

    fn into_par_iter(self) -> Self::Iter {
        self.as_mut_slice().into_par_iter()
    }
}

/// A range of the items of a vector, which keeps the others: see [`ParallelDrainRange`].
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Drain<'data, T> {
    items: Taken<T, &'data mut Vec<T>>,
}

impl<'data, T: Send> ParallelDrainRange<usize> for &'data mut Vec<T> {
    type Iter = Drain<'data, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'data, T> {
        let range = range_within(&range, self.len());
        let items = Taken::new(self, range);
        Drain { items }
    }
}

impl<T: Send> Part for Drain<'_, T> {
    type Output = T;

    delegate!(items);
    delegate_open!(items);
}

impl<T: Send> IndexedPart for Drain<'_, T> {
    delegate_indexed!(items);
    delegate_open!(indexed items);
}
