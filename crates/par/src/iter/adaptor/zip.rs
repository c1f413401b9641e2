//! `zip`: pairs of the items of two iterators.

use crate::granularity::SplitPolicy;
use crate::iter::plumbing::indexed;
use crate::part::{open_both, open_by_length, IndexedContinuation, IndexedPart, Joint, Part};

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
        // Lent items are not there to be cut off before the chain is open.
        if !(A::IS_LENT || B::IS_LENT) {
            let len = a.part_len().min(b.part_len());
            drop((a.split_off(len), b.split_off(len)));
        }
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

    open_by_length!(A, B);
}

/// A zip without its parts.
struct Zipped;

impl<T: Send, U: Send> Joint<T, U> for Zipped {
    type Output = (T, U);
    type Of<A: IndexedPart<Output = T>, B: IndexedPart<Output = U>> = Zip<A, B>;

    fn of<A: IndexedPart<Output = T>, B: IndexedPart<Output = U>>(self, a: A, b: B) -> Zip<A, B> {
        Zip::new(a, b)
    }
}

impl<A, B> IndexedPart for Zip<A, B>
where
    A: IndexedPart,
    B: IndexedPart,
{
    fn part_len(&self) -> usize {
        self.a.part_len().min(self.b.part_len())
    }

    fn split_off(&mut self, index: usize) -> Self {
        let (a, b) = (self.a.split_off(index), self.b.split_off(index));
        Self { a, b }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator {
        self.a.into_seq().zip(self.b.into_seq())
    }

    fn open_indexed<K: IndexedContinuation<Self::Output>>(self, then: K) -> K::Output {
        open_both(self.a, self.b, Zipped, then)
    }
}
