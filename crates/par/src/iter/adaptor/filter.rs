//! `filter`: the items for which a closure returns true.

use std::ops::ControlFlow;

use super::debug_without_closures;
use super::shared::Shared;
use crate::part::{adaptor, forward, open, Part};

/// The items for which a closure returns true: see
/// [`filter`](crate::iter::ParallelIterator::filter).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Filter<I, P> {
    base: I,
    predicate: Shared<P>,
}

debug_without_closures!(Filter<I; P> { base });

impl<I, P> Filter<I, P> {
    pub(crate) fn new(base: I, predicate: P) -> Self {
        let predicate = Shared::new(predicate);
        Self { base, predicate }
    }
}

impl<I, P> Part for Filter<I, P>
where
    I: Part,
    P: Fn(&I::Output) -> bool + Sync + Send,
{
    type Output = I::Output;

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let predicate = self.predicate.share();
        Some(Self { base, predicate })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        let predicate = self.predicate.get();
        self.base.run(budget, |item| {
            if predicate(&item) {
                consume(item)
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    #[inline]
    fn run_sparse<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Option<I::Output>, bool) -> ControlFlow<()>,
    {
        let predicate = self.predicate.get();
        self.base.run_sparse(budget, |item, counts| {
            let counts = counts && item.as_ref().is_some_and(predicate);
            consume(item, counts)
        })
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, I::Output) -> Folded,
    {
        let predicate = self.predicate.get();
        self.base.run_fold(budget, init, |so_far, item| {
            if predicate(&item) {
                fold(so_far, item)
            } else {
                so_far
            }
        })
    }

    forward!(base, steps);
    open!(Filter { predicate });
}

adaptor!([T: Send, P] Filter<P> { predicate } T => T where P: Fn(&T) -> bool + Sync + Send);
