//! Parallel iterators over double-ended queues.

use std::collections::VecDeque;
use std::ops::RangeBounds;

use crate::delegate::source;
use crate::iter::drain::range_within;
use crate::iter::{Chain, ParallelDrainRange, ParallelIterator};
use crate::part::{delegate, delegate_indexed, delegate_open, IndexedPart, Part};
use crate::slice;
use crate::vec::{self, Lent, Taken};

source! {
    /// The items of a double-ended queue, by value.
    ///
    /// # Cost
    ///
    /// If they do not lie at the beginning of the queue's memory, they are moved there first.
    #[derive(Clone)]
    IntoIter[T: Send](vec::IntoIter<T>) -> T;
    |deque: VecDeque<T>| Vec::from(deque)
}

source! {
    /// The items of a double-ended queue, by reference.
    Iter['a, T: Sync](Chain<slice::Iter<'a, T>, slice::Iter<'a, T>>) -> &'a T, shared;
    |deque: &'a VecDeque<T>| {
        let (lower, upper) = deque.as_slices();
        lower.into_par_iter().chain(upper)
    }
}

source! {
    /// The items of a double-ended queue, by mutable reference.
    IterMut['a, T: Send](Chain<slice::IterMut<'a, T>, slice::IterMut<'a, T>>) -> &'a mut T;
    |deque: &'a mut VecDeque<T>| {
        let (lower, upper) = deque.as_mut_slices();
        lower.into_par_iter().chain(upper)
    }
}

/// A range of the items of a double-ended queue, which keeps the others and its memory: see
/// [`ParallelDrainRange`].
///
/// # Cost
///
/// If the items do not lie at the beginning of the queue's memory, all of them are moved there
/// first. Those behind the range move up when it is gone.
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Drain<'a, T> {
    items: Taken<T, Lent<'a, T, VecDeque<T>>>,
}

impl<'a, T: Send> ParallelDrainRange<usize> for &'a mut VecDeque<T> {
    type Iter = Drain<'a, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'a, T> {
        let range = range_within(&range, self.len());
        let items = Lent::take(self, range, VecDeque::from);
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
