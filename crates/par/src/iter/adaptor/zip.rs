//! `zip`: pairs of the items of two iterators.

use crate::granularity::SplitPolicy;
use crate::iter::plumbing::indexed;
use crate::iter::{IndexedParallelIterator, ParallelIterator};

/// Pairs of the items of two iterators: see [`IndexedParallelIterator::zip`].
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Zip<A, B> {
    a: A,
    b: B,
}

/// Pairs of the items of two iterators that are equally long: see
/// [`IndexedParallelIterator::zip_eq`].
pub type ZipEq<A, B> = Zip<A, B>;

impl<A: IndexedParallelIterator, B: IndexedParallelIterator> Zip<A, B> {
    pub(crate) fn new(mut a: A, mut b: B) -> Self {
        let len = a.len().min(b.len());
        drop((a.split_off(len), b.split_off(len)));
        Self { a, b }
    }
}

impl<A, B> ParallelIterator for Zip<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
{
    type Item = (A::Item, B::Item);

    indexed!();

    fn split_policy(&self) -> SplitPolicy {
        self.a.split_policy().and(self.b.split_policy())
    }

    fn pause(&mut self) {
        self.a.pause();
        self.b.pause();
    }
}

impl<A, B> IndexedParallelIterator for Zip<A, B>
where
    A: IndexedParallelIterator,
    B: IndexedParallelIterator,
{
    fn len(&self) -> usize {
        self.a.len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let (a, b) = (self.a.split_off(index), self.b.split_off(index));
        Self { a, b }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Item> + ExactSizeIterator {
        self.a.into_seq().zip(self.b.into_seq())
    }
}
