//! The state of the split deque: the words that its owner and its thieves share.
//!
//! The jobs lie in an array, oldest first. Below the *split point* they are public, and are taken
//! under a lock; above it they are private to the owner, which pushes and takes back with plain
//! stores and one look at the split point. A thief that finds only private jobs raises the split
//! point to the maximum and asks the owner to publish; if the owner does not answer, a heavy
//! barrier publishes the jobs without it.
//!
//! After the split deque of Lace (van Dijk and van de Pol, "Lace: non-blocking split deque for
//! work-stealing", Euro-Par 2014 workshops), with the claim of Cilk-5's THE protocol (Frigo,
//! Leiserson and Randall, PLDI 1998) made through an asymmetric barrier. `README.md` beside this
//! crate has the argument; the numbers in parentheses below are its edges.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::ptr::NonNull;

use heist_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use heist_sync::process::Generation;
use heist_sync::{fault, Barrier, BarrierMode, CachePadded};

use crate::slot::{Slot, Slots};

/// The split point that makes everything public.
pub(crate) const ALL: usize = usize::MAX;

/// States of the lock.
const FREE: u32 = 0;
const HELD: u32 = 1;

/// States of a request. Only the holder of the lock makes one.
pub(crate) const NONE: u32 = 0;
/// The owner is asked to publish its jobs.
pub(crate) const ASKED: u32 = 1;
/// The owner is publishing.
pub(crate) const ANSWERING: u32 = 2;
/// The owner has published.
pub(crate) const ANSWERED: u32 = 3;

/// The words that owner and thieves share, on one cache line: the owner reads the first two at each
/// push and pop, and they change only when somebody steals.
#[repr(C)]
pub(crate) struct Hot<K: 'static> {
    /// Jobs at lower addresses are public.
    pub(crate) split: AtomicUsize,
    /// The poll word: a push at this address or above tells the owner to service the deque.
    pub(crate) poll: AtomicUsize,
    /// The oldest job that nobody has taken, or the vacant slot behind the last. Changed under the
    /// lock.
    pub(crate) top: AtomicPtr<Slot<K>>,
    pub(crate) lock: AtomicU32,
    pub(crate) request: AtomicU32,
}

/// The words that only the owner touches.
pub(crate) struct Local<K: 'static> {
    /// The slot behind the newest job.
    pub(crate) tail: Cell<NonNull<Slot<K>>>,
    /// The slot at which the owner next checks whether there is room for a job that could go to the
    /// injector instead.
    pub(crate) mark: Cell<usize>,
}

pub(crate) fn address<K>(slot: NonNull<Slot<K>>) -> usize {
    slot.as_ptr() as usize
}

/// The state that the owner and the thieves of a deque share.
#[repr(C)]
pub(crate) struct State<K: 'static> {
    pub(crate) hot: CachePadded<Hot<K>>,
    pub(crate) local: CachePadded<Local<K>>,
    pub(crate) slots: Slots<K>,
    /// The address behind the last slot that may hold a job. One more slot follows, the spare: the
    /// owner writes there before it finds that there is no room, and no thief takes from it.
    /// Changed by the owner, and lowered under the lock.
    pub(crate) end: AtomicUsize,
    pub(crate) barrier: Barrier,
    /// True if the system has no heavy barrier, or has withdrawn it: from the next time that the
    /// owner moves the split point, everything is public for good. A thief whose barrier is refused
    /// sets it too.
    pub(crate) fenced: AtomicBool,
    pub(crate) born: Generation,
}

// SAFETY: slots are handed over by the protocol, and what their bytes mean is their users'
// business, whose calls are unsafe.
unsafe impl<K: Sync> Send for State<K> {}
// SAFETY: the atomics may be shared, and `local` is used by the one `Owner` only.
unsafe impl<K: Sync> Sync for State<K> {}

impl<K> State<K> {
    /// As [`Deque::new`](crate::Deque::new).
    pub(crate) fn new(slots: usize, barrier: Barrier) -> io::Result<Self> {
        assert!(
            slots > 0,
            "a deque of 0 slots was asked for; accepted is 1 or more"
        );
        let slots = Slots::new(slots)?;
        let first = slots.first();
        // SAFETY: there are so many, and one behind them.
        let end = address(unsafe { first.add(slots.few()) });
        let fenced = barrier.mode() == BarrierMode::Fence;
        let state = Self {
            hot: CachePadded::new(Hot {
                split: AtomicUsize::new(if fenced { ALL } else { address(first) }),
                poll: AtomicUsize::new(end),
                top: AtomicPtr::new(first.as_ptr()),
                lock: AtomicU32::new(FREE),
                request: AtomicU32::new(NONE),
            }),
            local: CachePadded::new(Local {
                tail: Cell::new(first),
                mark: Cell::new(address(first)),
            }),
            slots,
            end: AtomicUsize::new(end),
            barrier,
            fenced: AtomicBool::new(fenced),
            born: Generation::present(),
        };
        Ok(state)
    }

    pub(crate) fn try_lock(&self) -> bool {
        let lock = &self.hot.lock;
        // (2) Acquire: pairs with the release in `unlock`.
        let order = fault::ordering("deque.try_lock", Ordering::Acquire);
        lock.load(Ordering::Relaxed) == FREE
            && lock
                .compare_exchange(FREE, HELD, order, Ordering::Relaxed)
                .is_ok()
    }

    pub(crate) fn unlock(&self) {
        // (2) Release: the next holder sees what this one did.
        let order = fault::ordering("deque.unlock", Ordering::Release);
        self.hot.lock.store(FREE, order);
    }

    pub(crate) fn top(&self) -> NonNull<Slot<K>> {
        // SAFETY: only slots are stored.
        unsafe { NonNull::new_unchecked(self.hot.top.load(Ordering::Relaxed)) }
    }

    /// The address behind the last slot that may hold a job.
    pub(crate) fn end(&self) -> usize {
        // Relaxed: the owner's own write, or the lock orders it.
        self.end.load(Ordering::Relaxed)
    }

    /// The number of slots, not counting the spare.
    pub(crate) fn len(&self) -> usize {
        (self.end() - address(self.slots.first())) / size_of::<Slot<K>>()
    }

    pub(crate) fn set_len(&self, len: usize) {
        // SAFETY: there are so many slots, and one behind them.
        let end = unsafe { self.slots.first().add(len) };
        // (8) Release: a thief that finds that a slot is no longer the spare sees what the owner
        // did there before.
        // Equivalent (deque.set_len): to the models, which have a heavy barrier: a thief that finds
        // the slot below the split point has met with the owner since it was emptied. Without such
        // a barrier everything is below it.
        let order = fault::ordering("deque.set_len", Ordering::Release);
        self.end.store(address(end), order);
    }

    /// Makes the jobs below `end` public, because a thief wants some. The owner calls it while it
    /// may move the split point: under the lock, or while it answers.
    pub(crate) fn publish(&self, end: NonNull<Slot<K>>) {
        let lowest = if fault::planted("deque.publish.lowest") {
            end
        } else {
            self.top()
        };
        self.set_split(end.max(lowest));
    }

    /// Makes the newer half of the jobs below `end` private again, because no thief has come for
    /// the public ones. To be called as `publish` is.
    pub(crate) fn withdraw_half(&self, end: NonNull<Slot<K>>) {
        let top = self.top();
        let jobs = (address(end) - address(top)) / size_of::<Slot<K>>();
        // SAFETY: at most `end`.
        self.set_split(unsafe { top.add(jobs.div_ceil(2)) });
    }

    pub(crate) fn set_split(&self, slot: NonNull<Slot<K>>) {
        let split = if self.is_fenced() { ALL } else { address(slot) };
        // Relaxed: only the owner relies on it without the lock; thieves look under the lock.
        self.hot.split.store(split, Ordering::Relaxed);
    }

    pub(crate) fn is_fenced(&self) -> bool {
        // Relaxed: a thread that misses the change goes on as before.
        self.fenced.load(Ordering::Relaxed)
    }

    /// True if this is the spare. For thieves, under the lock.
    pub(crate) fn is_spare(&self, slot: NonNull<Slot<K>>) -> bool {
        // (8) Acquire: pairs with the release in `set_len`.
        // Equivalent (deque.spare.end): to the models, as in `set_len`.
        let order = fault::ordering("deque.spare.end", Ordering::Acquire);
        address(slot) >= self.end.load(order) && !fault::planted("deque.spare")
    }

    /// Forgets the signal: the next push asks for service only if there is no slot for it.
    pub(crate) fn reset_poll(&self) {
        self.hot.poll.store(self.end(), Ordering::Relaxed);
    }

    /// True if the deque held no job at some moment during the call.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a hint. A sleeper that relies on it runs its barrier before.
        // SAFETY: slots live as long as the deque.
        unsafe { self.top().as_ref() }
            .kind(Ordering::Relaxed)
            .is_none()
    }
}

impl<K> fmt::Debug for State<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque")
            .field("slots", &self.len())
            .field("is_empty", &self.is_empty())
            .finish()
    }
}
