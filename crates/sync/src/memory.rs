//! Address space that becomes memory piece by piece.
//!
//! A deque's slots must not move, and nobody knows beforehand how many there will be. So address
//! space is reserved, which costs no memory, not even where the system promises only memory that it
//! has (strict overcommit) or locks all of it (`mlockall`). Pieces are committed as they are
//! needed, from the start upwards, and given back.
//!
//! | system | reserve | commit | give back |
//! |---|---|---|---|
//! | Linux | `mmap` without access | `mprotect` | `madvise` |
//! | other Unix | as above | as above | not until the end |
//! | Windows | `VirtualAlloc` | as above | as above |
//! | others, and Miri | all of it is zeroed memory | | not until the end |

use std::io;
use std::ptr::NonNull;

/// Reserved address space, given back when this is dropped. Committed memory is zeroed.
#[derive(Debug)]
pub struct Reserved {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is an address, and its user answers for accesses to the memory there.
unsafe impl Send for Reserved {}
// SAFETY: as above.
unsafe impl Sync for Reserved {}

impl Reserved {
    /// The unit of lengths and offsets, in bytes: no smaller than a page of any system.
    pub const PIECE: usize = 64 << 10;

    /// Reserves `len` bytes.
    ///
    /// # Errors
    ///
    /// Fails if the process may not have so much more address space.
    ///
    /// # Panics
    ///
    /// Panics if `len` is 0 or not a multiple of [`PIECE`](Self::PIECE).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_sync::Reserved;
    ///
    /// let reserved = Reserved::new(16 * Reserved::PIECE)?;
    /// assert!(reserved.commit(0, Reserved::PIECE));
    /// // Sound: committed above, and nobody else's.
    /// unsafe { reserved.start().write(7) };
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(len: usize) -> io::Result<Self> {
        assert!(
            len > 0 && len % Self::PIECE == 0,
            "{len} bytes were to be reserved; accepted are multiples of {}",
            Self::PIECE
        );
        let start = imp::reserve(len)?;
        Ok(Self { start, len })
    }

    /// The first byte.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes are reserved.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Commits memory for `len` bytes from `offset` on. Bytes that are committed already keep their
    /// contents. False if the system has no more memory.
    ///
    /// # Panics
    ///
    /// Panics if the range is not of whole pieces, or not within the reservation.
    #[must_use]
    pub fn commit(&self, offset: usize, len: usize) -> bool {
        // SAFETY: within the reservation.
        unsafe { imp::commit(self.piece(offset, len), len) }
    }

    /// Gives the memory of `len` bytes from `offset` on back to the system. The bytes stay usable,
    /// and are zero. False if they stay as they are.
    ///
    /// # Safety
    ///
    /// 1. They are committed, and no thread writes to them meanwhile. Readers see the old contents
    ///    or zeroes.
    ///
    /// # Panics
    ///
    /// As [`commit`](Self::commit).
    #[must_use]
    pub unsafe fn give_back(&self, offset: usize, len: usize) -> bool {
        // SAFETY: within the reservation; 1. is handed on.
        unsafe { imp::give_back(self.piece(offset, len), len) }
    }

    fn piece(&self, offset: usize, len: usize) -> NonNull<u8> {
        let is_whole = offset % Self::PIECE == 0 && len % Self::PIECE == 0;
        let is_within = offset <= self.len && len <= self.len - offset;
        assert!(
            is_whole && is_within,
            "{len} bytes from {offset} on are not whole pieces of {} reserved ones",
            self.len
        );
        // SAFETY: within the reservation.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // SAFETY: reserved in `new`, with this length.
        unsafe { imp::free(self.start, self.len) };
    }
}

/// The limit on the process's address space in bytes (`ulimit -v`), if there is one.
#[must_use]
pub fn address_space_limit() -> Option<u64> {
    imp::address_space_limit()
}

#[cfg(all(unix, not(miri)))]
mod imp {
    use std::ptr;

    use libc::c_int;

    use super::{io, NonNull};

    pub(super) fn reserve(len: usize) -> io::Result<NonNull<u8>> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
        // SAFETY: a new mapping wherever there is room.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        match NonNull::new(start) {
            Some(start) if start.as_ptr() != libc::MAP_FAILED => Ok(start.cast()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// # Safety
    ///
    /// 1. As of [`Reserved::commit`](super::Reserved::commit).
    pub(super) unsafe fn commit(start: NonNull<u8>, len: usize) -> bool {
        let access: c_int = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the caller's pages, which lose nothing.
        unsafe { libc::mprotect(start.as_ptr().cast(), len, access) == 0 }
    }

    /// # Safety
    ///
    /// 1. As of [`Reserved::give_back`](super::Reserved::give_back).
    pub(super) unsafe fn give_back(start: NonNull<u8>, len: usize) -> bool {
        // Elsewhere than on Linux the pages may keep what is in them.
        // SAFETY: the caller's pages, to which nobody writes.
        cfg!(target_os = "linux")
            && unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_DONTNEED) == 0 }
    }

    /// # Safety
    ///
    /// 1. It is a whole reservation, and nobody uses it any more.
    pub(super) unsafe fn free(start: NonNull<u8>, len: usize) {
        // SAFETY: the caller's, for the last time.
        unsafe { libc::munmap(start.as_ptr().cast(), len) };
    }

    pub(super) fn address_space_limit() -> Option<u64> {
        let mut limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: it writes the struct.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) == 0 };
        #[allow(clippy::unnecessary_cast, reason = "systems of 32 bits have fewer")]
        (is_known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
    }
}

#[cfg(all(windows, not(miri)))]
mod imp {
    use std::ptr;

    use windows_sys::Win32::System::Memory::{
        VirtualAlloc, VirtualFree, MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS,
        PAGE_READWRITE,
    };

    use super::{io, NonNull};

    pub(super) fn reserve(len: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: a new reservation wherever there is room.
        let start = unsafe { VirtualAlloc(ptr::null(), len, MEM_RESERVE, PAGE_NOACCESS) };
        NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)
    }

    /// # Safety
    ///
    /// 1. As of [`Reserved::commit`](super::Reserved::commit).
    pub(super) unsafe fn commit(start: NonNull<u8>, len: usize) -> bool {
        // SAFETY: within the caller's reservation; committed pages stay as they are.
        let start = unsafe { VirtualAlloc(start.as_ptr().cast(), len, MEM_COMMIT, PAGE_READWRITE) };
        !start.is_null()
    }

    /// # Safety
    ///
    /// 1. As of [`Reserved::give_back`](super::Reserved::give_back).
    pub(super) unsafe fn give_back(_: NonNull<u8>, _: usize) -> bool {
        // Decommitting is out: late readers of the pages would fault.
        false
    }

    /// # Safety
    ///
    /// 1. It is a whole reservation, and nobody uses it any more.
    pub(super) unsafe fn free(start: NonNull<u8>, _: usize) {
        // SAFETY: the caller's reservation, for the last time. The length must be 0.
        unsafe { VirtualFree(start.as_ptr().cast(), 0, MEM_RELEASE) };
    }

    pub(super) fn address_space_limit() -> Option<u64> {
        None
    }
}

#[cfg(any(miri, not(any(unix, windows))))]
mod imp {
    use std::alloc::{alloc_zeroed, dealloc, Layout};

    use super::{io, NonNull, Reserved};

    fn layout(len: usize) -> io::Result<Layout> {
        Layout::from_size_align(len, Reserved::PIECE).map_err(|_| io::ErrorKind::OutOfMemory.into())
    }

    pub(super) fn reserve(len: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout(len)?) };
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// # Safety
    ///
    /// 1. As of [`Reserved::commit`](super::Reserved::commit).
    pub(super) unsafe fn commit(_: NonNull<u8>, _: usize) -> bool {
        true
    }

    /// # Safety
    ///
    /// 1. As of [`Reserved::give_back`](super::Reserved::give_back).
    pub(super) unsafe fn give_back(_: NonNull<u8>, _: usize) -> bool {
        false
    }

    /// # Safety
    ///
    /// 1. It is a whole reservation, and nobody uses it any more.
    pub(super) unsafe fn free(start: NonNull<u8>, len: usize) {
        if let Ok(layout) = layout(len) {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }

    pub(super) fn address_space_limit() -> Option<u64> {
        None
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn committed_memory_is_zero_and_keeps_what_is_written() {
        let reserved = Reserved::new(4 * Reserved::PIECE).expect("addresses");
        assert!(reserved.commit(0, Reserved::PIECE));
        // SAFETY: committed.
        let byte = unsafe { reserved.start().add(Reserved::PIECE - 1) };
        // SAFETY: as above.
        assert_eq!(unsafe { byte.read() }, 0);
        // SAFETY: as above.
        unsafe { byte.write(7) };
        assert!(
            reserved.commit(0, 4 * Reserved::PIECE),
            "once more, and more"
        );
        // SAFETY: as above.
        assert_eq!(unsafe { byte.read() }, 7);
    }

    #[test]
    fn memory_that_was_given_back_is_zero_when_it_is_committed_again() {
        let reserved = Reserved::new(2 * Reserved::PIECE).expect("addresses");
        assert!(reserved.commit(0, 2 * Reserved::PIECE));
        // SAFETY: committed.
        let byte = unsafe { reserved.start().add(Reserved::PIECE) };
        // SAFETY: as above.
        unsafe { byte.write(7) };
        // SAFETY: committed, and nobody writes to it.
        let is_gone = unsafe { reserved.give_back(Reserved::PIECE, Reserved::PIECE) };
        assert!(reserved.commit(Reserved::PIECE, Reserved::PIECE));
        // SAFETY: committed.
        assert_eq!(unsafe { byte.read() }, if is_gone { 0 } else { 7 });
    }

    #[test]
    fn more_than_there_are_addresses_is_an_error() {
        let most = (isize::MAX as usize) / Reserved::PIECE * Reserved::PIECE;
        assert!(Reserved::new(most).is_err());
    }

    #[test]
    #[should_panic(expected = "accepted are multiples")]
    fn half_a_piece_is_refused() {
        drop(Reserved::new(Reserved::PIECE / 2));
    }
}
