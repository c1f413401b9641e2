//! The main loop of a worker, with nothing below it on the stack.

use crate::policy::Turns;
use crate::worker::Worker;

/// While jobs from outside wait, a worker with more victims than this tries to steal only before
/// every eighth of them.
const STEAL_INTERVAL: u32 = 8;

/// As [`STEAL_INTERVAL`], where waiting workers run descendants only, however few victims there
/// are: whoever waits for the thief of a part has nothing else to do, and its place is taken by
/// another thread, though all are at work.
const STEAL_INTERVAL_IF_STRICT: u32 = 64;

/// The number of jobs after which the worker checks whether yielded jobs are late.
const WINDOW: u32 = Turns::JOBS_MAX / 2;

/// A window of so many jobs, at whose end the worker looks whether yielded jobs are late (FU-2).
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The jobs that have run in it.
    ran: u32,
    /// The jobs that have overtaken the yielded ones, up to the last window.
    overtook: u32,
    /// The yielded jobs that are to run now.
    late: usize,
}

impl Worker {
    /// Runs jobs, as the outermost frame of a worker, until the pool has ended or it `is_over`.
    pub(crate) fn main_loop(&self, is_over: impl Fn() -> bool) {
        self.main_loop_until(&mut Window::default(), is_over, || {
            self.search_until(&self.state().end, true);
            true
        });
    }

    /// As [`main_loop`](Self::main_loop), which goes on in this `window`; out of work it calls
    /// `search`, and ends if that returns false.
    #[inline(always)] // or the window lies in memory, which an ordinary worker's need not
    pub(crate) fn main_loop_until(
        &self,
        window: &mut Window,
        is_over: impl Fn() -> bool,
        mut search: impl FnMut() -> bool,
    ) {
        let end = &self.state().end;
        let Window {
            ran,
            overtook,
            late,
        } = window;
        self.hold_shares(true);
        while !end.probe() && !is_over() {
            if self.pool().is_recalled(self.index()) {
                self.stay_withdrawn();
                continue;
            }
            if *late > 0 {
                self.run(self.take_due());
                *late = match self.run(self.take_yielded()) {
                    true => *late - 1,
                    false => 0,
                };
                continue;
            }
            if self.run(self.take_due()) || self.run(self.take_own()) {
                *ran += 1;
            } else {
                let waiting = self.run_waiting(WINDOW - *ran, &is_over);
                if waiting == 0 && !search() {
                    break;
                }
                *ran += waiting.max(1);
            }
            if *ran == WINDOW {
                *ran = 0;
                if self.pool().active.follows() {
                    self.pool().check_cpu_limit(self.pool().now_ns());
                }
                self.unbury(0);
                (*overtook, *late) = self.late_yielded(*overtook);
                let mailed = self.mailed_futures().max(1);
                (0..mailed).for_each(|_| _ = self.run(self.take_late_mail()));
            }
        }
        self.hold_shares(false);
    }

    /// Withdraws, because the worker is recalled, until it is active again or has mail. Other
    /// workers take the jobs in its deque.
    fn stay_withdrawn(&self) {
        if self.run(self.take_mail()) {
            return;
        }
        self.tidy_up();
        if self.state().has_a_job_for_others() {
            self.service();
        }
        let (pool, worker, end) = (self.pool(), self.index(), &self.state().end);
        let (active, sleep) = (&pool.active, &pool.sleep);
        let has_more_to_do = || !pool.is_recalled(worker) || !self.state().mailbox.is_empty();
        while !end.probe() {
            let asks = active.take_role(worker);
            let patience = asks
                .then(|| active.patience(sleep, pool.now_ns()))
                .flatten();
            let is_to_ask = || asks && patience.is_none() && sleep.is_somebody_awake();
            let is_wanted = || has_more_to_do() || is_to_ask();
            if self.withdraw_until(end, is_wanted, || (), patience) {
                self.end_search();
            }
            if has_more_to_do() {
                // One look decides both: a worker that goes on has left the role.
                if asks {
                    active.leave_role(sleep, pool.len());
                }
                return;
            }
        }
    }

    /// At the end of a window: how many jobs have overtaken the yielded ones now, and how many of
    /// those are to run at once, because they could otherwise be late (FU-2): `overtook` jobs have
    /// overtaken them up to the last window, and as many more as a window has may do so in the
    /// next.
    fn late_yielded(&self, overtook: u32) -> (u32, usize) {
        let in_turn = self.local().order.yielded_ran.replace(0);
        let waiting = self.state().yielded.len();
        if waiting == 0 {
            return (0, 0);
        }
        let overtook = overtook + WINDOW.saturating_sub(in_turn);
        if overtook + WINDOW <= Turns::JOBS_MAX {
            return (overtook, 0);
        }
        (0, waiting)
    }

    /// Runs a job that waits in a lane or in one of the worker's queues, without beginning a
    /// search. Victims come before the lanes; but not each time if there are many, because a look
    /// at all of them takes longer than a small job, or if their owners would wait. Returns how
    /// many it has run; of those that have yielded they are `most` at most, until it `is_over`, and
    /// otherwise one.
    #[inline]
    fn run_waiting(&self, most: u32, is_over: impl Fn() -> bool) -> u32 {
        if self.pool().lanes.is_empty() {
            let (ran, index) = (&self.local().order.yielded_ran, self.index());
            // A compensation worker looks each time whether it is recalled.
            let is_alone = self.pool().is_compensating(index);
            let yielded = self.run_yielded(if is_alone { 1 } else { most }, is_over);
            ran.set(ran.get() + yielded.max(1));
            return yielded;
        }
        if self.run(self.take_hinted()) {
            return 1;
        }
        let reached = self.local().order.lanes_reached.get();
        self.local()
            .order
            .lanes_reached
            .set(reached.wrapping_add(1));
        let interval = match self.is_strict() {
            true => STEAL_INTERVAL_IF_STRICT,
            false if self.pool().workers().len() <= STEAL_INTERVAL as usize => 1,
            false => STEAL_INTERVAL,
        };
        if reached % interval == 0 {
            if let Some(job) = self.steal() {
                self.execute_stolen(job, self.pool().now_ns());
                return 1;
            }
        }
        u32::from(self.run(self.take_injected()))
    }

    /// The main loop of a compensation worker, which counts as searching if it `was_called`.
    pub(crate) fn stand_in(&self, mut was_called: bool) {
        let (compensation, end) = (&self.pool().compensation, &self.state().end);
        let index = self.index();
        loop {
            if was_called {
                // It takes the job before it passes the search on, or else another would be called
                // for it.
                let job = self.find();
                self.end_search();
                self.look_after_a_search();
                self.run(job);
            }
            self.main_loop(|| {
                compensation.note_job(self.local().thread.has_blocked.replace(false));
                compensation.recall(index)
            });
            was_called = false;
            while !was_called && !end.probe() && compensation.is_parked(index) {
                let is_wanted = || !compensation.is_parked(index);
                was_called = self.withdraw_until(end, is_wanted, || (), None);
                if was_called && compensation.is_parked(index) {
                    self.end_search();
                    was_called = false;
                }
            }
            if end.probe() && !was_called {
                return;
            }
        }
    }
}
