//! A worker's wait: it runs the jobs that may run here, searches, or withdraws.

use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use heist_event::EventKind;
use heist_sync::hint;

use crate::base::counters::Activity;
use crate::base::job::{JobSlot, Name};
use crate::base::latch::CoreLatch;
use crate::base::region::is_surrounded;
use crate::base::unwind::AbortOnUnwind;
use crate::insight::call::Pause;
use crate::policy::{IdleLadder, IdleStep, Priority};
use crate::schedule::{self, Point};
use crate::state::{Doing, Pool, Wait};
use crate::worker::backlog::Backlog;
use crate::worker::Worker;

/// The rounds of a wait, in each of which a job may have run, after which those that yielded and
/// local futures have a turn (FU-2): jobs that keep pushing others would keep them waiting.
const ROUNDS: u32 = 32;
/// So much is added for a round to a word that overflows at the last: two instructions in all.
const ROUND: u8 = ((1 << u8::BITS) / ROUNDS) as u8;

/// How long a frame goes on that runs descendants only, and never stops, before another worker
/// steps in: the job for which it waits may be one that it must not run. As long as a lane may be
/// passed over.
#[derive(Debug, Default)]
pub(crate) enum Patience {
    /// It has not gone on for long, as far as it looked.
    #[default]
    Fresh,
    /// Since then.
    Since(u64),
    /// Another worker works in the place of this pool's.
    Replaced(Arc<Pool>),
}

impl Patience {
    /// The frame goes on, on this worker.
    #[cold]
    #[inline(never)]
    fn goes_on(&mut self, worker: &Worker) {
        let pool = worker.pool();
        if pool.compensation.most() == 0 || pool.members.is_some() {
            return;
        }
        let now_ns = pool.now_ns();
        match *self {
            Self::Fresh => *self = Self::Since(now_ns),
            Self::Since(since_ns) if Priority::is_late(since_ns, now_ns) => {
                let called = pool.compensate(worker.index());
                worker.state().counters.wakes.add(called as u64);
                *self = Self::Replaced(pool.share());
            }
            Self::Since(_) | Self::Replaced(_) => {}
        }
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        if let Self::Replaced(pool) = self {
            // In a forked child somebody may hold the lock for ever.
            if !pool.born.is_past() {
                pool.compensation.give_back();
            }
        }
    }
}

impl Worker {
    /// Runs jobs until the latch is set; sleeps while there are none. If only descendants may run
    /// here, they are the jobs from the slot `oldest` upwards, and those of the `backlog`.
    #[inline]
    pub(crate) fn wait_until(
        &self,
        latch: &CoreLatch,
        what: Wait,
        backlog: Option<&Backlog>,
        oldest: impl Fn(&Self) -> usize,
    ) {
        if !latch.probe() {
            let _frame = self.enters(|| Doing::Waits(what));
            self.help_until(latch, &oldest, backlog, self.is_strict());
        }
    }

    /// As [`wait_until`](Self::wait_until), for the lent job of this `name` in this slot, which a
    /// thief has: if little of the stack is left, only descendants run here (SG-1).
    pub(crate) fn wait_for_thief(&self, latch: &CoreLatch, slot: JobSlot, name: Name) {
        self.local().thread.was_helped.set(true);
        if !latch.probe() {
            let slot = slot.as_ptr() as usize;
            let _frame = self.enters(|| Doing::Waits(Wait::Half { name, slot }));
            // The first closure pushed its jobs above the slot.
            let is_strict = self.is_strict() || self.is_guarded();
            self.help_until(latch, &|_| slot + 1, None, is_strict);
        }
    }

    #[cold]
    fn help_until(
        &self,
        latch: &CoreLatch,
        oldest: &dyn Fn(&Self) -> usize,
        backlog: Option<&Backlog>,
        is_strict: bool,
    ) {
        self.store_tail();
        self.local().thread.was_helped.set(true);
        let _pause = Pause::begin();
        // No job unwinds, and unwinding from here would leave behind a latch that another thread is
        // about to set.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let mut ladder = IdleLadder::new(self.pool().is_oversubscribed());
        let (mut rounds, mut patience) = (0, Patience::default());
        self.on_top(|| {
            while !latch.probe() {
                if self.has_a_round(&mut rounds, is_strict) && is_strict {
                    patience.goes_on(self);
                }
                if self.run_own(oldest(self), is_strict)
                    || backlog.is_some_and(|backlog| backlog.run_one(self))
                    || self.run_piece(self.shared_once())
                {
                    ladder = IdleLadder::new(self.pool().is_oversubscribed());
                } else if is_strict {
                    let has_backlog = || backlog.is_some_and(Backlog::has_a_job);
                    let (ladder, once) = (&mut ladder, self.shared_once());
                    self.step_down(ladder, &mut patience, latch, has_backlog, once);
                } else if Self::is_several() {
                    self.help_as_each(latch);
                } else {
                    self.search_until(latch, false);
                }
            }
        });
        drop(patience);
        abort.defuse();
    }

    /// Waits until the latch is set, when the initialiser of this `Once` has ended, and runs pieces
    /// of it meanwhile.
    pub(crate) fn wait_for_initialiser(&self, latch: &CoreLatch, once: *const ()) {
        let _pause = Pause::begin();
        let _frame = self.enters(|| Doing::Waits(Wait::Value(once as usize)));
        // A piece would run in the surroundings that are entered here.
        let once = if is_surrounded() { ptr::null() } else { once };
        // As in `help_until`.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let mut ladder = IdleLadder::new(self.pool().is_oversubscribed());
        self.sees_a_piece(once);
        self.on_top(|| {
            while !latch.probe() {
                if self.run_piece(once) || self.run(self.take_mail()) {
                    ladder = IdleLadder::new(self.pool().is_oversubscribed());
                } else {
                    let patience = &mut Patience::default();
                    self.step_down(&mut ladder, patience, latch, || false, once);
                }
            }
        });
        abort.defuse();
    }

    /// Calls `op`, which runs jobs on top of a frame that has not ended. Does not unwind.
    #[inline(always)]
    pub(crate) fn on_top<R>(&self, op: impl FnOnce() -> R) -> R {
        let frames = &self.local().frames;
        let (depth, level) = (frames.wait_depth.get() + 1, frames.yield_level.get());
        let level_here = if self.keeps_order() { 0 } else { depth };
        frames.wait_depth.set(depth);
        frames.yield_level.set(level_here);
        let result = op();
        if !self.state().yielded.is_empty() {
            self.take_over_yielded();
        }
        frames.wait_depth.set(depth - 1);
        frames.yield_level.set(level);
        result
    }

    /// True if the present job runs on top of a waiting frame.
    pub(crate) fn is_on_top(&self) -> bool {
        self.local().frames.wait_depth.get() > 0
    }

    /// True if other jobs wait that this worker could run in place of a long one.
    pub(crate) fn others_wait(&self) -> bool {
        self.is_on_top() || self.has_pending() || self.pool().sees_a_job(self.index())
    }

    /// Runs one of the worker's own jobs. If only descendants may run here, they are the jobs at
    /// the address `oldest` and above. False if there is none.
    pub(crate) fn run_own_job(&self, oldest: usize) -> bool {
        self.run_own(oldest, self.is_strict())
    }

    #[inline(always)]
    fn run_own(&self, oldest: usize, is_strict: bool) -> bool {
        // As in `help_until`.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let has_run = if is_strict {
            self.run_descendant(oldest)
        } else {
            self.run(self.take_due()) || self.run(self.take_own())
        };
        abort.defuse();
        has_run
    }

    /// Counts a round of a wait. True each [so many](ROUNDS) times: those have had their turn that
    /// the wait might keep waiting.
    #[inline(always)]
    pub(crate) fn has_a_round(&self, rounds: &mut u8, is_strict: bool) -> bool {
        *rounds = rounds.wrapping_add(ROUND);
        let is_last = *rounds == 0;
        if is_last {
            self.run_late(is_strict);
        }
        is_last
    }

    /// Has a round of a wait that is over: runs a job, if there is one that may run here.
    #[cold]
    pub(crate) fn lets_others_go(&self, patience: &mut Patience) {
        if self.is_strict() {
            patience.goes_on(self);
        }
        self.store_tail();
        self.on_top(|| {
            self.run_late(self.is_strict());
            self.help_once(self.pushed_in_job_from());
        });
    }

    /// Runs one of the jobs that yielded, or were woken and buried, and one from the mailbox that
    /// is late, as far as they may run here.
    #[cold]
    #[inline(never)]
    fn run_late(&self, is_strict: bool) {
        // As in `help_until`.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        // Further below are jobs of other frames, which may have noted where, or wait for their
        // descendants.
        self.unbury(match self.is_unwatched() && self.keeps_order() {
            true => 0,
            false => self.pushed_from(),
        });
        let yielded = match is_strict {
            true => self.take_yielded_here(),
            false => self.take_yielded(),
        };
        self.run(yielded);
        self.run(self.take_late_mail());
        abort.defuse();
    }

    /// Runs a job in the slot at this address or above, or one of the others that run where only
    /// descendants do.
    fn run_descendant(&self, oldest: usize) -> bool {
        self.next_slot() > oldest && self.run(self.pop())
            || self.run(self.take_mail())
            || self.run(self.take_yielded_here())
    }

    /// As [`run_own_job`](Self::run_own_job), or a job from elsewhere that may run here.
    pub(crate) fn help_once(&self, oldest: usize) -> bool {
        // As in `help_until`.
        let abort = AbortOnUnwind("a panic escaped from the scheduler");
        let has_run = self.run_own_job(oldest) || !self.is_strict() && self.run(self.find());
        abort.defuse();
        has_run
    }

    /// Passes time when nothing may run here: spins, yields, and at last withdraws, until there is
    /// a job in the backlog or there may be a piece of the initialiser of this `Once`, if it is not
    /// null.
    fn step_down(
        &self,
        ladder: &mut IdleLadder,
        patience: &mut Patience,
        latch: &CoreLatch,
        has_backlog: impl Fn() -> bool,
        once: *const (),
    ) {
        let gaps = || self.local().search.waits.get();
        let step = if self.pool().members.is_some() {
            schedule::point(Point::Round);
            IdleStep::Sleep
        } else {
            let now_ns = self.pool().now_ns();
            ladder.step(now_ns, gaps, self.may_yield(now_ns))
        };
        match step {
            IdleStep::Spin(times) => (0..times).for_each(|_| hint::spin_loop()),
            IdleStep::Yield => self.yields(latch),
            IdleStep::Sleep => {
                // One worker steps in for this one, not two.
                *patience = Patience::default();
                let mut is_replaced = false;
                let replace = || {
                    is_replaced = true;
                    let called = self.pool().compensate(self.index());
                    self.state().counters.wakes.add(called as u64);
                };
                let is_wanted =
                    || !self.state().mailbox.is_empty() || has_backlog() || self.sees_a_piece(once);
                if self.withdraw_until(latch, is_wanted, replace, None) {
                    self.end_search();
                }
                if is_replaced {
                    self.pool().compensation.give_back();
                }
            }
        }
    }

    /// Sleeps until the latch is set, the worker is unparked by its index, or `patience` has run
    /// out. True if it was unparked: then it counts as searching, and has to
    /// [end](Self::end_search) the search.
    pub(crate) fn withdraw_until(
        &self,
        latch: &CoreLatch,
        is_wanted: impl FnOnce() -> bool,
        replace: impl FnOnce(),
        patience: Option<Duration>,
    ) -> bool {
        self.pool().abort_if_forked();
        self.return_shares();
        self.turn_to(Activity::Searching, EventKind::SearchBegin);
        self.turn_to(Activity::Asleep, EventKind::Sleep);
        let pool = self.pool();
        let replace = || {
            replace();
            if pool.members.is_some() {
                pool.sleep.stops(self.sleeper());
            }
        };
        let is_searching =
            pool.sleep
                .withdraw(self.sleeper(), latch, pool, is_wanted, replace, patience);
        if pool.members.is_some() {
            schedule::goes_on();
        }
        self.turn_to(Activity::Searching, EventKind::Wake);
        if is_searching {
            self.state().counters.sleeps.add_beside_others(1);
        } else {
            self.turn_to(Activity::Working, EventKind::SearchEnd);
        }
        is_searching
    }
}
