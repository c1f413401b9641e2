//! One item, and none.

use std::fmt;
use std::marker::PhantomData;

use crate::iter::plumbing::indexed;
use crate::part::{IndexedPart, Part};

/// Gives one item.
///
/// # Examples
///
/// ```
/// use heist::iter::once;
/// use heist::prelude::*;
///
/// assert_eq!(once(7).map(|n| n * 6).collect::<Vec<_>>(), [42]);
/// ```
pub fn once<T: Send>(item: T) -> Once<T> {
    Once { item: Some(item) }
}

/// One item: see [`once`].
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Once<T> {
    item: Option<T>,
}

impl<T: Send> Part for Once<T> {
    type Output = T;

    indexed!();
}

impl<T: Send> IndexedPart for Once<T> {
    #[inline]
    fn part_len(&self) -> usize {
        usize::from(self.item.is_some())
    }

    fn split_off(&mut self, index: usize) -> Self {
        let item = if index == 0 { self.item.take() } else { None };
        Self { item }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self.item.into_iter()
    }
}

/// Gives nothing.
///
/// # Examples
///
/// ```
/// use heist::iter::empty;
/// use heist::prelude::*;
///
/// assert_eq!(empty::<u32>().sum::<u32>(), 0);
/// ```
pub fn empty<T: Send>() -> Empty<T> {
    Empty { item: PhantomData }
}

/// No items: see [`empty`].
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Empty<T> {
    item: PhantomData<T>,
}

impl<T: Send> Part for Empty<T> {
    type Output = T;

    indexed!();
}

impl<T: Send> IndexedPart for Empty<T> {
    #[inline]
    fn part_len(&self) -> usize {
        0
    }

    fn split_off(&mut self, _index: usize) -> Self {
        self.clone()
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        std::iter::empty()
    }
}

impl<T> Clone for Empty<T> {
    fn clone(&self) -> Self {
        Self { item: PhantomData }
    }
}

impl<T> fmt::Debug for Empty<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Empty")
    }
}
