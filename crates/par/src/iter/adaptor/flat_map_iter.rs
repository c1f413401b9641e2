//! `flat_map_iter`, `flatten_iter`: the items of what the items are, in sequence.

use std::ops::ControlFlow;

use super::debug_without_closures;
use super::shared::Shared;
use crate::part::{adaptor, forward, open, Part};

/// The items of the sequences that a closure makes: see
/// [`flat_map_iter`](crate::iter::ParallelIterator::flat_map_iter).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct FlatMapIter<I, F> {
    base: I,
    op: Shared<F>,
}

debug_without_closures!(FlatMapIter<I; F> { base });

impl<I, F> FlatMapIter<I, F> {
    pub(crate) fn new(base: I, op: F) -> Self {
        let op = Shared::new(op);
        Self { base, op }
    }
}

// A sequence is one step: it is never left half done, and need not be `Send`.
impl<I, F, SI> Part for FlatMapIter<I, F>
where
    I: Part,
    F: Fn(I::Output) -> SI + Sync + Send,
    SI: IntoIterator<Item: Send>,
{
    type Output = SI::Item;

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        let op = self.op.share();
        Some(Self { base, op })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(SI::Item) -> ControlFlow<()>,
    {
        let op = self.op.get();
        let each = |item| op(item).into_iter().try_for_each(&mut consume);
        self.base.run(budget, each)
    }

    #[inline]
    #[expect(
        clippy::redundant_closure,
        reason = "by reference it would not be inlined"
    )]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, SI::Item) -> Folded,
    {
        let op = self.op.get();
        let each = |so_far, item| {
            op(item)
                .into_iter()
                .fold(so_far, |so_far, item| fold(so_far, item))
        };
        self.base.run_fold(budget, init, each)
    }

    forward!(base, steps);
    open!(FlatMapIter { op });
}

adaptor! {
    [T, F, SI] FlatMapIter<F> { op } T => SI::Item
    where F: Fn(T) -> SI + Sync + Send, SI: IntoIterator<Item: Send>
}

/// The items of sequences: see [`flatten_iter`](crate::iter::ParallelIterator::flatten_iter).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct FlattenIter<I> {
    base: I,
}

impl<I> FlattenIter<I> {
    pub(crate) fn new(base: I) -> Self {
        Self { base }
    }
}

impl<I> Part for FlattenIter<I>
where
    I: Part<Output: IntoIterator<Item: Send>>,
{
    type Output = <I::Output as IntoIterator>::Item;

    fn split(&mut self) -> Option<Self> {
        let base = self.base.split()?;
        Some(Self { base })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(Self::Output) -> ControlFlow<()>,
    {
        let each = |items: I::Output| items.into_iter().try_for_each(&mut consume);
        self.base.run(budget, each)
    }

    #[inline]
    #[expect(
        clippy::redundant_closure,
        reason = "by reference it would not be inlined"
    )]
    fn run_fold<Folded, G>(&mut self, budget: &mut usize, init: Folded, mut fold: G) -> Folded
    where
        G: FnMut(Folded, Self::Output) -> Folded,
    {
        let each = |so_far, items: I::Output| {
            items
                .into_iter()
                .fold(so_far, |so_far, item| fold(so_far, item))
        };
        self.base.run_fold(budget, init, each)
    }

    forward!(base, steps);
    open!(FlattenIter {});
}

adaptor!([T: IntoIterator<Item: Send>] FlattenIter<> {} T => T::Item);
