//! The pieces of an initialiser: the second halves of the joins in it, and of the joins in those.
//!
//! A worker that waits for the value of a [`Once`](crate::Once) may run these and nothing else, and
//! so may a frame of the initialiser that waits for a piece. `ops/once.rs` says why.
//!
//! A worker that begins to wait for pieces, or sleeps because there are none, signals the workers
//! that may lend some. The next piece that one of these lends becomes the oldest job of its deque,
//! because thieves take no other, and wakes a waiting worker. If both happen at once the wake-up
//! may be missed, and the initialiser goes on without help: it never waits for a sleeper.

use std::ptr;

use crate::base::job::{DetachedJob, Job};
use crate::base::once::OnceState;
use crate::policy::Priority;
use crate::worker::latch::CountLatch;
use crate::worker::Worker;

/// The most jobs that are moved out of the way.
const FEW_OLDER: usize = 128;

/// A job on its way to any worker.
struct Moving(Job);

// SAFETY: it was just taken from a deque as thieves do, who run it wherever they are.
unsafe impl Send for Moving {}

impl Moving {
    fn run(self) {
        let worker = Worker::current().expect("jobs run on workers");
        worker.execute(self.0);
    }
}

impl Worker {
    /// The `Once` whose pieces may run here, or null.
    pub(crate) fn shared_once(&self) -> *const () {
        if self.is_strict() {
            self.wait_mode().shares()
        } else {
            ptr::null()
        }
    }

    /// Offers the pieces among this worker's public jobs to the threads that wait for the value of
    /// this `Once`, unless it is null.
    pub(crate) fn offer_pieces(&self, once: *const ()) {
        // SAFETY: as in `wake_helper`.
        let state = unsafe { once.cast::<OnceState<CountLatch>>().as_ref() };
        if state.is_some_and(|state| state.any_waiter(|_| true)) {
            self.move_older_jobs();
            self.wake_helper(once);
        }
    }

    /// Moves the jobs that lie below the pieces of initialisers out of the way, to the injector.
    /// Not where the stack is guarded: a join further down may be guarded too, and may wait only
    /// for a job that a thief has begun (SG-1).
    fn move_older_jobs(&self) {
        if self.is_guarded() || self.deque().waiting() > FEW_OLDER {
            return;
        }
        while let Some(job) = self.state().take_plain() {
            let job = Moving(job);
            // SAFETY: 1. it borrows nothing but what a thief's would. 2. No job unwinds.
            let job = unsafe { DetachedJob::new(move || job.run()) };
            self.pool().inject(Priority::Normal, job);
        }
    }

    /// Wakes one sleeping worker that waits for the value of this `Once`, unless it is null, since
    /// there may be more pieces of the initialiser, which needs the caller.
    pub(crate) fn wake_helper(&self, once: *const ()) {
        // SAFETY: a mode holds a pointer to such a state, which is there while the initialiser
        // runs; that waits for the frame on top, or the piece that the caller holds.
        let state = unsafe { once.cast::<OnceState<CountLatch>>().as_ref() };
        if state.is_some_and(|state| state.any_waiter(|waiter| waiter.wake_sleeper(self.pool()))) {
            self.state().counters.wakes.add(1);
        }
    }

    /// True if there is a piece of the initialiser of this `Once`, which may be null. If there is
    /// none, a worker that lends one from now on is likely to wake a helper.
    pub(crate) fn sees_a_piece(&self, once: *const ()) -> bool {
        !once.is_null()
            && self.pool().workers().any(|worker| {
                let may_have = worker.regions.has_regions();
                if may_have {
                    worker.deque().thief().signal();
                }
                may_have && worker.has_a_piece(once)
            })
    }
}
