//! The Chase-Lev deque with sequentially consistent fences.
//!
//! Chase and Lev, "Dynamic circular work-stealing deque", SPAA 2005; orderings
//! after Lê, Pop, Cohen and Zappa Nardelli, "Correct and efficient
//! work-stealing for weak memory models", PPoPP 2013. `README.md` beside this
//! crate has the argument; the numbers in parentheses below are its edges.

use crate::buffer::Buffer;
use crate::Word;
use heist_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::{fault, CachePadded};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// Makes a deque with room for `capacity` items before it first grows, rounded
/// up to a power of two.
///
/// # Panics
///
/// Panics if `capacity` is 0 or above 2^32.
///
/// # Examples
///
/// ```
/// use heist_deque::{deque, Steal};
///
/// let (owner, thief) = deque(1);
/// owner.push(Box::new("old"));
/// owner.push(Box::new("new")); // grows
/// assert_eq!(thief.steal(), Steal::Success(Box::new("old")));
/// assert_eq!(owner.pop(), Some(Box::new("new")));
/// assert_eq!(thief.steal(), Steal::Empty);
/// ```
#[must_use]
pub fn deque<W: Word>(capacity: usize) -> (Owner<W>, Thief<W>) {
    deque_at(capacity, 0)
}

/// A deque whose indices start at `index`, so that a test can let them wrap.
#[doc(hidden)]
#[must_use]
pub fn deque_at<W: Word>(capacity: usize, index: usize) -> (Owner<W>, Thief<W>) {
    assert!(
        capacity > 0 && capacity as u64 <= 1 << 32,
        "a deque of capacity {capacity} was asked for; accepted are 1 to 2^32"
    );
    let buffer = Box::into_raw(Box::new(Buffer::new(capacity.next_power_of_two())));
    let shared = Arc::new(Shared {
        top: CachePadded::new(AtomicUsize::new(index)),
        bottom: CachePadded::new(AtomicUsize::new(index)),
        buffer: AtomicPtr::new(buffer),
        retired: UnsafeCell::new(Vec::new()),
        items: PhantomData,
    });
    let owner = Owner {
        shared: Arc::clone(&shared),
        buffer: Cell::new(buffer),
        top_seen: Cell::new(index),
    };
    (owner, Thief { shared })
}

/// What an attempt to steal brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Steal<T> {
    /// The deque held nothing.
    Empty,
    /// Somebody else took the item that was seen; another try may succeed.
    Retry,
    /// The oldest item.
    Success(T),
}

/// What owner and thieves share.
struct Shared<W: Word> {
    /// The oldest item's index. Only grows; moved by a compare-exchange.
    top: CachePadded<AtomicUsize>,
    /// One past the newest item's index. Written by the owner only.
    bottom: CachePadded<AtomicUsize>,
    /// The array in use. Written by the owner only.
    buffer: AtomicPtr<Buffer>,
    /// Outgrown arrays: a thief may still read from one. Together they are
    /// smaller than the one in use. Touched by the owner only, and freed with
    /// the deque.
    retired: UnsafeCell<Vec<NonNull<Buffer>>>,
    items: PhantomData<W>,
}

// SAFETY: the atomics may be shared; `retired` is touched by the one owner
// (`Owner` is not Sync) and by `drop`, which is alone; items are `Send` by
// `Word`, and only move between threads, they are never shared.
unsafe impl<W: Word> Send for Shared<W> {}
// SAFETY: as above.
unsafe impl<W: Word> Sync for Shared<W> {}

/// How many items lie between two indices, or a negative number while the owner
/// tries to take an item that is gone. Right also when the indices wrap, since
/// a deque never holds 2^63 items.
#[inline(always)]
fn distance(top: usize, bottom: usize) -> isize {
    bottom.wrapping_sub(top) as isize
}

/// The owner's end of a deque: push and pop the newest item.
///
/// There is one owner. It may move to another thread, but not be shared.
/// Dropping it leaves the items to the thieves; the last handle drops the rest.
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<heist_deque::Owner<Box<i32>>>();
/// ```
///
/// ```compile_fail,E0277
/// fn copied<T: Clone>() {}
/// copied::<heist_deque::Owner<Box<i32>>>();
/// ```
pub struct Owner<W: Word> {
    shared: Arc<Shared<W>>,
    /// The array in use, spared a load.
    buffer: Cell<*mut Buffer>,
    /// A value that `top` had: at most the present one.
    top_seen: Cell<usize>,
}

// SAFETY: whoever holds the owner is the owner; moving it moves the role with
// the ordinary happens-before of a move, and items are `Send` by `Word`.
unsafe impl<W: Word> Send for Owner<W> {}

impl<W: Word> Owner<W> {
    /// Pushes an item. Never fails: a full array is replaced by one of twice
    /// the size, which costs a copy of the pointers.
    #[inline]
    pub fn push(&self, item: W) {
        let shared = &*self.shared;
        let bottom = shared.bottom.load(Ordering::Relaxed); // own write
        if distance(self.top_seen.get(), bottom) >= self.capacity() as isize {
            self.make_room(bottom);
        }
        self.array().write(bottom, item.into_word().as_ptr());
        // (1) Release: a thief that acquires this bottom sees the slot, what
        // the item points to, and the array that holds it.
        let order = fault::ordering("deque.push.bottom", Ordering::Release);
        shared.bottom.store(bottom.wrapping_add(1), order);
    }

    /// Pops the newest item, or returns `None` if thieves took them all.
    #[inline]
    pub fn pop(&self) -> Option<W> {
        let shared = &*self.shared;
        let bottom = shared.bottom.load(Ordering::Relaxed); // own write
        if bottom == self.top_seen.get() {
            // Every item was popped or stolen already; `top` never goes back.
            return None;
        }
        let bottom = bottom.wrapping_sub(1);
        shared.bottom.store(bottom, Ordering::Relaxed);
        // (2) Announce, then look: pairs with the fence in `steal`. Either this
        // load of top sees the thief's claim, or the thief sees this bottom.
        fault::fence("deque.pop.fence", Ordering::SeqCst);
        let top = shared.top.load(Ordering::Relaxed);
        let left = distance(top, bottom);
        if left > 0 {
            // Not the last item: by (2) no thief gets this far.
            return Some(self.take(bottom));
        }
        self.pop_last(top, bottom, left)
    }

    /// Decides the race for the last item, or restores an empty deque.
    fn pop_last(&self, top: usize, bottom: usize, left: isize) -> Option<W> {
        let shared = &*self.shared;
        let after = bottom.wrapping_add(1);
        let won = left == 0 && {
            // (3) One word decides: whoever moves top from this index owns the
            // item. SeqCst, as in the published proof; with (2) it also keeps a
            // later thief from acting on an older top. Relaxed is wrong where
            // slots are used again, but under the IMM memory model only, which
            // loom does not explore: no model notices.
            let order = fault::ordering("deque.pop.top", Ordering::SeqCst);
            shared
                .top
                .compare_exchange(top, after, order, Ordering::Relaxed)
                .is_ok()
        };
        // Won or lost, the deque is empty now and bottom equals top again.
        shared.bottom.store(after, Ordering::Relaxed);
        // (4) Acquire, as in `make_room`: slots will be used again on its word.
        self.top_seen.set(shared.top.load(Ordering::Acquire));
        won.then(|| self.take(bottom))
    }

    /// True if the deque held no item at some moment during the call.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.len() == 0
    }

    /// How many items the deque held at some moment during the call.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// How many items fit before the deque grows.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.array().capacity()
    }

    /// Another thief of this deque.
    #[must_use]
    pub fn thief(&self) -> Thief<W> {
        Thief {
            shared: Arc::clone(&self.shared),
        }
    }

    #[inline(always)]
    fn array(&self) -> &Buffer {
        // SAFETY: the array in use is freed by `Shared::drop` only, and
        // `self.shared` keeps that away.
        unsafe { &*self.buffer.get() }
    }

    /// The item at an index that by (2) or (3) is the owner's.
    #[inline(always)]
    fn take(&self, index: usize) -> W {
        let word = self.array().read(index);
        // SAFETY: an index below bottom was written by `push` with a word of
        // this type, and each index is claimed once, here or by a thief.
        unsafe { W::from_word(NonNull::new_unchecked(word)) }
    }

    /// Makes room for the item with index `bottom`: finds out how far the
    /// thieves have come, and grows if that is not enough.
    #[cold]
    fn make_room(&self, bottom: usize) {
        let shared = &*self.shared;
        // (4) Acquire: the slots that are about to be used again were read by
        // the thieves that moved top past them, with the release half of (5).
        let top = shared.top.load(Ordering::Acquire);
        self.top_seen.set(top);
        if distance(top, bottom) < self.capacity() as isize {
            return;
        }
        let larger = Box::into_raw(Box::new(self.array().grown(top, bottom)));
        let old = NonNull::from(self.array());
        // SAFETY: only the owner touches `retired`, and `Owner` is not Sync.
        shared
            .retired
            .with_mut(|retired| unsafe { &mut *retired }.push(old));
        self.buffer.set(larger);
        // (6) Release: a thief that acquires the new array sees its slots.
        let order = fault::ordering("deque.grow.buffer", Ordering::Release);
        shared.buffer.store(larger, order);
    }
}

impl<W: Word> fmt::Debug for Owner<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish()
    }
}

/// A thief's end of a deque: take the oldest item.
///
/// Thieves can be cloned and shared.
pub struct Thief<W: Word> {
    shared: Arc<Shared<W>>,
}

impl<W: Word> Thief<W> {
    /// Tries to take the oldest item.
    ///
    /// Takes no lock. [`Steal::Retry`] says that the item went to somebody
    /// else in the meantime, so that the deque as a whole made progress.
    #[inline]
    pub fn steal(&self) -> Steal<W> {
        let shared = &*self.shared;
        // Acquire, so that the loads below see at least what the thief that
        // moved top here saw.
        let top = shared.top.load(Ordering::Acquire);
        // (2) Pairs with the fence in `pop`: see there.
        fault::fence("deque.steal.fence", Ordering::SeqCst);
        // (1) Acquire: pairs with the release in `push`.
        let order = fault::ordering("deque.steal.bottom", Ordering::Acquire);
        let bottom = shared.bottom.load(order);
        if distance(top, bottom) <= 0 {
            return Steal::Empty;
        }
        // (6) Acquire: pairs with the release in `make_room`. An array that has
        // been replaced meanwhile still holds the right word at `top`, because
        // the owner does not write to it any more, or the claim below fails.
        let order = fault::ordering("deque.steal.buffer", Ordering::Acquire);
        let buffer = shared.buffer.load(order);
        // SAFETY: no array is freed before `Shared::drop`.
        let word = unsafe { &*buffer }.read(top);
        // (3) One word decides, and (5) its release half lets the owner use the
        // slot again. Relaxed is wrong under the IMM memory model only, which
        // loom does not explore: no model notices.
        let order = fault::ordering("deque.steal.top", Ordering::SeqCst);
        let claim = shared
            .top
            .compare_exchange(top, top.wrapping_add(1), order, Ordering::Relaxed);
        if claim.is_err() {
            return Steal::Retry;
        }
        // SAFETY: `top` is below a bottom that `push` wrote, so the slot held a
        // word of this type; the claim succeeded, so it is still that word and
        // nobody else's.
        Steal::Success(unsafe { W::from_word(NonNull::new_unchecked(word)) })
    }

    /// True if the deque held no item at some moment during the call.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.len() == 0
    }

    /// How many items the deque held at some moment during the call.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.len()
    }
}

impl<W: Word> Clone for Thief<W> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<W: Word> fmt::Debug for Thief<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thief").field("len", &self.len()).finish()
    }
}

impl<W: Word> Shared<W> {
    #[inline]
    fn len(&self) -> usize {
        // Relaxed: a hint, out of date when it returns. A sleeper that relies
        // on it runs its barrier before.
        let top = self.top.load(Ordering::Relaxed);
        let bottom = self.bottom.load(Ordering::Relaxed);
        distance(top, bottom).max(0) as usize
    }
}

impl<W: Word> Drop for Shared<W> {
    fn drop(&mut self) {
        // Nobody else is left: the last `Arc` ordered everything before this.
        // SAFETY: `buffer` came from `Box::into_raw` and is not in `retired`.
        let buffer = unsafe { Box::from_raw(self.buffer.load(Ordering::Relaxed)) };
        let bottom = self.bottom.load(Ordering::Relaxed);
        let mut index = self.top.load(Ordering::Relaxed);
        while index != bottom {
            let word = buffer.read(index);
            // SAFETY: an unclaimed index below bottom holds a word of this type.
            drop(unsafe { W::from_word(NonNull::new_unchecked(word)) });
            index = index.wrapping_add(1);
        }
        self.retired.with_mut(|retired| {
            // SAFETY: `&mut self`: nobody else looks.
            for old in unsafe { &mut *retired }.drain(..) {
                // SAFETY: each came from `Box::into_raw`, once.
                drop(unsafe { Box::from_raw(old.as_ptr()) });
            }
        });
    }
}
