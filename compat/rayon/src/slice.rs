//! Parallel iterators over slices, and what else is done with slices in parallel.

use std::cmp::Ordering;

use heist_par::foreign;
use heist_par::slice::ParallelSliceMut as Heist;

pub use heist_par::slice::{
    ArrayWindows, ChunkBy, ChunkByMut, Chunks, ChunksExact, ChunksExactMut, ChunksMut, Iter,
    IterMut, ParallelSlice, RChunks, RChunksExact, RChunksExactMut, RChunksMut, Split,
    SplitInclusive, SplitInclusiveMut, SplitMut, Windows,
};

use crate::enter::enter;

/// Mutable slices, cut into parts and sorted in parallel.
#[allow(missing_docs, reason = "heist documents the methods of these names")]
pub trait ParallelSliceMut<T: Send> {
    /// The slice itself.
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    fn par_split_mut<P>(&mut self, op: P) -> SplitMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        Heist::par_split_mut(self.as_parallel_slice_mut(), op)
    }

    fn par_split_inclusive_mut<P>(&mut self, op: P) -> SplitInclusiveMut<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        Heist::par_split_inclusive_mut(self.as_parallel_slice_mut(), op)
    }

    fn par_chunk_by_mut<P>(&mut self, op: P) -> ChunkByMut<'_, T, P>
    where
        P: Fn(&T, &T) -> bool + Send + Sync,
    {
        Heist::par_chunk_by_mut(self.as_parallel_slice_mut(), op)
    }

    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        Heist::par_chunks_mut(self.as_parallel_slice_mut(), chunk_size)
    }

    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        Heist::par_chunks_exact_mut(self.as_parallel_slice_mut(), chunk_size)
    }

    #[track_caller]
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> RChunksMut<'_, T> {
        Heist::par_rchunks_mut(self.as_parallel_slice_mut(), chunk_size)
    }

    #[track_caller]
    fn par_rchunks_exact_mut(&mut self, chunk_size: usize) -> RChunksExactMut<'_, T> {
        Heist::par_rchunks_exact_mut(self.as_parallel_slice_mut(), chunk_size)
    }

    fn par_sort(&mut self)
    where
        T: Ord,
    {
        let slice = self.as_parallel_slice_mut();
        enter_sort(slice, |items| Heist::par_sort(items));
    }

    fn par_sort_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let (slice, compare) = (self.as_parallel_slice_mut(), &compare);
        enter_sort(slice, |items| foreign::sort_by(items, |a, b| compare(a, b)));
    }

    fn par_sort_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        let (slice, f) = (self.as_parallel_slice_mut(), &f);
        enter_sort(slice, |items| Heist::par_sort_by_key(items, |item| f(item)));
    }

    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        let slice = self.as_parallel_slice_mut();
        enter_sort(slice, |items| Heist::par_sort_unstable(items));
    }

    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let (slice, compare) = (self.as_parallel_slice_mut(), &compare);
        enter_sort(slice, |items| {
            foreign::sort_unstable_by(items, |a, b| compare(a, b));
        });
    }

    fn par_sort_unstable_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        let (slice, f) = (self.as_parallel_slice_mut(), &f);
        enter_sort(slice, |items| {
            Heist::par_sort_unstable_by_key(items, |item| f(item));
        });
    }

    fn par_sort_by_cached_key<K, F>(&mut self, f: F)
    where
        K: Ord + Send,
        F: Fn(&T) -> K + Sync,
    {
        let (slice, f) = (self.as_parallel_slice_mut(), &f);
        let len = slice.len();
        enter(Some(len), || {
            Heist::par_sort_by_cached_key(slice, |item| f(item));
        });
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    #[inline]
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}

/// The most items that rayon sorts on the calling thread.
const SORTED_HERE: usize = 2000;

/// Sorts on a worker, or where it is if there are few.
fn enter_sort<T: Send>(items: &mut [T], sort: impl FnOnce(&mut [T]) + Send) {
    let few = (items.len() <= SORTED_HERE).then_some(0);
    enter(few, || sort(items));
}
