//! Threads that become workers in the middle of their lives: guests, for the time of a
//! call, and the thread that builds a pool in which it is a worker itself.

use crate::counters::Activity;
use crate::error::ThreadPoolBuildError;
use crate::pool::Pool;
use crate::worker::Worker;
use heist_event::EventKind;
use heist_sync::thread_local;
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// The pool of which this thread became a worker for the rest of its life.
    static ADOPTED: Cell<Option<Adopted>> = const { Cell::new(None) }
}

/// Holds the pool of an adopted thread, until the thread goes, and its last
/// frame with it.
struct Adopted(#[expect(dead_code, reason = "held, not used")] Arc<Pool>);

impl Drop for Adopted {
    fn drop(&mut self) {
        Worker::leave();
    }
}

/// A guest on its seat; it leaves when this is dropped.
struct Visit<'a>(&'a Worker);

impl<'a> Visit<'a> {
    /// Takes the seat of a worker that sleeps, if there is one.
    fn begin(pool: &'a Pool) -> Option<Self> {
        let index = pool.sleep.sit_down()?;
        // SAFETY: the caller holds the pool, the worker that sat here sleeps on,
        // and `stand_up` comes with the end of the visit.
        let worker = unsafe { Worker::sit(pool.seat(index)) };
        let visit = Self(worker);
        let now_ns = worker.turn_to(Activity::Searching, EventKind::Wake);
        worker.turn_to_at(Activity::Working, EventKind::SearchEnd, now_ns);
        let own = worker.own();
        own.is_guest.set(true);
        let mut visits = own.visits.get();
        visits.begin(now_ns);
        own.visits.set(visits);
        worker.begin_stack(GUEST_STACK);
        // Somebody may sleep, which a worker that begins to work would see to.
        worker.call_oneself();
        Some(visit)
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let seat = self.0.seat();
        let (pool, index) = (seat.pool(), seat.index());
        self.0.tidy_up();
        let now_ns = self.0.turn_to(Activity::Searching, EventKind::SearchBegin);
        self.0
            .turn_to_at(Activity::Asleep, EventKind::Sleep, now_ns);
        let own = seat.own();
        own.is_guest.set(false);
        let mut visits = own.visits.get();
        visits.end(now_ns);
        own.visits.set(visits);
        Worker::leave();
        // The seat is another's from here on. What the guest spawned and did not wait
        // for is the worker's.
        pool.sleep.stand_up(index, pool);
    }
}

/// How much stack a guest is taken to have, which may sit anywhere on its own.
const GUEST_STACK: usize = 512 << 10;

impl Worker {
    /// Runs `op` on the calling thread as a guest of the pool: on the seat of a
    /// worker that sleeps. Gives `op` back if none does. `op` is told that it has not
    /// migrated.
    pub(crate) fn visit<F, R>(pool: &Pool, op: F) -> Result<R, F>
    where
        F: FnOnce(&Self, bool) -> R,
    {
        match Visit::begin(pool) {
            Some(visit) => Ok(op(visit.0, false)),
            None => Err(op),
        }
    }

    /// Whether the calling thread can be made a worker for the rest of its life.
    ///
    /// # Errors
    ///
    /// Fails on a thread that is a worker, and on one that is about to end: its
    /// thread-local values are being dropped.
    pub(crate) fn may_adopt_current_thread() -> Result<(), ThreadPoolBuildError> {
        if Self::current().is_some() {
            return Err(ThreadPoolBuildError::already_a_worker());
        }
        // From the first use on, the value is there until the thread's destructors run.
        ADOPTED
            .try_with(|_| ())
            .map_err(|_| ThreadPoolBuildError::ending_thread())
    }

    /// Makes the calling thread, which has frames below it, the worker with this
    /// index for the rest of its life.
    ///
    /// # Errors
    ///
    /// As [`may_adopt_current_thread`](Self::may_adopt_current_thread).
    #[expect(clippy::mem_forget, reason = "what frames may use is leaked")]
    pub(crate) fn adopt_current_thread(
        pool: &Arc<Pool>,
        index: usize,
    ) -> Result<(), ThreadPoolBuildError> {
        Self::may_adopt_current_thread()?;
        // Nothing below can fail: a thread that has sat down and unwinds would stay a
        // worker of a pool that is gone.
        let adopted = Some(Adopted(Arc::clone(pool)));
        let former = ADOPTED.with(|place| place.replace(adopted));
        // There is one in a forked child, whose frames may use it: it stays.
        std::mem::forget(former);
        // SAFETY: `Adopted` holds the pool until it calls `leave`, and no other
        // thread was started for the seat.
        let worker = unsafe { Self::sit(pool.seat(index)) };
        worker.begins_to_work();
        worker.begin_stack(GUEST_STACK);
        Ok(())
    }
}
