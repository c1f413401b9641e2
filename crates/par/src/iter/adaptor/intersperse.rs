//! `intersperse`: the same value between each two items.

use std::ops::ControlFlow::{self, Continue};

use super::both_ends::{both_ends, take_from};
use crate::part::{
    forward, Adaptor, Continuation, IndexedAdaptor, IndexedContinuation, IndexedPart, Over, Part,
};

/// The same value between each two items: see
/// [`intersperse`](crate::iter::ParallelIterator::intersperse).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Intersperse<I: Part> {
    base: I,
    between: I::Output,
    /// An item has come before this part, so that each item has `between` before it.
    begun: bool,
    /// The part ends with `between`.
    ends_between: bool,
}

impl<I: Part> Intersperse<I> {
    pub(crate) fn new(base: I, between: I::Output) -> Self {
        Self {
            base,
            between,
            begun: false,
            ends_between: false,
        }
    }

    /// The number of items, with so many of the base.
    fn len_with(&self, base_len: usize) -> Option<usize> {
        let first = usize::from(!self.begun && base_len > 0);
        let doubled = base_len.checked_mul(2)?;
        (doubled - first).checked_add(self.ends_between.into())
    }
}

impl<I> Part for Intersperse<I>
where
    I: Part<Output: Clone>,
{
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        let steps = self.base.steps();
        steps.saturating_add(self.ends_between.into())
    }

    fn split(&mut self) -> Option<Self> {
        // The upper part could not tell whether it has the first item of all.
        if !self.begun && self.base.known_len().is_none() {
            return None;
        }
        let base = self.base.split()?;
        let begun = self.begun || self.base.known_len() != Some(0);
        Some(Self {
            base,
            between: self.between.clone(),
            begun,
            ends_between: std::mem::take(&mut self.ends_between),
        })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        let (between, begun) = (&self.between, &mut self.begun);
        self.base.run(budget, |item| {
            if *begun {
                consume(between.clone())?;
            }
            *begun = true;
            consume(item)
        })?;
        if self.base.steps() == 0 && *budget > 0 && std::mem::take(&mut self.ends_between) {
            *budget -= 1;
            consume(self.between.clone())?;
        }
        Continue(())
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, I::Output) -> B,
    {
        let (between, begun) = (&self.between, &mut self.begun);
        let mut so_far = self.base.run_fold(budget, init, |mut so_far, item| {
            if *begun {
                so_far = op(so_far, between.clone());
            }
            *begun = true;
            op(so_far, item)
        });
        if self.base.steps() == 0 && *budget > 0 && std::mem::take(&mut self.ends_between) {
            *budget -= 1;
            so_far = op(so_far, self.between.clone());
        }
        so_far
    }

    fn known_len(&self) -> Option<usize> {
        self.len_with(self.base.known_len()?)
    }

    forward!(base);

    const IS_LENT: bool = I::IS_LENT;

    fn open<K: Continuation<I::Output>>(self, then: K) -> K::Output {
        let adaptor = Between(self.between);
        self.base.open(Over { adaptor, then })
    }
}

/// An `intersperse` without its base, before it begins.
struct Between<T>(T);

impl<T: Clone + Send> Adaptor<T> for Between<T> {
    type Output = T;
    type Over<P: Part<Output = T>> = Intersperse<P>;

    fn over<P: Part<Output = T>>(self, base: P) -> Intersperse<P> {
        Intersperse::new(base, self.0)
    }
}

impl<T: Clone + Send> IndexedAdaptor<T> for Between<T> {
    type Output = T;
    type Over<P: IndexedPart<Output = T>> = Intersperse<P>;

    fn over<P: IndexedPart<Output = T>>(self, base: P) -> Intersperse<P> {
        Intersperse::new(base, self.0)
    }
}

impl<I> IndexedPart for Intersperse<I>
where
    I: IndexedPart<Output: Clone>,
{
    fn part_len(&self) -> usize {
        let len = self.len_with(self.base.part_len());
        len.expect("interspersed items are at most usize::MAX with what is between them")
    }

    fn split_off(&mut self, index: usize) -> Self {
        let is_between = |index: usize| (index % 2 == 0) == self.begun;
        let (len, base_len) = (self.part_len(), self.base.part_len());
        let of_base = (index / 2 + usize::from(!self.begun && index % 2 == 1)).min(base_len);
        let upper = Self {
            base: self.base.split_off(of_base),
            between: self.between.clone(),
            begun: is_between(index),
            ends_between: self.ends_between && index < len,
        };
        if index < len {
            self.ends_between = index > 0 && is_between(index - 1);
        }
        upper
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        let (len, begun, last) = (self.part_len(), self.begun, self.ends_between);
        let (mut base, between) = (self.base.into_seq(), self.between);
        both_ends(len, move |index, front| {
            if (index % 2 == 0) == begun || (last && index + 1 == len) {
                Some(between.clone())
            } else {
                take_from(&mut base, front)
            }
        })
    }

    fn open_indexed<K: IndexedContinuation<I::Output>>(self, then: K) -> K::Output {
        let adaptor = Between(self.between);
        self.base.open_indexed(Over { adaptor, then })
    }
}
