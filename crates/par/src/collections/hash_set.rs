//! Parallel iterators over hash sets.

use std::collections::HashSet;
use std::marker::PhantomData;

use crate::delegate::source;
use crate::iter::{IntoParallelIterator, ParallelDrainFull};
use crate::part::{delegate, delegate_indexed, IndexedPart, Part};
use crate::vec;

source! {
    /// The items of a hash set, by value.
    ///
    /// # Cost
    ///
    /// Moves the items into a vector first.
    IntoIter[T: Send](vec::IntoIter<T>) -> T;
    |set: HashSet<T, S>| Vec::from_iter(set), for all S
}

source! {
    /// The items of a hash set, by reference.
    ///
    /// # Cost
    ///
    /// Moves references to the items into a vector first.
    Iter['a, T: Sync](vec::IntoIter<&'a T>) -> &'a T, shared;
    |set: &'a HashSet<T, S>| Vec::from_iter(set), for all S
}

/// All items of a hash set, which stays: see [`ParallelDrainFull`].
///
/// # Cost
///
/// Moves the items into a vector first.
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Drain<'a, T> {
    inner: vec::IntoIter<T>,
    marker: PhantomData<&'a mut HashSet<T>>,
}

impl<'a, T: Send, S> ParallelDrainFull for &'a mut HashSet<T, S> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain(self) -> Self::Iter {
        let all = Vec::from_iter(self.drain());
        Drain {
            inner: all.into_par_iter(),
            marker: PhantomData,
        }
    }
}

impl<T: Send> Part for Drain<'_, T> {
    type Output = T;

    delegate!(inner, marker);
}

impl<T: Send> IndexedPart for Drain<'_, T> {
    delegate_indexed!(inner, marker);
}
