//! Each part of heist's as a parallel iterator of this package.
//!
//! One implementation for all parts would not do: the compiler holds it possible that heist makes a
//! range or a vector a part one day, and refuses to turn those into iterators beside it.

use std::ops::ControlFlow;

use either::Either;
use heist_par::foreign::{
    Continuation, Expand, IndexedContinuation, IndexedPart, Part, Pattern, Try,
};
use heist_par::{
    array, collections, iter, option, range, range_inclusive, result, slice, str, string, vec,
    SplitPolicy,
};

use super::indexed::IndexedParallelIterator;
use super::parallel::{Lazy, ParallelIterator};
use super::plumbing::{Consumer, HandOver, HandProducer, ProducerCallback, UnindexedConsumer};

macro_rules! parts {
    ($([$($params:tt)*] $part:ty;)*) => { $(
        impl<$($params)*> ParallelIterator for $part
        where
            $part: Part,
        {
            type Item = <Self as Part>::Output;

            fn drive_unindexed<Consume>(self, consumer: Consume) -> Consume::Result
            where
                Consume: UnindexedConsumer<<Self as Part>::Output>,
            {
                self.open(HandOver(consumer))
            }

            fn opt_len(&self) -> Option<usize> {
                self.known_len()
            }

            const IS_PART: bool = true;

            fn with_part<Then: Continuation<<Self as Part>::Output>>(self, then: Then) -> Then::Output {
                self.open(then)
            }

            fn part_steps(&self) -> usize {
                self.steps()
            }

            fn part_split(&mut self) -> Option<Self> {
                self.split()
            }

            #[inline]
            fn part_run<Op>(&mut self, budget: &mut usize, consume: Op) -> ControlFlow<()>
            where
                Op: FnMut(<Self as Part>::Output) -> ControlFlow<()>,
            {
                self.run(budget, consume)
            }

            #[inline]
            fn part_run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
            where
                Op: FnMut(Folded, <Self as Part>::Output) -> Folded,
            {
                self.run_fold(budget, init, op)
            }

            fn part_split_policy(&self) -> SplitPolicy {
                self.split_policy()
            }

            fn part_pause(&mut self) {
                self.pause();
            }
        }
    )* };
}

macro_rules! indexed_parts {
    ($([$($params:tt)*] $part:ty;)*) => { $(
        parts!([$($params)*] $part;);

        impl<$($params)*> IndexedParallelIterator for $part
        where
            $part: IndexedPart,
        {
            fn len(&self) -> usize {
                self.part_len()
            }

            fn drive<Consume: Consumer<<Self as Part>::Output>>(self, consumer: Consume) -> Consume::Result {
                self.open_indexed(HandOver(consumer))
            }

            fn with_producer<Callback: ProducerCallback<<Self as Part>::Output>>(self, callback: Callback) -> Callback::Output {
                self.open_indexed(HandProducer(callback))
            }

            fn with_indexed_part<Then: IndexedContinuation<<Self as Part>::Output>>(self, then: Then) -> Then::Output {
                self.open_indexed(then)
            }

            fn part_split_off(&mut self, index: usize) -> Self {
                self.split_off(index)
            }

            fn part_into_seq(self) -> impl DoubleEndedIterator<Item = <Self as Part>::Output> + ExactSizeIterator {
                self.into_seq()
            }
        }
    )* };
}

indexed_parts! {
    [I: ParallelIterator] Lazy<I>;
    [T, const N: usize] array::IntoIter<T, N>;
    [T: Ord + Send] collections::binary_heap::IntoIter<T>;
    ['a, T: Sync] collections::binary_heap::Iter<'a, T>;
    ['a, T: Send] collections::binary_heap::Drain<'a, T>;
    [K: Send, V: Send] collections::btree_map::IntoIter<K, V>;
    ['a, K: Sync, V: Sync] collections::btree_map::Iter<'a, K, V>;
    ['a, K: Sync, V: Send] collections::btree_map::IterMut<'a, K, V>;
    [T: Send] collections::btree_set::IntoIter<T>;
    ['a, T: Sync] collections::btree_set::Iter<'a, T>;
    [K: Send, V: Send] collections::hash_map::IntoIter<K, V>;
    ['a, K: Sync, V: Sync] collections::hash_map::Iter<'a, K, V>;
    ['a, K: Sync, V: Send] collections::hash_map::IterMut<'a, K, V>;
    ['a, K: Send, V: Send] collections::hash_map::Drain<'a, K, V>;
    [T: Send] collections::hash_set::IntoIter<T>;
    ['a, T: Sync] collections::hash_set::Iter<'a, T>;
    ['a, T: Send] collections::hash_set::Drain<'a, T>;
    [T: Send] collections::linked_list::IntoIter<T>;
    ['a, T: Sync] collections::linked_list::Iter<'a, T>;
    ['a, T: Send] collections::linked_list::IterMut<'a, T>;
    [T: Send] collections::vec_deque::IntoIter<T>;
    ['a, T: Sync] collections::vec_deque::Iter<'a, T>;
    ['a, T: Send] collections::vec_deque::IterMut<'a, T>;
    ['a, T: Send] collections::vec_deque::Drain<'a, T>;
    [T] option::IntoIter<T>;
    ['a, T: Sync] option::Iter<'a, T>;
    ['a, T: Send] option::IterMut<'a, T>;
    [T: Send] result::IntoIter<T>;
    ['a, T: Sync] result::Iter<'a, T>;
    ['a, T: Send] result::IterMut<'a, T>;
    [T] range::Iter<T>;
    [T] range_inclusive::Iter<T>;
    [T] vec::IntoIter<T>;
    ['a, T] vec::Drain<'a, T>;
    ['a, T] slice::Iter<'a, T>;
    ['a, T] slice::IterMut<'a, T>;
    ['a, T] slice::Chunks<'a, T>;
    ['a, T] slice::ChunksExact<'a, T>;
    ['a, T] slice::ChunksExactMut<'a, T>;
    ['a, T] slice::ChunksMut<'a, T>;
    ['a, T] slice::RChunks<'a, T>;
    ['a, T] slice::RChunksExact<'a, T>;
    ['a, T] slice::RChunksExactMut<'a, T>;
    ['a, T] slice::RChunksMut<'a, T>;
    ['a, T] slice::Windows<'a, T>;
    ['a, T, const N: usize] slice::ArrayWindows<'a, T, N>;
    [T] iter::Empty<T>;
    [T] iter::Once<T>;
    [T] iter::RepeatN<T>;
    [T] iter::MultiZip<T>;
    [A, B] iter::Chain<A, B>;
    [I] iter::Chunks<I>;
    [I] iter::Cloned<I>;
    [I] iter::Copied<I>;
    [I] iter::Enumerate<I>;
    [I, ID, F] iter::FoldChunks<I, ID, F>;
    [I, T, F] iter::FoldChunksWith<I, T, F>;
    [I, F] iter::Inspect<I, F>;
    [A, B] iter::Interleave<A, B>;
    [I: Part] iter::Intersperse<I>;
    [I, F] iter::Map<I, F>;
    [I, ID: Fn() -> T + Sync + Send, T, F] iter::MapInit<I, ID, F>;
    [I, T: Clone + Send, F] iter::MapWith<I, T, F>;
    [I] iter::PanicFuse<I>;
    [I] iter::Rev<I>;
    [I] iter::Skip<I>;
    [I] iter::StepBy<I>;
    [I] iter::Take<I>;
    [I, F] iter::Update<I, F>;
    [I] iter::WithPolicy<I>;
    [A, B] iter::Zip<A, B>;
}

parts! {
    [I] iter::UniformBlocks<I>;
    ['a, T, P] slice::ChunkBy<'a, T, P>;
    ['a, T, P] slice::ChunkByMut<'a, T, P>;
    ['a, T, P] slice::Split<'a, T, P>;
    ['a, T, P] slice::SplitInclusive<'a, T, P>;
    ['a, T, P] slice::SplitInclusiveMut<'a, T, P>;
    ['a, T, P] slice::SplitMut<'a, T, P>;
    ['a] str::Bytes<'a>;
    ['a] str::CharIndices<'a>;
    ['a] str::Chars<'a>;
    ['a] str::EncodeUtf16<'a>;
    ['a] str::Lines<'a>;
    ['a, P: Pattern] str::MatchIndices<'a, P>;
    ['a, P: Pattern] str::Matches<'a, P>;
    ['a, P: Pattern] str::Split<'a, P>;
    ['a] str::SplitAsciiWhitespace<'a>;
    ['a, P: Pattern] str::SplitInclusive<'a, P>;
    ['a, P: Pattern] str::SplitTerminator<'a, P>;
    ['a] str::SplitWhitespace<'a>;
    ['a] string::Drain<'a>;
    [I, P] iter::Filter<I, P>;
    [I, P] iter::FilterMap<I, P>;
    [I: Part, F: Expand<I::Output>] iter::FlatMap<I, F>;
    [I, F] iter::FlatMapIter<I, F>;
    [I] iter::FlattenIter<I>;
    [I, ID: Fn() -> T + Sync + Send, T: Send, F] iter::Fold<I, ID, F>;
    [I, T: Clone + Send, F] iter::FoldWith<I, T, F>;
    [I: Iterator] iter::IterBridge<I>;
    [I, P] iter::Positions<I, P>;
    [T] iter::Repeat<T>;
    [I] iter::SkipAny<I>;
    [I, P] iter::SkipAnyWhile<I, P>;
    [D, S] iter::Split<D, S>;
    [I] iter::TakeAny<I>;
    [I, P] iter::TakeAnyWhile<I, P>;
    [I, U: Try<Output = T> + Send, ID: Fn() -> T + Sync + Send, T, F]
        iter::TryFold<I, U, ID, F>;
    [I, U: Try<Output: Clone + Send> + Send, F] iter::TryFoldWith<I, U, F>;
    [S, B] iter::WalkTree<S, B>;
    [S, B] iter::WalkTreePostfix<S, B>;
    [S, B] iter::WalkTreePrefix<S, B>;
    [I] iter::WhileSome<I>;
}

/// Asks the one that is there.
macro_rules! of_either {
    ($value:expr, $iter:ident => $result:expr) => {
        match $value {
            Either::Left($iter) => $result,
            Either::Right($iter) => $result,
        }
    };
}

impl<L, R> ParallelIterator for Either<L, R>
where
    L: ParallelIterator,
    R: ParallelIterator<Item = L::Item>,
{
    type Item = L::Item;

    fn drive_unindexed<C>(self, consumer: C) -> C::Result
    where
        C: UnindexedConsumer<L::Item>,
    {
        of_either!(self, iter => iter.drive_unindexed(consumer))
    }

    fn opt_len(&self) -> Option<usize> {
        of_either!(self, iter => iter.opt_len())
    }

    const IS_PART: bool = L::IS_PART && R::IS_PART;

    fn with_part<K: Continuation<L::Item>>(self, then: K) -> K::Output {
        of_either!(self, iter => iter.with_part(then))
    }

    fn part_steps(&self) -> usize {
        of_either!(self, iter => iter.part_steps())
    }

    fn part_split(&mut self) -> Option<Self> {
        Some(match self {
            Self::Left(iter) => Self::Left(iter.part_split()?),
            Self::Right(iter) => Self::Right(iter.part_split()?),
        })
    }

    #[inline]
    fn part_run<F>(&mut self, budget: &mut usize, consume: F) -> ControlFlow<()>
    where
        F: FnMut(L::Item) -> ControlFlow<()>,
    {
        of_either!(self, iter => iter.part_run(budget, consume))
    }

    #[inline]
    fn part_run_fold<B, F>(&mut self, budget: &mut usize, init: B, op: F) -> B
    where
        F: FnMut(B, L::Item) -> B,
    {
        of_either!(self, iter => iter.part_run_fold(budget, init, op))
    }

    fn part_split_policy(&self) -> SplitPolicy {
        of_either!(self, iter => iter.part_split_policy())
    }

    fn part_pause(&mut self) {
        of_either!(self, iter => iter.part_pause());
    }
}

impl<L, R> IndexedParallelIterator for Either<L, R>
where
    L: IndexedParallelIterator,
    R: IndexedParallelIterator<Item = L::Item>,
{
    fn len(&self) -> usize {
        of_either!(self, iter => iter.len())
    }

    fn drive<C: Consumer<L::Item>>(self, consumer: C) -> C::Result {
        of_either!(self, iter => iter.drive(consumer))
    }

    fn with_producer<CB: ProducerCallback<L::Item>>(self, callback: CB) -> CB::Output {
        of_either!(self, iter => iter.with_producer(callback))
    }

    fn with_indexed_part<K: IndexedContinuation<L::Item>>(self, then: K) -> K::Output {
        of_either!(self, iter => iter.with_indexed_part(then))
    }

    fn part_split_off(&mut self, index: usize) -> Self {
        match self {
            Self::Left(iter) => Self::Left(iter.part_split_off(index)),
            Self::Right(iter) => Self::Right(iter.part_split_off(index)),
        }
    }

    fn part_into_seq(self) -> impl DoubleEndedIterator<Item = L::Item> + ExactSizeIterator {
        match self {
            Self::Left(iter) => Either::Left(iter.part_into_seq()),
            Self::Right(iter) => Either::Right(iter.part_into_seq()),
        }
    }
}
