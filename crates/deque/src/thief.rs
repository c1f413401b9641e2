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
    /// There was nothing to take, or only private jobs, for which the thief may not ask now.
    Empty,
    /// Another thread held the lock; another try may succeed.
    Retry,
    /// The oldest job.
    Success(T),
}

/// How often a thief looks for the owner's answer before it forces one: about as long as the
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
    /// `claim` gets its kind and its slot. It runs under the deque's lock, so it should do no more
    /// than copy a job that nobody waits for. A job that its owner waits for stays in its slot,
    /// which is the thief's until it tells the owner that the job is done.
    ///
    /// If all jobs are private, the thief asks the owner for them, provided that `may_ask` returns
    /// true. The answer comes at the owner's next push or pop, or the thief forces it after some
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

    /// As [`steal`](Self::steal), but leaves the oldest job where it is unless `wants` returns
    /// true. `wants` runs under the deque's lock: first with the slot alone, before the owner is
    /// asked for anything, and then with the kind too.
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
            // Hungry: signal, so that the next push is public at once.
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
            // (8) Not from the spare, which the owner may empty. The check comes before the load of
            // the kind: if the slot is no longer the spare, an emptied job is not seen below.
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

    /// Makes the owner's private jobs public, if need be without its help. Called under the lock.
    /// False if that cannot be done.
    #[cold]
    fn expose(&self, top: NonNull<Slot<K>>) -> bool {
        let deque = &self.deque;
        let hot = &deque.hot;
        let answered = || {
            // (6) Acquire: pairs with the release in `answer`.
            let order = fault::ordering("deque.expose.answered", Ordering::Acquire);
            hot.request.load(order) == ANSWERED
        };
        // (4) Release: the answer comes after all that thieves did before.
        let order = fault::ordering("deque.expose.asked", Ordering::Release);
        hot.request.store(ASKED, order);
        // Relaxed: an owner that sees the split point and not yet the request is as good as silent,
        // until it looks again.
        hot.split.store(ALL, Ordering::Relaxed);
        hot.poll.store(0, Ordering::Relaxed);
        let mut exposed = true;
        if !(0..PATIENCE).any(|_| {
            // Looks first: after a pause, loom's threads see everything that came before it.
            let answered = answered();
            if !answered {
                hint::spin_loop();
            }
            answered
        }) {
            // (3) Every pop from now on sees the split point; of every earlier one, this thief sees
            // that its job is gone.
            let ordered =
                deque.barrier.heavy("deque.expose.heavy") || fault::planted("deque.expose.refused");
            // (5) Closes the request, unless the owner is answering it. Relaxed: it replaces this
            // thread's own store, and an answer is acquired in `answered`.
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

    /// Signals the owner, which hears it at its next push. (7) A thread that runs a heavy barrier
    /// afterwards sees every job whose push missed the signal.
    #[inline]
    pub fn signal(&self) {
        let poll = &self.deque.hot.poll;
        // Looks first, so as not to take the cache line from the owner for nothing.
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
