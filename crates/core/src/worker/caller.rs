//! External callers: threads that are a worker for the duration of a call.

use heist_event::EventKind;

use crate::base::counters::Activity;
use crate::insight::call::Stay;
use crate::state::{Doing, Entered, Marks, Pool};
use crate::worker::Worker;

/// The stack that an external caller is assumed to have left, in bytes.
pub(crate) const CALLER_STACK: usize = 512 << 10;

/// A caller in the place of a sleeping worker, which it leaves when this is dropped.
struct Participation<'a> {
    worker: &'a Worker,
    /// Ends before the place is another's.
    stay: Option<Stay>,
    /// Marks in the stack of the worker's own thread.
    marks: Marks,
    /// The call, as the stall watchdog sees it, and the worker's own thread.
    frame: Option<Entered<'a>>,
    thread: Option<u32>,
}

impl<'a> Participation<'a> {
    /// Takes the place of a sleeping worker, if there is one.
    fn begin(pool: &'a Pool) -> Option<Self> {
        let index = pool.sleep.take_place()?;
        let frames = pool.worker(index).frames.as_ref();
        let thread = frames.and_then(|frames| frames.look().thread);
        // SAFETY: the caller holds the pool, the worker whose place this is sleeps on, and
        // `leave_place` comes at the end.
        let worker = unsafe { Worker::enter(pool.worker(index)) };
        let marks = worker.begin_stack(CALLER_STACK);
        let mut participation = Self {
            worker,
            stay: None,
            marks,
            frame: worker.enters(|| Doing::Calls),
            thread,
        };
        let now_ns = worker.turn_to(Activity::Searching, EventKind::Wake);
        worker.turn_to_at(Activity::Working, EventKind::SearchEnd, now_ns);
        let local = worker.local();
        local.thread.is_caller.set(true);
        let mut calls = local.thread.calls.get();
        calls.begin(now_ns);
        local.thread.calls.set(calls);
        local.thread.was_helped.set(false);
        pool.check_cpu_limit(now_ns);
        // Others may sleep, which a worker that begins to work would see to.
        worker.signal_self();
        participation.stay = Some(Stay::begin(pool.metered));
        Some(participation)
    }
}

impl Drop for Participation<'_> {
    fn drop(&mut self) {
        let (worker, state) = (self.worker, self.worker.state());
        let (pool, index, local) = (state.pool(), state.index(), state.local());
        self.stay = None;
        self.frame = None;
        if let Some(frames) = &state.frames {
            frames.become_thread(self.thread);
        }
        worker.tidy_up();
        let now_ns = worker.turn_to(Activity::Searching, EventKind::SearchBegin);
        worker.turn_to_at(Activity::Asleep, EventKind::Sleep, now_ns);
        worker.return_to_stack(self.marks);
        local.thread.is_caller.set(false);
        let mut calls = local.thread.calls.get();
        calls.end(now_ns, local.thread.was_helped.get());
        local.thread.calls.set(calls);
        Worker::leave();
        // The place is another's from here on. Jobs that the caller spawned and did not wait for
        // are the worker's.
        pool.sleep.leave_place(index, pool);
    }
}

impl Worker {
    /// Runs `op` on the calling thread in the place of a sleeping worker, and tells it that it has
    /// not migrated. Gives `op` back if no worker sleeps.
    pub(crate) fn participate<F, R>(pool: &Pool, op: F) -> Result<R, F>
    where
        F: FnOnce(&Self, bool) -> R,
    {
        match Participation::begin(pool) {
            Some(participation) => Ok(op(participation.worker, false)),
            None => Err(op),
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::sync::mpsc;

    use super::Marks;
    use crate::worker::Worker;
    use crate::{ThreadPool, ThreadPoolBuilder};

    fn marks() -> Marks {
        let worker = Worker::current().expect("the test runs on a worker");
        worker.local().frames.marks.get()
    }

    fn marks_of_a_job(pool: &ThreadPool) -> Marks {
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || sender.send(marks()).expect("the test waits"));
        receiver.recv().expect("the job runs")
    }

    /// Or else each join that waits there would seem to lie deep in the stack, or none.
    #[test]
    fn the_worker_has_the_marks_of_its_own_stack_when_the_caller_has_left() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.expect("a pool");
        let own = marks_of_a_job(&pool);
        let callers = loop {
            let (is_caller, marks) = pool.participate(|| {
                let worker = Worker::current().expect("it is in the pool");
                (worker.local().thread.is_caller.get(), marks())
            });
            if is_caller {
                break marks;
            }
        };
        assert_ne!(callers, own, "they are of two stacks");
        assert_eq!(marks_of_a_job(&pool), own);
    }
}
