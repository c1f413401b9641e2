//! The slots of a deque, and their memory.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use heist_sync::atomic::{AtomicPtr, Ordering};
use heist_sync::cell::UnsafeCell;
#[cfg(not(any(heist_loom, heist_shuttle)))]
use heist_sync::Reserved;

/// Words of payload in a slot: together with the kind, one cache line. A model's stand-ins for
/// atomics are larger, and need more.
const PAYLOAD_WORDS: usize = if cfg!(any(heist_loom, heist_shuttle)) {
    63
} else {
    7
};

/// The bytes of payload in a slot.
pub const PAYLOAD: usize = PAYLOAD_WORDS * size_of::<u64>();

/// A place for one job: its kind and its payload.
///
/// The payload is bytes to the deque. Which thread may write or read them follows from the kind,
/// and from who has the slot.
#[repr(C, align(64))]
pub struct Slot<K: 'static> {
    /// Null while there is no job.
    kind: AtomicPtr<K>,
    payload: UnsafeCell<MaybeUninit<[u64; PAYLOAD_WORDS]>>,
}

impl<K> Slot<K> {
    /// A slot without a job.
    #[cfg(any(heist_loom, heist_shuttle))]
    fn vacant() -> Self {
        Self {
            kind: AtomicPtr::new(std::ptr::null_mut()),
            payload: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The [`PAYLOAD`] bytes, aligned to 8.
    ///
    /// # Safety
    ///
    /// 1. `slot` is a slot of a deque that is still there.
    #[inline(always)]
    #[must_use]
    pub unsafe fn payload(slot: NonNull<Self>) -> NonNull<u8> {
        // SAFETY: by 1. Only the address is taken, through the slot's own pointer, so that it may
        // be written through.
        let payload = unsafe { &raw mut (*slot.as_ptr()).payload };
        // SAFETY: a field's address is not null. `UnsafeCell` is transparent but under loom, whose
        // models use `watched`.
        unsafe { NonNull::new_unchecked(payload.cast()) }
    }

    /// Reads or writes the payload's first word, so that loom notices if another thread could at
    /// the same time.
    ///
    /// # Safety
    ///
    /// As for [`payload`](Self::payload), and
    ///
    /// 2. nobody else uses the payload.
    #[cfg(heist_loom)]
    pub unsafe fn watched<R>(slot: NonNull<Self>, look: impl FnOnce(&mut u64) -> R) -> R {
        // SAFETY: by 1.
        let slot = unsafe { slot.as_ref() };
        // SAFETY: by 2., which loom checks; the words are plain numbers.
        slot.payload
            .with_mut(|payload| look(unsafe { &mut *payload.cast::<u64>() }))
    }

    #[inline(always)]
    pub(crate) fn kind(&self, order: Ordering) -> Option<&'static K> {
        // SAFETY: only null and `&'static K` are ever stored.
        unsafe { self.kind.load(order).as_ref() }
    }

    #[inline(always)]
    pub(crate) fn set_kind(&self, kind: &'static K, order: Ordering) {
        self.kind.store(std::ptr::from_ref(kind).cast_mut(), order);
    }

    #[inline(always)]
    pub(crate) fn clear_kind(&self, order: Ordering) {
        self.kind.store(std::ptr::null_mut(), order);
    }
}

impl<K> fmt::Debug for Slot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

/// The slots of one deque, at fixed addresses.
pub(crate) struct Slots<K: 'static> {
    first: NonNull<Slot<K>>,
    most: usize,
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    memory: Reserved,
    /// Whether the model refuses memory for more slots. Only the owner reads it.
    #[cfg(any(heist_loom, heist_shuttle))]
    refuses: std::cell::Cell<bool>,
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
impl<K> Slots<K> {
    /// The offset of the first slot in its page. A load waits for an earlier store whose address
    /// has the same lower twelve bits. The deque's user places the deque itself at the beginning of
    /// a page; with this offset, only deep nesting brings a slot to the same bits.
    const OFFSET: usize = 1024;

    /// The number of slots in a new deque.
    const FEW: usize = Self::in_pieces(1);

    /// The slots that fit into so many pieces of memory, not counting the one behind the last.
    const fn in_pieces(pieces: usize) -> usize {
        (pieces * Reserved::PIECE - Self::OFFSET) / size_of::<Slot<K>>() - 1
    }

    /// The pieces that so many slots and the one behind the last take.
    fn pieces(slots: usize) -> Option<usize> {
        let bytes = slots.checked_add(1)?.checked_mul(size_of::<Slot<K>>())?;
        Some(bytes.checked_add(Self::OFFSET)?.div_ceil(Reserved::PIECE))
    }

    /// Reserves up to `most` vacant slots and one more behind them that stays vacant, or fewer if
    /// the process may not have so much address space. The first piece is committed at once.
    pub(crate) fn new(most: usize) -> io::Result<Self> {
        let mut pieces = Self::pieces(most).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = loop {
            let reserved = pieces
                .checked_mul(Reserved::PIECE)
                .map_or(Err(io::ErrorKind::OutOfMemory.into()), Reserved::new);
            match reserved {
                Ok(memory) if memory.commit(0, Reserved::PIECE) => break memory,
                Ok(_) => return Err(io::Error::last_os_error()),
                Err(error) if pieces == 1 => return Err(error),
                Err(_) => pieces /= 2,
            }
        };
        // SAFETY: within the first piece.
        let first = unsafe { memory.start().add(Self::OFFSET) };
        Ok(Self {
            // All zero is a vacant slot: a null pointer and bytes of no meaning.
            first: first.cast(),
            most: most.min(Self::in_pieces(pieces)),
            memory,
        })
    }

    /// The number of slots in a new deque.
    pub(crate) fn few(&self) -> usize {
        Self::FEW.min(self.most)
    }

    /// Doubles the `present` slots, up to the limit. Returns the new number, which is `present` if
    /// the system has no memory for more.
    pub(crate) fn grow(&self, present: usize) -> usize {
        let slots = present.saturating_mul(2).min(self.most);
        let committed = Self::pieces(slots)
            .is_some_and(|pieces| self.memory.commit(0, pieces * Reserved::PIECE));
        if committed {
            slots
        } else {
            present
        }
    }

    /// Gives back the memory of all `present` slots except the first few. Returns the new number.
    ///
    /// # Safety
    ///
    /// 1. They are vacant, and nobody fills one meanwhile.
    pub(crate) unsafe fn shrink(&self, present: usize) -> usize {
        let Some(pieces) = Self::pieces(present).filter(|&pieces| pieces > 1) else {
            return present;
        };
        let rest = (pieces - 1) * Reserved::PIECE;
        // SAFETY: by 1.
        if unsafe { self.memory.give_back(Reserved::PIECE, rest) } {
            self.few()
        } else {
            present
        }
    }
}

/// The slots of a model, whose atomics are not made by zeroed memory: all are made at once. A model
/// that asks for eight slots begins with two, and grows by one.
#[cfg(any(heist_loom, heist_shuttle))]
impl<K> Slots<K> {
    pub(crate) fn new(most: usize) -> io::Result<Self> {
        let slots: Box<[Slot<K>]> = (0..=most).map(|_| Slot::vacant()).collect();
        Ok(Self {
            first: NonNull::from(Box::leak(slots)).cast(),
            most,
            refuses: std::cell::Cell::new(false),
        })
    }

    #[cfg(heist_loom)]
    pub(crate) fn refuse_memory(&self, refuses: bool) {
        self.refuses.set(refuses);
    }

    pub(crate) fn few(&self) -> usize {
        const MANY: usize = 8;
        if self.most == MANY {
            2
        } else {
            self.most
        }
    }

    pub(crate) fn grow(&self, present: usize) -> usize {
        if self.refuses.get() {
            present
        } else {
            self.most.min(present + 1)
        }
    }

    /// # Safety
    ///
    /// Always safe; the version for programs gives memory back.
    pub(crate) unsafe fn shrink(&self, present: usize) -> usize {
        present
    }
}

impl<K> Slots<K> {
    #[inline(always)]
    pub(crate) fn first(&self) -> NonNull<Slot<K>> {
        self.first
    }

    /// The largest number of slots.
    pub(crate) fn most(&self) -> usize {
        self.most
    }
}

#[cfg(any(heist_loom, heist_shuttle))]
impl<K> Drop for Slots<K> {
    fn drop(&mut self) {
        let slots = NonNull::slice_from_raw_parts(self.first, self.most + 1);
        // SAFETY: leaked in `new`.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
    }
}
