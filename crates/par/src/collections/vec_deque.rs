//! Parallel iterators over double-ended queues.

use crate::delegate::{delegate, delegate_indexed, source};
use crate::iter::drain::range_within;
use crate::iter::plumbing::split_in_half;
use crate::iter::{
    IndexedParallelIterator, IntoParallelIterator, ParallelDrainRange, ParallelIterator,
};
use crate::slice;
use crate::vec::{self, Lent, Taken};
use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeBounds};

source! {
    /// The items of a double-ended queue, by value.
    ///
    /// # Cost
    ///
    /// If they do not lie at the beginning of the queue's memory, they are moved there
    /// first.
    #[derive(Clone)]
    IntoIter[T: Send](vec::IntoIter<T>) -> T: indexed;
    |deque: VecDeque<T>| Vec::from(deque)
}

source! {
    /// The items of a double-ended queue, by reference.
    Iter['a, T: Sync](Halves<slice::Iter<'a, T>>) -> &'a T: indexed, shared;
    |deque: &'a VecDeque<T>| {
        let (lower, upper) = deque.as_slices();
        Halves::new(lower, upper)
    }
}

source! {
    /// The items of a double-ended queue, by mutable reference.
    IterMut['a, T: Send](Halves<slice::IterMut<'a, T>>) -> &'a mut T: indexed;
    |deque: &'a mut VecDeque<T>| {
        let (lower, upper) = deque.as_mut_slices();
        Halves::new(lower, upper)
    }
}

/// A range of the items of a double-ended queue, which keeps the others and its memory:
/// see [`ParallelDrainRange`].
///
/// # Cost
///
/// If the items do not lie at the beginning of the queue's memory, all of them are moved
/// there first. Those behind the range move up when it is gone.
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

impl<T: Send> ParallelIterator for Drain<'_, T> {
    type Item = T;

    delegate!(items);
}

impl<T: Send> IndexedParallelIterator for Drain<'_, T> {
    delegate_indexed!(items);
}

/// The items before the end of the queue's memory, and those that go on at its
/// beginning: in parallel, and one by one.
#[derive(Clone, Debug)]
struct Halves<I> {
    lower: I,
    upper: I,
}

impl<I: IndexedParallelIterator> Halves<I> {
    fn new<S: IntoParallelIterator<Iter = I>>(lower: S, upper: S) -> Self {
        Self {
            lower: lower.into_par_iter(),
            upper: upper.into_par_iter(),
        }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for Halves<I> {
    type Item = I::Item;

    #[inline]
    fn steps(&self) -> usize {
        IndexedParallelIterator::len(self)
    }

    fn split(&mut self) -> Option<Self> {
        split_in_half(self)
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Self::Item) -> ControlFlow<()>,
    {
        self.lower.run(budget, &mut consume)?;
        self.upper.run(budget, consume)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(IndexedParallelIterator::len(self))
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Halves<I> {
    #[inline]
    fn len(&self) -> usize {
        self.lower.len() + self.upper.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let in_lower = index.min(self.lower.len());
        Self {
            lower: self.lower.split_off(in_lower),
            upper: self.upper.split_off(index - in_lower),
        }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = I::Item> + ExactSizeIterator {
        Halves {
            lower: self.lower.into_seq(),
            upper: self.upper.into_seq(),
        }
    }
}

impl<I: ExactSizeIterator> Iterator for Halves<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.lower.next().or_else(|| self.upper.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.lower.len() + self.upper.len();
        (len, Some(len))
    }
}

impl<I: DoubleEndedIterator + ExactSizeIterator> DoubleEndedIterator for Halves<I> {
    fn next_back(&mut self) -> Option<I::Item> {
        self.upper.next_back().or_else(|| self.lower.next_back())
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Halves<I> {}
