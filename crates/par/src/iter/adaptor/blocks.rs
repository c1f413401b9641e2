//! `by_uniform_blocks` and `by_exponential_blocks`: one block of items after the other.

use std::ops::ControlFlow;

use heist_core::current_num_threads;

use crate::granularity::SplitPolicy;
use crate::part::{Continuation, IndexedContinuation, IndexedPart, Part};

/// Blocks of the same length one after the other: see
/// [`by_uniform_blocks`](crate::iter::IndexedParallelIterator::by_uniform_blocks).
pub type UniformBlocks<I> = Blocks<I>;

/// Blocks that are twice as long as the one before, one after the other: see
/// [`by_exponential_blocks`](crate::iter::IndexedParallelIterator::by_exponential_blocks).
pub type ExponentialBlocks<I> = Blocks<I>;

/// Blocks one after the other, or a part of one.
#[expect(
    unnameable_types,
    reason = "it is named `UniformBlocks` or `ExponentialBlocks`"
)]
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Blocks<I> {
    base: I,
    /// The length of the first block: as many items as there are workers, unless it is said.
    len: Option<usize>,
    /// By how much each is longer than the one before.
    growth: usize,
}

impl<I> Blocks<I> {
    #[track_caller]
    pub(crate) fn uniform(base: I, block_size: usize) -> Self {
        assert!(
            block_size != 0,
            "block_size must not be zero: a block has at least 1 item"
        );
        Self {
            base,
            len: Some(block_size),
            growth: 1,
        }
    }

    pub(crate) fn exponential(base: I) -> Self {
        Self {
            base,
            len: None,
            growth: 2,
        }
    }

    fn block_len(&self) -> usize {
        self.len.unwrap_or_else(current_num_threads)
    }
}

impl<I: IndexedPart> Part for Blocks<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        self.base.part_len()
    }

    /// Cuts the first block off, or a block in half.
    fn split(&mut self) -> Option<Self> {
        let mut len = self.block_len();
        let base = if self.base.part_len() <= len {
            self.base.split()?
        } else {
            let rest = self.base.split_off(len);
            len = len.saturating_mul(self.growth);
            rest
        };
        let len = Some(len);
        Some(Self { base, len, ..*self })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        self.base.run(budget, consume)
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, I::Output) -> Folded,
    {
        self.base.run_fold(budget, init, op)
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.base.part_len())
    }

    fn split_policy(&self) -> SplitPolicy {
        SplitPolicy {
            in_blocks: self.base.part_len() > self.block_len(),
            ..self.base.split_policy()
        }
    }

    fn pause(&mut self) {
        self.base.pause();
    }

    const IS_LENT: bool = I::IS_LENT;

    fn open<K: Continuation<I::Output>>(self, then: K) -> K::Output {
        let Self { base, len, growth } = self;
        base.open_indexed(Over { len, growth, then })
    }
}

/// Goes on with blocks of the part.
struct Over<K> {
    len: Option<usize>,
    growth: usize,
    then: K,
}

impl<T, K: Continuation<T>> IndexedContinuation<T> for Over<K> {
    type Output = K::Output;

    fn run<P: IndexedPart<Output = T>>(self, base: P) -> K::Output {
        let Self { len, growth, then } = self;
        then.run(Blocks { base, len, growth })
    }
}
