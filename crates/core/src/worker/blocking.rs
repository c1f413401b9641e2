//! Blocking: a job waits for something outside the pool.
//!
//! Meanwhile the worker is hidden: an operation that touches its deque goes through
//! `Worker::reveal`, which ends the blocking, so that a blocked worker pushes nothing. Its jobs
//! are public, and it counts as withdrawn: publishers, callers that leave and lookouts do not rely
//! on it (BL-1).

use crate::state::Doing;
use crate::worker::Worker;

impl Worker {
    /// Calls `op`, which blocks; a compensation worker works in the place of this one meanwhile.
    pub(crate) fn block<R>(&self, op: impl FnOnce() -> R) -> R {
        struct End<'a>(&'a Worker);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.unblock();
            }
        }
        let _frame = self.enters(|| Doing::Blocks);
        self.begin_blocking();
        let _end = End(self);
        op()
    }

    /// True in [`block`](Self::block), unless `unblock` has been called.
    pub(crate) fn is_blocked(&self) -> bool {
        self.local().thread.is_blocked.get()
    }

    fn begin_blocking(&self) {
        let pool = self.pool();
        let stays = self.deque().service();
        debug_assert!(stays, "no push is under way");
        pool.sleep.begin_blocking();
        let called = pool.compensate_blocked(self.index());
        self.state().counters.wakes.add(called as u64);
        self.local().thread.is_blocked.set(true);
        self.local().thread.has_blocked.set(true);
        self.hide();
    }

    /// Ends the blocking, if the worker blocks.
    pub(crate) fn unblock(&self) {
        if !self.local().thread.is_blocked.replace(false) {
            return;
        }
        let pool = self.pool();
        pool.abort_if_forked();
        pool.compensation.give_back();
        pool.sleep.end_blocking(self.index(), pool);
        self.show();
    }
}
