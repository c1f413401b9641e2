//! References to the items of a slice, one by one.

use crate::iter::plumbing::indexed;
use crate::iter::IntoParallelIterator;
use crate::part::{IndexedPart, Part};

/// References to the items of a slice: see
/// [`par_iter`](crate::iter::IntoParallelRefIterator::par_iter).
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Iter<'data, T> {
    slice: &'data [T],
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data [T] {
    type Iter = Iter<'data, T>;
    type Item = &'data T;

    fn into_par_iter(self) -> Iter<'data, T> {
        Iter { slice: self }
    }
}

impl<'data, T: Sync> IntoParallelIterator for &'data Box<[T]> {
    type Iter = Iter<'data, T>;
    type Item = &'data T;

    fn into_par_iter(self) -> Iter<'data, T> {
        Iter { slice: self }
    }
}

impl<'data, T: Sync> Part for Iter<'data, T> {
    type Output = &'data T;

    indexed!();
}

impl<'data, T: Sync> IndexedPart for Iter<'data, T> {
    #[inline]
    fn part_len(&self) -> usize {
        self.slice.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let (lower, slice) = self.slice.split_at(index);
        self.slice = lower;
        Self { slice }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = &'data T> + ExactSizeIterator {
        self.slice.iter()
    }
}

/// Mutable references to the items of a slice: see
/// [`par_iter_mut`](crate::iter::IntoParallelRefMutIterator::par_iter_mut).
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IterMut<'data, T> {
    slice: &'data mut [T],
}

impl<'data, T: Send> IntoParallelIterator for &'data mut [T] {
    type Iter = IterMut<'data, T>;
    type Item = &'data mut T;

    fn into_par_iter(self) -> IterMut<'data, T> {
        IterMut { slice: self }
    }
}

impl<'data, T: Send> IntoParallelIterator for &'data mut Box<[T]> {
    type Iter = IterMut<'data, T>;
    type Item = &'data mut T;

    fn into_par_iter(self) -> IterMut<'data, T> {
        IterMut { slice: self }
    }
}

impl<'data, T: Send> Part for IterMut<'data, T> {
    type Output = &'data mut T;

    indexed!();
}

impl<'data, T: Send> IndexedPart for IterMut<'data, T> {
    #[inline]
    fn part_len(&self) -> usize {
        self.slice.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let (lower, slice) = std::mem::take(&mut self.slice).split_at_mut(index);
        self.slice = lower;
        Self { slice }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = &'data mut T> + ExactSizeIterator {
        self.slice.iter_mut()
    }
}
