//! Collects items whose number is not known: into chunks, which are joined at the end.
//!
//! Items that were written are not moved when more come, and the chunks of two parts are joined by
//! joining lists. When all is known, free workers copy the items to their places. Of a large result
//! the memory of a chunk is given back while it is copied, so that not much more memory is ever in
//! use than the result takes; of a smaller one each chunk goes back as a whole, since an allocator
//! keeps that for the next time: memory that comes from the system costs more than the items.

use std::collections::LinkedList;
use std::mem::{self, needs_drop, size_of, MaybeUninit};
use std::ops::ControlFlow;
use std::ptr;

use heist_core::current_num_threads;

use super::ForEach;
use crate::driver::{drive, Consumer};
use crate::part::Part;
use crate::vec::IntoIter;

/// The first chunk of a part has room for about as many bytes, and each other for twice as many as
/// the one before, up to [`CHUNK_BYTES`].
const FIRST_CHUNK_BYTES: usize = 4 << 10;

/// Behind a chunk of so many bytes come those of [`LARGE_CHUNK_BYTES`].
const CHUNK_BYTES: usize = 8 << 20;

/// Where addresses are plenty, memory costs nothing before it is written, and allocators return
/// such large blocks to the system when they are freed: glibc's may keep what is smaller than 32
/// MiB.
const LARGE_CHUNK_BYTES: usize = if cfg!(target_pointer_width = "64") {
    33 << 20
} else {
    CHUNK_BYTES
};

/// A result of more bytes is large.
const LARGE_RESULT_BYTES: usize = 32 << 20;

/// Of a large result, so many bytes are copied before their memory is given back.
const PIECE_BYTES: usize = 1 << 20;

/// True if items are so small, and need no drop, that to write one which does not count costs less
/// than a branch that is foretold wrongly: see [`run_sparse`](Part::run_sparse).
pub(crate) const fn is_plain<T>() -> bool {
    !needs_drop::<T>() && size_of::<T>() <= 16
}

/// Items in their order, in chunks.
pub(crate) struct Chunks<T> {
    /// The chunks before the last.
    full: LinkedList<Vec<T>>,
    /// Takes the next items.
    last: Vec<T>,
    /// No other worker can make a part: so the one chunk becomes longer, as vectors do.
    is_alone: bool,
}

impl<T: Send> Chunks<T> {
    pub(crate) fn new() -> Self {
        Self {
            full: LinkedList::new(),
            last: Vec::new(),
            is_alone: current_num_threads() == 1,
        }
    }

    /// All items of the iterator.
    pub(crate) fn of<I: Part<Output = T>>(iter: I) -> Self {
        drive(iter, Self::new())
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        let mut last = mem::take(&mut self.last);
        // SAFETY: 1. here is the item.
        unsafe { self.put(&mut last, MaybeUninit::new(item), true) };
        self.last = last;
    }

    /// Appends to the last chunk, if it counts. A loop keeps that in registers of its own, so that
    /// there is no store of its length for each item; and as long as the chunk has room, nothing is
    /// skipped if the item does not count.
    ///
    /// # Safety
    ///
    /// 1. If it counts, there is an item.
    #[inline]
    pub(crate) unsafe fn put(&mut self, last: &mut Vec<T>, item: MaybeUninit<T>, counts: bool) {
        if last.len() == last.capacity() {
            if !counts {
                return;
            }
            *last = self.next_chunk(mem::take(last));
        }
        last.spare_capacity_mut()[0] = item;
        // SAFETY: the next place was there, and if it counts, an item was written there, by 1.
        unsafe { last.set_len(last.len() + usize::from(counts)) };
    }

    /// The last chunk, for [`put`](Self::put): it is to be put back.
    #[inline]
    pub(crate) fn last(&mut self) -> &mut Vec<T> {
        &mut self.last
    }

    /// Keeps the chunk, which is full, and gives one that has room.
    #[cold]
    #[inline(never)]
    fn next_chunk(&mut self, mut full: Vec<T>) -> Vec<T> {
        if self.is_alone {
            full.reserve(1);
            return full;
        }
        let bytes = match full.capacity() * size_of::<T>() {
            so_far if so_far > CHUNK_BYTES / 2 => LARGE_CHUNK_BYTES,
            so_far => FIRST_CHUNK_BYTES.max(2 * so_far),
        };
        if !full.is_empty() {
            self.full.push_back(full);
        }
        // Items without a size never come here: the first chunk has room for all.
        Vec::with_capacity((bytes / size_of::<T>()).max(1))
    }

    /// Puts the others behind these.
    pub(crate) fn append(&mut self, mut others: Self) {
        if others.last.is_empty() {
            return;
        }
        if !self.last.is_empty() {
            self.full.push_back(mem::take(&mut self.last));
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
        let piece_len = if added.saturating_mul(size_of::<T>()) > LARGE_RESULT_BYTES {
            (PIECE_BYTES / size_of::<T>()).max(1)
        } else {
            usize::MAX
        };
        let mut places = &mut vec.spare_capacity_mut()[..added];
        let mut moved = Vec::with_capacity(chunks.len());
        for chunk in &chunks {
            let (here, behind) = places.split_at_mut(chunk.len());
            let is_done = false;
            moved.push(Moved { here, is_done });
            places = behind;
        }
        let moves = chunks.into_iter().zip(&mut moved);
        let moves =
            moves.map(|(chunk, to)| Box::new(move || to.fill(chunk, piece_len)) as Move<'_>);
        run_all(moves.collect());
        // The vector has them now.
        moved.into_iter().for_each(mem::forget);
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

/// The move of one chunk, of whatever items: there are few, and one copy of the loop over them.
type Move<'vec> = Box<dyn FnOnce() + Send + 'vec>;

fn run_all(moves: Vec<Move<'_>>) {
    drive(IntoIter::new(moves), ForEach::new(&|each: Move<'_>| each()));
}

/// The places of the items of one chunk. If the call is left before all chunks have moved, since it
/// was cancelled, those that have are dropped here.
struct Moved<'vec, T> {
    here: &'vec mut [MaybeUninit<T>],
    /// The items lie here.
    is_done: bool,
}

impl<T> Moved<'_, T> {
    /// Moves the items of a chunk here, from the last to the first, and gives their memory back
    /// after so many.
    fn fill(&mut self, mut chunk: Vec<T>, piece_len: usize) {
        let mut places = &mut *self.here;
        assert_eq!(chunk.len(), places.len());
        while !chunk.is_empty() {
            let rest = chunk.len().saturating_sub(piece_len);
            let (before, here) = places.split_at_mut(rest);
            let to = here.as_mut_ptr().cast::<T>();
            // SAFETY: as many items are behind `rest` here as there, and the chunk owns its memory,
            // so that the two do not overlap.
            unsafe { to.copy_from_nonoverlapping(chunk[rest..].as_ptr(), here.len()) };
            // SAFETY: those before are still here, and the others in their places.
            unsafe { chunk.set_len(rest) };
            if rest > 0 {
                chunk.shrink_to_fit();
            }
            places = before;
        }
        self.is_done = true;
    }
}

impl<T> Drop for Moved<'_, T> {
    fn drop(&mut self) {
        if self.is_done {
            let items = ptr::from_mut(self.here) as *mut [T];
            // SAFETY: the items lie here, and nobody else has them.
            unsafe { items.drop_in_place() };
        }
    }
}

impl<T: Send> Consumer<T> for Chunks<T> {
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        self.push(item);
        ControlFlow::Continue(())
    }

    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        let mut last = mem::take(&mut self.last);
        let flow = if const { is_plain::<T>() } {
            part.run_sparse(budget, |item, counts| {
                let counts = counts & item.is_some();
                let item = item.map_or(MaybeUninit::uninit(), MaybeUninit::new);
                // SAFETY: 1. `None` does not count.
                unsafe { self.put(&mut last, item, counts) };
                ControlFlow::Continue(())
            })
        } else {
            part.run(budget, |item| {
                // SAFETY: 1. here is the item.
                unsafe { self.put(&mut last, MaybeUninit::new(item), true) };
                ControlFlow::Continue(())
            })
        };
        self.last = last;
        flow
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self::new()
    }

    fn merge(&mut self, upper: Self) {
        self.append(upper);
    }
}
