//! Parallel iterators over options: one item, or none.

use crate::delegate::source;
use crate::iter::plumbing::indexed;
use crate::iter::IntoParallelIterator;
use crate::part::{IndexedPart, Part};

/// The item of an option, by value.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let numbers = vec![1, 2, 3].into_par_iter().chain(Some(4));
/// assert_eq!(numbers.sum::<i32>(), 10);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IntoIter<T> {
    item: Option<T>,
}

impl<T: Send> IntoParallelIterator for Option<T> {
    type Iter = IntoIter<T>;
    type Item = T;

    fn into_par_iter(self) -> IntoIter<T> {
        IntoIter { item: self }
    }
}

impl<T: Send> Part for IntoIter<T> {
    type Output = T;

    indexed!();
}

impl<T: Send> IndexedPart for IntoIter<T> {
    #[inline]
    fn part_len(&self) -> usize {
        usize::from(self.item.is_some())
    }

    fn split_off(&mut self, index: usize) -> Self {
        assert!(index <= self.part_len());
        let item = self.item.take_if(|_| index == 0);
        Self { item }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self.item.into_iter()
    }
}

source! {
    /// The item of an option, by reference.
    Iter['a, T: Sync](IntoIter<&'a T>) -> &'a T, shared;
    |option: &'a Option<T>| option.as_ref()
}

source! {
    /// The item of an option, by mutable reference.
    IterMut['a, T: Send](IntoIter<&'a mut T>) -> &'a mut T;
    |option: &'a mut Option<T>| option.as_mut()
}
