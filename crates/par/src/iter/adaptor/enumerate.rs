//! `enumerate`: each item with its index.

use std::ops::ControlFlow;

use crate::part::{adaptor, forward, open, open_by_length, IndexedPart, Part};

/// Each item with its index: see [`enumerate`](crate::iter::IndexedParallelIterator::enumerate).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Enumerate<I> {
    base: I,
    /// The index of the first item of this part.
    first: usize,
}

impl<I> Enumerate<I> {
    pub(crate) fn new(base: I) -> Self {
        Self { base, first: 0 }
    }
}

impl<I: IndexedPart> Part for Enumerate<I> {
    type Output = (usize, I::Output);

    #[inline]
    fn steps(&self) -> usize {
        self.base.part_len()
    }

    fn split(&mut self) -> Option<Self> {
        crate::iter::plumbing::split_in_half(self)
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Self::Output) -> ControlFlow<()>,
    {
        let mut next = self.first;
        let flow = self.base.run(budget, |item| {
            let index = next;
            next += 1;
            consume((index, item))
        });
        self.first = next;
        flow
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, Self::Output) -> Folded,
    {
        let mut next = self.first;
        let folded = self.base.run_fold(budget, init, |so_far, item| {
            let index = next;
            next += 1;
            fold(so_far, (index, item))
        });
        self.first = next;
        folded
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.base.part_len())
    }

    forward!(base);
    open_by_length!(I);
}

adaptor!(indexed [T: Send] Enumerate<> { first } T => (usize, T));

impl<I: IndexedPart> IndexedPart for Enumerate<I> {
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let base = self.base.split_off(index);
        let first = self.first + index;
        Self { base, first }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator {
        let end = self.first + self.base.part_len();
        (self.first..end).zip(self.base.into_seq())
    }

    open!(indexed Enumerate { first });
}
