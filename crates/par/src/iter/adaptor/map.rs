//! `map`: the result of a closure for each item.

use std::ops::ControlFlow;

use super::debug_without_closures;
use super::shared::Shared;
use crate::part::{adaptor, forward, open, IndexedPart, Part};

/// The results of a closure for each item: see [`map`](crate::iter::ParallelIterator::map).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Map<I, F> {
    base: I,
    op: Shared<F>,
}

debug_without_closures!(Map<I; F> { base });

impl<I, F> Map<I, F> {
    pub(crate) fn new(base: I, op: F) -> Self {
        let op = Shared::new(op);
        Self { base, op }
    }

    /// The same adaptor over another part.
    fn over(&mut self, base: I) -> Self {
        let op = self.op.share();
        Self { base, op }
    }
}

impl<I, F, R> Part for Map<I, F>
where
    I: Part,
    F: Fn(I::Output) -> R + Sync + Send,
    R: Send,
{
    type Output = R;

    fn split(&mut self) -> Option<Self> {
        let upper = self.base.split()?;
        Some(self.over(upper))
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(R) -> ControlFlow<()>,
    {
        let op = self.op.get();
        self.base.run(budget, |item| consume(op(item)))
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, R) -> Folded,
    {
        let op = self.op.get();
        let fold = |so_far, item| fold(so_far, op(item));
        self.base.run_fold(budget, init, fold)
    }

    forward!(base, steps, known_len);
    open!(Map { op });
}

adaptor!(both [T, F, R] Map<F> { op } T => R where F: Fn(T) -> R + Sync + Send, R: Send);

impl<I, F, R> IndexedPart for Map<I, F>
where
    I: IndexedPart,
    F: Fn(I::Output) -> R + Sync + Send,
    R: Send,
{
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let upper = self.base.split_off(index);
        self.over(upper)
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = R> + ExactSizeIterator {
        let op = self.op;
        self.base.into_seq().map(move |item| op.get()(item))
    }

    open!(indexed Map { op });
}
