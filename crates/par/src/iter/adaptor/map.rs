//! `map`: what a closure makes of each item.

use super::debug_without_closures;
use crate::granularity::SplitPolicy;
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a closure makes of each item: see [`ParallelIterator::map`].
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Map<I, F> {
    base: I,
    op: Arc<F>,
}

debug_without_closures!(Map<I; F> { base });

impl<I, F> Map<I, F> {
    pub(crate) fn new(base: I, op: F) -> Self {
        let op = Arc::new(op);
        Self { base, op }
    }

    /// The same over another part.
    fn over(&self, base: I) -> Self {
        let op = Arc::clone(&self.op);
        Self { base, op }
    }
}

impl<I, F, R> ParallelIterator for Map<I, F>
where
    I: ParallelIterator,
    F: Fn(I::Item) -> R + Sync + Send,
    R: Send,
{
    type Item = R;

    #[inline]
    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split(&mut self) -> Option<Self> {
        let upper = self.base.split()?;
        Some(self.over(upper))
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(R) -> ControlFlow<()>,
    {
        let op = &*self.op;
        self.base.run(budget, |item| consume(op(item)))
    }

    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }

    fn split_policy(&self) -> SplitPolicy {
        self.base.split_policy()
    }

    fn pause(&mut self) {
        self.base.pause();
    }
}

impl<I, F, R> IndexedParallelIterator for Map<I, F>
where
    I: IndexedParallelIterator,
    F: Fn(I::Item) -> R + Sync + Send,
    R: Send,
{
    fn len(&self) -> usize {
        self.base.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let upper = self.base.split_off(index);
        self.over(upper)
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = R> + ExactSizeIterator {
        let op = self.op;
        self.base.into_seq().map(move |item| op(item))
    }
}
