//! Parallel iterators over binary heaps, in no particular order.

use std::collections::BinaryHeap;

use crate::delegate::source;
use crate::iter::ParallelDrainFull;
use crate::part::{delegate, delegate_indexed, delegate_open, IndexedPart, Part};
use crate::vec::{Lent, Taken};
use crate::{slice, vec};

source! {
    /// The items of a binary heap, by value.
    #[derive(Clone)]
    IntoIter[T: Send](vec::IntoIter<T>) -> T;
    |heap: BinaryHeap<T>| heap.into_vec()
}

source! {
    /// The items of a binary heap, by reference.
    Iter['a, T: Sync](slice::Iter<'a, T>) -> &'a T, shared;
    |heap: &'a BinaryHeap<T>| heap.as_slice()
}

/// All items of a binary heap, which keeps its memory: see [`ParallelDrainFull`].
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Drain<'a, T> {
    items: Taken<T, Lent<'a, T, BinaryHeap<T>>>,
}

impl<'a, T: Ord + Send> ParallelDrainFull for &'a mut BinaryHeap<T> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain(self) -> Drain<'a, T> {
        let all = 0..self.len();
        let items = Lent::take(self, all, BinaryHeap::from);
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
