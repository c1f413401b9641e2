//! `rev`: from the last item to the first.

use crate::granularity::SplitPolicy;
use crate::iter::plumbing::indexed;
use crate::iter::{IndexedParallelIterator, ParallelIterator};

/// From the last item to the first: see [`IndexedParallelIterator::rev`].
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

impl<I: IndexedParallelIterator> ParallelIterator for Rev<I> {
    type Item = I::Item;

    indexed!();

    fn split_policy(&self) -> SplitPolicy {
        self.base.split_policy()
    }

    fn pause(&mut self) {
        self.base.pause();
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Rev<I> {
    fn len(&self) -> usize {
        self.base.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let lower = self.base.split_off(self.base.len() - index);
        let base = std::mem::replace(&mut self.base, lower);
        Self { base }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = I::Item> + ExactSizeIterator {
        self.base.into_seq().rev()
    }
}
