//! Parallel iterators over arrays.

use crate::iter::IntoParallelIterator;
use crate::part::{delegate, delegate_indexed, IndexedPart, Part};
use crate::{slice, vec};

/// The items of an array, by value.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let lengths: Vec<usize> = ["fig", "apple"].into_par_iter().map(str::len).collect();
/// assert_eq!(lengths, [3, 5]);
/// ```
///
/// # Cost
///
/// Moves the array to the heap.
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IntoIter<T, const N: usize> {
    items: vec::IntoIter<T>,
}

impl<T: Send, const N: usize> IntoParallelIterator for [T; N] {
    type Iter = IntoIter<T, N>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T, N> {
        let items = Vec::from(self).into_par_iter();
        IntoIter { items }
    }
}

impl<T: Send, const N: usize> Part for IntoIter<T, N> {
    type Output = T;

    delegate!(items);
}

impl<T: Send, const N: usize> IndexedPart for IntoIter<T, N> {
    delegate_indexed!(items);
}

impl<'data, T: Sync, const N: usize> IntoParallelIterator for &'data [T; N] {
    type Iter = slice::Iter<'data, T>;
    type Item = &'data T;

    fn into_par_iter(self) -> Self::Iter {
        self.as_slice().into_par_iter()
    }
}

impl<'data, T: Send, const N: usize> IntoParallelIterator for &'data mut [T; N] {
    type Iter = slice::IterMut<'data, T>;
    type Item = &'data mut T;

    fn into_par_iter(self) -> Self::Iter {
        self.as_mut_slice().into_par_iter()
    }
}
