//! Collects items whose number is known: each is written once, into its place.

use crate::engine::{drive, Consumer};
use crate::iter::ParallelIterator;
use std::ops::ControlFlow;

/// Appends the `len` items of the iterator to the vector.
///
/// # Panics
///
/// Panics if the iterator gives more or fewer items than it said.
pub(crate) fn collect_into<T, I>(vec: &mut Vec<T>, iter: I, len: usize)
where
    T: Send,
    I: ParallelIterator<Item = T>,
{
    vec.reserve_exact(len);
    let old_len = vec.len();
    let places = Places {
        // SAFETY: the capacity is there.
        next: unsafe { vec.as_mut_ptr().add(old_len) },
        written: 0,
        room: len,
    };
    let places = drive(iter, places);
    assert_eq!(
        places.written, len,
        "a parallel iterator said that it has as many items as on the right"
    );
    std::mem::forget(places);
    // SAFETY: so many were written there, one after the other: see `merge`.
    unsafe { vec.set_len(old_len + len) };
}

/// Places of a vector, the first of which have been written.
///
/// The items that were written are dropped with it.
struct Places<T> {
    /// The place after the last that was written.
    next: *mut T,
    written: usize,
    /// How many may yet be written, from `next` on.
    room: usize,
}

// SAFETY: the places are its own, and what lies there is sent with it.
unsafe impl<T: Send> Send for Places<T> {}

impl<T: Send> Consumer<T> for Places<T> {
    #[inline]
    fn consume(&mut self, item: T) -> ControlFlow<()> {
        assert!(
            self.room > 0,
            "a parallel iterator gives more items than it said"
        );
        // SAFETY: there is room, which is this consumer's alone.
        unsafe {
            self.next.write(item);
            self.next = self.next.add(1);
        }
        self.room -= 1;
        self.written += 1;
        ControlFlow::Continue(())
    }

    fn split(&mut self, lower_len: Option<usize>) -> Self {
        let lower = lower_len.expect("a parallel iterator has forgotten its length");
        let room = self.room.checked_sub(lower);
        let room = room.expect("a parallel iterator has more items than it said");
        self.room = lower;
        Self {
            // SAFETY: within the room that there was.
            next: unsafe { self.next.add(lower) },
            written: 0,
            room,
        }
    }

    fn merge(&mut self, upper: Self) {
        // Items are missing, perhaps because of a panic that is on its way to the caller:
        // not to hide it, they are counted at the end. The upper ones are dropped.
        if self.room > 0 {
            self.room += upper.written + upper.room;
            return;
        }
        (self.next, self.room) = (upper.next, upper.room);
        self.written += upper.written;
        std::mem::forget(upper);
    }
}

impl<T> Drop for Places<T> {
    fn drop(&mut self) {
        let first = std::ptr::slice_from_raw_parts_mut(
            // SAFETY: so many were written before it.
            unsafe { self.next.sub(self.written) },
            self.written,
        );
        // SAFETY: they were written, and nobody else knows of them.
        unsafe { first.drop_in_place() };
    }
}
