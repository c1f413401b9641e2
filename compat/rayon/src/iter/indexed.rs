//! The trait of parallel iterators that know their length: rayon's contract below, heist's methods
//! above.
// Long: a trait cannot be divided.

use std::cmp::Ordering;

use either::Either;
use heist_par::foreign::{IndexedContinuation, IndexedPart};
use heist_par::iter::IndexedParallelIterator as HeistIndexed;

use super::parallel::{
    Chunks, Collected, Enumerate, ExponentialBlocks, FoldChunks, FoldChunksWith, Interleave,
    InterleaveShortest, IntoParallelIterator, Lazy, MaxLen, MinLen, ParallelIterator, Positions,
    Rev, Skip, StepBy, Take, UniformBlocks, Unopened, Zip, ZipEq,
};
use super::plumbing::{Consumer, Producer, ProducerCallback, ProducerPart};
use crate::enter::enter;

/// A parallel iterator that knows how many items it has, and can be cut at any index.
#[allow(missing_docs, reason = "heist documents the methods of these names")]
#[expect(
    clippy::len_without_is_empty,
    reason = "as the trait that it stands for"
)]
pub trait IndexedParallelIterator: ParallelIterator {
    /// The number of items.
    fn len(&self) -> usize;

    /// Hands all items to a consumer that is told where it is cut.
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result;

    /// Hands over a producer of the items.
    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output;

    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        enter(self.opt_len(), || {
            HeistIndexed::collect_into_vec(Lazy::new(self), target);
        });
    }

    fn unzip_into_vecs<A, B>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
        A: Send,
        B: Send,
    {
        enter(self.opt_len(), || {
            HeistIndexed::unzip_into_vecs(Lazy::new(self), left, right);
        });
    }

    fn zip<Z>(self, other: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        HeistIndexed::zip(Lazy::new(self), Lazy::new(other.into_par_iter()))
    }

    #[track_caller]
    fn zip_eq<Z>(self, other: Z) -> ZipEq<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        HeistIndexed::zip_eq(Lazy::new(self), Lazy::new(other.into_par_iter()))
    }

    fn interleave<Z>(self, other: Z) -> Interleave<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        HeistIndexed::interleave(Lazy::new(self), Lazy::new(other.into_par_iter()))
    }

    fn interleave_shortest<Z>(self, other: Z) -> InterleaveShortest<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        HeistIndexed::interleave_shortest(Lazy::new(self), Lazy::new(other.into_par_iter()))
    }

    fn cmp<Z>(self, other: Z) -> Ordering
    where
        Z: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
        Self::Item: Ord,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || HeistIndexed::cmp(Lazy::new(self), other))
    }

    fn partial_cmp<Z>(self, other: Z) -> Option<Ordering>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<Z::Item>,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || {
            HeistIndexed::partial_cmp(Lazy::new(self), other)
        })
    }

    fn eq<Z>(self, other: Z) -> bool
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<Z::Item>,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || HeistIndexed::eq(Lazy::new(self), other))
    }

    fn ne<Z>(self, other: Z) -> bool
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<Z::Item>,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || HeistIndexed::ne(Lazy::new(self), other))
    }

    fn lt<Z>(self, other: Z) -> bool
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<Z::Item>,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || HeistIndexed::lt(Lazy::new(self), other))
    }

    fn le<Z>(self, other: Z) -> bool
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<Z::Item>,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || HeistIndexed::le(Lazy::new(self), other))
    }

    fn gt<Z>(self, other: Z) -> bool
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<Z::Item>,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || HeistIndexed::gt(Lazy::new(self), other))
    }

    fn ge<Z>(self, other: Z) -> bool
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<Z::Item>,
    {
        let other = Lazy::new(other.into_par_iter());
        enter(self.opt_len(), || HeistIndexed::ge(Lazy::new(self), other))
    }

    fn enumerate(self) -> Enumerate<Self> {
        HeistIndexed::enumerate(Lazy::new(self))
    }

    fn rev(self) -> Rev<Self> {
        HeistIndexed::rev(Lazy::new(self))
    }

    #[track_caller]
    fn chunks(self, chunk_size: usize) -> Chunks<Self> {
        HeistIndexed::chunks(Lazy::new(self), chunk_size)
    }

    #[track_caller]
    fn fold_chunks<T, ID, F>(
        self,
        chunk_size: usize,
        identity: ID,
        fold_op: F,
    ) -> FoldChunks<Self, ID, F>
    where
        ID: Fn() -> T + Send + Sync,
        F: Fn(T, Self::Item) -> T + Send + Sync,
        T: Send,
    {
        HeistIndexed::fold_chunks(Lazy::new(self), chunk_size, identity, fold_op)
    }

    #[track_caller]
    fn fold_chunks_with<T, F>(
        self,
        chunk_size: usize,
        init: T,
        fold_op: F,
    ) -> FoldChunksWith<Self, T, F>
    where
        T: Send + Clone,
        F: Fn(T, Self::Item) -> T + Send + Sync,
    {
        HeistIndexed::fold_chunks_with(Lazy::new(self), chunk_size, init, fold_op)
    }

    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        HeistIndexed::step_by(Lazy::new(self), step)
    }

    fn skip(self, n: usize) -> Skip<Self> {
        HeistIndexed::skip(Lazy::new(self), n)
    }

    fn take(self, n: usize) -> Take<Self> {
        HeistIndexed::take(Lazy::new(self), n)
    }

    fn position_any<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || {
            HeistIndexed::position_any(Lazy::new(self), predicate)
        })
    }

    fn position_first<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || {
            HeistIndexed::position_first(Lazy::new(self), predicate)
        })
    }

    fn position_last<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        enter(self.opt_len(), || {
            HeistIndexed::position_last(Lazy::new(self), predicate)
        })
    }

    fn positions<P>(self, predicate: P) -> Positions<Self, P>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        HeistIndexed::positions(Lazy::new(self), predicate)
    }

    fn by_exponential_blocks(self) -> ExponentialBlocks<Self> {
        HeistIndexed::by_exponential_blocks(Lazy::new(self))
    }

    #[track_caller]
    fn by_uniform_blocks(self, block_size: usize) -> UniformBlocks<Self> {
        HeistIndexed::by_uniform_blocks(Lazy::new(self), block_size)
    }

    fn with_min_len(self, min: usize) -> MinLen<Self> {
        HeistIndexed::with_min_len(Lazy::new(self), min)
    }

    fn with_max_len(self, max: usize) -> MaxLen<Self> {
        HeistIndexed::with_max_len(Lazy::new(self), max)
    }

    #[doc(hidden)]
    #[deprecated(note = "it finds any position, not the first: say `position_any`, \
                         `position_first` or `position_last`")]
    fn position<P>(self, predicate: P) -> Option<usize>
    where
        P: Fn(Self::Item) -> bool + Sync + Send,
    {
        self.position_any(predicate)
    }

    /// Goes on with a part that has all items.
    #[doc(hidden)]
    fn with_indexed_part<K: IndexedContinuation<Self::Item>>(self, then: K) -> K::Output {
        let len = self.len();
        self.with_producer(Lent { len, then })
    }

    #[doc(hidden)]
    fn part_split_off(&mut self, _index: usize) -> Self {
        unreachable!("only parts split")
    }

    #[doc(hidden)]
    fn part_into_seq(self) -> impl DoubleEndedIterator<Item = Self::Item> + ExactSizeIterator {
        Vec::new().into_iter()
    }
}

/// Goes on with the producer that an iterator lends.
struct Lent<K> {
    len: usize,
    then: K,
}

impl<T: Send, K: IndexedContinuation<T>> ProducerCallback<T> for Lent<K> {
    type Output = K::Output;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> K::Output {
        self.then.run(ProducerPart::new(producer, self.len))
    }
}

impl<I: IndexedParallelIterator> IndexedPart for Lazy<I> {
    fn part_len(&self) -> usize {
        match &self.0 {
            Unopened(iter) => iter.len(),
            Collected(items) => items.part_len(),
        }
    }

    fn split_off(&mut self, index: usize) -> Self {
        if I::IS_PART {
            return Self::new(self.part().part_split_off(index));
        }
        match &mut self.0 {
            Unopened(iter) if index == iter.len() => Self::of(Vec::new()),
            _ => Self(Collected(self.collected().split_off(index))),
        }
    }

    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = I::Item> + ExactSizeIterator {
        if !I::IS_PART {
            self.collected();
        }
        match self.0 {
            Unopened(iter) => Either::Left(iter.part_into_seq()),
            Collected(items) => Either::Right(items.into_seq()),
        }
    }

    fn open_indexed<K: IndexedContinuation<I::Item>>(self, then: K) -> K::Output {
        if I::IS_PART {
            return self.into_part().with_indexed_part(then);
        }
        match self.0 {
            Unopened(iter) => iter.with_indexed_part(then),
            Collected(items) => then.run(items),
        }
    }
}
