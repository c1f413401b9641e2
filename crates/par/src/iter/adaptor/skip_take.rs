//! `skip` and `take`: all but the first items, and the first items only.

use std::ops::ControlFlow;

use crate::driver::drive;
use crate::iter::consumer::ForEach;
use crate::part::{forward, IndexedPart, Part};

/// The first items only: see [`take`](crate::iter::IndexedParallelIterator::take). The same
/// iterator, which has been cut.
pub type Take<I> = I;

/// All but the first items: see [`skip`](crate::iter::IndexedParallelIterator::skip).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Skip<I> {
    /// The items to skip, until they have been gone through.
    skipped: Option<I>,
    base: I,
}

impl<I: IndexedPart> Skip<I> {
    pub(crate) fn new(mut iter: I, len: usize) -> Self {
        let base = iter.split_off(len.min(iter.part_len()));
        let skipped = Some(iter).filter(|skipped| skipped.part_len() > 0);
        Self { skipped, base }
    }

    /// Goes through the items to skip, for the sake of the side effects.
    fn go_through_skipped(&mut self) {
        if let Some(skipped) = self.skipped.take() {
            drive(skipped, ForEach::new(&drop::<I::Output>));
        }
    }
}

impl<I: IndexedPart> Part for Skip<I> {
    type Output = I::Output;

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
        F: FnMut(I::Output) -> ControlFlow<()>,
    {
        self.go_through_skipped();
        self.base.run(budget, consume)
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, I::Output) -> Folded,
    {
        self.go_through_skipped();
        self.base.run_fold(budget, init, op)
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.base.part_len())
    }

    forward!(base);
}

impl<I: IndexedPart> IndexedPart for Skip<I> {
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        self.go_through_skipped();
        let base = self.base.split_off(index);
        let skipped = None;
        Self { skipped, base }
    }

    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        self.go_through_skipped();
        self.base.into_seq()
    }
}
