//! A worker's search for a job.
//!
//! It looks, in this order, into its own deque, newest first; its own mailbox, where broadcasts
//! arrive; its own deque again, for the oldest job if a join has lent it; the urgent lane; its own
//! queue of hinted jobs; the victims' deques, oldest first; the other lanes, with its own yielded
//! jobs before those of low priority; the queues of hinted jobs of workers that are late; other
//! workers' yielded jobs.
//!
//! Jobs in lanes do not wait for the deques to run dry. A worker that comes back to its main loop,
//! or waits with little on its stack, begins with a lane if the job there is
//! [urgent](crate::policy::Priority), or if it has passed over the lanes [for some jobs, or for
//! some time](crate::policy::Turns).

use std::cell::Cell;

use heist_deque::Steal;
use heist_event::{EventKind, WorkerId};
use heist_sync::hint;

use crate::base::counters::Activity;
use crate::base::job::Job;
use crate::base::latch::CoreLatch;
use crate::policy::{Gaps, IdleLadder, IdleStep, Priority, Victim, Victims};
use crate::schedule::{self, Point};
use crate::sleep::{Searcher, Sleeper};
use crate::state::{Pool, WorkerState};
use crate::worker::Worker;

impl Worker {
    /// A job from anywhere.
    pub(crate) fn find(&self) -> Option<Job> {
        self.take_due()
            .or_else(|| self.take_own())
            .or_else(|| self.take_oldest())
            .or_else(|| self.take_from(Priority::High))
            .or_else(|| self.take_hinted())
            .or_else(|| self.steal())
            .or_else(|| self.take_injected())
            .or_else(|| self.take_late())
            .or_else(|| self.steal_yielded())
    }

    /// Tries each victim once.
    pub(crate) fn steal(&self) -> Option<Job> {
        self.steal_by(|victim, may_disturb| victim.steal(|| may_disturb && self.may_ask()))
    }

    /// True if the worker may ask an owner for private jobs now.
    pub(crate) fn may_ask(&self) -> bool {
        if self.pool().members.is_some() {
            return true;
        }
        let mut backoff = self.local().search.backoff.get();
        let may = backoff.may_ask(self.pool().now_ns());
        self.local().search.was_refused.set(!may);
        self.local().search.backoff.set(backoff);
        may
    }

    /// Tries each victim once, with `take`, whose argument says whether it may disturb the victim.
    #[inline]
    pub(crate) fn steal_by(
        &self,
        take: impl Fn(&WorkerState<Pool>, bool) -> Steal<Job>,
    ) -> Option<Job> {
        if self.pool().members.is_some() {
            return self.steal_as_chosen(take);
        }
        let mut rng = self.local().search.rng.get();
        let found = match &self.state().neighbours {
            None => {
                let (all, few) = (self.pool().victims().len(), self.pool().len());
                // Hundreds of compensation workers, none of which has a job, would take longer to
                // look at than a thread to wake.
                let (first, turn) = match few < all {
                    true => (few, rng.below(few)),
                    false => (0, 0),
                };
                let first = (0..first).map(|nth| (nth + turn) % few);
                let first = first.filter(|&victim| victim != self.index());
                let victims = first.chain(Victims::new(&mut rng, self.index(), all));
                self.try_each(victims.map(|victim| (victim, true)), take)
            }
            Some(neighbours) => {
                let mut reach = self.local().search.reach.get();
                let victims = neighbours.victims(&mut rng);
                let may_disturb = |victim: Victim| (victim.worker, reach.covers(victim.class));
                let found = self.try_each(victims.map(may_disturb), take);
                reach.count_round(found.is_some(), neighbours.classes());
                self.local().search.reach.set(reach);
                found
            }
        };
        self.local().search.rng.set(rng);
        found
    }

    /// As `steal_by`, in a scheduled pool: the victims lie in a ring, and the first one is chosen.
    #[cold]
    fn steal_as_chosen(
        &self,
        take: impl Fn(&WorkerState<Pool>, bool) -> Steal<Job>,
    ) -> Option<Job> {
        let (thief, workers) = (self.index(), self.pool().workers().len());
        let first = schedule::choose(workers - 1);
        let ring = (0..workers - 1).map(|nth| (first + nth) % (workers - 1));
        let victims = ring.map(|nth| (thief + 1 + nth) % workers);
        self.try_each(victims.map(|victim| (victim, true)), take)
    }

    #[inline(always)]
    fn try_each(
        &self,
        victims: impl Iterator<Item = (usize, bool)>,
        take: impl Fn(&WorkerState<Pool>, bool) -> Steal<Job>,
    ) -> Option<Job> {
        let counters = &self.state().counters;
        for (victim, may_disturb) in victims {
            match take(self.pool().worker(victim), may_disturb) {
                Steal::Success(job) => {
                    counters.steals.add(1);
                    self.record(EventKind::Steal {
                        victim: WorkerId::new(victim),
                    });
                    return Some(job);
                }
                Steal::Empty => counters.steals_empty.add(1),
                Steal::Retry => counters.steals_lost.add(1),
            }
        }
        None
    }

    /// Runs a piece of the initialiser of this `Once`, unless that is null. False if no victim has
    /// one, or little of the stack is left; nothing depends on the help.
    pub(crate) fn run_piece(&self, once: *const ()) -> bool {
        if once.is_null() || self.is_guarded() {
            return false;
        }
        let piece = self.steal_by(|victim, may_disturb| {
            victim.steal_piece(once, || may_disturb && self.may_ask())
        });
        let Some(piece) = piece else {
            return false;
        };
        self.wake_helper(once);
        self.execute_stolen(piece, self.pool().now_ns());
        true
    }

    /// Ends the worker's search: it has found a job, its wait is over, or it is not to search.
    /// Returns the time.
    pub(crate) fn end_search(&self) -> u64 {
        let now_ns = self.turn_to(Activity::Working, EventKind::SearchEnd);
        let woke = self.pool().sleep.stop_search(self.pool());
        self.state().counters.wakes.add(woke as u64);
        now_ns
    }

    /// Searches until it has found a job, and runs that, or until the latch is set. With
    /// `at_bottom` the worker has no frame but its main loop's: it leaves the search if it is
    /// recalled, and while it sleeps an external caller may take its place, unless it is a
    /// compensation worker.
    pub(crate) fn search_until(&self, latch: &CoreLatch, at_bottom: bool) {
        self.rest(latch);
        let ran_out_ns = self.begin_search(at_bottom);
        let mut search = Search::new(self, latch, at_bottom, ran_out_ns);
        let (pool, sleeper) = (self.pool(), self.sleeper());
        let vacates = at_bottom && !pool.is_compensating(self.index());
        let found = pool
            .sleep
            .search(&mut search, pool, sleeper, vacates, latch);
        search.finish(found);
    }

    /// Leaves the owners of tiny jobs alone for some microseconds, or until the latch is set or a
    /// job comes from outside. Not as a part of a search, for whose time the worker stays awake.
    fn rest(&self, latch: &CoreLatch) {
        let (pool, backoff) = (self.pool(), self.local().search.backoff.get());
        let until_ns = backoff.rests_until_ns();
        if until_ns == 0 || pool.is_oversubscribed() || pool.members.is_some() {
            return;
        }
        while pool.now_ns() < until_ns && !latch.probe() && pool.lanes.is_empty() {
            hint::spin_loop();
        }
    }

    /// The worker has run out of work. Returns the time.
    fn begin_search(&self, at_bottom: bool) -> u64 {
        self.pool().abort_if_forked();
        if at_bottom {
            // A caller that takes the place has none.
            self.hold_shares(false);
        } else {
            self.return_shares();
        }
        let ran_out_ns = self.turn_to(Activity::Searching, EventKind::SearchBegin);
        self.pool().check_cpu_limit(ran_out_ns);
        ran_out_ns
    }

    /// A driven worker, at the bottom of its stack, has run out of work, or has just been woken
    /// and searches, and has `slept_since` a time. Searches until it has found a job, and runs
    /// that, or the pool has ended, or it is recalled. False if the worker rests first.
    pub(crate) fn search_driven(&self, slept_since: Option<u64>) -> bool {
        let (pool, latch) = (self.pool(), &self.state().end);
        let ran_out_ns = slept_since.unwrap_or_else(|| {
            let ran_out_ns = self.begin_search(true);
            pool.sleep.start_search();
            ran_out_ns
        });
        let mut search = Search::new(self, latch, true, ran_out_ns);
        search.is_driven = true;
        if slept_since.is_some() {
            pool.sleep.has_slept(&search, latch);
        }
        let index = self.index();
        match pool.sleep.search_driven(&mut search, pool, index, latch) {
            Ok(found) => search.finish(found),
            Err(nap) => self.begin_rest(nap, search.ran_out_ns.get()),
        }
        self.local().thread.nap.get().is_none()
    }

    /// Runs a job that was stolen at this time, and notes whether it was worth stealing.
    pub(crate) fn execute_stolen(&self, job: Job, began_ns: u64) {
        self.execute(job);
        let mut backoff = self.local().search.backoff.get();
        let ended_ns = self.pool().now_ns();
        backoff.stolen_job_took(ended_ns.saturating_sub(began_ns), ended_ns);
        self.local().search.backoff.set(backoff);
    }
}

/// Where yields are dear, a worker that sees a job and cannot have it yields at every so many looks
/// only, some 50 us: whoever is about to take the job may want this processor.
const LOOKS: u32 = 64;
/// The spins between two of these looks.
const SPINS_BETWEEN_LOOKS: u32 = 20;

/// One search of a worker.
struct Search<'a> {
    worker: &'a Worker,
    latch: &'a CoreLatch,
    at_bottom: bool,
    /// It ends at the first round that finds nothing: the function that drives has other things to
    /// wait for.
    is_driven: bool,
    ladder: IdleLadder,
    /// How long there was no work lately in such a search.
    gaps: &'a Cell<Gaps>,
    /// The looks at a job that it could not have.
    looks: u32,
    /// The time at which the worker ran out of work, or last woke up.
    ran_out_ns: Cell<u64>,
}

impl Searcher for Search<'_> {
    type Job = Job;

    fn find(&self) -> Option<Job> {
        self.worker.find()
    }

    fn pause(&mut self, wants_place: bool) -> bool {
        self.look_away();
        let is_scheduled = self.worker.pool().members.is_some();
        let now_ns = self.worker.pool().now_ns();
        let may_yield = self.worker.may_yield(now_ns);
        if is_scheduled {
            schedule::point(Point::Round);
        }
        let step = if wants_place || is_scheduled || self.is_driven {
            IdleStep::Sleep
        } else {
            let gaps = || self.gaps.get();
            self.ladder.step(now_ns, gaps, may_yield)
        };
        match step {
            IdleStep::Spin(times) => self.spin(times),
            IdleStep::Yield => self.worker.yields(self.latch),
            // There is a job, which another worker is about to take, or for which this one may not
            // ask just now. To announce a sleep would be in vain, and disturb every owner.
            IdleStep::Sleep if self.worker.pool().sees_a_job(self.worker.index()) => {
                self.looks = self.looks.wrapping_add(1);
                if may_yield || self.looks % LOOKS == 0 {
                    self.worker.yields(self.latch);
                } else {
                    self.spin(SPINS_BETWEEN_LOOKS);
                }
            }
            IdleStep::Sleep => return true,
        }
        false
    }

    fn is_recalled(&self) -> bool {
        let (pool, index) = (self.worker.pool(), self.worker.index());
        self.at_bottom
            && if pool.is_compensating(index) {
                pool.compensation.has_surplus()
            } else {
                pool.is_recalled(index)
            }
    }

    fn begins_to_sleep(&self) {
        self.worker.tidy_up();
        self.worker.turn_to(Activity::Asleep, EventKind::Sleep);
    }

    fn sleeps(&self) {
        self.worker.state().counters.sleeps.add_beside_others(1);
        let pool = self.worker.pool();
        if pool.members.is_some() {
            pool.sleep.stops(self.worker.sleeper());
        }
    }

    fn has_woken(&self) {
        if self.worker.pool().members.is_some() {
            schedule::goes_on();
        }
        // Counted now, since the wake-up may have been in vain.
        let now_ns = self.worker.turn_to(Activity::Searching, EventKind::Wake);
        // Not the time that it took to come: an awake worker would have been there.
        let (pool, sleeper) = (self.worker.pool(), self.worker.sleeper());
        let wanted_ns = now_ns.saturating_sub(pool.sleep.unparked_before_ns(sleeper));
        let was_unparked = wanted_ns > self.ran_out_ns.get();
        self.count_gap(if was_unparked { wanted_ns } else { now_ns });
        self.ran_out_ns.set(now_ns);
        pool.check_cpu_limit(now_ns);
    }
}

impl<'a> Search<'a> {
    fn new(worker: &'a Worker, latch: &'a CoreLatch, at_bottom: bool, ran_out_ns: u64) -> Self {
        let search = &worker.local().search;
        Self {
            worker,
            latch,
            at_bottom,
            is_driven: false,
            ladder: IdleLadder::new(worker.pool().is_oversubscribed()),
            gaps: if at_bottom {
                &search.gaps
            } else {
                &search.waits
            },
            looks: 0,
            ran_out_ns: Cell::new(ran_out_ns),
        }
    }

    /// Ends the search, and runs the job that was found.
    fn finish(self, found: Option<Job>) {
        let worker = self.worker;
        if self.at_bottom {
            worker.hold_shares(true);
        }
        let began_ns = worker.end_search();
        self.count_gap(began_ns);
        worker.look_after_a_search();
        match found {
            Some(job @ (Job::Reference(_) | Job::Injected { .. })) => worker.execute(job),
            Some(job) => worker.execute_stolen(job, began_ns),
            None => {}
        }
    }

    /// Spins so many times, or until the latch is set.
    fn spin(&self, times: u32) {
        for _ in 0..times {
            if self.latch.probe() {
                break;
            }
            hint::spin_loop();
        }
    }

    /// Notes for how long there has been no work.
    fn count_gap(&self, now_ns: u64) {
        let mut gaps = self.gaps.get();
        gaps.count(now_ns.saturating_sub(self.ran_out_ns.replace(now_ns)));
        self.gaps.set(gaps);
    }

    /// Leaves the owners alone for a moment, if the last round found jobs that the worker may not
    /// ask for.
    fn look_away(&self) {
        let (pool, local) = (self.worker.pool(), self.worker.local());
        if local.search.was_refused.replace(false) && !pool.is_oversubscribed() {
            let until_ns = pool.now_ns() + local.search.backoff.get().pause_ns();
            while pool.now_ns() < until_ns && !self.latch.probe() {
                hint::spin_loop();
            }
        }
    }
}

impl Worker {
    /// The role in which this thread sleeps.
    pub(crate) fn sleeper(&self) -> Sleeper {
        if self.local().thread.is_caller.get() {
            Sleeper::Caller(self.index())
        } else {
            Sleeper::Worker(self.index())
        }
    }
}
