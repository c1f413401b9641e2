//! `skip` and `take`: all but the first items, and the first items only.

use std::mem;
use std::ops::ControlFlow;

use crate::driver::drive;
use crate::granularity::SplitPolicy;
use crate::iter::consumer::ForEach;
use crate::part::{
    adaptor, forward, open, open_by_length, IndexedAdaptor, IndexedContinuation, IndexedPart, Over,
    Part,
};

/// All but the first items: see [`skip`](crate::iter::IndexedParallelIterator::skip).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Skip<I> {
    base: I,
    /// So many of its items are yet to be skipped.
    left: usize,
}

impl<I: IndexedPart> Skip<I> {
    pub(crate) fn new(base: I, len: usize) -> Self {
        let left = len.min(base.part_len());
        Self { base, left }
    }

    /// Goes through the items to skip, for the sake of the side effects.
    fn go_through_skipped(&mut self) {
        if self.left > 0 {
            let rest = self.base.split_off(mem::take(&mut self.left));
            let skipped = mem::replace(&mut self.base, rest);
            drive(skipped, ForEach::new(&drop::<I::Output>));
        }
    }
}

impl<I: IndexedPart> Part for Skip<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        self.base.steps()
    }

    fn split(&mut self) -> Option<Self> {
        self.go_through_skipped();
        let base = self.base.split()?;
        Some(Self { base, left: 0 })
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
        Some(self.part_len())
    }

    forward!(base);
    open_by_length!(I);
}

adaptor!(indexed [T: Send] Skip<> { left } T => T);

impl<I: IndexedPart> IndexedPart for Skip<I> {
    fn part_len(&self) -> usize {
        self.base.part_len() - self.left
    }

    fn split_off(&mut self, index: usize) -> Self {
        self.go_through_skipped();
        let base = self.base.split_off(index);
        Self { base, left: 0 }
    }

    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        self.go_through_skipped();
        self.base.into_seq()
    }

    open!(indexed Skip { left });
}

/// The first items only: see [`take`](crate::iter::IndexedParallelIterator::take).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Take<I> {
    /// Has no other items. A lent one may have more, and is cut when it is opened or used.
    base: I,
    len: usize,
}

impl<I: IndexedPart> Take<I> {
    pub(crate) fn new(mut base: I, len: usize) -> Self {
        let len = len.min(base.part_len());
        if !I::IS_LENT {
            drop(base.split_off(len));
        }
        Self { base, len }
    }

    /// The base, cut.
    #[inline]
    fn base(&mut self) -> &mut I {
        if I::IS_LENT && self.base.part_len() > self.len {
            drop(self.base.split_off(self.len));
        }
        &mut self.base
    }

    /// The upper part, whose base was cut off here.
    fn upper(&mut self, base: I) -> Self {
        self.len = self.base.part_len();
        let len = base.part_len();
        Self { base, len }
    }
}

impl<I: IndexedPart> Part for Take<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        if I::IS_LENT {
            self.len
        } else {
            self.base.steps()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let base = self.base().split()?;
        Some(self.upper(base))
    }

    #[inline]
    fn run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(I::Output) -> ControlFlow<()>,
    {
        let flow = self.base().run(budget, consume);
        self.len = self.base.part_len();
        flow
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, I::Output) -> Folded,
    {
        let folded = self.base().run_fold(budget, init, op);
        self.len = self.base.part_len();
        folded
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.len)
    }

    fn split_policy(&self) -> SplitPolicy {
        self.base.split_policy()
    }

    fn pause(&mut self) {
        self.base.pause();
    }

    open_by_length!(I);
}

impl<I: IndexedPart> IndexedPart for Take<I> {
    #[inline]
    fn part_len(&self) -> usize {
        self.len
    }

    fn split_off(&mut self, index: usize) -> Self {
        let base = self.base().split_off(index);
        self.upper(base)
    }

    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        self.base();
        self.base.into_seq()
    }

    fn open_indexed<K: IndexedContinuation<I::Output>>(self, then: K) -> K::Output {
        let adaptor = First { len: self.len };
        self.base.open_indexed(Over { adaptor, then })
    }
}

/// A `take` without its base.
struct First {
    len: usize,
}

impl<T: Send> IndexedAdaptor<T> for First {
    type Output = T;
    type Over<P: IndexedPart<Output = T>> = Take<P>;

    fn over<P: IndexedPart<Output = T>>(self, base: P) -> Take<P> {
        Take::new(base, self.len)
    }
}
