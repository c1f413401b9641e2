//! `zip`: pairs of the items of two iterators.

use crate::granularity::SplitPolicy;
use crate::iter::plumbing::indexed;
use crate::part::{IndexedPart, Part};

/// Pairs of the items of two iterators: see [`zip`](crate::iter::IndexedParallelIterator::zip).
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Zip<A, B> {
    a: A,
    b: B,
}

/// Pairs of the items of two iterators that are equally long: see
/// [`zip_eq`](crate::iter::IndexedParallelIterator::zip_eq).
pub type ZipEq<A, B> = Zip<A, B>;

impl<A: IndexedPart, B: IndexedPart> Zip<A, B> {
    pub(crate) fn new(mut a: A, mut b: B) -> Self {
        let len = a.part_len().min(b.part_len());
        drop((a.split_off(len), b.split_off(len)));
        Self { a, b }
    }
}

impl<A, B> Part for Zip<A, B>
where
    A: IndexedPart,
    B: IndexedPart,
{
    type Output = (A::Output, B::Output);

    indexed!();

    fn split_policy(&self) -> SplitPolicy {
        self.a.split_policy().and(self.b.split_policy())
    }

    fn pause(&mut self) {
        self.a.pause();
        self.b.pause();
    }
}

impl<A, B> IndexedPart for Zip<A, B>
where
    A: IndexedPart,
    B: IndexedPart,
{
    fn part_len(&self) -> usize {
        self.a.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let (a, b) = (self.a.split_off(index), self.b.split_off(index));
        Self { a, b }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator {
        self.a.into_seq().zip(self.b.into_seq())
    }
}
