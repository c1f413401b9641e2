//! How an owner answers the thieves and sleepers that have signalled it.

use crate::schedule::Point;
use crate::worker::Worker;

impl Worker {
    /// A thief wants jobs, or a worker has fallen asleep. Runs nothing.
    #[cold]
    #[inline(never)]
    pub(crate) fn service(&self) {
        let stays = self.make_public();
        debug_assert!(stays, "there was room");
        if self.pool().waits_for_a_worker() {
            // The signal was for the next join as well.
            self.signal_self();
        }
    }

    /// Makes the jobs public and wakes whom the sleep protocol says. False if the newest job has
    /// found no slot.
    pub(crate) fn make_public(&self) -> bool {
        self.has_moved();
        let stays = self.deque().service();
        let (pool, local) = (self.pool(), self.local());
        let is_brief = || {
            local.thread.is_caller.get() && local.thread.calls.get().is_brief(self.pool().now_ns())
        };
        let waiting = self.deque().waiting();
        let woke = pool.sleep.published_among(waiting, pool, is_brief);
        self.state().counters.wakes.add(woke.unwrap_or(0) as u64);
        // P4, or a wake-up that was left to the lookout: the next push is looked at as well.
        if woke.is_none_or(|woke| pool.sleep.looks_again(&local.pushes.looks, woke)) {
            self.signal_self();
        }
        self.offer_pieces(self.wait_mode().once());
        if pool.members.is_some() {
            // Each push is looked at, and so is a point.
            self.signal_self();
            self.point(Point::Work);
        }
        stays
    }

    /// Lets the next push service the deque.
    pub(crate) fn signal_self(&self) {
        self.state().deque().thief().signal();
    }

    /// After a search, on which whoever injected a job may have counted.
    pub(crate) fn look_after_a_search(&self) {
        let pool = self.pool();
        let is_missed = pool.prompt && pool.sleep.no_worker_is_free_any_more();
        if is_missed && pool.lanes.are_urgent() {
            self.signal_self();
        }
    }
}
