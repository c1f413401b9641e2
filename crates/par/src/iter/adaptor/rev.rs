//! `rev`: from the last item to the first.

use crate::iter::plumbing::indexed;
use crate::part::{adaptor, forward, open, open_by_length, IndexedPart, Part};

/// From the last item to the first: see [`rev`](crate::iter::IndexedParallelIterator::rev).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Rev<I> {
    base: I,
}

impl<I> Rev<I> {
    pub(crate) fn new(base: I) -> Self {
        Self { base }
    }
}

impl<I: IndexedPart> Part for Rev<I> {
    type Output = I::Output;

    indexed!();

    forward!(base);
    open_by_length!(I);
}

adaptor!(indexed [T: Send] Rev<> {} T => T);

impl<I: IndexedPart> IndexedPart for Rev<I> {
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let lower = self.base.split_off(self.base.part_len() - index);
        let base = std::mem::replace(&mut self.base, lower);
        Self { base }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        self.base.into_seq().rev()
    }

    open!(indexed Rev {});
}
