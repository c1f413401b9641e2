//! `positions`: the indices of the items for which a closure returns true.

use std::ops::ControlFlow;

use super::shared::Shared;
use super::{debug_without_closures, Enumerate};
use crate::part::{adaptor, forward, open, Part};

/// The indices of the items for which a closure returns true: see
/// [`positions`](crate::iter::IndexedParallelIterator::positions).
pub type Positions<I, P> = IndicesWhere<Enumerate<I>, P>;

/// The indices of items for which a closure returns true.
#[expect(unnameable_types, reason = "it is named `Positions`")]
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IndicesWhere<I, P> {
    base: I,
    predicate: Shared<P>,
}

debug_without_closures!(IndicesWhere<I; P> { base });

impl<I, P> Positions<I, P> {
    pub(crate) fn new(base: I, predicate: P) -> Self {
        Self {
            base: Enumerate::new(base),
            predicate: Shared::new(predicate),
        }
    }
}

impl<I, T, P> Part for IndicesWhere<I, P>
where
    I: Part<Output = (usize, T)>,
    P: Fn(T) -> bool + Sync + Send,
{
    type Output = usize;

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let predicate = self.predicate.share();
        Some(Self { base, predicate })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(usize) -> ControlFlow<()>,
    {
        let predicate = self.predicate.get();
        self.base.run(budget, |(index, item)| {
            if predicate(item) {
                consume(index)
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    #[inline]
    fn run_sparse<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Option<usize>, bool) -> ControlFlow<()>,
    {
        let predicate = self.predicate.get();
        self.base.run(budget, |(index, item)| {
            consume(Some(index), predicate(item))
        })
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, usize) -> Folded,
    {
        let predicate = self.predicate.get();
        self.base.run_fold(budget, init, |so_far, (index, item)| {
            if predicate(item) {
                fold(so_far, index)
            } else {
                so_far
            }
        })
    }

    forward!(base, steps);
    open!(IndicesWhere { predicate });
}

adaptor! {
    [T, P] IndicesWhere<P> { predicate } (usize, T) => usize
    where P: Fn(T) -> bool + Sync + Send
}
