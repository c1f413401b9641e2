//! How a worker finds something to do: its main loop, the search, and what it does
//! while it waits.
//!
//! The search order: the own deque, newest first; the own mailbox, where
//! broadcasts arrive; the victims' deques, oldest first; the injector.
//!
//! A job from outside does not wait for the deques to run dry. A worker that comes back
//! to its main loop, or waits and has little on its stack, takes one first if it has
//! passed over the injector [for some jobs, or for some time](Turns).

use crate::counters::Activity;
use crate::job::Job;
use crate::latch::CoreLatch;
use crate::policy::{IdleLadder, IdleStep, Turns, Victims};
use crate::sleep::{Bell, Searcher};
use crate::unwind::AbortOnUnwind;
use crate::worker::Worker;
use heist_deque::Steal;
use heist_event::{EventKind, WorkerId};
use heist_sync::{hint, thread};
use std::cell::Cell;

/// While jobs from outside wait, a worker with more victims than that tries them
/// before one out of so many.
const STEAL_INTERVAL: u32 = 8;

impl Worker {
    /// A job that is the worker's already: from its own deque or its mailbox.
    pub(crate) fn take_own(&self) -> Option<Job> {
        let queued = if self.pool().breadth_first {
            self.take_oldest()
        } else {
            self.pop()
        };
        if queued.is_some() {
            return queued;
        }
        self.take_mail()
    }

    fn take_mail(&self) -> Option<Job> {
        let mail = self.seat().mailbox.take()?;
        self.seat().counters.mailed.add(1);
        Some(Job::Reference(mail))
    }

    /// A job from anywhere. The oldest of the own deque is one that a join
    /// further down this stack has lent.
    pub(crate) fn find(&self) -> Option<Job> {
        self.take_due()
            .or_else(|| self.take_own())
            .or_else(|| self.take_oldest())
            .or_else(|| self.steal())
            .or_else(|| self.take_injected())
    }

    pub(crate) fn take_injected(&self) -> Option<Job> {
        let job = self.pool().injector.take()?;
        self.own().turns.set(Turns::new());
        self.seat().counters.injected.add(1);
        self.record(EventKind::Injected);
        Some(Job::Injected(job))
    }

    /// A job from outside, if it is its turn: it may be so at once, if others have taken
    /// those that this worker has passed over. Not on a frame that is far up the stack: the
    /// job has nothing to do with what lies there, and may need room.
    #[inline]
    fn take_due(&self) -> Option<Job> {
        if self.pool().injector.is_empty() {
            None
        } else {
            self.take_turn()
        }
    }

    /// As [`take_due`](Self::take_due), if a job from outside waits.
    #[cold]
    #[inline(never)]
    fn take_turn(&self) -> Option<Job> {
        let mut turns = self.own().turns.get();
        let is_due = turns.is_due(self.pool().now_ns());
        self.own().turns.set(turns);
        if (is_due || self.pool().prompt) && !self.is_deep() {
            self.take_injected()
        } else {
            None
        }
    }

    /// Tries each victim once.
    fn steal(&self) -> Option<Job> {
        let counters = &self.seat().counters;
        let mut rng = self.own().rng.get();
        let mut found = None;
        for victim in Victims::new(&mut rng, self.index(), self.pool().seats().len()) {
            let may_ask = || {
                let mut manners = self.own().manners.get();
                let may = manners.may_ask(self.pool().now_ns());
                self.own().was_refused.set(!may);
                self.own().manners.set(manners);
                may
            };
            match self.pool().seat(victim).steal(may_ask) {
                Steal::Success(job) => {
                    counters.steals.add(1);
                    self.record(EventKind::Steal {
                        victim: WorkerId::new(victim),
                    });
                    found = Some(job);
                    break;
                }
                Steal::Empty => counters.steals_empty.add(1),
                Steal::Retry => counters.steals_lost.add(1),
            }
        }
        self.own().rng.set(rng);
        found
    }

    /// Runs jobs until the latch is set; sleeps while there are none. If only
    /// descendants may run here, those are the jobs from the slot on that `oldest` gives.
    #[inline]
    pub(crate) fn wait_until(&self, latch: &CoreLatch, oldest: impl Fn(&Self) -> usize) {
        if !latch.probe() {
            self.help_until(latch, oldest);
        }
    }

    #[cold]
    fn help_until(&self, latch: &CoreLatch, oldest: impl Fn(&Self) -> usize) {
        self.settle();
        // No job unwinds, and an unwinding frame here would leave a latch
        // behind that somebody is about to set.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let mut ladder = IdleLadder::new(self.pool().oversubscribed);
        while !latch.probe() {
            if self.run_own_job(oldest(self)) {
                ladder = IdleLadder::new(self.pool().oversubscribed);
            } else if self.is_strict() {
                self.step_down(&mut ladder, latch);
            } else {
                self.search_until(latch, false);
            }
        }
        abort.defuse();
    }

    /// Runs a job that is the worker's already. If only descendants may run here,
    /// those are the jobs at the address `oldest` and above. False if there is none.
    pub(crate) fn run_own_job(&self, oldest: usize) -> bool {
        // As in `help_until`.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let has_run = if self.is_strict() {
            self.next_slot() > oldest && self.run(self.pop()) || self.run(self.take_mail())
        } else {
            self.run(self.take_due()) || self.run(self.take_own())
        };
        abort.defuse();
        has_run
    }

    /// Runs the job, if there is one.
    #[inline(always)]
    fn run(&self, job: Option<Job>) -> bool {
        match job {
            Some(job) => {
                self.execute(job);
                true
            }
            None => false,
        }
    }

    /// There is nothing that may run here: spins, yields, and withdraws in the end.
    fn step_down(&self, ladder: &mut IdleLadder, latch: &CoreLatch) {
        let gaps = || self.own().gaps.get();
        match ladder.step(self.pool().now_ns(), gaps) {
            IdleStep::Spin(times) => (0..times).for_each(|_| hint::spin_loop()),
            IdleStep::Yield => thread::yield_now(),
            IdleStep::Sleep => {
                let mut is_replaced = false;
                let replace = || {
                    is_replaced = true;
                    self.pool().replace_one();
                };
                self.withdraw_until(latch, || !self.seat().mailbox.is_empty(), replace);
                if is_replaced {
                    self.pool().spares.give_back();
                }
            }
        }
    }

    /// Sleeps until the latch is set, or somebody rings for this worker by name.
    pub(crate) fn withdraw_until(
        &self,
        latch: &CoreLatch,
        is_wanted: impl FnOnce() -> bool,
        replace: impl FnOnce(),
    ) {
        self.pool().abort_if_forked();
        self.turn_to(Activity::Searching, EventKind::SearchBegin);
        self.turn_to(Activity::Asleep, EventKind::Sleep);
        let sleep = &self.pool().sleep;
        let is_searching = sleep.withdraw(self.bell(), latch, is_wanted, replace);
        self.turn_to(Activity::Searching, EventKind::Wake);
        if is_searching {
            self.seat().counters.sleeps.add_beside_others(1);
            self.end_search();
        } else {
            self.turn_to(Activity::Working, EventKind::SearchEnd);
        }
    }

    /// The worker has found a job or what it waits for, or is not to search.
    /// Returns the time.
    pub(crate) fn end_search(&self) -> u64 {
        let now_ns = self.turn_to(Activity::Working, EventKind::SearchEnd);
        let woke = self.pool().sleep.stop_search();
        self.seat().counters.wakes.add(woke as u64);
        now_ns
    }

    /// The top of a worker's stack: runs jobs until the pool ends, or the worker
    /// `is_recalled`.
    pub(crate) fn main_loop(&self, end: &CoreLatch, is_recalled: impl Fn() -> bool) {
        let vacates = !self.pool().is_spare(self.index());
        while !end.probe() && !is_recalled() {
            let has_run =
                self.run(self.take_due()) || self.run(self.take_own()) || self.run_waiting();
            if !has_run {
                self.search_until(end, vacates);
            }
        }
    }

    /// If a job from outside waits, it takes no search to find one. A victim comes
    /// first; but if there are many, not each time, because a look at all of them
    /// takes longer than a small job.
    fn run_waiting(&self) -> bool {
        if self.pool().injector.is_empty() {
            return false;
        }
        let looks = self.own().looks.get();
        self.own().looks.set(looks.wrapping_add(1));
        if looks % STEAL_INTERVAL == 0 || self.pool().seats().len() <= STEAL_INTERVAL as usize {
            if let Some(job) = self.steal() {
                self.execute_stolen(job, self.pool().now_ns());
                return true;
            }
        }
        self.run(self.take_injected())
    }

    /// Looks for a job until it has found one, and runs it, or until the latch
    /// is set. `vacates`: a guest may take the seat while the worker sleeps.
    fn search_until(&self, latch: &CoreLatch, vacates: bool) {
        self.pool().abort_if_forked();
        let ran_out_ns = self.turn_to(Activity::Searching, EventKind::SearchBegin);
        let mut search = Search {
            worker: self,
            latch,
            ladder: IdleLadder::new(self.pool().oversubscribed),
            ran_out_ns: Cell::new(ran_out_ns),
        };
        let (pool, bell) = (self.pool(), self.bell());
        let found = pool.sleep.search(&mut search, pool, bell, vacates, latch);
        let began_ns = self.end_search();
        search.count_gap(began_ns);
        self.look_after_a_search();
        match found {
            Some(job @ (Job::Reference(_) | Job::Injected(_))) => self.execute(job),
            Some(job) => self.execute_stolen(job, began_ns),
            None => {}
        }
    }

    /// Runs a job that was stolen at this time, and learns whether it was worth it.
    fn execute_stolen(&self, job: Job, began_ns: u64) {
        self.execute(job);
        let mut manners = self.own().manners.get();
        manners.stolen_job_took(self.pool().now_ns().saturating_sub(began_ns));
        self.own().manners.set(manners);
    }
}

/// One search of a worker.
struct Search<'a> {
    worker: &'a Worker,
    latch: &'a CoreLatch,
    ladder: IdleLadder,
    /// When the worker ran out of work, or woke up last.
    ran_out_ns: Cell<u64>,
}

impl Searcher for Search<'_> {
    type Job = Job;

    fn find(&self) -> Option<Job> {
        self.worker.find()
    }

    fn pause(&mut self, wants_seat: bool) -> bool {
        self.look_away();
        let step = if wants_seat {
            IdleStep::Sleep
        } else {
            let gaps = || self.worker.own().gaps.get();
            self.ladder.step(self.worker.pool().now_ns(), gaps)
        };
        match step {
            IdleStep::Spin(times) => (0..times).for_each(|_| hint::spin_loop()),
            IdleStep::Yield => thread::yield_now(),
            // A job that somebody else is about to take, or that we may not
            // ask for just now. Announcing our sleep would be for nothing,
            // and disturb everybody.
            IdleStep::Sleep if self.worker.seat().sees_a_job() => thread::yield_now(),
            IdleStep::Sleep => return true,
        }
        false
    }

    fn begins_to_sleep(&self) {
        self.worker.tidy_up();
        self.worker.turn_to(Activity::Asleep, EventKind::Sleep);
    }

    fn sleeps(&self) {
        self.worker.seat().counters.sleeps.add_beside_others(1);
    }

    fn has_woken(&self) {
        // Counted now: it may have been woken for nothing.
        self.count_gap(self.worker.turn_to(Activity::Searching, EventKind::Wake));
    }
}

impl Search<'_> {
    /// Remembers for how long there has been no work at this time.
    fn count_gap(&self, now_ns: u64) {
        let mut gaps = self.worker.own().gaps.get();
        gaps.count(now_ns.saturating_sub(self.ran_out_ns.replace(now_ns)));
        self.worker.own().gaps.set(gaps);
    }

    /// Leaves the owners alone for a moment, if the last round found jobs that the
    /// worker may not ask for.
    fn look_away(&self) {
        let (pool, own) = (self.worker.pool(), self.worker.own());
        if own.was_refused.replace(false) && !pool.oversubscribed {
            let until_ns = pool.now_ns() + own.manners.get().pause_ns();
            while pool.now_ns() < until_ns && !self.latch.probe() {
                hint::spin_loop();
            }
        }
    }
}

impl Worker {
    /// Whose bell rings for the thread that sits here.
    fn bell(&self) -> Bell {
        if self.own().is_guest.get() {
            Bell::Guest(self.index())
        } else {
            Bell::Worker(self.index())
        }
    }
}
