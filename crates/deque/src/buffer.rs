//! The circular array behind a deque: a power of two of atomic slots.

use heist_sync::atomic::{AtomicPtr, Ordering};
use std::ptr;

/// A circular array indexed by ever-growing indices.
///
/// Every access is relaxed: a slot publishes nothing by itself. The item's
/// contents travel with `bottom` (the owner's release, the thief's acquire),
/// and a thief's claim travels with `top`.
#[derive(Debug)]
pub(crate) struct Buffer {
    slots: Box<[AtomicPtr<()>]>,
}

impl Buffer {
    /// An array of `capacity` empty slots, a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two());
        let slots = (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut()));
        Self {
            slots: slots.collect(),
        }
    }

    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> &AtomicPtr<()> {
        // SAFETY: the length is a power of two, so the masked index is below
        // it; `new` is the only constructor and the slice never changes.
        unsafe { self.slots.get_unchecked(index & (self.slots.len() - 1)) }
    }

    #[inline(always)]
    pub(crate) fn read(&self, index: usize) -> *mut () {
        self.slot(index).load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn write(&self, index: usize, item: *mut ()) {
        self.slot(index).store(item, Ordering::Relaxed);
    }

    /// An array of twice the size that holds the items `top..bottom`.
    pub(crate) fn grown(&self, top: usize, bottom: usize) -> Self {
        let larger = Self::new(self.capacity() * 2);
        let mut index = top;
        while index != bottom {
            larger.write(index, self.read(index));
            index = index.wrapping_add(1);
        }
        larger
    }
}
