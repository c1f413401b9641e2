//! `by_uniform_blocks` and `by_exponential_blocks`: one block of items after the other.

use std::ops::ControlFlow;

use heist_core::current_num_threads;

use crate::granularity::SplitPolicy;
use crate::part::{IndexedPart, Part};

/// Blocks of the same length one after the other: see
/// [`by_uniform_blocks`](crate::iter::IndexedParallelIterator::by_uniform_blocks).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct UniformBlocks<I> {
    blocks: Blocks<I>,
}

/// Blocks that are twice as long as the one before, one after the other: see
/// [`by_exponential_blocks`](crate::iter::IndexedParallelIterator::by_exponential_blocks).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct ExponentialBlocks<I> {
    blocks: Blocks<I>,
}

impl<I> UniformBlocks<I> {
    #[track_caller]
    pub(crate) fn new(base: I, block_size: usize) -> Self {
        assert!(
            block_size != 0,
            "by_uniform_blocks(0): a block must have at least 1 item"
        );
        let blocks = Blocks {
            base,
            len: Some(block_size),
            growth: 1,
        };
        Self { blocks }
    }
}

impl<I> ExponentialBlocks<I> {
    pub(crate) fn new(base: I) -> Self {
        let blocks = Blocks {
            base,
            len: None,
            growth: 2,
        };
        Self { blocks }
    }
}

/// Blocks one after the other, or a part of one.
#[derive(Clone, Debug)]
struct Blocks<I> {
    base: I,
    /// The length of the first block: as many items as there are workers, unless it is said.
    len: Option<usize>,
    /// By how much each is longer than the one before.
    growth: usize,
}

impl<I: IndexedPart> Blocks<I> {
    fn len(&self) -> usize {
        self.len.unwrap_or_else(current_num_threads)
    }

    fn is_one(&self) -> bool {
        self.base.part_len() <= self.len()
    }

    /// Cuts the first block off, or a block in half.
    fn split(&mut self) -> Option<Self> {
        let mut len = self.len();
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
}

macro_rules! in_blocks {
    ($($name:ident),*) => { $(
        impl<I: IndexedPart> Part for $name<I> {
            type Output = I::Output;

            #[inline]
            fn steps(&self) -> usize {
                self.blocks.base.part_len()
            }

            fn split(&mut self) -> Option<Self> {
                let blocks = self.blocks.split()?;
                Some(Self { blocks })
            }

            #[inline]
            fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
            where
                C: FnMut(I::Output) -> ControlFlow<()>,
            {
                self.blocks.base.run(budget, consume)
            }

            fn known_len(&self) -> Option<usize> {
                Some(self.blocks.base.part_len())
            }

            fn split_policy(&self) -> SplitPolicy {
                SplitPolicy {
                    in_blocks: !self.blocks.is_one(),
                    ..self.blocks.base.split_policy()
                }
            }

            fn pause(&mut self) {
                self.blocks.base.pause();
            }
        }
    )* };
}

in_blocks!(UniformBlocks, ExponentialBlocks);
