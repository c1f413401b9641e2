//! `step_by`: each n-th item.

use crate::iter::plumbing::indexed;
use crate::part::{adaptor, open, open_by_length, IndexedPart, Part};
use crate::SplitPolicy;

/// Each n-th item: see [`step_by`](crate::iter::IndexedParallelIterator::step_by).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct StepBy<I> {
    base: I,
    step: usize,
}

impl<I> StepBy<I> {
    #[track_caller]
    pub(crate) fn new(base: I, step: usize) -> Self {
        assert!(step != 0, "step_by(0): a step must be at least 1");
        Self { base, step }
    }
}

impl<I: IndexedPart> Part for StepBy<I> {
    type Output = I::Output;

    indexed!();

    fn split_policy(&self) -> SplitPolicy {
        self.base.split_policy().of_groups(self.step)
    }

    fn pause(&mut self) {
        self.base.pause();
    }

    open_by_length!(I);
}

adaptor!(indexed [T: Send] StepBy<> { step } T => T);

impl<I: IndexedPart> IndexedPart for StepBy<I> {
    fn part_len(&self) -> usize {
        self.base.part_len().div_ceil(self.step)
    }

    fn split_off(&mut self, index: usize) -> Self {
        let base_index = index.saturating_mul(self.step).min(self.base.part_len());
        let base = self.base.split_off(base_index);
        Self { base, ..*self }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        self.base.into_seq().step_by(self.step)
    }

    open!(indexed StepBy { step });
}
