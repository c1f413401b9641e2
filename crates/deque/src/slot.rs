//! The places of a deque, and the memory in which they lie.

use heist_sync::atomic::{AtomicPtr, Ordering};
use heist_sync::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Words of room in a slot: together with the kind, one cache line. The types
/// that stand for atomics in a model need more.
const ROOM_WORDS: usize = if cfg!(any(heist_loom, heist_shuttle)) {
    63
} else {
    7
};

/// How many bytes a job can keep in its slot.
pub const ROOM: usize = ROOM_WORDS * size_of::<u64>();

/// A place for one job: what kind it is, and room for what it needs.
///
/// The room is bytes to the deque. Who wrote them and who may read them follows
/// from the kind, and from who has the slot.
#[repr(C, align(64))]
pub struct Slot<K: 'static> {
    /// Null while there is no job.
    kind: AtomicPtr<K>,
    room: UnsafeCell<MaybeUninit<[u64; ROOM_WORDS]>>,
}

impl<K> Slot<K> {
    /// A slot without a job.
    #[cfg(any(heist_loom, heist_shuttle))]
    fn vacant() -> Self {
        Self {
            kind: AtomicPtr::new(std::ptr::null_mut()),
            room: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The room's [`ROOM`] bytes, aligned to 8.
    ///
    /// # Safety
    ///
    /// 1. `slot` is a slot of a deque that is still there.
    #[inline(always)]
    #[must_use]
    pub unsafe fn room(slot: NonNull<Self>) -> NonNull<u8> {
        // SAFETY: by 1. Only the address is taken, through the slot's own
        // pointer, so that it may be written through.
        let room = unsafe { &raw mut (*slot.as_ptr()).room };
        // SAFETY: a field's address is not null. `UnsafeCell` is transparent
        // but under loom, whose models use `watched`.
        unsafe { NonNull::new_unchecked(room.cast()) }
    }

    /// Reads or writes the room's first word, so that loom notices if somebody
    /// else could at the same time.
    ///
    /// # Safety
    ///
    /// As for [`room`](Self::room), and
    ///
    /// 2. nobody else uses the room.
    #[cfg(heist_loom)]
    pub unsafe fn watched<R>(slot: NonNull<Self>, look: impl FnOnce(&mut u64) -> R) -> R {
        // SAFETY: by 1.
        let slot = unsafe { slot.as_ref() };
        // SAFETY: by 2., which loom checks; the words are plain numbers.
        slot.room
            .with_mut(|room| look(unsafe { &mut *room.cast::<u64>() }))
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

/// The slots of one deque: one allocation that stays where it is.
pub(crate) struct Slots<K: 'static> {
    first: NonNull<Slot<K>>,
    len: usize,
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    memory: (NonNull<u8>, std::alloc::Layout),
}

impl<K> Slots<K> {
    /// `len` vacant slots and one more behind them that stays vacant.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub(crate) fn new(len: usize) -> Self {
        use std::alloc::{alloc_zeroed, handle_alloc_error, Layout};
        // A load waits for an earlier store whose address agrees in the lower twelve
        // bits. Whoever has the deque puts it at the beginning of a page; the slots
        // begin further up in theirs, so that it takes a deep nesting to meet.
        const PAGE: usize = 4096;
        const OFFSET: usize = 1024;
        let size = (len + 1)
            .checked_mul(size_of::<Slot<K>>())
            .and_then(|size| size.checked_add(PAGE + OFFSET));
        // A modest alignment: with it, allocators hand out pages of zeroes that
        // become memory only when they are touched. (Not in WebAssembly, which has
        // no such pages.) With more than 8, std writes the zeroes on 32-bit systems.
        let layout = size.and_then(|size| Layout::from_size_align(size, 8).ok());
        let layout = layout.expect("the slots of a deque fit the address space");
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        // SAFETY: there are that many bytes more than the slots need.
        let first = unsafe { memory.byte_add(memory.align_offset(PAGE) + OFFSET) };
        // All zero is a vacant slot: a null pointer and bytes of no meaning.
        Self {
            first: first.cast(),
            len,
            memory: (memory, layout),
        }
    }

    /// As above, for the atomics of a model, which zeroes do not make.
    #[cfg(any(heist_loom, heist_shuttle))]
    pub(crate) fn new(len: usize) -> Self {
        let slots: Box<[Slot<K>]> = (0..=len).map(|_| Slot::vacant()).collect();
        let first = NonNull::from(Box::leak(slots)).cast();
        Self { first, len }
    }

    #[inline(always)]
    pub(crate) fn first(&self) -> NonNull<Slot<K>> {
        self.first
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl<K> Drop for Slots<K> {
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    fn drop(&mut self) {
        let (memory, layout) = self.memory;
        // SAFETY: allocated in `new` with this layout. Slots need no drop.
        unsafe { std::alloc::dealloc(memory.as_ptr(), layout) };
    }

    #[cfg(any(heist_loom, heist_shuttle))]
    fn drop(&mut self) {
        let slots = NonNull::slice_from_raw_parts(self.first, self.len + 1);
        // SAFETY: leaked in `new`.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
    }
}
