//! `chunks`, `fold_chunks` and `fold_chunks_with`: a fixed number of items at a time.

use std::mem;
use std::ops::ControlFlow;

use super::both_ends::both_ends;
use super::debug_without_closures;
use super::seed::{Call, Seed, Template};
use super::shared::Counted;
use crate::iter::plumbing::indexed;
use crate::part::{adaptor, open, open_by_length, IndexedPart, Part};
use crate::SplitPolicy;

/// Vectors of a fixed number of items: see
/// [`chunks`](crate::iter::IndexedParallelIterator::chunks).
pub type Chunks<I> = ByChunks<I, IntoVec>;

/// Folds of a fixed number of items each: see
/// [`fold_chunks`](crate::iter::IndexedParallelIterator::fold_chunks).
pub type FoldChunks<I, ID, F> = ByChunks<I, Folding<Call<ID>, F>>;

/// Folds of a fixed number of items each, from clones of a value: see
/// [`fold_chunks_with`](crate::iter::IndexedParallelIterator::fold_chunks_with).
pub type FoldChunksWith<I, T, F> = ByChunks<I, Folding<Template<T>, F>>;

/// One item made of a fixed number of items.
#[expect(
    unnameable_types,
    reason = "it is named `Chunks`, `FoldChunks` or `FoldChunksWith`"
)]
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct ByChunks<I, M> {
    base: I,
    size: usize,
    made: M,
}

debug_without_closures!(ByChunks<I; M> { base, size });

impl<I, M> ByChunks<I, M> {
    #[track_caller]
    fn new(base: I, size: usize, made: M) -> Self {
        assert!(
            size != 0,
            "chunk_size must not be zero: a chunk has at least 1 item"
        );
        Self { base, size, made }
    }
}

impl<I> Chunks<I> {
    #[track_caller]
    pub(crate) fn vectors(base: I, size: usize) -> Self {
        Self::new(base, size, IntoVec)
    }
}

impl<I, ID, T, F> FoldChunks<I, ID, F>
where
    ID: Fn() -> T + Sync + Send,
{
    #[track_caller]
    pub(crate) fn from_identity(base: I, size: usize, identity: ID, fold_op: F) -> Self {
        Self::new(base, size, Folding::new(Call::new(identity), fold_op))
    }
}

impl<I, T: Clone + Send, F> FoldChunksWith<I, T, F> {
    #[track_caller]
    pub(crate) fn from_init(base: I, size: usize, init: T, fold_op: F) -> Self {
        Self::new(base, size, Folding::new(Template(init), fold_op))
    }
}

// Each chunk is cut off the base: items that come from a part of known length are taken faster than
// those that are counted off a longer one.
impl<I: IndexedPart, M: Clone> ByChunks<I, M> {
    /// Cuts off the chunks from this one on.
    fn cut(&mut self, index: usize) -> I {
        let base_index = index.saturating_mul(self.size).min(self.base.part_len());
        self.base.split_off(base_index)
    }

    /// Takes the first chunk, of which there is one.
    #[inline]
    fn take_first(&mut self) -> I {
        let rest = self.cut(1);
        mem::replace(&mut self.base, rest)
    }

    /// As [`take_first`](Self::take_first), if the budget allows, which it charges.
    #[inline]
    fn take_next(&mut self, budget: &mut usize) -> Option<I> {
        if *budget == 0 || self.base.part_len() == 0 {
            return None;
        }
        *budget -= 1;
        Some(self.take_first())
    }
}

impl<I, M> Part for ByChunks<I, M>
where
    I: IndexedPart,
    M: Make<I::Output>,
{
    type Output = M::Made;

    indexed!(but_run);

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(M::Made) -> ControlFlow<()>,
    {
        while let Some(chunk) = self.take_next(budget) {
            consume(self.made.make(chunk.into_seq()))?;
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, mut op: F) -> B
    where
        F: FnMut(B, M::Made) -> B,
    {
        let mut so_far = init;
        while let Some(chunk) = self.take_next(budget) {
            so_far = op(so_far, self.made.make(chunk.into_seq()));
        }
        so_far
    }

    fn split_policy(&self) -> SplitPolicy {
        self.base.split_policy().of_groups(self.size)
    }

    fn pause(&mut self) {
        self.base.pause();
    }

    open_by_length!(I);
}

adaptor!(indexed [T, M: Make<T>] ByChunks<M> { size, made } T => M::Made);

impl<I, M> IndexedPart for ByChunks<I, M>
where
    I: IndexedPart,
    M: Make<I::Output>,
{
    #[inline]
    fn part_len(&self) -> usize {
        self.base.part_len().div_ceil(self.size)
    }

    fn split_off(&mut self, index: usize) -> Self {
        Self {
            base: self.cut(index),
            size: self.size,
            made: self.made.clone(),
        }
    }

    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = M::Made> + ExactSizeIterator {
        both_ends(self.part_len(), move |_, front| {
            let chunk = if front {
                self.take_first()
            } else {
                self.cut(self.part_len() - 1)
            };
            Some(self.made.make(chunk.into_seq()))
        })
    }

    open!(indexed ByChunks<M> { size, made });
}

/// Makes one item of those of a chunk.
#[expect(unnameable_types, reason = "a detail of `ByChunks`")]
pub trait Make<T>: Clone + Send {
    /// The item.
    type Made: Send;

    /// Makes it.
    fn make(&self, items: impl Iterator<Item = T>) -> Self::Made;
}

/// A vector of them.
#[expect(unnameable_types, reason = "a detail of `Chunks`")]
#[derive(Clone, Copy, Debug)]
pub struct IntoVec;

impl<T: Send> Make<T> for IntoVec {
    type Made = Vec<T>;

    #[inline]
    fn make(&self, items: impl Iterator<Item = T>) -> Vec<T> {
        items.collect()
    }
}

/// A value into which they are folded.
#[expect(
    unnameable_types,
    missing_debug_implementations,
    reason = "a detail of `FoldChunks` and `FoldChunksWith`, which do not show it"
)]
pub struct Folding<S, F> {
    seed: S,
    fold_op: Counted<F>,
}

impl<S, F> Folding<S, F> {
    fn new(seed: S, fold_op: F) -> Self {
        let fold_op = Counted::new(fold_op);
        Self { seed, fold_op }
    }
}

impl<S: Clone, F> Clone for Folding<S, F> {
    fn clone(&self) -> Self {
        Self {
            seed: self.seed.clone(),
            fold_op: self.fold_op.clone(),
        }
    }
}

impl<T, S, F> Make<T> for Folding<S, F>
where
    S: Seed<Value: Send>,
    F: Fn(S::Value, T) -> S::Value + Send + Sync,
{
    type Made = S::Value;

    #[inline]
    #[expect(
        clippy::redundant_closure,
        reason = "by reference it would not be inlined"
    )]
    fn make(&self, items: impl Iterator<Item = T>) -> S::Value {
        let fold_op = &*self.fold_op;
        items.fold(self.seed.make(), |acc, item| fold_op(acc, item))
    }
}
