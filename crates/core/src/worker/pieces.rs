//! The pieces of an initialiser: second halves of joins that it has lent, and that these have.
//!
//! A worker that waits for the value of a [`Once`](crate::Once) may run these and nothing else, and
//! so may a frame of the initialiser that waits for a piece. `ops/once.rs` says why.
//!
//! Before a worker sleeps that has found none, it signals those that may lend some; the next that
//! one of them lends wakes it. A wake-up may be missed when both happen at once, and then the
//! initialiser goes on without help: it waits for nobody who sleeps.

use std::ptr;

use crate::base::once::OnceState;
use crate::worker::latch::CountLatch;
use crate::worker::Worker;

impl Worker {
    /// The `Once` of whose initialiser any piece may run here, or null.
    pub(crate) fn shared_once(&self) -> *const () {
        if self.is_strict() {
            self.wait_mode().shares()
        } else {
            ptr::null()
        }
    }

    /// There may be more pieces of this initialiser, whose `Once` is null or which needs the
    /// caller: wakes one worker that waits for its value, if one sleeps.
    pub(crate) fn rouse_a_helper(&self, once: *const ()) {
        // SAFETY: a mode holds a pointer to such a state, which is there while the initialiser
        // runs; that waits for the frame on top, or the piece that the caller holds.
        let state = unsafe { once.cast::<OnceState<CountLatch>>().as_ref() };
        if state.is_some_and(|state| state.any_waiter(|waiter| waiter.rouse(self.pool()))) {
            self.state().counters.wakes.add(1);
        }
    }

    /// True if there is a piece of this initialiser, unless its `Once` is null. If not, whoever
    /// lends one from now on is likely to wake a helper.
    pub(crate) fn sees_a_piece(&self, once: *const ()) -> bool {
        !once.is_null()
            && self.pool().workers().any(|worker| {
                let may_have = worker.wait_modes.has_regions();
                if may_have {
                    worker.deque().thief().signal();
                }
                may_have && worker.has_a_piece(once)
            })
    }
}
