//! Parallel iterators behind a pointer, so that a pipeline can be put together while the program
//! runs; and an iterator of somebody else's making, as a test of the plumbing.

use std::ops::ControlFlow;

use heist_par::iter::plumbing::{self, IndexedPart, Part};
use heist_par::prelude::*;
use heist_par::SplitPolicy;

/// The items of a pipeline. Not `Copy`, so that a leak or a second drop shows.
pub(crate) type Item = Box<i64>;

type Consume<'a> = &'a mut dyn FnMut(Item) -> ControlFlow<()>;

trait DynIterator: Send {
    fn steps(&self) -> usize;
    fn split(&mut self) -> Option<Box<dyn DynIterator>>;
    fn run(&mut self, budget: &mut usize, consume: Consume<'_>) -> ControlFlow<()>;
    fn known_len(&self) -> Option<usize>;
    fn split_policy(&self) -> SplitPolicy;
    fn pause(&mut self);
}

impl<I: ParallelIterator<Item = Item> + 'static> DynIterator for I {
    fn steps(&self) -> usize {
        Part::steps(self)
    }

    fn split(&mut self) -> Option<Box<dyn DynIterator>> {
        Part::split(self).map(|upper| Box::new(upper) as _)
    }

    fn run(&mut self, budget: &mut usize, consume: Consume<'_>) -> ControlFlow<()> {
        Part::run(self, budget, consume)
    }

    fn known_len(&self) -> Option<usize> {
        Part::known_len(self)
    }

    fn split_policy(&self) -> SplitPolicy {
        Part::split_policy(self)
    }

    fn pause(&mut self) {
        Part::pause(self);
    }
}

/// Any parallel iterator.
pub(crate) struct Any(Box<dyn DynIterator>);

impl Any {
    pub(crate) fn new(iter: impl ParallelIterator<Item = Item> + 'static) -> Self {
        Self(Box::new(iter))
    }
}

impl Part for Any {
    type Output = Item;

    fn steps(&self) -> usize {
        self.0.steps()
    }

    fn split(&mut self) -> Option<Self> {
        self.0.split().map(Self)
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(Item) -> ControlFlow<()>,
    {
        self.0.run(budget, &mut consume)
    }

    fn known_len(&self) -> Option<usize> {
        self.0.known_len()
    }

    fn split_policy(&self) -> SplitPolicy {
        self.0.split_policy()
    }

    fn pause(&mut self) {
        self.0.pause();
    }
}

trait Sequence: DoubleEndedIterator<Item = Item> + ExactSizeIterator {}
impl<S: DoubleEndedIterator<Item = Item> + ExactSizeIterator> Sequence for S {}

trait DynIndexed: Send {
    fn len(&self) -> usize;
    fn split_off(&mut self, index: usize) -> Box<dyn DynIndexed>;
    fn into_seq(self: Box<Self>) -> Box<dyn Sequence>;
    fn run(&mut self, budget: &mut usize, consume: Consume<'_>) -> ControlFlow<()>;
    fn split_policy(&self) -> SplitPolicy;
    fn pause(&mut self);
}

impl<I: IndexedParallelIterator<Item = Item> + 'static> DynIndexed for I {
    fn len(&self) -> usize {
        IndexedPart::part_len(self)
    }

    fn split_off(&mut self, index: usize) -> Box<dyn DynIndexed> {
        Box::new(IndexedPart::split_off(self, index))
    }

    fn into_seq(self: Box<Self>) -> Box<dyn Sequence> {
        // Collected, because what it borrows is not known to live.
        let items: Vec<_> = IndexedPart::into_seq(*self).collect();
        Box::new(items.into_iter())
    }

    fn run(&mut self, budget: &mut usize, consume: Consume<'_>) -> ControlFlow<()> {
        Part::run(self, budget, consume)
    }

    fn split_policy(&self) -> SplitPolicy {
        Part::split_policy(self)
    }

    fn pause(&mut self) {
        Part::pause(self);
    }
}

/// Any indexed parallel iterator.
pub(crate) struct Indexed(Box<dyn DynIndexed>);

impl Indexed {
    pub(crate) fn new(iter: impl IndexedParallelIterator<Item = Item> + 'static) -> Self {
        Self(Box::new(iter))
    }
}

impl Part for Indexed {
    type Output = Item;

    fn steps(&self) -> usize {
        self.0.len()
    }

    fn split(&mut self) -> Option<Self> {
        plumbing::split_in_half(self)
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(Item) -> ControlFlow<()>,
    {
        self.0.run(budget, &mut consume)
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.0.len())
    }

    fn split_policy(&self) -> SplitPolicy {
        self.0.split_policy()
    }

    fn pause(&mut self) {
        self.0.pause();
    }
}

impl IndexedPart for Indexed {
    fn part_len(&self) -> usize {
        self.0.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        Self(self.0.split_off(index))
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = Item> + ExactSizeIterator {
        self.0.into_seq()
    }
}
