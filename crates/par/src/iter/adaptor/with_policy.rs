//! `with_min_len`, `with_max_len`, `with_granularity`, `deterministic`: wishes about how finely to
//! cut.

use std::ops::ControlFlow;

use crate::granularity::SplitPolicy;
use crate::part::{adaptor, open, IndexedPart, Part};

/// The same items, cut as was asked for: see
/// [`with_granularity`](crate::iter::ParallelIterator::with_granularity).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct WithPolicy<I> {
    base: I,
    policy: SplitPolicy,
}

/// The same items in parts that are not too short: see
/// [`with_min_len`](crate::iter::IndexedParallelIterator::with_min_len).
pub type MinLen<I> = WithPolicy<I>;

/// The same items in parts that are not too long: see
/// [`with_max_len`](crate::iter::IndexedParallelIterator::with_max_len).
pub type MaxLen<I> = WithPolicy<I>;

impl<I> WithPolicy<I> {
    pub(crate) fn new(base: I, policy: SplitPolicy) -> Self {
        Self { base, policy }
    }

    fn over(&self, base: I) -> Self {
        Self { base, ..*self }
    }
}

impl<I: Part> Part for WithPolicy<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split(&mut self) -> Option<Self> {
        let upper = self.base.split()?;
        Some(self.over(upper))
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        self.base.run(budget, consume)
    }

    #[inline]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, fold: G) -> Folded
    where
        G: FnMut(Folded, I::Output) -> Folded,
    {
        self.base.run_fold(budget, init, fold)
    }

    fn known_len(&self) -> Option<usize> {
        self.base.known_len()
    }

    fn split_policy(&self) -> SplitPolicy {
        self.policy.and(self.base.split_policy())
    }

    fn pause(&mut self) {
        self.base.pause();
    }

    open!(WithPolicy { policy });
}

adaptor!(both [T: Send] WithPolicy<> { policy } T => T);

impl<I: IndexedPart> IndexedPart for WithPolicy<I> {
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let upper = self.base.split_off(index);
        self.over(upper)
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        self.base.into_seq()
    }

    open!(indexed WithPolicy { policy });
}
