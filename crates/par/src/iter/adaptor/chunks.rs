//! `chunks`, `fold_chunks` and `fold_chunks_with`: so many items at a time.

use std::iter::{Chain, Rev, Take};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec;

use super::both_ends::both_ends;
use super::debug_without_closures;
use crate::iter::plumbing::indexed;
use crate::part::{forward, IndexedPart, Part};

/// Vectors of so many items: see [`chunks`](crate::iter::IndexedParallelIterator::chunks).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Chunks<I> {
    cut: Cut<I>,
}

/// Folds of so many items at a time: see
/// [`fold_chunks`](crate::iter::IndexedParallelIterator::fold_chunks).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct FoldChunks<I, ID, F> {
    cut: Cut<I>,
    identity: Arc<ID>,
    fold_op: Arc<F>,
}

debug_without_closures!(FoldChunks<I; ID, F> { cut });

/// Folds of so many items at a time, from clones of a value: see
/// [`fold_chunks_with`](crate::iter::IndexedParallelIterator::fold_chunks_with).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct FoldChunksWith<I, T, F> {
    cut: Cut<I>,
    init: T,
    fold_op: Arc<F>,
}

debug_without_closures!(FoldChunksWith<I, T; F> { cut, init });

impl<I> Chunks<I> {
    #[track_caller]
    pub(crate) fn new(base: I, size: usize) -> Self {
        let cut = Cut::new(base, size);
        Self { cut }
    }
}

impl<I: IndexedPart> Part for Chunks<I> {
    type Output = Vec<I::Output>;

    indexed!(but_run);

    #[inline]
    fn run<Consume>(&mut self, budget: &mut usize, mut consume: Consume) -> ControlFlow<()>
    where
        Consume: FnMut(Self::Output) -> ControlFlow<()>,
    {
        self.cut
            .run(budget, |chunk| consume(chunk.into_seq().collect()))
    }

    forward!(cut.base);
}

impl<I: IndexedPart> IndexedPart for Chunks<I> {
    fn part_len(&self) -> usize {
        self.cut.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let cut = self.cut.split_off(index);
        Self { cut }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator {
        by_chunks(self.cut.base.into_seq(), self.cut.size, |items| {
            let mut chunk = Vec::with_capacity(items.size_hint().0);
            items.for_each(|item| chunk.push(item));
            chunk
        })
    }
}

impl<I, ID, F> FoldChunks<I, ID, F> {
    #[track_caller]
    pub(crate) fn new(base: I, size: usize, identity: ID, fold_op: F) -> Self {
        Self {
            cut: Cut::new(base, size),
            identity: Arc::new(identity),
            fold_op: Arc::new(fold_op),
        }
    }
}

impl<I, ID, T, F> Part for FoldChunks<I, ID, F>
where
    I: IndexedPart,
    ID: Fn() -> T + Send + Sync,
    F: Fn(T, I::Output) -> T + Send + Sync,
    T: Send,
{
    type Output = T;

    indexed!(but_run);

    #[inline]
    fn run<Consume>(&mut self, budget: &mut usize, mut consume: Consume) -> ControlFlow<()>
    where
        Consume: FnMut(Self::Output) -> ControlFlow<()>,
    {
        let (identity, fold_op) = (&*self.identity, &*self.fold_op);
        self.cut.run(budget, |chunk| {
            consume(chunk.into_seq().fold(identity(), fold_op))
        })
    }

    forward!(cut.base);
}

impl<I, ID, T, F> IndexedPart for FoldChunks<I, ID, F>
where
    I: IndexedPart,
    ID: Fn() -> T + Send + Sync,
    F: Fn(T, I::Output) -> T + Send + Sync,
    T: Send,
{
    fn part_len(&self) -> usize {
        self.cut.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        Self {
            cut: self.cut.split_off(index),
            identity: Arc::clone(&self.identity),
            fold_op: Arc::clone(&self.fold_op),
        }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        let (identity, fold_op) = (self.identity, self.fold_op);
        by_chunks(self.cut.base.into_seq(), self.cut.size, move |items| {
            items.fold(identity(), &*fold_op)
        })
    }
}

impl<I, T, F> FoldChunksWith<I, T, F> {
    #[track_caller]
    pub(crate) fn new(base: I, size: usize, init: T, fold_op: F) -> Self {
        Self {
            cut: Cut::new(base, size),
            init,
            fold_op: Arc::new(fold_op),
        }
    }
}

impl<I, T, F> Part for FoldChunksWith<I, T, F>
where
    I: IndexedPart,
    T: Send + Clone,
    F: Fn(T, I::Output) -> T + Send + Sync,
{
    type Output = T;

    indexed!(but_run);

    #[inline]
    fn run<Consume>(&mut self, budget: &mut usize, mut consume: Consume) -> ControlFlow<()>
    where
        Consume: FnMut(Self::Output) -> ControlFlow<()>,
    {
        let (init, fold_op) = (&self.init, &*self.fold_op);
        self.cut.run(budget, |chunk| {
            consume(chunk.into_seq().fold(init.clone(), fold_op))
        })
    }

    forward!(cut.base);
}

impl<I, T, F> IndexedPart for FoldChunksWith<I, T, F>
where
    I: IndexedPart,
    T: Send + Clone,
    F: Fn(T, I::Output) -> T + Send + Sync,
{
    fn part_len(&self) -> usize {
        self.cut.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        Self {
            cut: self.cut.split_off(index),
            init: self.init.clone(),
            fold_op: Arc::clone(&self.fold_op),
        }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        let (init, fold_op) = (self.init, self.fold_op);
        by_chunks(self.cut.base.into_seq(), self.cut.size, move |items| {
            items.fold(init.clone(), &*fold_op)
        })
    }
}

/// Items, and how many of them make a chunk.
#[derive(Clone, Debug)]
struct Cut<I> {
    base: I,
    size: usize,
}

/// The items of one chunk: they come from the front or, if they had to be taken from the back, from
/// a vector.
type Items<'s, S> = Chain<Take<&'s mut S>, Rev<vec::IntoIter<<S as Iterator>::Item>>>;

impl<I> Cut<I> {
    #[track_caller]
    fn new(base: I, size: usize) -> Self {
        assert!(
            size != 0,
            "chunk_size must not be zero: a chunk has at least 1 item"
        );
        Self { base, size }
    }
}

impl<I: IndexedPart> Cut<I> {
    fn len(&self) -> usize {
        self.base.part_len().div_ceil(self.size)
    }

    fn split_off(&mut self, index: usize) -> Self {
        let base_index = index.saturating_mul(self.size).min(self.base.part_len());
        let base = self.base.split_off(base_index);
        Self { base, ..*self }
    }

    /// Hands so many chunks to `consume`, each cut off the front: items that come from a part of
    /// known length are taken faster than those that are counted off a longer one.
    #[inline]
    fn run(
        &mut self,
        budget: &mut usize,
        mut consume: impl FnMut(I) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while *budget > 0 && self.base.part_len() > 0 {
            *budget -= 1;
            let rest = self.split_off(1).base;
            consume(std::mem::replace(&mut self.base, rest))?;
        }
        ControlFlow::Continue(())
    }
}

/// Calls `make` with each chunk of so many of these items.
fn by_chunks<S, R>(
    mut items: S,
    size: usize,
    mut make: impl FnMut(Items<'_, S>) -> R,
) -> impl DoubleEndedIterator<Item = R> + ExactSizeIterator
where
    S: DoubleEndedIterator + ExactSizeIterator,
{
    let len = items.len();
    both_ends(len.div_ceil(size), move |index, front| {
        let chunk_len = size.min(len - index * size);
        let mut back = Vec::new();
        if !front {
            back.extend(items.by_ref().rev().take(chunk_len));
        }
        let front = items.by_ref().take(chunk_len - back.len());
        make(front.chain(back.into_iter().rev()))
    })
}
