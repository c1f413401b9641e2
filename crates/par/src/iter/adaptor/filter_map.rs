//! `filter_map`: what a closure makes of the items, where it makes something.

use std::ops::ControlFlow;

use super::debug_without_closures;
use super::shared::Shared;
use crate::part::{adaptor, forward, open, Part};

/// The results of a closure, where it gives any: see
/// [`filter_map`](crate::iter::ParallelIterator::filter_map).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct FilterMap<I, P> {
    base: I,
    op: Shared<P>,
}

debug_without_closures!(FilterMap<I; P> { base });

impl<I, P> FilterMap<I, P> {
    pub(crate) fn new(base: I, op: P) -> Self {
        let op = Shared::new(op);
        Self { base, op }
    }
}

impl<I, P, R> Part for FilterMap<I, P>
where
    I: Part,
    P: Fn(I::Output) -> Option<R> + Sync + Send,
    R: Send,
{
    type Output = R;

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let op = self.op.share();
        Some(Self { base, op })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(R) -> ControlFlow<()>,
    {
        let op = self.op.get();
        self.base.run(budget, |item| match op(item) {
            Some(made) => consume(made),
            None => ControlFlow::Continue(()),
        })
    }

    #[inline]
    fn run_sparse<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Option<R>, bool) -> ControlFlow<()>,
    {
        let op = self.op.get();
        self.base.run(budget, |item| consume(op(item), true))
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, R) -> Folded,
    {
        let op = self.op.get();
        let fold = |so_far, item| match op(item) {
            Some(made) => fold(so_far, made),
            None => so_far,
        };
        self.base.run_fold(budget, init, fold)
    }

    forward!(base, steps);
    open!(FilterMap { op });
}

adaptor!([T, P, R] FilterMap<P> { op } T => R where P: Fn(T) -> Option<R> + Sync + Send, R: Send);
