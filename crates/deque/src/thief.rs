//! The thieves' end of a deque: steals, requests, and signals.
//!
//! The numbers in parentheses are the edges of `README.md` beside this crate.

use std::fmt;
use std::ptr::NonNull;

use heist_sync::atomic::Ordering;
use heist_sync::{fault, hint, thread};

use crate::slot::Slot;
use crate::state::{address, State, ALL, ANSWERED, ASKED, NONE};

/// The outcome of an attempt to steal.
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

/// How often a thief looks for the owner's answer before it does without: about as long as the
/// barrier takes.
const PATIENCE: u32 = if cfg!(any(heist_loom, heist_shuttle)) {
    1
} else {
    100
};

/// The thieves' end of a deque: take the oldest job.
#[repr(transparent)]
pub struct Thief<K: 'static> {
    deque: State<K>,
}

impl<K> Thief<K> {
    /// Tries to take the oldest job.
    ///
    /// `claim` is told its kind and its slot; it runs under the deque's lock, so it should only
    /// copy what the thief needs of a job that nobody waits for. The slot of a job that its owner
    /// waits for stays the thief's until it lets the owner know.
    ///
    /// If all jobs are private, the owner is asked for some, provided that `may_ask` says so. The
    /// answer comes at the owner's next push or pop, or the thief forces it after some
    /// microseconds.
    ///
    /// # Safety
    ///
    /// 1. `claim` treats the slot as its kind demands.
    pub unsafe fn steal<R>(
        &self,
        may_ask: impl FnOnce() -> bool,
        claim: impl FnOnce(&'static K, NonNull<Slot<K>>) -> R,
    ) -> Steal<R> {
        // SAFETY: handed on.
        unsafe { self.steal_if(may_ask, |_, _| true, claim) }
    }

    /// As [`steal`](Self::steal), but leaves the oldest job where it is if the thief does not want
    /// it. It is asked under the deque's lock: by the slot, before the owner is asked for anything,
    /// and then by the kind too.
    ///
    /// # Safety
    ///
    /// 1. As there.
    #[inline(always)]
    pub unsafe fn steal_if<R>(
        &self,
        may_ask: impl FnOnce() -> bool,
        wants: impl Fn(NonNull<Slot<K>>, Option<&'static K>) -> bool,
        claim: impl FnOnce(&'static K, NonNull<Slot<K>>) -> R,
    ) -> Steal<R> {
        let deque = &self.deque;
        let hot = &deque.hot;
        if self.is_empty() {
            // Hungry: the next push shall be public at once.
            if !deque.is_fenced() && hot.poll.load(Ordering::Relaxed) != 0 && may_ask() {
                hot.poll.store(0, Ordering::Relaxed);
            }
            return Steal::Empty;
        }
        let is_private = |top| hot.split.load(Ordering::Relaxed) <= address(top);
        let asks = is_private(deque.top());
        if asks && !may_ask() {
            return Steal::Empty;
        }
        if !deque.try_lock() {
            return Steal::Retry;
        }
        let top = deque.top();
        let stolen = if !wants(top, None)
            || is_private(top) && !(asks && !self.is_empty() && self.expose(top))
            // (8) Not from the slot behind the last, which the owner may empty. Before the kind: if
            // it is not the last any more, what was emptied is not seen below.
            || deque.is_spare(top)
        {
            Steal::Empty
        } else {
            // (1) Acquire: pairs with the release in `push`.
            let order = fault::ordering("deque.steal.kind", Ordering::Acquire);
            // SAFETY: slots live as long as the deque.
            match unsafe { top.as_ref() }.kind(order) {
                Some(kind)
                    if wants(top, Some(kind))
                        && (!is_private(top) || fault::planted("deque.steal.recheck")) =>
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

    /// Calls `op` while neither the [owner](crate::Owner::locked) nor another thief is at this deque.
    /// `None` if one is.
    pub fn try_locked<R>(&self, op: impl FnOnce() -> R) -> Option<R> {
        let is_free = self.deque.try_lock();
        is_free.then(|| {
            let result = op();
            self.deque.unlock();
            result
        })
    }

    /// Makes the jobs of a silent owner public. Called under the lock. False if that cannot be
    /// done.
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
        // Relaxed: an owner that sees the split point and not yet the request is as good as silent,
        // until it looks again.
        hot.split.store(ALL, Ordering::Relaxed);
        hot.poll.store(0, Ordering::Relaxed);
        let mut exposed = true;
        if !(0..PATIENCE).any(|_| {
            // Looks first: loom lets no thread miss after a pause what came before it.
            let answered = answered();
            if !answered {
                hint::spin_loop();
            }
            answered
        }) {
            // (3) Every pop from now on sees the split point; of every earlier one, we see that its
            // job is gone.
            let ordered =
                deque.barrier.heavy("deque.expose.heavy") || fault::planted("deque.expose.refused");
            // (5) Closes the request, unless the owner is answering it. Relaxed: our own store is
            // what it replaces, and of an answer `answered` tells.
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
                // The system has withdrawn its barrier. No owner relied on this split point yet;
                // take it back. The poll word stays: at its next push the owner sets a split point
                // on which everybody can rely, for good.
                let remembers = !fault::planted("deque.expose.fenced");
                deque.fenced.store(remembers, Ordering::Relaxed);
                hot.split.store(address(top), Ordering::Relaxed);
                exposed = false;
            }
        }
        hot.request.store(NONE, Ordering::Relaxed);
        exposed
    }

    /// Signals the owner: its next push will tell it. (7) A thread that runs a heavy barrier
    /// afterwards sees every job whose push did not.
    #[inline]
    pub fn signal(&self) {
        let poll = &self.deque.hot.poll;
        // Not to take the line from the owner for nothing.
        if poll.load(Ordering::Relaxed) != 0 {
            poll.store(0, Ordering::Relaxed);
        }
    }

    /// True if the deque held no job at some moment during the call.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }
}

impl<K> fmt::Debug for Thief<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Thief").field(&self.deque).finish()
    }
}
