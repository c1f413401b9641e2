//! `skip` and `take`: all but the first items, and the first items only.

use crate::driver::drive;
use crate::granularity::SplitPolicy;
use crate::iter::consumer::ForEach;
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use std::ops::ControlFlow;

/// The first items only: see [`IndexedParallelIterator::take`]. The same iterator, which
/// has been cut.
pub type Take<I> = I;

/// All but the first items: see [`IndexedParallelIterator::skip`].
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Skip<I> {
    /// What is skipped, until it has been gone through.
    skipped: Option<I>,
    base: I,
}

impl<I: IndexedParallelIterator> Skip<I> {
    pub(crate) fn new(mut iter: I, len: usize) -> Self {
        let base = iter.split_off(len.min(iter.len()));
        let skipped = Some(iter).filter(|skipped| skipped.len() > 0);
        Self { skipped, base }
    }

    /// Goes through what is skipped, for the sake of what that does besides.
    fn go_through_skipped(&mut self) {
        if let Some(skipped) = self.skipped.take() {
            drive(skipped, ForEach::new(&drop::<I::Item>));
        }
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for Skip<I> {
    type Item = I::Item;

    #[inline]
    fn steps(&self) -> usize {
        let all = usize::from(self.skipped.is_some());
        self.base.steps().saturating_add(all)
    }

    fn split(&mut self) -> Option<Self> {
        self.go_through_skipped();
        let base = self.base.split()?;
        let skipped = None;
        Some(Self { skipped, base })
    }

    #[inline]
    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(I::Item) -> ControlFlow<()>,
    {
        self.go_through_skipped();
        self.base.run(budget, consume)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.base.len())
    }

    fn split_policy(&self) -> SplitPolicy {
        self.base.split_policy()
    }

    fn pause(&mut self) {
        self.base.pause();
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Skip<I> {
    fn len(&self) -> usize {
        self.base.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        self.go_through_skipped();
        let base = self.base.split_off(index);
        let skipped = None;
        Self { skipped, base }
    }

    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = I::Item> + ExactSizeIterator {
        self.go_through_skipped();
        self.base.into_seq()
    }
}
