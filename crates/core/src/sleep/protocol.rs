//! The sleep protocol: who searches, who sleeps, and whom to wake.
//!
//! The words (searching, sleeping, parker), the steps and the reason why no job is slept through
//! are in `README.md` beside this file; S1 to S5 and P1 to P3 below are its steps.

use std::ptr;
use std::time::Duration;

use heist_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heist_sync::{fault, thread, Barrier, BarrierMode, CachePadded, Clock, Futex};

use super::counts::Counts;
use super::lookout::Lookout;
use super::resting::Resting;
use crate::base::latch::CoreLatch;
use crate::schedule;

/// The parker of somebody who is awake.
pub(super) const AWAKE: u32 = 0;
/// The parker of somebody who sleeps, or is about to.
const ASLEEP: u32 = 1;
/// The parker of a worker that sleeps and has no frame but its main loop's: an external caller may
/// take its place.
pub(super) const VACANT: u32 = 2;
/// The parker of a worker that sleeps on, whatever happens, while a caller is in its place.
pub(super) const TAKEN: u32 = 3;
/// The parker of somebody who sleeps and would not take a job: it is unparked for its latch or its
/// mail only.
pub(super) const WITHDRAWN: u32 = 4;
/// The parker of somebody in reserve: it sleeps or has no thread yet, and comes out for a job that
/// somebody sees.
pub(super) const RESERVE: u32 = 5;
/// The parker of somebody whose waker has yet to count it as searching.
const WAKING: u32 = 6;

/// The state that the workers of a pool share in order to sleep and wake.
#[derive(Debug)]
pub(crate) struct Sleep {
    pub(super) counts: CachePadded<AtomicU64>,
    /// One for each worker, then one for each caller that may be in its place.
    parkers: Box<[CachePadded<Futex>]>,
    /// When each was last unparked, by this clock.
    unparked_ns: Box<[AtomicU64]>,
    clock: Clock,
    pub(super) barrier: Barrier,
    pub(super) lookout: Lookout,
    /// Where each worker rests if it is driven; none otherwise.
    pub(super) driven: Box<[CachePadded<Resting>]>,
    /// True if a caller has found no place. A hint.
    pub(super) place_wanted: AtomicBool,
    /// How many workers are active: those with this index or above are recalled.
    pub(super) active: CachePadded<AtomicUsize>,
    /// True if the pool is scheduled.
    is_scheduled: bool,
}

/// The places of jobs, as far as sleepers need to know.
pub(crate) trait Jobs {
    /// Signals all owners: their next pushes look whether somebody sleeps.
    fn signal_all(&self);

    /// Signals the owner with this index.
    fn signal(&self, worker: usize);

    /// True if there is a job in the deque of this worker.
    fn are_at(&self, worker: usize) -> bool;

    /// True if there is a job anywhere else that this worker could take.
    fn are_beyond(&self, worker: usize) -> bool;

    /// True if those in reserve are wanted still.
    fn want_reserve(&self) -> bool;

    /// Calls this one, which is in reserve. False if it does not come out, and is there no more.
    fn call(&self, worker: usize) -> bool;
}

/// The owner of a parker: the worker with this index, or the caller in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleeper {
    Worker(usize),
    Caller(usize),
}

impl Sleeper {
    /// The worker's index.
    pub(super) fn index(self) -> usize {
        match self {
            Self::Worker(index) | Self::Caller(index) => index,
        }
    }
}

/// How a worker that has announced its sleep is to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rest {
    /// Until it is unparked.
    UntilUnparked,
    /// Until it is unparked, and meanwhile it looks for jobs now and then.
    AsLookout,
    /// Until it is unparked; but soon it looks once more, for a job that was pushed in the moment
    /// in which it fell asleep.
    Briefly,
}

/// The place of somebody who sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleeps {
    /// It has no frame, so that a caller may take the place.
    Vacant,
    /// It has frames, or is in the place of a worker.
    Held,
    /// It rests in a function of the program's, and nowhere else if that can be.
    Driven,
}

impl Sleep {
    /// For this many workers, all awake and none searching, and some more behind them that have
    /// withdrawn.
    pub(crate) fn new(workers: usize, withdrawn: usize, barrier: Barrier) -> Self {
        let all = workers + withdrawn;
        let parkers = (0..2 * all).map(|parker| {
            let is_awake = parker < workers || parker >= all;
            CachePadded::new(Futex::new(if is_awake { AWAKE } else { WITHDRAWN }))
        });
        let counts = withdrawn as u64 * Counts::ONE_WITHDRAWN;
        Self {
            counts: CachePadded::new(AtomicU64::new(counts)),
            parkers: parkers.collect(),
            unparked_ns: (0..2 * all).map(|_| AtomicU64::new(0)).collect(),
            clock: Clock::start(),
            barrier,
            lookout: Lookout::new(),
            driven: Box::default(),
            place_wanted: AtomicBool::new(false),
            active: CachePadded::new(AtomicUsize::new(workers)),
            is_scheduled: false,
        }
    }

    /// For the workers of a scheduled pool.
    pub(crate) fn scheduled(mut self) -> Self {
        self.is_scheduled = true;
        self
    }

    /// How many workers there are.
    pub(super) fn workers(&self) -> usize {
        self.parkers.len() / 2
    }

    pub(super) fn parker(&self, parker: Sleeper) -> &Futex {
        &self.parkers[self.number(parker)]
    }

    fn number(&self, parker: Sleeper) -> usize {
        match parker {
            Sleeper::Worker(index) => index,
            Sleeper::Caller(index) => self.workers() + index,
        }
    }

    /// How long ago somebody who is awake was last unparked.
    pub(crate) fn unparked_before_ns(&self, parker: Sleeper) -> u64 {
        // Relaxed: the parker hands it over.
        let unparked_ns = self.unparked_ns[self.number(parker)].load(Ordering::Relaxed);
        self.clock.elapsed_ns().saturating_sub(unparked_ns)
    }

    /// Hands the baton on, in a scheduled pool, before this one sleeps.
    pub(crate) fn stops(&self, sleeper: Sleeper) {
        schedule::stops(ptr::from_ref(self.parker(sleeper)) as usize);
    }

    /// The barriers that this pool runs on.
    pub(crate) fn barrier(&self) -> &Barrier {
        &self.barrier
    }

    /// Changes the counts, and returns what they are then.
    pub(super) fn change(&self, change: u64) -> Counts {
        // Relaxed: whoever reads the counts relies on what those whom it sees there do before they
        // sleep, and that has barriers of its own.
        let before = self.counts.fetch_add(change, Ordering::Relaxed);
        Counts::new(before.wrapping_add(change))
    }

    pub(super) fn counts(&self) -> Counts {
        Counts::new(self.counts.load(Ordering::Relaxed))
    }

    /// A worker begins to search.
    pub(crate) fn start_search(&self) {
        self.change(Counts::ONE_SEARCHING);
    }

    /// A worker stops searching, because it found a job or what it waited for is done. Returns how
    /// many others it woke.
    ///
    /// If it was the last to search, somebody may have published a job and woken nobody, counting
    /// on it: it passes the search on.
    pub(crate) fn stop_search(&self, jobs: &impl Jobs) -> usize {
        let now = self.change(Counts::ONE_SEARCHING.wrapping_neg());
        if now.wants_a_wake_up() && !fault::planted("sleep.pass_on") {
            self.pass_on(jobs)
        } else {
            0
        }
    }

    /// P2 and P3: somebody has published a job and was signalled, or is outside the pool, where no
    /// signal is heard. Sees to it that somebody comes for it. Returns how many workers it woke.
    pub(crate) fn published(&self, jobs: &impl Jobs) -> usize {
        self.published_by(jobs, || false).unwrap_or(0)
    }

    /// As [`published`](Self::published), by somebody whose work `is_brief` up to now: then it may
    /// be left to the lookout, if there is one, to wake somebody. `None` if it is: the caller must
    /// come again with its next job.
    pub(crate) fn published_by(
        &self,
        jobs: &impl Jobs,
        is_brief: impl FnOnce() -> bool,
    ) -> Option<usize> {
        // P2. Pairs with the fences in `announce` and `leave_place`: whoever is not seen here
        // signals after this, and then looks for the job.
        fault::fence("sleep.published.fence", Ordering::SeqCst);
        if !self.counts().wants_a_wake_up() {
            Some(0)
        } else if self.lookout.is_there() && is_brief() && self.lookout.leave() {
            None
        } else {
            Some(self.wake_one(jobs))
        }
    }

    /// P3: wakes one sleeping worker, if any sleeps, or else calls one in reserve.
    #[cold]
    pub(super) fn wake_one(&self, jobs: &impl Jobs) -> usize {
        usize::from(self.wake_sleeper() || self.call_reserve(jobs))
    }

    /// P3, without those in reserve. True if one was woken.
    pub(super) fn wake_sleeper(&self) -> bool {
        // A worker on its way to sleep has changed the counts and not yet its parker. This fence
        // pairs with the one in `announce`: either we find its parker armed, or it sees that we
        // work and finds the job for whose sake we came. A caller that leaves has changed the
        // counts and perhaps not yet the parker, too; this pairs with the fence in `leave_place`:
        // either we find the parker or it sees that we work.
        fault::fence("sleep.wake_one.fence", Ordering::SeqCst);
        (0..self.workers()).any(|worker| self.unpark_if(worker, would_come))
    }

    /// As [`published`](Self::published), for a job that this worker should have: it is woken if it
    /// sleeps, and would take a job. Others may come for it later.
    pub(crate) fn published_for(&self, worker: usize, jobs: &impl Jobs) -> usize {
        // As in `published_by`; and pairs with the fence in `announce`: either the parker is found
        // armed or the worker finds the job.
        fault::fence("sleep.published_for.fence", Ordering::SeqCst);
        if self.unpark_if(worker, would_come) {
            1
        } else if self.counts().wants_a_wake_up() {
            self.wake_one(jobs)
        } else {
            0
        }
    }

    /// Wakes this worker if it sleeps, or the caller in its place. True if it did.
    pub(crate) fn unpark(&self, worker: usize) -> bool {
        self.unpark_if(worker, |_| true)
    }

    pub(super) fn unpark_if(&self, worker: usize, is_meant: impl Fn(u32) -> bool) -> bool {
        // Acquire: pairs with the release in `announce`, so that our change of the counts comes
        // after the sleeper's. One swap: one waker wins.
        let order = fault::ordering("sleep.unpark", Ordering::Acquire);
        let waking = if fault::planted("sleep.unpark.early") {
            AWAKE
        } else {
            WAKING
        };
        let (sleeper, state) = loop {
            let mut sleeper = Sleeper::Worker(worker);
            // Relaxed look first: most parkers are not armed.
            let mut state = self.parker(sleeper).load(Ordering::Relaxed);
            if state == TAKEN {
                sleeper = Sleeper::Caller(worker);
                state = self.parker(sleeper).load(Ordering::Relaxed);
            }
            if matches!(state, AWAKE | TAKEN | WAKING) || !is_meant(state) {
                return false;
            }
            if self.parker(sleeper).replace(state, waking, order) {
                break (sleeper, state);
            }
            // Another waker may have won, or somebody has withdrawn who was in reserve: then
            // nobody would wake it.
            if fault::planted("sleep.unpark.again") {
                return false;
            }
        };
        let parker = self.parker(sleeper);
        self.begins_to_search(state);
        self.notes_time(sleeper);
        schedule::wakes(ptr::from_ref(parker) as usize);
        // Awake no sooner: somebody who falls asleep again before it counts as searching would
        // make the counts wrong for a moment. Release: pairs with the acquire in `park` and in
        // `come_back`.
        let order = fault::ordering("sleep.unpark.awake", Ordering::Release);
        parker.store(AWAKE, order);
        match self.driven.get(worker) {
            Some(place) if place.is_on() => place.call_waker(),
            _ => parker.wake_one(),
        }
        true
    }

    /// Somebody is about to be awake.
    fn notes_time(&self, sleeper: Sleeper) {
        // A model has no clock.
        if !cfg!(any(heist_loom, heist_shuttle)) {
            let unparked_ns = &self.unparked_ns[self.number(sleeper)];
            // Relaxed: the parker hands it over.
            unparked_ns.store(self.clock.elapsed_ns(), Ordering::Relaxed);
        }
    }

    /// Wakes this worker for the sake of something that was published for it alone (a mailbox),
    /// which the caller has just done.
    pub(crate) fn unpark_for_mail(&self, worker: usize) -> bool {
        self.unpark_for_mail_if(worker, |_| true)
    }

    /// As [`unpark_for_mail`](Self::unpark_for_mail), if it has withdrawn: others would come for a
    /// job, or are in reserve and must not.
    pub(crate) fn unpark_withdrawn(&self, worker: usize) -> bool {
        self.unpark_for_mail_if(worker, |state| state == WITHDRAWN)
    }

    fn unpark_for_mail_if(&self, worker: usize, is_meant: impl Fn(u32) -> bool) -> bool {
        // Pairs with the fences in `announce` and `withdraw`: either the parker is found armed or
        // the worker finds its mail.
        fault::fence("sleep.mail.fence", Ordering::SeqCst);
        self.unpark_if(worker, is_meant)
    }

    /// Somebody whose parker was armed in this way turns into a searcher.
    fn begins_to_search(&self, state: u32) {
        let one = if state == WITHDRAWN {
            Counts::ONE_WITHDRAWN
        } else {
            Counts::ONE_SLEEPING
        };
        // One addition, so that nobody sees the worker in neither state.
        self.change(Counts::ONE_SEARCHING.wrapping_sub(one));
    }

    /// S1 to S3: somebody who searches announces that it will sleep until it is unparked or its
    /// latch is set. It must then look for work once more and [`block`](Self::block) (S4, S5) or
    /// [`cancel`](Self::cancel). `None` if the latch is set: it must not sleep, and is still
    /// searching.
    pub(super) fn announce(
        &self,
        parker: Sleeper,
        place: Sleeps,
        latch: &CoreLatch,
        jobs: &impl Jobs,
    ) -> Option<Rest> {
        // S1. Searching turns into sleeping before the parker is armed, so that whoever unparks it
        // can turn the count back.
        let now = self.change(Counts::ONE_SLEEPING.wrapping_sub(Counts::ONE_SEARCHING));
        // S2. Release: pairs with the acquire in `unpark_if`, and in `take_place`.
        let state = match place {
            Sleeps::Vacant => VACANT,
            Sleeps::Held | Sleeps::Driven => ASLEEP,
        };
        let order = fault::ordering("sleep.announce.parker", Ordering::Release);
        self.parker(parker).store(state, order);
        // After the parker: whoever sets a sleeping latch finds it armed.
        if !latch.fall_asleep() {
            self.come_back(parker);
            return None;
        }
        // S3. Pairs with the fence of P2: the signal comes after that of an owner which was ready
        // for signals, and did not see us in the counts.
        fault::fence("sleep.announce.fence", Ordering::SeqCst);
        // Looked at behind the fence, as in `leave_place`.
        let others_work =
            self.counts().somebody_works(self.workers()) && !fault::planted("sleep.announce.works");
        if others_work {
            jobs.signal_all();
        }
        if self.is_scheduled {
            // Each push passes P2, so that none is missed; and a look at a time of its own would
            // make another schedule.
            return Some(Rest::UntilUnparked);
        }
        let has_barrier = self.barrier.mode() == BarrierMode::Membarrier;
        let is_wanted = if has_barrier {
            // A lookout blocks for a while. Without one, callers wake somebody.
            place != Sleeps::Driven && self.lookout.has_news()
        } else {
            self.lookout.expect_missed_jobs();
            !now.all_sleep(self.workers())
        };
        Some(if is_wanted && self.lookout.take_role() {
            Rest::AsLookout
        } else if others_work && has_barrier {
            Rest::Briefly
        } else {
            Rest::UntilUnparked
        })
    }

    /// S4, for somebody who has rested for a while. How it rests from now on.
    pub(super) fn passes_barrier(
        &self,
        parker: Sleeper,
        jobs: &impl Jobs,
        sees_a_job: impl Fn() -> bool,
    ) -> Rest {
        // Relaxed: `park` looks once more.
        let is_awake = self.parker(parker).load(Ordering::Relaxed) == AWAKE;
        if is_awake || !self.counts().somebody_works(self.workers()) {
            return Rest::UntilUnparked;
        }
        // Pairs with P1: a publisher that does not hear the signal is seen.
        if self.barrier.heavy("sleep.announce.heavy") {
            if self.counts().wants_a_wake_up() && sees_a_job() {
                self.wake_one(jobs);
            }
            return Rest::UntilUnparked;
        }
        self.lookout.expect_missed_jobs();
        if self.lookout.take_role() {
            Rest::AsLookout
        } else {
            Rest::UntilUnparked
        }
    }

    /// It found something after it had announced: it searches again.
    pub(super) fn cancel(&self, parker: Sleeper, rest: Rest) {
        if rest == Rest::AsLookout {
            self.lookout.leave_role();
        }
        self.come_back(parker);
    }

    pub(super) fn park(&self, parker: Sleeper) {
        let parker = self.parker(parker);
        loop {
            // Acquire: pairs with the release in `leave_place`: what a caller did in our place has
            // happened.
            match parker.load(fault::ordering("sleep.park", Ordering::Acquire)) {
                AWAKE => return,
                state => parker.wait(state),
            }
        }
    }

    /// It turns from sleeping to searching by itself, unless it was unparked.
    fn come_back(&self, parker: Sleeper) {
        let parker = self.parker(parker);
        let order = fault::ordering("sleep.come_back", Ordering::Acquire);
        loop {
            // Acquire: pairs with the release in `leave_place`, as a caller may have been here.
            match parker.load(order) {
                AWAKE => return,
                WAKING if self.driven.is_empty() => parker.wait(WAKING),
                // A driven one is not woken for this.
                WAKING => {
                    parker.wait_timeout(WAKING, Lookout::PERIOD);
                    yield_in_a_model();
                }
                // A caller took the place in this moment.
                TAKEN => {
                    parker.wait_timeout(TAKEN, Lookout::PERIOD);
                    yield_in_a_model();
                }
                armed => {
                    if parker.replace(armed, AWAKE, order) {
                        return self.begins_to_search(armed);
                    }
                }
            }
        }
    }

    /// Somebody who works, and would take no job, sleeps until it is unparked, by whoever sets its
    /// latch or by name, unless it `is_wanted` at once, or until that `patience` is at its end. It
    /// searches afterwards, as everybody does who was unparked; false if it was not, and works on.
    /// `replace` comes before it sleeps.
    pub(crate) fn withdraw(
        &self,
        parker: Sleeper,
        latch: &CoreLatch,
        jobs: &impl Jobs,
        is_wanted: impl FnOnce() -> bool,
        replace: impl FnOnce(),
        patience: Option<Duration>,
    ) -> bool {
        // As S1 and S2. It relies on no publisher, and signals nobody.
        self.change(Counts::ONE_WITHDRAWN);
        // Release: pairs with the acquire in `unpark_if`.
        // Equivalent (sleep.withdraw.parker): to loom, which changes a word in the order in which
        // the changes run. A processor may let the parker's be seen first.
        let order = fault::ordering("sleep.withdraw.parker", Ordering::Release);
        self.parker(parker).store(WITHDRAWN, order);
        let sleeps = latch.fall_asleep();
        // Pairs with the fences in `unpark_for_mail` and `set_active`.
        fault::fence("sleep.withdraw.fence", Ordering::SeqCst);
        let is_over = !sleeps || is_wanted();
        if !is_over {
            replace();
            match patience {
                None => self.park(parker),
                Some(patience) => self.parker(parker).wait_timeout(WITHDRAWN, patience),
            }
        }
        // Relaxed: nothing is handed over.
        let works_on = (is_over || patience.is_some())
            && self
                .parker(parker)
                .replace(WITHDRAWN, AWAKE, Ordering::Relaxed);
        if works_on {
            self.end_blocking(parker.index(), jobs);
        } else if !fault::planted("sleep.withdraw.reserve") {
            // It was unparked, or put in reserve in this moment.
            self.come_back(parker);
        }
        latch.wake_up();
        !works_on
    }

    /// Somebody who works, and whose jobs are public, publishes none from now on: it blocks in the
    /// program's own code.
    pub(crate) fn begin_blocking(&self) {
        self.change(Counts::ONE_WITHDRAWN);
    }

    /// It works again.
    pub(crate) fn end_blocking(&self, worker: usize, jobs: &impl Jobs) {
        self.change(Counts::ONE_WITHDRAWN.wrapping_neg());
        // A caller that left meanwhile saw nobody at work and signalled nobody, and a lookout has
        // given up. If it did so before this change of the counts, the next push sees in them who
        // sleeps.
        if !fault::planted("sleep.end_blocking.signal") {
            jobs.signal(worker);
        }
    }

    /// As [`no_worker_is_free`](Self::no_worker_is_free), for somebody who has just stopped
    /// searching: true, or whoever publishes a job that the caller does not see after this finds
    /// that nobody is free.
    pub(crate) fn no_worker_is_free_any_more(&self) -> bool {
        // Pairs with the fence of P2.
        fault::fence("sleep.any_more.fence", Ordering::SeqCst);
        self.no_worker_is_free()
    }

    /// True if nobody searches, and nobody sleeps who would come for a job.
    pub(crate) fn no_worker_is_free(&self) -> bool {
        self.counts().no_worker_is_free()
    }
}

/// True if somebody with a parker that is armed in this way comes for a job, whoever it is.
fn would_come(state: u32) -> bool {
    !matches!(state, WITHDRAWN | RESERVE)
}

/// Where there is no clock, others must run for time to pass.
pub(super) fn yield_in_a_model() {
    if cfg!(any(heist_loom, heist_shuttle)) {
        thread::yield_now();
    }
}
