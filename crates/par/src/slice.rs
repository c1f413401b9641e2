//! Parallel iterators over slices, and what else is done with slices in parallel.

mod chunks;
mod cut;
mod iter;
mod split;
mod windows;

pub use chunks::{
    Chunks, ChunksExact, ChunksExactMut, ChunksMut, RChunks, RChunksExact, RChunksExactMut,
    RChunksMut,
};
pub use iter::{Iter, IterMut};
pub use split::{ChunkBy, ChunkByMut, Split, SplitInclusive, SplitInclusiveMut, SplitMut};
pub use windows::{ArrayWindows, Windows};

use std::cmp::Ordering;

use crate::algorithm::{sort_by_cached_key, sort_stable, sort_unstable};

/// Methods of slices that leave them as they are; each has an example.
pub trait ParallelSlice<T: Sync> {
    /// The slice with which the other methods work.
    fn as_parallel_slice(&self) -> &[T];

    /// Gives what lies between the items of which `separator` is true. Next to such an item, or if
    /// there is no item at all, that may be nothing: an empty slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words = b"to be or".par_split(|byte| *byte == b' ');
    /// assert_eq!(words.map(|word| word.len()).sum::<usize>(), 6);
    /// ```
    ///
    /// # Cost
    ///
    /// To split a part it is searched for a separator, from its middle.
    fn par_split<P>(&self, separator: P) -> Split<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        Split::new(self.as_parallel_slice(), separator)
    }

    /// Gives slices that end with an item of which `terminator` is true; the last one ends where
    /// the whole slice does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let lines = b"one\nthree\n".par_split_inclusive(|byte| *byte == b'\n');
    /// assert_eq!(lines.map(|line| line.len()).reduce(|| 0, usize::max), 6);
    /// ```
    ///
    /// # Cost
    ///
    /// As [`par_split`](Self::par_split).
    fn par_split_inclusive<P>(&self, terminator: P) -> SplitInclusive<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusive::new(self.as_parallel_slice(), terminator)
    }

    /// Gives each `window_size` neighbours. There are none if the slice is shorter.
    ///
    /// # Panics
    ///
    /// Panics if `window_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let heights = [2, 3, 7, 4];
    /// let climbs: Vec<_> = heights.par_windows(2).map(|pair| pair[1] - pair[0]).collect();
    /// assert_eq!(climbs, [1, 4, -3]);
    /// ```
    fn par_windows(&self, window_size: usize) -> Windows<'_, T> {
        Windows::new(self.as_parallel_slice(), window_size)
    }

    /// As [`par_windows`](Self::par_windows), but of a length that the compiler knows.
    ///
    /// # Panics
    ///
    /// Panics if `N` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sums: Vec<_> = [1, 2, 3, 4].par_array_windows().map(|[a, b]| a + b).collect();
    /// assert_eq!(sums, [3, 5, 7]);
    /// ```
    fn par_array_windows<const N: usize>(&self) -> ArrayWindows<'_, T, N> {
        ArrayWindows::new(self.as_parallel_slice())
    }

    /// Gives slices of `chunk_size` items; the last one may have fewer.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sums: Vec<u32> = [1, 2, 3, 4, 5].par_chunks(2).map(|two| two.iter().sum()).collect();
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    fn par_chunks(&self, chunk_size: usize) -> Chunks<'_, T> {
        Chunks::new(self.as_parallel_slice(), chunk_size)
    }

    /// Gives slices of exactly `chunk_size` items; if fewer are left at the end they are the
    /// [`remainder`](ChunksExact::remainder).
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let pairs = [1, 2, 3, 4, 5].par_chunks_exact(2);
    /// assert_eq!(pairs.remainder(), [5]);
    /// assert_eq!(pairs.map(|pair| pair[0] * pair[1]).sum::<u32>(), 14);
    /// ```
    fn par_chunks_exact(&self, chunk_size: usize) -> ChunksExact<'_, T> {
        ChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// Gives slices of `chunk_size` items, from the back: the last one, at the front of the slice,
    /// may have fewer.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let digits = b"1234567";
    /// let groups: Vec<_> = digits.par_rchunks(3).map(|group| group.len()).collect();
    /// assert_eq!(groups, [3, 3, 1]);
    /// ```
    fn par_rchunks(&self, chunk_size: usize) -> RChunks<'_, T> {
        RChunks::new(self.as_parallel_slice(), chunk_size)
    }

    /// Gives slices of exactly `chunk_size` items, from the back; if fewer are left at the front
    /// they are the [`remainder`](RChunksExact::remainder).
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let pairs = [1, 2, 3, 4, 5].par_rchunks_exact(2);
    /// assert_eq!(pairs.remainder(), [1]);
    /// assert_eq!(pairs.map(|pair| pair[0] * pair[1]).sum::<u32>(), 26);
    /// ```
    fn par_rchunks_exact(&self, chunk_size: usize) -> RChunksExact<'_, T> {
        RChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// Gives the longest slices in which `pred` is true of any two neighbours.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let runs = [1, 4, 9, 2, 3, 1].par_chunk_by(|a, b| a <= b);
    /// assert_eq!(runs.map(|run| run.len()).reduce(|| 0, usize::max), 3);
    /// ```
    ///
    /// # Cost
    ///
    /// To split a part it is searched for a place to cut, from its middle.
    fn par_chunk_by<F>(&self, pred: F) -> ChunkBy<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        ChunkBy::new(self.as_parallel_slice(), pred)
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    #[inline]
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// Methods of slices that may change them; each has an example.
pub trait ParallelSliceMut<T: Send> {
    /// The slice with which the other methods work.
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// As [`par_split`](ParallelSlice::par_split), of mutable slices.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut text = *b"cba fed";
    /// text.par_split_mut(|byte| *byte == b' ').for_each(|word| word.reverse());
    /// assert_eq!(&text, b"abc def");
    /// ```
    fn par_split_mut<P>(&mut self, separator: P) -> SplitMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitMut::new(self.as_parallel_slice_mut(), separator)
    }

    /// As [`par_split_inclusive`](ParallelSlice::par_split_inclusive), of mutable slices.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut text = *b"one.two";
    /// let sentences = text.par_split_inclusive_mut(|byte| *byte == b'.');
    /// sentences.for_each(|sentence| sentence[0].make_ascii_uppercase());
    /// assert_eq!(&text, b"One.Two");
    /// ```
    fn par_split_inclusive_mut<P>(&mut self, terminator: P) -> SplitInclusiveMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        SplitInclusiveMut::new(self.as_parallel_slice_mut(), terminator)
    }

    /// As [`par_chunks`](ParallelSlice::par_chunks), of mutable slices.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut image = vec![0; 12];
    /// image.par_chunks_mut(4).enumerate().for_each(|(y, row)| row.fill(y));
    /// assert_eq!(image[3..5], [0, 1]);
    /// ```
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        ChunksMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// As [`par_chunks_exact`](ParallelSlice::par_chunks_exact), of mutable slices.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// numbers.par_chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    /// assert_eq!(numbers, [2, 1, 4, 3, 5]);
    /// ```
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        ChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// As [`par_rchunks`](ParallelSlice::par_rchunks), of mutable slices.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// numbers.par_rchunks_mut(2).for_each(|chunk| chunk.reverse());
    /// assert_eq!(numbers, [1, 3, 2, 5, 4]);
    /// ```
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> RChunksMut<'_, T> {
        RChunksMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// As [`par_rchunks_exact`](ParallelSlice::par_rchunks_exact), of mutable slices.
    ///
    /// # Panics
    ///
    /// Panics if `chunk_size` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [1, 2, 3, 4, 5];
    /// let mut pairs = numbers.par_rchunks_exact_mut(2);
    /// pairs.take_remainder().fill(0);
    /// pairs.for_each(|pair| pair.swap(0, 1));
    /// assert_eq!(numbers, [0, 3, 2, 5, 4]);
    /// ```
    fn par_rchunks_exact_mut(&mut self, chunk_size: usize) -> RChunksExactMut<'_, T> {
        RChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// As [`par_chunk_by`](ParallelSlice::par_chunk_by), of mutable slices.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [5, 5, 7, 7, 7];
    /// numbers.par_chunk_by_mut(|a, b| a == b).for_each(|same| same[0] = same.len());
    /// assert_eq!(numbers, [2, 5, 3, 7, 7]);
    /// ```
    fn par_chunk_by_mut<F>(&mut self, pred: F) -> ChunkByMut<'_, T, F>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        ChunkByMut::new(self.as_parallel_slice_mut(), pred)
    }

    /// Sorts; equal items keep their order.
    ///
    /// As [`slice::sort`], which sorts small slices, and those of a pool with one worker that end
    /// in no long run. A call that may be cancelled (`with_cancellation`), and any in a prompt
    /// pool, sorts 65,536 items at a time, between which it may end.
    ///
    /// # Panics
    ///
    /// Panics if comparing does, and may panic if it is inconsistent. The slice then holds the same
    /// items in some order.
    ///
    /// # Cost
    ///
    /// Compares about *n* log *n* times; allocates memory for *n* items, and for half as many
    /// again. Slices that are in order, or in the opposite order without equal items, cost *n*
    /// comparisons and no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        sort_stable(self.as_parallel_slice_mut(), <[T]>::sort, T::lt);
    }

    /// Sorts in the order of `compare`; equal items keep their order: see
    /// [`par_sort`](Self::par_sort).
    ///
    /// # Panics
    ///
    /// As [`par_sort`](Self::par_sort).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [1.5, -1.0, 0.5];
    /// numbers.par_sort_by(f64::total_cmp);
    /// assert_eq!(numbers, [-1.0, 0.5, 1.5]);
    /// ```
    fn par_sort_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let sort = |part: &mut [T]| part.sort_by(|a, b| compare(a, b));
        sort_stable(self.as_parallel_slice_mut(), sort, |a, b| {
            compare(a, b).is_lt()
        });
    }

    /// Sorts by keys; items of equal keys keep their order: see [`par_sort`](Self::par_sort).
    ///
    /// # Panics
    ///
    /// As [`par_sort`](Self::par_sort), and if `f` does.
    ///
    /// # Cost
    ///
    /// Calls `f` twice for each comparison: see
    /// [`par_sort_by_cached_key`](Self::par_sort_by_cached_key).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut words = ["three", "one", "two"];
    /// words.par_sort_by_key(|word| word.len());
    /// assert_eq!(words, ["one", "two", "three"]);
    /// ```
    fn par_sort_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        let sort = |part: &mut [T]| part.sort_by_key(|item| f(item));
        sort_stable(self.as_parallel_slice_mut(), sort, |a, b| f(a).lt(&f(b)));
    }

    /// Sorts by keys that are costly to compute: each is computed once, all of them in parallel.
    /// Items of equal keys keep their order.
    ///
    /// # Panics
    ///
    /// As [`par_sort`](Self::par_sort), and if `f` does.
    ///
    /// # Cost
    ///
    /// Allocates memory for the keys, as many indices twice, and the items. One worker drops the
    /// keys.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [10, 9, 100];
    /// numbers.par_sort_by_cached_key(|number| number.to_string());
    /// assert_eq!(numbers, [10, 100, 9]);
    /// ```
    fn par_sort_by_cached_key<K, F>(&mut self, f: F)
    where
        K: Ord + Send,
        F: Fn(&T) -> K + Sync,
    {
        sort_by_cached_key(self.as_parallel_slice_mut(), f);
    }

    /// Sorts in place; equal items may end up in any order.
    ///
    /// As [`slice::sort_unstable`], which sorts small slices, and those of a pool with one worker;
    /// but a call that may be interrupted as [`par_sort`](Self::par_sort) takes a third longer.
    ///
    /// # Panics
    ///
    /// Panics if comparing does, and may panic if it is inconsistent. The slice then holds the same
    /// items in some order.
    ///
    /// # Cost
    ///
    /// Compares about *n* log *n* times. Slices that are in order, or in the opposite order without
    /// equal items, cost *n* comparisons.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_unstable();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sort_unstable(self.as_parallel_slice_mut(), <[T]>::sort_unstable, T::lt);
    }

    /// Sorts in place in the order of `compare`; equal items may end up in any order: see
    /// [`par_sort_unstable`](Self::par_sort_unstable).
    ///
    /// # Panics
    ///
    /// As [`par_sort_unstable`](Self::par_sort_unstable).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [2, 3, 1];
    /// numbers.par_sort_unstable_by(|a, b| b.cmp(a));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// ```
    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let sort = |part: &mut [T]| part.sort_unstable_by(|a, b| compare(a, b));
        sort_unstable(self.as_parallel_slice_mut(), sort, |a, b| {
            compare(a, b).is_lt()
        });
    }

    /// Sorts in place by keys; items of equal keys may end up in any order: see
    /// [`par_sort_unstable`](Self::par_sort_unstable).
    ///
    /// # Panics
    ///
    /// As [`par_sort_unstable`](Self::par_sort_unstable), and if `f` does.
    ///
    /// # Cost
    ///
    /// Calls `f` twice for each comparison: see
    /// [`par_sort_by_cached_key`](Self::par_sort_by_cached_key).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let mut numbers = [2_i32, -3, 1];
    /// numbers.par_sort_unstable_by_key(|number| number.abs());
    /// assert_eq!(numbers, [1, 2, -3]);
    /// ```
    fn par_sort_unstable_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        let sort = |part: &mut [T]| part.sort_unstable_by_key(|item| f(item));
        sort_unstable(self.as_parallel_slice_mut(), sort, |a, b| f(a).lt(&f(b)));
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    #[inline]
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}
