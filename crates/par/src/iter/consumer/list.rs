//! Collects items whose number is not known: into chunks, which are joined at the end.
//!
//! What was written is not moved when more comes, and the chunks of two parts are
//! joined by joining lists. When all is known, each chunk is copied into its place,
//! by whoever is free, and freed at once, so that items lie in memory twice one chunk
//! at a time.

use crate::engine::{drive, Consumer};
use crate::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::LinkedList;
use std::mem::{size_of, MaybeUninit};
use std::ops::ControlFlow;

/// The first chunk of a part has room for about as many bytes.
const FIRST_CHUNK_BYTES: usize = 4 << 10;

/// Chunks double, up to that: larger ones are not faster to fill.
const LARGEST_CHUNK_BYTES: usize = 256 << 10;

/// Items in their order, in chunks.
pub(crate) struct Chunks<T> {
    /// What came before.
    full: LinkedList<Vec<T>>,
    /// Takes the next items.
    last: Vec<T>,
}

impl<T: Send> Chunks<T> {
    pub(crate) fn new() -> Self {
        Self {
            full: LinkedList::new(),
            last: Vec::new(),
        }
    }

    /// All items of the iterator.
    pub(crate) fn of<I: ParallelIterator<Item = T>>(iter: I) -> Self {
        drive(iter, Self::new())
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.last.len() == self.last.capacity() {
            self.begin_chunk();
        }
        self.last.push(item);
    }

    #[cold]
    #[inline(never)]
    fn begin_chunk(&mut self) {
        let bytes = 2 * self.last.capacity() * size_of::<T>();
        let bytes = bytes.clamp(FIRST_CHUNK_BYTES, LARGEST_CHUNK_BYTES);
        // Items without a size never come here: the last chunk has room for all.
        let next = Vec::with_capacity((bytes / size_of::<T>()).max(1));
        let full = std::mem::replace(&mut self.last, next);
        if !full.is_empty() {
            self.full.push_back(full);
        }
    }

    /// Puts the others behind these.
    pub(crate) fn append(&mut self, mut others: Self) {
        if others.last.is_empty() {
            return;
        }
        if !self.last.is_empty() {
            self.full.push_back(std::mem::take(&mut self.last));
        }
        self.full.append(&mut others.full);
        self.last = others.last;
    }

    /// The chunks that are not empty.
    pub(crate) fn into_list(mut self) -> LinkedList<Vec<T>> {
        if !self.last.is_empty() {
            self.full.push_back(self.last);
        }
        self.full
    }

    /// Moves all items to the end of the vector.
    pub(crate) fn move_to(self, vec: &mut Vec<T>) {
        let (old_len, mut chunks) = (vec.len(), self.into_list());
        if vec.capacity() == 0 && chunks.len() == 1 {
            *vec = chunks.pop_front().expect("there is one");
            if vec.len() < vec.capacity() / 2 {
                vec.shrink_to_fit();
            }
            return;
        }
        let added = chunks.iter().map(Vec::len).sum();
        vec.reserve(added);
        let mut places = &mut vec.spare_capacity_mut()[..added];
        let mut moves = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (here, behind) = places.split_at_mut(chunk.len());
            moves.push((chunk, here));
            places = behind;
        }
        moves
            .into_par_iter()
            .for_each(|(chunk, places)| move_items(chunk, places));
        // SAFETY: the places of the chunks are all of those, and each chunk has moved.
        unsafe { vec.set_len(old_len + added) };
    }

    /// All items.
    pub(crate) fn into_vec(self) -> Vec<T> {
        let mut vec = Vec::new();
        self.move_to(&mut vec);
        vec
    }
}

/// Moves the items of a chunk to as many places, and frees it.
fn move_items<T>(mut chunk: Vec<T>, places: &mut [MaybeUninit<T>]) {
    assert_eq!(chunk.len(), places.len());
    let (from, to) = (chunk.as_ptr(), places.as_mut_ptr().cast::<T>());
    // SAFETY: there are as many items as places, and the chunk owns its memory, so that
    // the two do not overlap.
    unsafe { to.copy_from_nonoverlapping(from, chunk.len()) };
    // SAFETY: no items are left here: they are in their places now.
    unsafe { chunk.set_len(0) };
}

impl<T: Send> Consumer<T> for Chunks<T> {
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        self.push(item);
        ControlFlow::Continue(())
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self::new()
    }

    fn merge(&mut self, upper: Self) {
        self.append(upper);
    }
}
