//! Serial pools, which have no threads: a caller is the worker for the duration of a call.
//!
//! A thread that takes the worker's place may be the worker of another pool already, or have taken
//! the places of other serial pools. It acts as one of these workers at a time; the others wait
//! below on its stack. When it waits it runs the jobs of all of them, since a job that its wait
//! needs may be left to one of its other workers. No single parker could wake it for all, so it
//! looks now and then.

use std::cell::Cell;
use std::ptr;
use std::time::Duration;

use heist_event::EventKind;
use heist_sync::{thread, thread_local, Futex};

use crate::base::counters::Activity;
use crate::base::latch::CoreLatch;
use crate::base::unwind::{self, AbortOnUnwind};
use crate::insight::call::Stay;
use crate::state::{Pool, SerialPlace};
use crate::worker::caller::CALLER_STACK;
use crate::worker::Worker;

/// The yields of a thread that is several workers before it naps.
const YIELDS: u32 = 100;

/// The length of a nap.
const NAP: Duration = Duration::from_millis(1);

thread_local! {
    /// The newest visit of this thread, or null.
    static NEWEST: Cell<*const Visit> = const { Cell::new(ptr::null()) }
}

/// A thread's visit in the place of a serial pool's worker, kept in the frame of that call.
struct Visit {
    worker: *const Worker,
    /// The worker that the thread was before, or null.
    before: *const Worker,
    /// The next older visit, or null.
    older: *const Visit,
}

impl Visit {
    /// Makes the calling thread, which has just taken the place of this pool's worker, that worker.
    fn begin(pool: &Pool) -> Self {
        let before = Worker::current().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: 1. the caller holds the pool. 2. The caller alone has the place, whose lock
        // orders what the last one did before this.
        let worker = unsafe { Worker::enter_over(pool.worker(0)) };
        let now_ns = worker.turn_to(Activity::Searching, EventKind::Wake);
        worker.turn_to_at(Activity::Working, EventKind::SearchEnd, now_ns);
        worker.begin_stack(CALLER_STACK);
        Self {
            worker,
            before,
            older: NEWEST.with(Cell::get),
        }
    }

    /// Leaves the place when no job is left, or another thread waits for it.
    fn end(&self, place: &SerialPlace) {
        // SAFETY: the caller holds the pool.
        let worker = unsafe { &*self.worker };
        let pool = worker.pool();
        pool.abort_if_forked();
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let has_jobs = || worker.has_pending() || pool.sees_a_job(0);
        let last = || {
            worker.tidy_up();
            let now_ns = worker.turn_to(Activity::Searching, EventKind::SearchBegin);
            worker.turn_to_at(Activity::Asleep, EventKind::Sleep, now_ns);
        };
        while !place.leave(has_jobs, last) {
            worker.run(worker.find());
        }
        NEWEST.with(|newest| newest.set(self.older));
        // SAFETY: the thread was that worker before.
        unsafe { Worker::be(self.before) };
        abort.defuse();
    }
}

impl Pool {
    /// Runs `op` in the place that the caller has just taken, and then the queued jobs.
    fn visit<R>(&self, place: &SerialPlace, op: impl FnOnce(&Worker) -> R) -> R {
        let visit = Visit::begin(self);
        NEWEST.with(|newest| newest.set(&raw const visit));
        // SAFETY: the caller holds the pool.
        let worker = unsafe { &*visit.worker };
        let result = unwind::catch(|| op(worker));
        visit.end(place);
        result.unwrap_or_else(|payload| unwind::resume(payload))
    }

    /// Waits for the place of this serial pool's worker, and runs `op` there on the calling thread,
    /// which is no worker.
    pub(crate) fn serially<R>(&self, place: &SerialPlace, op: impl FnOnce(&Worker) -> R) -> R {
        place.take();
        let _stay = Stay::begin(self.metered);
        self.visit(place, op)
    }

    /// Runs a job that was queued from outside, if the pool is serial; but if another thread is in
    /// the place, that one runs it.
    pub(crate) fn serve(&self) {
        if let Some(place) = self.serial.as_ref().filter(|place| place.try_take()) {
            self.visit(place, |_| ());
        }
    }
}

impl Worker {
    /// Ends all visits of the thread that called `fork`, in the child.
    pub(crate) fn leave_all() {
        Self::leave();
        NEWEST.with(|newest| newest.set(ptr::null()));
    }

    /// True if the calling thread is more than one worker.
    pub(crate) fn is_several() -> bool {
        // SAFETY: it lies below on this stack.
        let newest = unsafe { NEWEST.with(Cell::get).as_ref() };
        newest.is_some_and(|visit| !visit.older.is_null() || !visit.before.is_null())
    }

    /// Runs jobs of all workers that the calling thread is until the latch is set.
    pub(crate) fn help_as_each(&self, latch: &CoreLatch) {
        let mut idle = 0;
        while !latch.probe() {
            if self.run(self.find()) || self.run_as_another() {
                idle = 0;
            } else if idle < YIELDS || cfg!(any(heist_loom, heist_shuttle)) {
                idle += 1;
                thread::yield_now();
            } else {
                Futex::new(0).wait_timeout(0, NAP);
            }
        }
    }

    /// Runs a job as one of the other workers that this thread is. False if there is none.
    fn run_as_another(&self) -> bool {
        let mut next = NEWEST.with(Cell::get);
        // SAFETY: it lies below on this stack.
        while let Some(visit) = unsafe { next.as_ref() } {
            next = visit.older;
            // A visitor that was a worker of a pool with threads came from there first.
            let origin = if next.is_null() {
                visit.before
            } else {
                ptr::null()
            };
            if self.run_as(visit.worker) || self.run_as(origin) {
                return true;
            }
        }
        false
    }

    fn run_as(&self, other: *const Self) -> bool {
        // SAFETY: null, or one that the thread is, whose pool the frames below hold.
        let other = unsafe { other.as_ref() };
        let Some(other) = other.filter(|other| !ptr::eq(*other, self) && !other.is_strict()) else {
            return false;
        };
        // SAFETY: as above.
        unsafe { Self::be(other) };
        let has_run = other.run(other.find());
        // SAFETY: it is this one, too.
        unsafe { Self::be(self) };
        has_run
    }
}
