//! The split deque with a trap: the owner's side without fences.
//!
//! The jobs of a deque lie in an array, oldest first. Below the *trap* they are
//! public and change hands under a lock; from the trap on they are the owner's,
//! who pushes and takes back with plain stores and one look at the trap. A thief
//! that finds only private jobs sets the trap as high as it goes and asks the
//! owner to publish; if the owner does not come by, a heavy barrier does it
//! without the owner.
//!
//! After the split deque of Lace (van Dijk and van de Pol, "Lace: non-blocking
//! split deque for work-stealing", Euro-Par 2014 workshops), with the claim of
//! Cilk-5's THE protocol (Frigo, Leiserson and Randall, PLDI 1998) made through
//! an asymmetric barrier. `README.md` beside this crate has the argument; the
//! numbers in parentheses below are its edges.

use crate::slot::{Slot, Slots};
use heist_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use heist_sync::process::Generation;
use heist_sync::{fault, hint, thread, Backoff, Barrier, BarrierMode, CachePadded, Reserved};
use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// What an attempt to steal brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Steal<T> {
    /// There was nothing to take, or nothing that the thief may ask for now.
    Empty,
    /// Somebody else was at it; another try may succeed.
    Retry,
    /// The oldest job.
    Success(T),
}

/// The trap that makes everything public, or calls the owner.
const ALL: usize = usize::MAX;

/// States of the lock.
const FREE: u32 = 0;
const HELD: u32 = 1;

/// States of a request. Only the holder of the lock makes one.
const NONE: u32 = 0;
/// The owner is asked to publish its jobs.
const ASKED: u32 = 1;
/// The owner is at it.
const ANSWERING: u32 = 2;
/// It has.
const ANSWERED: u32 = 3;

/// After so many jobs that could go elsewhere, the owner looks whether there is room.
const STEP: usize = 1024;

/// How often a thief looks for the owner's answer before it does without: about
/// as long as the barrier takes.
const PATIENCE: u32 = if cfg!(any(heist_loom, heist_shuttle)) {
    1
} else {
    100
};

/// What owner and thieves look at all the time, on one cache line: the owner
/// reads the first two at each push and pop, and they change only when somebody
/// steals.
#[repr(C)]
struct Hot<K: 'static> {
    /// Jobs at lower addresses are public.
    trap: AtomicUsize,
    /// A push at this address or above calls `push_slowly`.
    limit: AtomicUsize,
    /// The oldest job that nobody has taken, or the vacant slot behind the last.
    /// Changed under the lock.
    top: AtomicPtr<Slot<K>>,
    lock: AtomicU32,
    request: AtomicU32,
}

/// What only the owner touches.
struct Own<K: 'static> {
    /// The slot behind the newest job.
    tail: Cell<NonNull<Slot<K>>>,
    /// Where the owner next asks whether there is room for a job that may go elsewhere.
    mark: Cell<usize>,
}

/// A deque: what its [`Owner`] and its [`Thief`]s, which are views of it, share.
///
/// What is left in it when it goes is forgotten.
#[repr(C)]
pub struct Deque<K: 'static> {
    hot: CachePadded<Hot<K>>,
    own: CachePadded<Own<K>>,
    slots: Slots<K>,
    /// The address behind the last slot that may hold a job: there is one more, into which
    /// the owner writes before it finds that there is no room, and which no thief takes
    /// from. Changed by the owner, and lowered under the lock.
    end: AtomicUsize,
    barrier: Barrier,
    /// There is no heavy barrier, or no more: everything is public for good, from
    /// the next time that the owner sets the trap. A thief that the barrier was
    /// refused to may switch it on.
    fenced: AtomicBool,
    born: Generation,
}

// SAFETY: slots are handed over by the protocol, and what their bytes mean is
// their users' business, whose calls are unsafe.
unsafe impl<K: Sync> Send for Deque<K> {}
// SAFETY: the atomics may be shared, and `own` is used by the one `Owner` only.
unsafe impl<K: Sync> Sync for Deque<K> {}

fn address<K>(slot: NonNull<Slot<K>>) -> usize {
    slot.as_ptr() as usize
}

impl<K> Deque<K> {
    /// The memory with which a deque begins.
    pub const LEAST_BYTES: usize = Reserved::PIECE;

    /// A deque with up to `slots` places, or fewer if the process may not have so many
    /// addresses.
    ///
    /// The addresses are reserved. A deque begins with 64 KiB of memory and takes more,
    /// 64 bytes a place, when it needs them.
    ///
    /// # Errors
    ///
    /// Fails if the system has no memory for the beginning.
    ///
    /// # Panics
    ///
    /// Panics if `slots` is 0.
    pub fn new(slots: usize, barrier: Barrier) -> io::Result<Self> {
        assert!(
            slots > 0,
            "a deque of 0 slots was asked for; accepted is 1 or more"
        );
        let slots = Slots::new(slots)?;
        let first = slots.first();
        // SAFETY: there are so many, and one behind them.
        let end = address(unsafe { first.add(slots.few()) });
        let fenced = barrier.mode() == BarrierMode::Fence;
        let deque = Self {
            hot: CachePadded::new(Hot {
                trap: AtomicUsize::new(if fenced { ALL } else { address(first) }),
                limit: AtomicUsize::new(end),
                top: AtomicPtr::new(first.as_ptr()),
                lock: AtomicU32::new(FREE),
                request: AtomicU32::new(NONE),
            }),
            own: CachePadded::new(Own {
                tail: Cell::new(first),
                mark: Cell::new(address(first)),
            }),
            slots,
            end: AtomicUsize::new(end),
            barrier,
            fenced: AtomicBool::new(fenced),
            born: Generation::present(),
        };
        Ok(deque)
    }

    /// The owner's end.
    ///
    /// # Safety
    ///
    /// 1. One thread at a time uses it. When another takes over, everything that
    ///    the former did happens before that.
    #[inline(always)]
    #[must_use]
    pub unsafe fn owner(&self) -> &Owner<K> {
        // SAFETY: transparent.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// The thieves' end.
    #[inline(always)]
    #[must_use]
    pub fn thief(&self) -> &Thief<K> {
        // SAFETY: transparent.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    fn try_lock(&self) -> bool {
        let lock = &self.hot.lock;
        // (2) Acquire: pairs with the release in `unlock`.
        let order = fault::ordering("deque.try_lock", Ordering::Acquire);
        lock.load(Ordering::Relaxed) == FREE
            && lock
                .compare_exchange(FREE, HELD, order, Ordering::Relaxed)
                .is_ok()
    }

    fn unlock(&self) {
        // (2) Release: the next holder sees what this one did.
        let order = fault::ordering("deque.unlock", Ordering::Release);
        self.hot.lock.store(FREE, order);
    }

    fn top(&self) -> NonNull<Slot<K>> {
        // SAFETY: only slots are stored.
        unsafe { NonNull::new_unchecked(self.hot.top.load(Ordering::Relaxed)) }
    }

    /// See the field.
    fn end(&self) -> usize {
        // Relaxed: the owner's own write, or the lock orders it.
        self.end.load(Ordering::Relaxed)
    }

    /// How many slots there are, without the one behind the last.
    fn len(&self) -> usize {
        (self.end() - address(self.slots.first())) / size_of::<Slot<K>>()
    }

    fn set_len(&self, len: usize) {
        // SAFETY: there are so many slots, and one behind them.
        let end = unsafe { self.slots.first().add(len) };
        self.end.store(address(end), Ordering::Relaxed);
    }

    /// Makes the jobs below `end` public, because a thief wants some. Called by
    /// the owner with the right to move the trap: under the lock, or answering.
    fn publish(&self, end: NonNull<Slot<K>>) {
        let lowest = if fault::planted("deque.publish.lowest") {
            end
        } else {
            self.top()
        };
        self.set_trap(end.max(lowest));
    }

    /// Makes the newer half of the jobs below `end` private again, because no
    /// thief has come for the one that was there. Called as `publish` is.
    fn withdraw_half(&self, end: NonNull<Slot<K>>) {
        let top = self.top();
        let jobs = (address(end) - address(top)) / size_of::<Slot<K>>();
        // SAFETY: at most `end`.
        self.set_trap(unsafe { top.add(jobs.div_ceil(2)) });
    }

    fn set_trap(&self, slot: NonNull<Slot<K>>) {
        let trap = if self.is_fenced() { ALL } else { address(slot) };
        // Relaxed: the owner is who relies on it; thieves look under the lock.
        self.hot.trap.store(trap, Ordering::Relaxed);
    }

    fn is_fenced(&self) -> bool {
        // Relaxed: whoever misses that it was switched on goes on as before.
        self.fenced.load(Ordering::Relaxed)
    }

    /// True if this is the slot behind the last.
    fn is_spare(&self, slot: NonNull<Slot<K>>) -> bool {
        address(slot) >= self.end() && !fault::planted("deque.spare")
    }

    /// The next push is nothing special, unless there is no slot for it.
    fn disarm(&self) {
        self.hot.limit.store(self.end(), Ordering::Relaxed);
    }
}

/// The owner's end of a deque.
///
/// The owner writes a job into the [`vacant`](Self::vacant) slot and publishes
/// it, and later retracts it, unless a thief has taken it.
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<heist_deque::Owner<u8>>();
/// ```
///
/// ```compile_fail,E0277
/// fn copied<T: Clone>() {}
/// copied::<heist_deque::Owner<u8>>();
/// ```
#[repr(transparent)]
pub struct Owner<K: 'static> {
    deque: Deque<K>,
    /// There is one at a time: neither `Send` nor `Sync`.
    alone: PhantomData<*const ()>,
}

impl<K> Owner<K> {
    /// The slot for the next job. Its room is the owner's until it is published.
    #[inline(always)]
    #[must_use]
    pub fn vacant(&self) -> NonNull<Slot<K>> {
        self.deque.own.tail.get()
    }

    /// True if there is certainly a slot for a job that could go elsewhere. If not, the
    /// owner may ask to [`make_room`](Self::make_room).
    #[inline(always)]
    #[must_use]
    pub fn has_room(&self) -> bool {
        address(self.deque.own.tail.get()) < self.deque.own.mark.get()
    }

    /// Room for some more jobs that could go elsewhere, which leave `reserve` slots to
    /// those that cannot. False if there is none.
    pub fn make_room(&self, reserve: usize) -> bool {
        let deque = &self.deque;
        let size = size_of::<Slot<K>>();
        let used = (address(deque.own.tail.get()) - address(deque.slots.first())) / size;
        let wanted = (used + STEP).min(deque.slots.most().saturating_sub(reserve));
        while deque.len() < wanted && self.grow() {}
        let len = wanted.min(deque.len());
        deque
            .own
            .mark
            .set(address(deque.slots.first()) + len * size);
        self.has_room()
    }

    /// How many jobs wait in the deque: an estimate.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let below = address(self.deque.top());
        address(self.deque.own.tail.get()).saturating_sub(below) / size_of::<Slot<K>>()
    }

    /// More slots, if the system has memory for them.
    fn grow(&self) -> bool {
        let deque = &self.deque;
        let present = deque.len();
        let len = deque.slots.grow(present);
        deque.set_len(len);
        len > present
    }

    /// The deque is empty: gives back the memory of a burst.
    pub fn shrink(&self) {
        let deque = &self.deque;
        let (present, few) = (deque.len(), deque.slots.few());
        // SAFETY: there are so many slots.
        let top_of_few = unsafe { deque.slots.first().add(few) };
        if present < 4 * few || deque.own.tail.get() >= top_of_few {
            return;
        }
        self.lock();
        // SAFETY: what is above the tail is vacant, and only the owner fills slots. Who still
        // looks there for a job, by an old `top`, reads zero, which is vacant.
        let len = unsafe { deque.slots.shrink(present) };
        deque.set_len(len);
        deque.unlock();
        deque.own.mark.set(0);
        // The end is elsewhere. As if somebody had called: the next push will see.
        deque.hot.limit.store(0, Ordering::Relaxed);
    }

    /// Calls `op` while no thief is at this deque.
    pub fn locked<R>(&self, op: impl FnOnce() -> R) -> R {
        self.lock();
        let result = op();
        self.deque.unlock();
        result
    }

    /// Waits for the lock.
    fn lock(&self) {
        let mut patience = Patience::new(self.deque.born);
        while !self.deque.try_lock() {
            self.answer(self.deque.own.tail.get());
            patience.wait();
        }
    }

    /// Publishes the job in `slot`. From now on thieves may take it. True if
    /// somebody has [called](Thief::call) the owner, or it has run out of slots: it
    /// must [`attend`](Self::attend) to that now.
    ///
    /// # Safety
    ///
    /// 1. It is the vacant slot, and its room holds what `kind` says.
    /// 2. The job may be taken and run by another thread, until it is retracted.
    #[inline(always)]
    #[must_use]
    pub unsafe fn publish(&self, slot: NonNull<Slot<K>>, kind: &'static K) -> bool {
        debug_assert_eq!(slot, self.deque.own.tail.get());
        // SAFETY: slots live as long as the deque.
        let place = unsafe { slot.as_ref() };
        // (1) Release: a thief that acquires the kind sees the room.
        let order = fault::ordering("deque.publish.kind", Ordering::Release);
        place.set_kind(kind, order);
        // SAFETY: there is one slot behind the last.
        self.deque.own.tail.set(unsafe { slot.add(1) });
        // (7) Store, then look: pairs with the caller's heavy barrier after `call`.
        self.deque.barrier.light("deque.publish.light");
        address(slot) >= self.deque.hot.limit.load(Ordering::Relaxed)
    }

    /// True if somebody has [called](Thief::call) the owner, or waits for its answer: it
    /// should [`attend`](Self::attend), if it has not pushed for long.
    #[inline(always)]
    #[must_use]
    pub fn is_called(&self) -> bool {
        // Relaxed: a hint. What a caller relies on is the next push.
        self.deque.hot.limit.load(Ordering::Relaxed) == 0
    }

    /// True if the job in `slot` is the newest.
    #[inline(always)]
    #[must_use]
    pub fn is_newest(&self, slot: NonNull<Slot<K>>) -> bool {
        // A difference, because the compiler would otherwise keep the address of
        // the slot above in a register of its own over the closure of a join.
        let used = address(self.deque.own.tail.get()).wrapping_sub(address(slot));
        used == size_of::<Slot<K>>()
    }

    /// Takes the newest job back, which lies in `slot`. False if a thief has it:
    /// then the slot stays in use until it is [reclaimed](Self::reclaim).
    ///
    /// # Safety
    ///
    /// 1. The job in `slot` was published and is the newest.
    #[inline(always)]
    pub unsafe fn retract(&self, slot: NonNull<Slot<K>>) -> bool {
        // SAFETY: slots live as long as the deque.
        let place = unsafe { slot.as_ref() };
        place.clear_kind(Ordering::Relaxed);
        self.deque.own.tail.set(slot);
        // (3) Announce, then look: pairs with the heavy barrier in `expose`.
        // Either this look sees the trap, or the thief sees that the job is gone.
        self.deque.barrier.light("deque.retract.light");
        address(slot) >= self.deque.hot.trap.load(Ordering::Relaxed) || self.retract_slowly(slot)
    }

    /// A job that is public, or that a thief has called us for.
    #[cold]
    #[inline(never)]
    fn retract_slowly(&self, slot: NonNull<Slot<K>>) -> bool {
        let deque = &self.deque;
        let mut patience = Patience::new(deque.born);
        while !deque.try_lock() {
            // Answering gives the thief older jobs, so that this one is ours.
            if self.answer(slot) && address(slot) >= deque.hot.trap.load(Ordering::Relaxed) {
                return true;
            }
            patience.wait();
        }
        let is_ours = slot >= deque.top();
        if is_ours {
            deque.withdraw_half(slot);
        } else {
            // SAFETY: there is one slot behind the last.
            self.deque.own.tail.set(unsafe { slot.add(1) });
        }
        deque.unlock();
        is_ours
    }

    /// The job in `slot`, which a thief took, is done, and those above it are
    /// gone: the slot is vacant again.
    ///
    /// # Safety
    ///
    /// 1. Nobody uses the slot, or one above it, any more.
    pub unsafe fn reclaim(&self, slot: NonNull<Slot<K>>) {
        let deque = &self.deque;
        let mut patience = Patience::new(deque.born);
        while !deque.try_lock() {
            self.answer(slot);
            patience.wait();
        }
        deque.hot.top.store(slot.as_ptr(), Ordering::Relaxed);
        // A theft predicts a theft: the next job is public at once.
        // SAFETY: there is one slot behind the last.
        deque.set_trap(unsafe { slot.add(1) });
        self.deque.own.tail.set(slot);
        deque.unlock();
    }

    /// Retracts the newest job if it is of a kind that is wanted. `None` also if
    /// thieves have taken it: then they have taken all older ones.
    ///
    /// # Safety
    ///
    /// 1. A thief has no more use for the slot of such a job when its claim has
    ///    returned.
    pub unsafe fn pop_if(
        &self,
        wanted: impl Fn(&'static K) -> bool,
    ) -> Option<(&'static K, NonNull<Slot<K>>)> {
        let (kind, slot) = self.newest_if(self.deque.own.tail.get(), &wanted)?;
        // SAFETY: it is the newest.
        if unsafe { self.retract(slot) } {
            return Some((kind, slot));
        }
        // Taken, as is all below it: what is wanted there is free again.
        let mut tail = slot;
        while let Some((_, below)) = self.newest_if(tail, &wanted) {
            // SAFETY: slots live as long as the deque.
            unsafe { below.as_ref() }.clear_kind(Ordering::Relaxed);
            tail = below;
        }
        // SAFETY: by 1.
        unsafe { self.reclaim(tail) };
        None
    }

    /// The slot below `tail`, if its job is wanted.
    fn newest_if(
        &self,
        tail: NonNull<Slot<K>>,
        wanted: &impl Fn(&'static K) -> bool,
    ) -> Option<(&'static K, NonNull<Slot<K>>)> {
        if tail == self.deque.slots.first() {
            return None;
        }
        // SAFETY: not the first, so there is one below.
        let slot = unsafe { tail.sub(1) };
        // Relaxed: own write. SAFETY: slots live as long as the deque.
        let kind = unsafe { slot.as_ref() }.kind(Ordering::Relaxed)?;
        wanted(kind).then_some((kind, slot))
    }

    /// Takes the oldest job, as a thief would.
    ///
    /// # Safety
    ///
    /// As for [`Thief::steal`].
    pub unsafe fn take_oldest<R>(
        &self,
        claim: impl FnOnce(&'static K, NonNull<Slot<K>>) -> R,
    ) -> Option<R> {
        let deque = &self.deque;
        self.lock();
        let top = deque.top();
        // SAFETY: slots live as long as the deque. Relaxed: own write.
        let kind = unsafe { top.as_ref() }.kind(Ordering::Relaxed);
        let taken = kind.map(|kind| {
            // SAFETY: `top` is a job, so there is a slot behind it.
            let next = unsafe { top.add(1) };
            // It is public now: the pop that looks for it will ask.
            let trap = deque.hot.trap.load(Ordering::Relaxed).max(address(next));
            if !fault::planted("deque.take_oldest.trap") {
                deque.hot.trap.store(trap, Ordering::Relaxed);
            }
            deque.hot.top.store(next.as_ptr(), Ordering::Relaxed);
            claim(kind, top)
        });
        deque.unlock();
        taken
    }

    /// Somebody has called: makes the jobs public, and is ready for the next
    /// call. Whoever calls after this is heard at the next push.
    ///
    /// False if the job that was just published had no slot, and none can be had: it is
    /// not in the deque then, and no thief has it.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn attend(&self) -> bool {
        let deque = &self.deque;
        let tail = deque.own.tail.get();
        let stays = address(tail) <= deque.end() || self.grow();
        if !stays {
            // (8) Where no thief takes it from.
            // SAFETY: the newest job lies there.
            let spare = unsafe { tail.sub(1) };
            // SAFETY: slots live as long as the deque.
            unsafe { spare.as_ref() }.clear_kind(Ordering::Relaxed);
            deque.own.tail.set(spare);
        }
        deque.disarm();
        self.make_public();
        stays
    }

    fn make_public(&self) {
        let deque = &self.deque;
        let mut patience = Patience::new(deque.born);
        loop {
            if deque.try_lock() {
                if deque.hot.trap.load(Ordering::Relaxed) != ALL {
                    deque.publish(self.deque.own.tail.get());
                }
                deque.unlock();
                return;
            }
            // A thief holds the lock. It may be about to ask: answer, for we may
            // be silent for long afterwards. If it needs no answer, it takes what
            // it wants.
            if self.answer(self.deque.own.tail.get())
                || deque.hot.trap.load(Ordering::Relaxed) == ALL
            {
                return;
            }
            patience.wait();
        }
    }

    /// Publishes the jobs below `end` if a thief asks for it.
    fn answer(&self, end: NonNull<Slot<K>>) -> bool {
        let hot = &self.deque.hot;
        // (5) One word decides between this answer and the thief's end of
        // patience. (4) Acquire: the present top, and no trap of before.
        let order = fault::ordering("deque.answer.asked", Ordering::Acquire);
        if hot.trap.load(Ordering::Relaxed) != ALL
            || hot.request.load(Ordering::Relaxed) != ASKED
            || hot
                .request
                .compare_exchange(ASKED, ANSWERING, order, Ordering::Relaxed)
                .is_err()
        {
            return false;
        }
        self.deque.publish(end);
        // (6) Release: the thief sees the new trap, and that what we retracted is
        // gone.
        let order = fault::ordering("deque.answer", Ordering::Release);
        hot.request.store(ANSWERED, order);
        true
    }
}

impl<K> fmt::Debug for Deque<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque")
            .field("slots", &self.len())
            .field("is_empty", &self.thief().is_empty())
            .finish()
    }
}

impl<K> fmt::Debug for Owner<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.deque).finish()
    }
}

/// The thieves' end of a deque: take the oldest job.
#[repr(transparent)]
pub struct Thief<K: 'static> {
    deque: Deque<K>,
}

impl<K> Thief<K> {
    /// Tries to take the oldest job.
    ///
    /// `claim` is told its kind and its slot; it runs under the deque's lock, so
    /// it should only copy what the thief needs of a job that nobody waits for.
    /// The slot of a job that its owner waits for stays the thief's until it lets
    /// the owner know.
    ///
    /// If all jobs are private, the owner is asked for some, provided that
    /// `may_ask` says so. The answer comes at the owner's next push or pop, or
    /// the thief forces it after some microseconds.
    ///
    /// # Safety
    ///
    /// 1. `claim` treats the slot as its kind demands.
    pub unsafe fn steal<R>(
        &self,
        may_ask: impl FnOnce() -> bool,
        claim: impl FnOnce(&'static K, NonNull<Slot<K>>) -> R,
    ) -> Steal<R> {
        let deque = &self.deque;
        let hot = &deque.hot;
        if self.is_empty() {
            // Hungry: the next push shall be public at once.
            if !deque.is_fenced() && hot.limit.load(Ordering::Relaxed) != 0 && may_ask() {
                hot.limit.store(0, Ordering::Relaxed);
            }
            return Steal::Empty;
        }
        let is_private = |top| hot.trap.load(Ordering::Relaxed) <= address(top);
        let asks = is_private(deque.top());
        if asks && !may_ask() {
            return Steal::Empty;
        }
        if !deque.try_lock() {
            return Steal::Retry;
        }
        let top = deque.top();
        let stolen = if is_private(top) && !(asks && !self.is_empty() && self.expose(top)) {
            Steal::Empty
        } else {
            // (1) Acquire: pairs with the release in `publish`.
            let order = fault::ordering("deque.steal.kind", Ordering::Acquire);
            // SAFETY: slots live as long as the deque.
            match unsafe { top.as_ref() }.kind(order) {
                // (8) Not from the slot behind the last, which the owner may clear.
                Some(kind)
                    if (!is_private(top) || fault::planted("deque.steal.recheck"))
                        && !deque.is_spare(top) =>
                {
                    // SAFETY: `top` is a job, so there is a slot behind it.
                    let next = unsafe { top.add(1) };
                    hot.top.store(next.as_ptr(), Ordering::Relaxed);
                    Steal::Success(claim(kind, top))
                }
                _ => Steal::Empty,
            }
        };
        deque.unlock();
        stolen
    }

    /// Makes the jobs of a silent owner public. Called under the lock. False if
    /// that cannot be done.
    #[cold]
    fn expose(&self, top: NonNull<Slot<K>>) -> bool {
        let deque = &self.deque;
        let hot = &deque.hot;
        let answered = || {
            // (6) Acquire: pairs with the release in `answer`.
            let order = fault::ordering("deque.expose.answered", Ordering::Acquire);
            hot.request.load(order) == ANSWERED
        };
        // (4) Release: who answers comes after all that thieves did before.
        let order = fault::ordering("deque.expose.asked", Ordering::Release);
        hot.request.store(ASKED, order);
        // Relaxed: an owner that sees the trap and not yet the request is as good as
        // silent, until it looks again.
        hot.trap.store(ALL, Ordering::Relaxed);
        hot.limit.store(0, Ordering::Relaxed);
        let mut exposed = true;
        if !(0..PATIENCE).any(|_| {
            // Looks first: loom lets no thread miss after a pause what came before it.
            let answered = answered();
            if !answered {
                hint::spin_loop();
            }
            answered
        }) {
            // (3) Every pop from now on sees the trap; of every earlier one, we
            // see that its job is gone.
            let ordered =
                deque.barrier.heavy("deque.expose.heavy") || fault::planted("deque.expose.refused");
            // (5) Closes the request, unless the owner is answering it. Relaxed: our own
            // store is what it replaces, and of an answer `answered` tells.
            let closed = hot
                .request
                .compare_exchange(ASKED, NONE, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
            if !closed {
                while !answered() {
                    hint::spin_loop();
                    thread::yield_now();
                }
            } else if !ordered {
                // The system has withdrawn its barrier. Nobody relied on this
                // trap yet; take it back. The limit stays: at its next push the
                // owner sets a trap on which everybody can rely, for good.
                let remembers = !fault::planted("deque.expose.fenced");
                deque.fenced.store(remembers, Ordering::Relaxed);
                hot.trap.store(address(top), Ordering::Relaxed);
                exposed = false;
            }
        }
        hot.request.store(NONE, Ordering::Relaxed);
        exposed
    }

    /// Calls the owner: its next push will tell it. (7) A caller that runs a heavy
    /// barrier afterwards sees every job whose push did not.
    #[inline]
    pub fn call(&self) {
        let limit = &self.deque.hot.limit;
        // Not to take the line from the owner for nothing.
        if limit.load(Ordering::Relaxed) != 0 {
            limit.store(0, Ordering::Relaxed);
        }
    }

    /// True if the deque held no job at some moment during the call.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // Relaxed: a hint. A sleeper that relies on it runs its barrier before.
        // SAFETY: slots live as long as the deque.
        unsafe { self.deque.top().as_ref() }
            .kind(Ordering::Relaxed)
            .is_none()
    }
}

impl<K> fmt::Debug for Thief<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Thief").field(&self.deque).finish()
    }
}

/// Waiting for the lock, which is held for some instructions only, unless its
/// holder lost its processor.
struct Patience {
    backoff: Backoff,
    /// When the deque was made.
    born: Generation,
}

impl Patience {
    fn new(born: Generation) -> Self {
        let backoff = Backoff::new();
        Self { backoff, born }
    }

    fn wait(&mut self) {
        if self.backoff.is_slow() && self.born.is_past() {
            orphaned();
        }
        self.backoff.wait();
    }
}

/// In a forked child: the thread that holds the lock is the parent's.
#[cold]
fn orphaned() -> ! {
    eprintln!(
        "heist: a job has called fork, and in the child it wants back what was being stolen from it in the parent; call exec or exit in the child, and do not return from the job"
    );
    std::process::abort();
}
