//! Parallel iterators over ranges of integers and of characters with their last one.

use std::mem::replace;
use std::ops::{ControlFlow, Range, RangeInclusive};

use crate::integer::{InclusiveRangeInteger, RangeInteger};
use crate::iter::IntoParallelIterator;
use crate::part::{IndexedPart, Part};

/// The integers of a range, or the characters.
///
/// It is indexed if the number of items fits into a `usize` whatever the range and the machine: for
/// `u8`, `i8`, `u16`, `i16` and `char`.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// assert_eq!((1..=20_u64).into_par_iter().product::<u64>(), 2_432_902_008_176_640_000);
/// assert_eq!(('a'..='e').into_par_iter().collect::<String>(), "abcde");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Iter<T> {
    range: RangeInclusive<T>,
}

// For all types at once: or else the compiler could not tell the type of `0..=9`.
impl<T> IntoParallelIterator for RangeInclusive<T>
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
    /// The first and the last one. A range that was iterated over to its end has none, whatever its
    /// bounds.
    fn bounds(&self) -> Option<(T, T)> {
        (!self.range.is_empty()).then_some((*self.range.start(), *self.range.end()))
    }
}

// For all types at once: or else it could not tell the type of `0..=9` from what is done with the
// items.
impl<T: RangeInteger> Part for Iter<T>
where
    Range<T>: Iterator<Item = T>,
    RangeInclusive<T>: Iterator<Item = T>,
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
        let (first, last) = self.bounds()?;
        let middle = first.middle(last);
        self.range = first..=middle;
        let range = middle.forward(1)..=last;
        Some(Self { range })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(T) -> ControlFlow<()>,
    {
        let steps = self.steps();
        if steps <= *budget {
            *budget -= steps;
            replace(&mut self.range, T::NONE).try_for_each(consume)
        } else {
            let (first, last) = (*self.range.start(), *self.range.end());
            let next = first.forward(replace(budget, 0));
            self.range = next..=last;
            (first..next).try_for_each(consume)
        }
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, mut op: Op) -> Folded
    where
        Op: FnMut(Folded, T) -> Folded,
    {
        let steps = self.steps();
        let Some((first, last)) = self.bounds() else {
            return init;
        };
        let len = steps.min(*budget);
        *budget -= len;
        if len < steps {
            let next = first.forward(len);
            self.range = next..=last;
            return (first..next).fold(init, op);
        }
        self.range = T::NONE;
        // Half-open ranges are the faster loops.
        let so_far = (first..last).fold(init, &mut op);
        op(so_far, last)
    }

    #[inline]
    fn known_len(&self) -> Option<usize> {
        match self.bounds() {
            Some((first, last)) => first.distance(last)?.checked_add(1),
            None => Some(0),
        }
    }
}

impl<T: InclusiveRangeInteger> IndexedPart for Iter<T>
where
    Range<T>: Iterator<Item = T>,
    RangeInclusive<T>: Iterator<Item = T>,
{
    #[inline]
    fn part_len(&self) -> usize {
        self.steps()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let len = self.part_len();
        assert!(index <= len);
        let all = replace(&mut self.range, T::NONE);
        if index == 0 {
            return Self { range: all };
        }
        let (first, last) = all.into_inner();
        self.range = first..=first.forward(index - 1);
        let range = if index < len {
            first.forward(index)..=last
        } else {
            T::NONE
        };
        Self { range }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        T::seq(self.range)
    }
}
