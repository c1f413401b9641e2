//! Chunks of a slice, from its front or from its back.

use super::cut::Cut;
use crate::iter::plumbing::indexed;
use crate::part::{IndexedPart, Part};

/// A type of chunks: they are `$slice`s of a slice of `$bound` items, cut from the `$end`; `$seq`
/// is the method with which to go through them one by one.
macro_rules! chunks {
    ($(
        $(#[$doc:meta])*
        $name:ident($slice:ty, $bound:ident), $end:ident, $seq:ident
        $(, $remainder:ident by $remainder_of:ident)?;
    )*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "a parallel iterator does nothing until it is consumed"]
        pub struct $name<'data, T> {
            slice: $slice,
            chunk_size: usize,
            $(
                /// The rest of the slice behind its whole chunks.
                $remainder: $slice,
            )?
        }

        impl<'data, T> $name<'data, T> {
            pub(super) fn new(slice: $slice, chunk_size: usize) -> Self {
                assert!(
                    chunk_size > 0,
                    "chunk_size must not be zero: a chunk has at least 1 item"
                );
                $(let (slice, $remainder) = $remainder_of(slice, chunk_size);)?
                Self { slice, chunk_size, $($remainder)? }
            }
        }

        impl<'data, T: $bound> Part for $name<'data, T> {
            type Output = $slice;

            indexed!();
        }

        impl<'data, T: $bound> IndexedPart for $name<'data, T> {
            #[inline]
            fn part_len(&self) -> usize {
                self.slice.len().div_ceil(self.chunk_size)
            }

            fn split_off(&mut self, index: usize) -> Self {
                // More than there are, if the last chunk is a short one.
                let items = index.saturating_mul(self.chunk_size);
                let slice = $end(&mut self.slice, items);
                let chunk_size = self.chunk_size;
                Self { slice, chunk_size, $($remainder: Default::default())? }
            }

            fn into_seq(self) -> impl DoubleEndedIterator<Item = $slice> + ExactSizeIterator {
                self.slice.$seq(self.chunk_size)
            }
        }
    )* };
}

chunks! {
    /// Chunks of a slice: see [`ParallelSlice::par_chunks`](super::ParallelSlice::par_chunks).
    Chunks(&'data [T], Sync), front, chunks;
    /// Chunks of a slice: see
    /// [`ParallelSliceMut::par_chunks_mut`](super::ParallelSliceMut::par_chunks_mut).
    ChunksMut(&'data mut [T], Send), front, chunks_mut;
    /// Whole chunks of a slice: see
    /// [`ParallelSlice::par_chunks_exact`](super::ParallelSlice::par_chunks_exact).
    ChunksExact(&'data [T], Sync), front, chunks_exact, remainder by whole_from_front;
    /// Whole chunks of a slice: see
    /// [`ParallelSliceMut::par_chunks_exact_mut`](super::ParallelSliceMut::par_chunks_exact_mut).
    ChunksExactMut(&'data mut [T], Send), front, chunks_exact_mut, remainder by whole_from_front;
    /// Chunks of a slice: see [`ParallelSlice::par_rchunks`](super::ParallelSlice::par_rchunks).
    RChunks(&'data [T], Sync), back, rchunks;
    /// Chunks of a slice: see
    /// [`ParallelSliceMut::par_rchunks_mut`](super::ParallelSliceMut::par_rchunks_mut).
    RChunksMut(&'data mut [T], Send), back, rchunks_mut;
    /// Whole chunks of a slice: see
    /// [`ParallelSlice::par_rchunks_exact`](super::ParallelSlice::par_rchunks_exact).
    RChunksExact(&'data [T], Sync), back, rchunks_exact, remainder by whole_from_back;
    /// Whole chunks of a slice: see
    /// [`ParallelSliceMut::par_rchunks_exact_mut`](super::ParallelSliceMut::par_rchunks_exact_mut).
    RChunksExactMut(&'data mut [T], Send), back, rchunks_exact_mut, remainder by whole_from_back;
}

macro_rules! shared_chunks {
    ($($name:ident),*) => { $(
        impl<T> Clone for $name<'_, T> {
            fn clone(&self) -> Self {
                Self { ..*self }
            }
        }
    )* };
}

shared_chunks!(Chunks, ChunksExact, RChunks, RChunksExact);

macro_rules! remainder {
    ($($name:ident),*) => { $(
        impl<'data, T> $name<'data, T> {
            /// The items that are in no chunk, since they are too few for one.
            pub fn remainder(&self) -> &'data [T] {
                self.remainder
            }
        }
    )* };
}

remainder!(ChunksExact, RChunksExact);

macro_rules! remainder_mut {
    ($($name:ident),*) => { $(
        impl<'data, T> $name<'data, T> {
            /// The items that are in no chunk, since they are too few for one, instead of the
            /// chunks.
            pub fn into_remainder(self) -> &'data mut [T] {
                self.remainder
            }

            /// The items that are in no chunk, since they are too few for one.
            pub fn remainder(&mut self) -> &mut [T] {
                self.remainder
            }

            /// The items that are in no chunk, for as long as the slice is there. The next call
            /// gives none.
            pub fn take_remainder(&mut self) -> &'data mut [T] {
                std::mem::take(&mut self.remainder)
            }
        }
    )* };
}

remainder_mut!(ChunksExactMut, RChunksExactMut);

/// Leaves the first `items` in the slice; gives the others.
fn front<S: Cut>(slice: &mut S, items: usize) -> S {
    let items = items.min(slice.len());
    let (lower, upper) = std::mem::take(slice).cut(items);
    *slice = lower;
    upper
}

/// Leaves the last `items` in the slice; gives the others.
fn back<S: Cut>(slice: &mut S, items: usize) -> S {
    let others = slice.len().saturating_sub(items);
    let (upper, lower) = std::mem::take(slice).cut(others);
    *slice = lower;
    upper
}

/// The items that make whole chunks from the front, and the rest.
fn whole_from_front<S: Cut>(slice: S, chunk_size: usize) -> (S, S) {
    let remainder_len = slice.len() % chunk_size;
    let len = slice.len() - remainder_len;
    slice.cut(len)
}

/// The items that make whole chunks from the back, and the rest.
fn whole_from_back<S: Cut>(slice: S, chunk_size: usize) -> (S, S) {
    let remainder_len = slice.len() % chunk_size;
    let (remainder, whole) = slice.cut(remainder_len);
    (whole, remainder)
}
