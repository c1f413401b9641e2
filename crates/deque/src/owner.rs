//! The owner's end of a deque: pushes, take-backs, and answers to thieves.
//!
//! The numbers in parentheses are the edges of `README.md` beside this crate.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use heist_sync::atomic::Ordering;
use heist_sync::process::Generation;
use heist_sync::{fault, Backoff};

use crate::slot::Slot;
use crate::state::{address, State, ALL, ANSWERED, ANSWERING, ASKED};

/// The owner checks for room once for so many jobs that could go to the injector instead.
const STEP: usize = 1024;

/// The owner's end of a deque.
///
/// The owner writes a job into the [`vacant`](Self::vacant) slot and pushes it, and later
/// retracts it, unless a thief has taken it.
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
    pub(crate) deque: State<K>,
    /// Makes it neither `Send` nor `Sync`: one thread at a time is the owner.
    alone: PhantomData<*const ()>,
}

impl<K> Owner<K> {
    /// The slot for the next job. The owner may write its payload until it is pushed.
    #[inline(always)]
    #[must_use]
    pub fn vacant(&self) -> NonNull<Slot<K>> {
        self.deque.local.tail.get()
    }

    /// True if there is certainly a slot for a job that could go to the injector instead. If not,
    /// the owner may try to [`make_room`](Self::make_room).
    #[inline(always)]
    #[must_use]
    pub fn has_room(&self) -> bool {
        address(self.deque.local.tail.get()) < self.deque.local.mark.get()
    }

    /// Makes room for some more jobs that could go to the injector instead, and leaves `reserve`
    /// slots for those that cannot. False if there is no room.
    pub fn make_room(&self, reserve: usize) -> bool {
        let deque = &self.deque;
        let size = size_of::<Slot<K>>();
        let used = (address(deque.local.tail.get()) - address(deque.slots.first())) / size;
        let wanted = (used + STEP).min(deque.slots.most().saturating_sub(reserve));
        while deque.len() < wanted && self.grow() {}
        let len = wanted.min(deque.len());
        deque
            .local
            .mark
            .set(address(deque.slots.first()) + len * size);
        self.has_room()
    }

    /// An estimate of the number of jobs in the deque.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let below = address(self.deque.top());
        address(self.deque.local.tail.get()).saturating_sub(below) / size_of::<Slot<K>>()
    }

    /// Adds slots, if the system has memory for them.
    fn grow(&self) -> bool {
        let deque = &self.deque;
        let present = deque.len();
        let len = deque.slots.grow(present);
        deque.set_len(len);
        len > present
    }

    /// The deque is empty: gives back the memory of a burst, if there are more slots than these.
    /// The next burst of that size has to fetch each page from the system again, which takes
    /// longer than to push the jobs.
    pub fn shrink(&self, most: usize) {
        let deque = &self.deque;
        let (present, few) = (deque.len(), deque.slots.few());
        // SAFETY: there are so many slots.
        let top_of_few = unsafe { deque.slots.first().add(few) };
        if present <= most.max(few) || deque.local.tail.get() >= top_of_few {
            return;
        }
        self.lock();
        // SAFETY: what is above the tail is vacant, and only the owner fills slots. A thief that
        // still looks there for a job, by an old `top`, reads zero, which is vacant.
        let len = unsafe { deque.slots.shrink(present) };
        deque.set_len(len);
        deque.unlock();
        deque.local.mark.set(0);
        // The end has moved. As if a thief had signalled: the next push will see.
        deque.hot.poll.store(0, Ordering::Relaxed);
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
            self.answer(self.deque.local.tail.get());
            patience.wait();
        }
    }

    /// Pushes the job in `slot`. From now on thieves may take it. True if somebody has
    /// [signalled](crate::Thief::signal) the owner, or the slots have run out: it must
    /// [`service`](Self::service) the deque now.
    ///
    /// # Safety
    ///
    /// 1. It is the [`vacant`](Self::vacant) slot, and its payload is of `kind`.
    /// 2. The job may be taken and run by another thread, until it is retracted.
    #[inline(always)]
    #[must_use]
    pub unsafe fn push(&self, slot: NonNull<Slot<K>>, kind: &'static K) -> bool {
        debug_assert_eq!(slot, self.deque.local.tail.get());
        // SAFETY: there is one slot behind the last.
        self.deque.local.tail.set(unsafe { slot.add(1) });
        // SAFETY: 1. and 2. are handed on.
        unsafe { self.push_ahead(slot, kind) }
    }

    /// As [`push`](Self::push), but does not move the tail, whose place the caller knows. The
    /// caller must [find](Self::find_tail) or [set](Self::set_tail) the tail before it calls any
    /// method that moves jobs, other than `push_ahead` and [`retract_ahead`](Self::retract_ahead).
    ///
    /// # Safety
    ///
    /// 1. It is the lowest vacant slot above those in use, and its payload is of `kind`.
    /// 2. The job may be taken and run by another thread, until it is retracted.
    #[inline(always)]
    #[must_use]
    pub unsafe fn push_ahead(&self, slot: NonNull<Slot<K>>, kind: &'static K) -> bool {
        // SAFETY: slots live as long as the deque.
        let place = unsafe { slot.as_ref() };
        // (1) Release: a thief that acquires the kind sees the payload.
        let order = fault::ordering("deque.push.kind", Ordering::Release);
        place.set_kind(kind, order);
        // (7) Store, then look: pairs with the signaller's heavy barrier after `signal`.
        self.deque.barrier.light("deque.push.light");
        address(slot) >= self.deque.hot.poll.load(Ordering::Relaxed)
    }

    /// Sets the tail to `slot`.
    ///
    /// # Safety
    ///
    /// 1. It is the vacant slot above those in use, or the one behind the last.
    pub unsafe fn set_tail(&self, slot: NonNull<Slot<K>>) {
        self.deque.local.tail.set(slot);
    }

    /// Finds the tail, after jobs were pushed or retracted ahead of it.
    ///
    /// # Safety
    ///
    /// 1. From `lowest` on, each slot below the tail holds a job that was not retracted.
    pub unsafe fn find_tail(&self, lowest: NonNull<Slot<K>>) {
        // SAFETY: slots live as long as the deque. Relaxed: own writes.
        let is_used =
            |slot: NonNull<Slot<K>>| unsafe { slot.as_ref() }.kind(Ordering::Relaxed).is_some();
        let mut tail = self.deque.local.tail.get();
        while is_used(tail) {
            // SAFETY: there is one slot behind the last, and that one is vacant.
            tail = unsafe { tail.add(1) };
        }
        // SAFETY: above `lowest` there is one below.
        while tail > lowest && !is_used(unsafe { tail.sub(1) }) {
            // SAFETY: as above.
            tail = unsafe { tail.sub(1) };
        }
        self.deque.local.tail.set(tail);
    }

    /// True if somebody has [signalled](crate::Thief::signal) the owner, or waits for its answer:
    /// the owner should [`service`](Self::service) the deque, if it has not pushed for long.
    #[inline(always)]
    #[must_use]
    pub fn is_signalled(&self) -> bool {
        // Relaxed: a hint. A signaller relies on the next push.
        self.deque.hot.poll.load(Ordering::Relaxed) == 0
    }

    /// As [`is_signalled`](Self::is_signalled), for an owner that has just published work elsewhere
    /// than in the deque: if this is false, a thread that signals and then runs a heavy barrier
    /// sees what the owner stored before.
    #[inline]
    #[must_use]
    pub fn hears_a_signal(&self) -> bool {
        // (7) As in `push`.
        self.deque.barrier.light("deque.hears.light");
        self.is_signalled()
    }

    /// True if the job in `slot` is the newest.
    #[inline(always)]
    #[must_use]
    pub fn is_newest(&self, slot: NonNull<Slot<K>>) -> bool {
        // Compares a difference, because the compiler would otherwise keep the address of the slot
        // above in a register of its own during the closure of a join.
        let used = address(self.deque.local.tail.get()).wrapping_sub(address(slot));
        used == size_of::<Slot<K>>()
    }

    /// Takes the newest job back, which lies in `slot`. False if a thief has it: then the slot
    /// stays in use until it is [reclaimed](Self::reclaim).
    ///
    /// # Safety
    ///
    /// 1. The job in `slot` was pushed and is the newest.
    #[inline(always)]
    pub unsafe fn retract(&self, slot: NonNull<Slot<K>>) -> bool {
        self.deque.local.tail.set(slot);
        // SAFETY: 1. is handed on.
        unsafe { self.retract_ahead(slot) }
    }

    /// As [`retract`](Self::retract), but does not move the tail, like
    /// [`push_ahead`](Self::push_ahead); if a thief has the job, the tail is then above it.
    ///
    /// # Safety
    ///
    /// 1. The job in `slot` was pushed and is the newest.
    #[inline(always)]
    pub unsafe fn retract_ahead(&self, slot: NonNull<Slot<K>>) -> bool {
        // SAFETY: slots live as long as the deque.
        let place = unsafe { slot.as_ref() };
        place.clear_kind(Ordering::Relaxed);
        // (3) Announce, then look: pairs with the heavy barrier in `expose`. Either this look sees
        // the split point, or the thief sees that the job is gone.
        self.deque.barrier.light("deque.retract.light");
        address(slot) >= self.deque.hot.split.load(Ordering::Relaxed) || self.retract_slowly(slot)
    }

    /// Retracts a job that is public, or for which a thief has asked.
    #[cold]
    #[inline(never)]
    fn retract_slowly(&self, slot: NonNull<Slot<K>>) -> bool {
        let deque = &self.deque;
        let mut patience = Patience::new(deque.born);
        while !deque.try_lock() {
            // Answering gives the thief older jobs, so that this one is ours.
            if self.answer(slot) && address(slot) >= deque.hot.split.load(Ordering::Relaxed) {
                return true;
            }
            patience.wait();
        }
        let is_ours = slot >= deque.top();
        if is_ours {
            deque.withdraw_half(slot);
        } else {
            // SAFETY: there is one slot behind the last.
            self.deque.local.tail.set(unsafe { slot.add(1) });
        }
        deque.unlock();
        is_ours
    }

    /// Makes `slot` vacant again: the job in it, which a thief took, is done, and those above it
    /// are gone.
    ///
    /// # Safety
    ///
    /// 1. The slot and those above it are no longer in use.
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
        deque.set_split(unsafe { slot.add(1) });
        self.deque.local.tail.set(slot);
        deque.unlock();
    }

    /// Retracts the newest job if its kind is `wanted`. `None` also if thieves have taken it, and
    /// so all older ones.
    ///
    /// # Safety
    ///
    /// 1. A thief has no more use for the slot of such a job when its claim has returned.
    pub unsafe fn pop_if(
        &self,
        wanted: impl Fn(&'static K) -> bool,
    ) -> Option<(&'static K, NonNull<Slot<K>>)> {
        let (kind, slot) = self.newest_if(self.deque.local.tail.get(), &wanted)?;
        // SAFETY: it is the newest.
        if unsafe { self.retract(slot) } {
            return Some((kind, slot));
        }
        // Taken, as is all below it: the slots of wanted kinds there are vacant again.
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
    /// As for [`Thief::steal`](crate::Thief::steal).
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
            // It is public now: the pop that looks for it will take the lock.
            let split = deque.hot.split.load(Ordering::Relaxed).max(address(next));
            if !fault::planted("deque.take_oldest.split") {
                deque.hot.split.store(split, Ordering::Relaxed);
            }
            deque.hot.top.store(next.as_ptr(), Ordering::Relaxed);
            claim(kind, top)
        });
        deque.unlock();
        taken
    }

    /// Answers a signal: makes the jobs public, and resets the poll word, so that the next push
    /// notices a new signal.
    ///
    /// False if the job that was just pushed had no slot, and none can be had: then it is not in
    /// the deque, and no thief has taken it.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn service(&self) -> bool {
        let deque = &self.deque;
        let tail = deque.local.tail.get();
        let stays = address(tail) <= deque.end() || self.grow();
        if !stays {
            // (8) No thief takes from the spare.
            // SAFETY: the newest job lies there.
            let spare = unsafe { tail.sub(1) };
            // SAFETY: slots live as long as the deque.
            unsafe { spare.as_ref() }.clear_kind(Ordering::Relaxed);
            deque.local.tail.set(spare);
        }
        deque.reset_poll();
        self.make_public();
        stays
    }

    /// Makes the jobs public if some are not: for an owner that will neither push nor pop for some
    /// microseconds. A thief that asks meanwhile would wait, or force the answer, which takes
    /// longer. Answers no signal.
    #[inline]
    pub fn show(&self) {
        let deque = &self.deque;
        // Relaxed: a hint. A thief that moves it asks for the jobs below, and gets them.
        if address(deque.local.tail.get()) > deque.hot.split.load(Ordering::Relaxed) {
            self.make_public();
        }
    }

    #[cold]
    #[inline(never)]
    fn make_public(&self) {
        let deque = &self.deque;
        let mut patience = Patience::new(deque.born);
        loop {
            if deque.try_lock() {
                if deque.hot.split.load(Ordering::Relaxed) != ALL {
                    deque.publish(self.deque.local.tail.get());
                }
                deque.unlock();
                return;
            }
            // A thief holds the lock, and may be about to ask: answer, for the owner may be silent
            // for long afterwards. A thief that needs no answer takes what it wants.
            if self.answer(self.deque.local.tail.get())
                || deque.hot.split.load(Ordering::Relaxed) == ALL
            {
                return;
            }
            patience.wait();
        }
    }

    /// Publishes the jobs below `end` if a thief asks for it.
    fn answer(&self, end: NonNull<Slot<K>>) -> bool {
        let hot = &self.deque.hot;
        // (5) One word decides between this answer and the thief's end of patience. (4) Acquire:
        // the present top, and no earlier split point.
        let order = fault::ordering("deque.answer.asked", Ordering::Acquire);
        if hot.split.load(Ordering::Relaxed) != ALL
            || hot.request.load(Ordering::Relaxed) != ASKED
            || hot
                .request
                .compare_exchange(ASKED, ANSWERING, order, Ordering::Relaxed)
                .is_err()
        {
            return false;
        }
        self.deque.publish(end);
        // (6) Release: the thief sees the new split point, and that retracted jobs are gone.
        let order = fault::ordering("deque.answer", Ordering::Release);
        hot.request.store(ANSWERED, order);
        true
    }
}

impl<K> fmt::Debug for Owner<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.deque).finish()
    }
}

/// Waits for the lock, which is held for a few instructions, unless its holder has lost its
/// processor.
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

/// Aborts in a forked child: the thread that holds the lock exists only in the parent.
#[cold]
fn orphaned() -> ! {
    eprintln!(
        "heist: a job has called fork, and in the child it wants back what was being stolen from it in the parent; call exec or exit in the child, and do not return from the job"
    );
    std::process::abort();
}
