//! The stable sort: parts by the standard library's sort, merged in parallel.
//!
//! A merge moves the items from their slice into as much room beside it, or back: so after two
//! merges, one above the other, they are where they belong. Runs that follow each other in order
//! stay where they are.
//!
//! Whenever a comparison panics, the slice holds each item once. A merge out of the slice only
//! copies, and a merge back into the slice that does not come to its end is undone.

use std::mem::{needs_drop, MaybeUninit};
use std::ops::Range;
use std::{ptr, slice};

use heist_core::checkpoint;

use super::both;
use super::merge::{is_wide, merge_into};
use super::order::{last_run, overlap, Direction, Order};

/// The place where the items of a part lie sorted. In its slice they lie in either case, in some
/// order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Slice,
    Room,
}

/// Sorts so that equal items keep their order, if `order.sort` does.
pub(super) fn sort<T, S, L>(items: &mut [T], order: &Order<'_, S, L>)
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    if order.workers == 1 {
        return sort_alone(items, order);
    }
    // After an even number of merges the items are in the slice: one more merge then costs less
    // than to copy them back, unless they are compared in memory of their own.
    let mut levels = order.halvings();
    if !needs_drop::<T>() {
        levels += levels % 2;
    }
    let mut room = Vec::with_capacity(items.len());
    let room = &mut room.spare_capacity_mut()[..items.len()];
    if sort_level(items, room, levels, order) == Place::Room {
        // SAFETY: sorted they lie in the room.
        unsafe { take_back(items, room, 0, order) };
    }
}

/// As `order.sort`, but a long run at the end is merged with the others by lanes, which is faster
/// than item by item. Items larger than a register are not: they move once more than by
/// `order.sort`, which takes longer.
fn sort_alone<T, S, L>(items: &mut [T], order: &Order<'_, S, L>)
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    if is_wide::<T>() {
        return (order.sort)(items);
    }
    let (run, direction) = last_run(items, order.is_less);
    if run < items.len() / 4 {
        return (order.sort)(items);
    }
    let middle = items.len() - run;
    let (lower, upper) = items.split_at_mut(middle);
    if direction == Direction::Descending {
        upper.reverse();
    }
    (order.sort)(lower);
    let Range { start, end } = overlap(items, middle, order.is_less);
    let items = &mut items[start..end];
    let (lower, upper) = items.split_at_mut(middle - start);
    let mut room = Vec::with_capacity(end - start);
    let room = &mut room.spare_capacity_mut()[..end - start];
    merge_into(lower, upper, room, end - start, order.is_less);
    // SAFETY: sorted they lie in the room.
    unsafe { take_back(items, room, 0, order) };
}

fn sort_level<T, S, L>(
    items: &mut [T],
    room: &mut [MaybeUninit<T>],
    levels: u32,
    order: &Order<'_, S, L>,
) -> Place
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    if levels == 0 {
        checkpoint();
        (order.sort)(items);
        return Place::Slice;
    }
    let middle = items.len() / 2;
    let (items_0, items_1) = items.split_at_mut(middle);
    let (room_0, room_1) = room.split_at_mut(middle);
    let places = both(
        || sort_level(items_0, room_0, levels - 1, order),
        || sort_level(items_1, room_1, levels - 1, order),
    );
    // SAFETY: a part whose place is the room lies sorted there.
    unsafe {
        match places {
            (Place::Room, Place::Room) => {
                take_back(items, room, middle, order);
                return Place::Slice;
            }
            (Place::Room, Place::Slice) => take_back(items_0, room_0, 0, order),
            (Place::Slice, Place::Room) => take_back(items_1, room_1, 0, order),
            (Place::Slice, Place::Slice) => {}
        }
    }
    if !(order.is_less)(&items[middle], &items[middle - 1]) {
        return Place::Slice;
    }
    let (items_0, items_1) = items.split_at_mut(middle);
    merge_into(items_0, items_1, room, order.part_len, order.is_less);
    Place::Room
}

/// Merges two sorted runs, the second of which begins at `middle`, out of the room and into the
/// slice.
///
/// # Safety
///
/// The same items lie in the slice and in the room.
unsafe fn take_back<T, S, L>(
    items: &mut [T],
    room: &mut [MaybeUninit<T>],
    middle: usize,
    order: &Order<'_, S, L>,
) where
    T: Send,
    L: Fn(&T, &T) -> bool + Sync,
{
    assert_eq!(items.len(), room.len());
    let (to, from) = (items.as_mut_ptr(), room.as_mut_ptr().cast::<T>());
    let mut undo = Undo {
        from,
        to,
        len: items.len(),
    };
    // SAFETY: the items in the room are used until they are all in the slice, or else are put
    // there, and those in the slice are not used before that.
    let (runs, out) = unsafe {
        (
            slice::from_raw_parts_mut(from, undo.len),
            slice::from_raw_parts_mut(to.cast(), undo.len),
        )
    };
    let (run_0, run_1) = runs.split_at_mut(middle);
    merge_into(run_0, run_1, out, order.part_len, order.is_less);
    undo.len = 0;
}

/// Copies so many items when it is dropped.
struct Undo<T> {
    from: *const T,
    to: *mut T,
    len: usize,
}

impl<T> Drop for Undo<T> {
    fn drop(&mut self) {
        // SAFETY: see `take_back`, whose slice and room these are.
        unsafe { ptr::copy_nonoverlapping(self.from, self.to, self.len) };
    }
}
