//! Parallel iterators over ranges of integers and of characters.

use std::ops::{ControlFlow, Range};

use crate::integer::{IndexedRangeInteger, RangeInteger};
use crate::iter::IntoParallelIterator;
use crate::part::{IndexedPart, Part};

/// The integers of a range, or the characters.
///
/// It is indexed if the number of items fits into a `usize` whatever the range: not for `u64`,
/// `i64`, `u128` and `i128`.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!((0..1000_u32).into_par_iter().filter(|n| n % 7 == 0).count(), 143);
/// assert_eq!(('a'..'e').into_par_iter().collect::<String>(), "abcd");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Iter<T> {
    range: Range<T>,
}

// For all types at once: or else the compiler could not tell the type of `0..10`.
impl<T> IntoParallelIterator for Range<T>
where
    Iter<T>: Part,
{
    type Iter = Iter<T>;
    type Item = <Iter<T> as Part>::Output;

    fn into_par_iter(self) -> Iter<T> {
        Iter { range: self }
    }
}

impl<T: RangeInteger> Iter<T> {
    /// Cuts the first ones off, as many as the budget allows, and charges it.
    #[inline]
    fn front(&mut self, budget: &mut usize) -> Range<T> {
        let Range { start, end } = self.range;
        let len = start.distance(end).unwrap_or(usize::MAX).min(*budget);
        *budget -= len;
        self.range.start = start.forward(len);
        start..self.range.start
    }
}

// For all types at once: or else it could not tell the type of `0..10` from what is done with the
// items.
impl<T: RangeInteger> Part for Iter<T>
where
    Range<T>: Iterator<Item = T>,
{
    type Output = T;

    #[inline]
    fn steps(&self) -> usize {
        self.known_len().unwrap_or(usize::MAX)
    }

    fn split(&mut self) -> Option<Self> {
        if self.steps() < 2 {
            return None;
        }
        let Range { start, end } = self.range;
        let middle = start.middle(end);
        self.range.end = middle;
        Some(Self { range: middle..end })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(T) -> ControlFlow<()>,
    {
        self.front(budget).try_for_each(consume)
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, T) -> Folded,
    {
        self.front(budget).fold(init, op)
    }

    #[inline]
    fn known_len(&self) -> Option<usize> {
        self.range.start.distance(self.range.end)
    }
}

impl<T: IndexedRangeInteger> IndexedPart for Iter<T>
where
    Range<T>: Iterator<Item = T>,
{
    #[inline]
    fn part_len(&self) -> usize {
        self.steps()
    }

    #[inline]
    fn split_off(&mut self, index: usize) -> Self {
        assert!(index <= self.part_len());
        let middle = self.range.start.forward(index);
        let end = std::mem::replace(&mut self.range.end, middle);
        Self { range: middle..end }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        T::seq(self.range)
    }
}
