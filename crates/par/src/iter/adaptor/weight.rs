//! `with_weight`: split by what the items cost, not by their number.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::part::{forward, IndexedPart, Part};

/// Items that are split by their weight: see
/// [`with_weight`](crate::iter::IndexedParallelIterator::with_weight).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct WithWeight<I> {
    base: I,
    /// For each item of the whole, the weight of all up to it and with it.
    up_to: Arc<[usize]>,
    /// The index of the first item of this part.
    first: usize,
}

impl<I: IndexedPart> WithWeight<I> {
    /// `weights` are those of the items, in their order.
    pub(crate) fn new(base: I, weights: impl Iterator<Item = usize>) -> Self {
        // Nothing is free: or else a part could have items and no weight.
        let up_to = weights.scan(0_usize, |sum, weight| {
            *sum = sum.saturating_add(weight.max(1));
            Some(*sum)
        });
        let up_to = up_to.collect();
        let first = 0;
        Self { base, up_to, first }
    }

    /// The weight of all items below this index of the whole.
    fn below(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |last| self.up_to[last])
    }

    /// The number of items of this part that weigh no more than that, together.
    fn as_many_as(&self, weight: usize) -> usize {
        let limit = self.below(self.first).saturating_add(weight);
        let part = &self.up_to[self.first..self.first + self.base.part_len()];
        part.partition_point(|&up_to| up_to <= limit)
    }

    /// The number of items to run now, which it charges: one at least, whatever it weighs.
    fn affordable(&mut self, budget: &mut usize) -> usize {
        if self.base.part_len() == 0 || *budget == 0 {
            return 0;
        }
        let count = self.as_many_as(*budget).max(1);
        let weight = self.below(self.first + count) - self.below(self.first);
        *budget = budget.saturating_sub(weight.max(1));
        self.first += count;
        count
    }
}

impl<I: IndexedPart> Part for WithWeight<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        let len = self.base.part_len();
        match self.below(self.first + len) - self.below(self.first) {
            // Weights beyond the largest number count for nothing; the items do.
            0 => len,
            weight => weight,
        }
    }

    fn split(&mut self) -> Option<Self> {
        let len = self.base.part_len();
        if len < 2 {
            return None;
        }
        let half = self.steps() / 2;
        let lower = self.as_many_as(half);
        // The item in the middle goes where it makes less of a difference.
        let is_rather_lower = lower < len && {
            let without = self.below(self.first + lower) - self.below(self.first);
            let with = self.below(self.first + lower + 1) - self.below(self.first);
            with - half < half - without
        };
        Some(self.split_off((lower + usize::from(is_rather_lower)).clamp(1, len - 1)))
    }

    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(I::Output) -> ControlFlow<()>,
    {
        let mut count = self.affordable(budget);
        self.base.run(&mut count, consume)
    }

    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, I::Output) -> Folded,
    {
        let mut count = self.affordable(budget);
        self.base.run_fold(&mut count, init, op)
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.base.part_len())
    }

    forward!(base);
}

impl<I: IndexedPart> IndexedPart for WithWeight<I> {
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        Self {
            base: self.base.split_off(index),
            up_to: Arc::clone(&self.up_to),
            first: self.first + index,
        }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        self.base.into_seq()
    }
}
