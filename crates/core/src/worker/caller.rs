//! External callers: threads that are a worker for the time of a call.

use heist_event::EventKind;

use crate::base::counters::Activity;
use crate::state::Pool;
use crate::worker::Worker;

/// The stack that an external caller is taken to have left.
pub(crate) const CALLER_STACK: usize = 512 << 10;

/// A caller in the place of a sleeping worker, which it leaves when this is dropped.
struct Participation<'a>(&'a Worker);

impl<'a> Participation<'a> {
    /// Takes the place of a worker that sleeps, if there is one.
    fn begin(pool: &'a Pool) -> Option<Self> {
        let index = pool.sleep.take_place()?;
        // SAFETY: the caller holds the pool, the worker whose place this is sleeps on, and
        // `leave_place` comes at the end.
        let worker = unsafe { Worker::enter(pool.worker(index)) };
        let participation = Self(worker);
        let now_ns = worker.turn_to(Activity::Searching, EventKind::Wake);
        worker.turn_to_at(Activity::Working, EventKind::SearchEnd, now_ns);
        let local = worker.local();
        local.is_caller.set(true);
        let mut callers = local.callers.get();
        callers.begin(now_ns);
        local.callers.set(callers);
        worker.begin_stack(CALLER_STACK);
        pool.look_at_the_limit(now_ns);
        // Others may sleep, which a worker that begins to work would see to.
        worker.signal_self();
        Some(participation)
    }
}

impl Drop for Participation<'_> {
    fn drop(&mut self) {
        let state = self.0.state();
        let (pool, index, local) = (state.pool(), state.index(), state.local());
        self.0.tidy_up();
        let now_ns = self.0.turn_to(Activity::Searching, EventKind::SearchBegin);
        self.0
            .turn_to_at(Activity::Asleep, EventKind::Sleep, now_ns);
        local.is_caller.set(false);
        let mut callers = local.callers.get();
        callers.end(now_ns);
        local.callers.set(callers);
        Worker::leave();
        // The place is another's from here on. Jobs that the caller spawned and did not wait for
        // are the worker's.
        pool.sleep.leave_place(index, pool);
    }
}

impl Worker {
    /// Runs `op` on the calling thread in the place of a worker that sleeps, and tells it that it
    /// has not migrated. Gives `op` back if no worker sleeps.
    pub(crate) fn participate<F, R>(pool: &Pool, op: F) -> Result<R, F>
    where
        F: FnOnce(&Self, bool) -> R,
    {
        match Participation::begin(pool) {
            Some(participation) => Ok(op(participation.0, false)),
            None => Err(op),
        }
    }
}
