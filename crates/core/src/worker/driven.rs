//! A driven worker: its main loop is a future, which a function of the program's polls. Whenever
//! the worker has nothing to do, and otherwise from time to time, that function has its turn.
//!
//! While the worker rests it is hidden. If the function calls an operation of heist meanwhile, as
//! the waker of a future does, `Worker::reveal` brings the worker out.

use std::cell::Cell;
use std::future::Future;
use std::pin::{pin, Pin};
use std::task::{Context, Poll};

use heist_event::EventKind;

use crate::base::counters::Activity;
use crate::sleep::Nap;
use crate::state::Drive;
use crate::worker::main_loop::Window;
use crate::worker::Worker;

/// The longest time for which a worker with work is not driven, in nanoseconds, if no job is
/// longer.
const TURN_NS: u64 = 200_000;

/// The main loop of a worker, for as long as the pool lives.
struct MainLoop<'a> {
    worker: &'a Worker,
    /// From one turn to the next: most turns are shorter than what it counts.
    window: Window,
    /// Behind the jobs that the worker had when the function's turn began.
    lowest: usize,
}

impl Worker {
    /// The main loop, driven by this function. If that returns early, the worker goes on without.
    pub(crate) fn main_loop_driven(&self, drive: &Drive) {
        let share = drive.share();
        if let Some(drive) = &share {
            drive(pin!(MainLoop {
                worker: self,
                window: Window::default(),
                lowest: self.next_slot(),
            }));
        }
        self.end_rest();
        // It may hold much, and handles keep the pool's memory for longer.
        self.pool().sleep.is_woken_by(self.index(), None);
        self.main_loop(|| false);
        drive.end();
    }

    /// The worker rests from now on, in this way.
    pub(crate) fn begin_rest(&self, nap: Nap, since_ns: u64) {
        self.local().thread.nap.set(Some((nap, since_ns)));
        self.hide();
    }

    /// Ends the worker's rest, if it rests: it works.
    pub(crate) fn end_rest(&self) {
        let Some((nap, _)) = self.local().thread.nap.take() else {
            return;
        };
        let (pool, index) = (self.pool(), self.index());
        pool.abort_if_forked();
        pool.sleep.cancel_nap(index, &nap);
        self.state().end.wake_up();
        self.show();
        self.turn_to(Activity::Searching, EventKind::Wake);
        self.end_search();
        self.look_after_a_search();
        // It is polled for what it is going to have to do.
        pool.sleep.call_waker(index);
    }
}

impl Future for MainLoop<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self {
            worker,
            window,
            lowest,
        } = &mut *self;
        let (pool, index, end) = (worker.pool(), worker.index(), &worker.state().end);
        // On top of the others, those of each turn would come before all that came before (FU-2).
        worker.put_behind(*lowest);
        pool.sleep.is_woken_by(index, Some(context.waker()));
        let mut goes_on = true;
        if let Some((nap, since_ns)) = worker.local().thread.nap.take() {
            match pool.sleep.naps_on(index, nap, pool) {
                Some(nap) => {
                    worker.begin_rest(nap, since_ns);
                    goes_on = false;
                }
                None => {
                    worker.show();
                    goes_on = worker.search_driven(Some(since_ns));
                }
            }
        }
        // However slow the machine is, each poll gets somewhere: the first look says no.
        let (until_ns, looked) = (pool.now_ns() + TURN_NS, Cell::new(false));
        if goes_on {
            worker.main_loop_until(
                window,
                || looked.replace(true) && pool.now_ns() > until_ns,
                || {
                    goes_on = worker.search_driven(None);
                    goes_on
                },
            );
        }
        *lowest = worker.next_slot();
        match worker.local().thread.nap.get() {
            Some((Nap::UntilWoken, _)) => {}
            Some((Nap::Watching(_), _)) => context.waker().wake_by_ref(),
            None if end.probe() => return Poll::Ready(()),
            None => context.waker().wake_by_ref(),
        }
        Poll::Pending
    }
}
