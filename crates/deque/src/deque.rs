//! The deque: its owner's end and its thieves' end.

use std::fmt;
use std::io;

use heist_sync::{Barrier, Reserved};

use crate::owner::Owner;
use crate::state::State;
use crate::thief::Thief;

/// A deque: the [`Owner`] and the [`Thief`]s are views of it.
///
/// Jobs that are left in it when it is dropped are forgotten.
#[repr(transparent)]
pub struct Deque<K: 'static>(State<K>);

impl<K> Deque<K> {
    /// The memory that a new deque takes, in bytes.
    pub const LEAST_BYTES: usize = Reserved::PIECE;

    /// A deque of up to `slots` jobs, or fewer if the process may not reserve so much address
    /// space.
    ///
    /// The address space is reserved at once. A deque begins with 64 KiB of memory and takes more,
    /// 64 bytes a slot, when it needs it.
    ///
    /// # Errors
    ///
    /// Fails if the system has no memory for the first slots.
    ///
    /// # Panics
    ///
    /// Panics if `slots` is 0.
    pub fn new(slots: usize, barrier: Barrier) -> io::Result<Self> {
        State::new(slots, barrier).map(Self)
    }

    /// For a model: from now on the system refuses memory for more slots, or no longer does.
    #[cfg(heist_loom)]
    pub fn refuse_memory(&self, refuses: bool) {
        self.0.slots.refuse_memory(refuses);
    }

    /// The owner's end.
    ///
    /// # Safety
    ///
    /// 1. One thread at a time uses it. When another thread takes over, everything that the former
    ///    owner did happens before that.
    #[inline(always)]
    #[must_use]
    pub unsafe fn owner(&self) -> &Owner<K> {
        // SAFETY: transparent.
        unsafe { &*std::ptr::from_ref(&self.0).cast() }
    }

    /// The thieves' end.
    #[inline(always)]
    #[must_use]
    pub fn thief(&self) -> &Thief<K> {
        // SAFETY: transparent.
        unsafe { &*std::ptr::from_ref(&self.0).cast() }
    }
}

impl<K> fmt::Debug for Deque<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
