//! The sleep protocol: who searches, who sleeps, and whom to wake.
//!
//! The words (searching, sleeping, bell), the steps and the reason why no job
//! is slept through are in `README.md` beside this file; S1 to S5 and P1 to P3
//! below are its steps.

use super::counts::Counts;
use super::lookout::Lookout;
use crate::latch::CoreLatch;
use heist_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use heist_sync::{fault, thread, Barrier, CachePadded, Futex};

/// The bell of somebody who is awake.
pub(super) const AWAKE: u32 = 0;
/// The bell of somebody who sleeps, or is about to.
const ASLEEP: u32 = 1;
/// The bell of a worker that sleeps and has no frame but its main loop's: a guest
/// may take its seat.
pub(super) const VACANT: u32 = 2;
/// The bell of a worker that sleeps on, whatever happens, while a guest sits on
/// its seat.
pub(super) const TAKEN: u32 = 3;
/// The bell of somebody who sleeps and would not take a job: it rings for its latch
/// or its mail only.
const WITHDRAWN: u32 = 4;

/// What the workers of a pool share in order to sleep and wake.
#[derive(Debug)]
pub(crate) struct Sleep {
    pub(super) counts: CachePadded<AtomicU64>,
    /// One for each worker, then one for each guest that may sit in its place.
    bells: Box<[CachePadded<Futex>]>,
    pub(super) barrier: Barrier,
    pub(super) lookout: Lookout,
    /// True if a guest has found no seat. A hint.
    pub(super) seat_wanted: AtomicBool,
}

/// Where jobs may lie, as far as sleepers need to know.
pub(crate) trait Jobs {
    /// Calls all owners: their next pushes look whether somebody sleeps.
    fn call_all(&self);

    /// True if there is a job in the deque of this seat.
    fn are_at(&self, seat: usize) -> bool;

    /// True if there is a job anywhere else that the worker of this seat could take.
    fn are_beyond(&self, seat: usize) -> bool;
}

/// Whose bell: that of the worker with this index, or of the guest on its seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bell {
    Worker(usize),
    Guest(usize),
}

impl Bell {
    /// The seat on which the bell's owner sits.
    pub(super) fn seat(self) -> usize {
        match self {
            Self::Worker(seat) | Self::Guest(seat) => seat,
        }
    }
}

/// How a worker that has announced its sleep is to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rest {
    /// Until its bell rings.
    UntilRung,
    /// Until its bell rings, and meanwhile it looks for jobs now and then.
    AsLookout,
}

impl Sleep {
    /// For this many workers, all awake and none searching, and some more behind
    /// them that have withdrawn.
    pub(crate) fn new(workers: usize, withdrawn: usize, barrier: Barrier) -> Self {
        let all = workers + withdrawn;
        let bells = (0..2 * all).map(|bell| {
            let is_awake = bell < workers || bell >= all;
            CachePadded::new(Futex::new(if is_awake { AWAKE } else { WITHDRAWN }))
        });
        let counts = withdrawn as u64 * Counts::ONE_WITHDRAWN;
        Self {
            counts: CachePadded::new(AtomicU64::new(counts)),
            bells: bells.collect(),
            barrier,
            lookout: Lookout::new(),
            seat_wanted: AtomicBool::new(false),
        }
    }

    /// How many workers there are.
    pub(super) fn workers(&self) -> usize {
        self.bells.len() / 2
    }

    pub(super) fn bell(&self, bell: Bell) -> &Futex {
        match bell {
            Bell::Worker(index) => &self.bells[index],
            Bell::Guest(index) => &self.bells[self.workers() + index],
        }
    }

    /// The barriers that this pool runs on.
    pub(crate) fn barrier(&self) -> &Barrier {
        &self.barrier
    }

    /// Changes the counts, and returns what they are then.
    pub(super) fn change(&self, change: u64) -> Counts {
        // Relaxed: whoever reads the counts relies on what those whom it sees there
        // do before they sleep, and that has barriers of its own.
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

    /// A worker stops searching, because it found a job or what it waited for
    /// is done. Returns how many others it woke.
    ///
    /// If it was the last to search, somebody may have published a job and
    /// woken nobody, counting on it: it passes the search on.
    pub(crate) fn stop_search(&self) -> usize {
        let now = self.change(Counts::ONE_SEARCHING.wrapping_neg());
        if now.wants_a_wake_up() && !fault::planted("sleep.pass_on") {
            self.wake_one()
        } else {
            0
        }
    }

    /// P2 and P3: somebody has published a job and was called, or is outside the
    /// pool, where no call is heard. Sees to it that somebody comes for it.
    /// Returns how many workers it woke.
    pub(crate) fn published(&self) -> usize {
        self.published_by(|| false).unwrap_or(0)
    }

    /// As [`published`](Self::published), by somebody whose work `is_brief` up to
    /// now: then it may be left to the lookout, if there is one, to wake somebody.
    /// `None` if it is: the caller must come again with its next job.
    pub(crate) fn published_by(&self, is_brief: impl FnOnce() -> bool) -> Option<usize> {
        // P2. Pairs with the fences in `announce` and `stand_up`: whoever is not seen
        // here calls after this, and then looks for the job.
        fault::fence("sleep.published.fence", Ordering::SeqCst);
        if !self.counts().wants_a_wake_up() {
            Some(0)
        } else if self.lookout.is_there() && is_brief() && self.lookout.leave() {
            None
        } else {
            Some(self.wake_one())
        }
    }

    /// P3: wakes one sleeping worker, if any sleeps.
    #[cold]
    pub(super) fn wake_one(&self) -> usize {
        // A worker on its way to sleep has changed the counts and not yet its
        // bell. This fence pairs with its heavy barrier: either we find its
        // bell armed or it finds the job for whose sake we came. A guest that stands
        // up has changed the counts and perhaps not yet the bell, too; this pairs with
        // the fence in `stand_up`: either we find the bell or it sees that we work.
        fault::fence("sleep.wake_one.fence", Ordering::SeqCst);
        let woke =
            (0..self.workers()).any(|worker| self.ring_if(worker, |state| state != WITHDRAWN));
        usize::from(woke)
    }

    /// Wakes this worker if it sleeps, or the guest that sits in its place. True if
    /// it did.
    pub(crate) fn ring(&self, worker: usize) -> bool {
        self.ring_if(worker, |_| true)
    }

    fn ring_if(&self, worker: usize, is_meant: impl Fn(u32) -> bool) -> bool {
        let mut bell = self.bell(Bell::Worker(worker));
        // Relaxed look first: most bells are not armed.
        let mut state = bell.load(Ordering::Relaxed);
        if state == TAKEN {
            bell = self.bell(Bell::Guest(worker));
            state = bell.load(Ordering::Relaxed);
        }
        let sleeps = matches!(state, ASLEEP | VACANT | WITHDRAWN) && is_meant(state);
        // Acquire: pairs with the release in `announce`, so that our change of
        // the counts comes after the sleeper's. One swap: one waker wins.
        // Equivalent (sleep.ring): to loom, which changes a word in the order in which the
        // changes run. A processor may let ours be seen first.
        let order = fault::ordering("sleep.ring", Ordering::Acquire);
        if !sleeps || !bell.replace(state, AWAKE, order) {
            return false;
        }
        self.begins_to_search(state);
        bell.wake_one();
        true
    }

    /// Wakes this worker for the sake of something that was published for it
    /// alone (a mailbox), which the caller has just done.
    pub(crate) fn ring_for_mail(&self, worker: usize) -> bool {
        // Pairs with the heavy barrier in `announce`: either the bell is found
        // armed or the worker finds its mail.
        fault::fence("sleep.mail.fence", Ordering::SeqCst);
        self.ring(worker)
    }

    /// Somebody whose bell was armed in this way turns into a searcher.
    fn begins_to_search(&self, state: u32) {
        let one = if state == WITHDRAWN {
            Counts::ONE_WITHDRAWN
        } else {
            Counts::ONE_SLEEPING
        };
        // One addition, so that nobody sees the worker in neither state.
        self.change(Counts::ONE_SEARCHING.wrapping_sub(one));
    }

    /// S1 to S4: somebody who searches announces that it will sleep until its bell
    /// rings or its latch is set. It must then look for work once more and
    /// [`block`](Self::block) or [`cancel`](Self::cancel). `None` if the latch is
    /// set: it must not sleep, and is still searching.
    ///
    /// `vacates`: it has no frame that a guest could not sit on.
    pub(super) fn announce(
        &self,
        bell: Bell,
        vacates: bool,
        latch: &CoreLatch,
        jobs: &impl Jobs,
    ) -> Option<Rest> {
        // S1. Searching turns into sleeping before the bell is armed, so that
        // whoever rings it can turn the count back.
        let now = self.change(Counts::ONE_SLEEPING.wrapping_sub(Counts::ONE_SEARCHING));
        // S2. Release: pairs with the acquire in `ring_if`, and in `sit_down`.
        let state = if vacates { VACANT } else { ASLEEP };
        let order = fault::ordering("sleep.announce.bell", Ordering::Release);
        self.bell(bell).store(state, order);
        // After the bell: whoever sets a sleeping latch finds it armed.
        if !latch.fall_asleep() {
            self.come_back(bell);
            return None;
        }
        // S3. Pairs with the fence of P2: the call comes after that of an owner
        // which was ready for calls, and did not see us in the counts.
        fault::fence("sleep.announce.fence", Ordering::SeqCst);
        jobs.call_all();
        // S4. Pairs with P1: a publisher that does not hear the call is seen.
        let is_ordered = self.barrier.heavy("sleep.announce.heavy");
        let is_wanted = if is_ordered {
            self.lookout.has_news()
        } else {
            self.lookout.expect_missed_jobs();
            !now.all_sleep(self.workers())
        };
        Some(if is_wanted && self.lookout.take_role() {
            Rest::AsLookout
        } else {
            Rest::UntilRung
        })
    }

    /// It found something after it had announced: it searches again.
    pub(super) fn cancel(&self, bell: Bell, rest: Rest) {
        if rest == Rest::AsLookout {
            self.lookout.leave_role();
        }
        self.come_back(bell);
    }

    /// S5: sleeps until the bell rings. It searches again afterwards. The lookout
    /// wakes somebody if it `sees_a_job`.
    pub(super) fn block(&self, bell: Bell, rest: Rest, sees_a_job: impl Fn() -> bool) {
        if rest == Rest::AsLookout {
            self.keep_watch(bell, sees_a_job);
        }
        self.wait_for_the_bell(bell);
    }

    fn wait_for_the_bell(&self, bell: Bell) {
        let bell = self.bell(bell);
        loop {
            // Acquire: pairs with the release in `stand_up`: what a guest did on
            // our seat has happened.
            match bell.load(fault::ordering("sleep.bell", Ordering::Acquire)) {
                AWAKE => return,
                state => bell.wait(state),
            }
        }
    }

    /// It turns from sleeping to searching by itself, unless somebody has rung.
    fn come_back(&self, bell: Bell) {
        let bell = self.bell(bell);
        let order = fault::ordering("sleep.come_back", Ordering::Acquire);
        loop {
            // Acquire: pairs with the release in `stand_up`, as a guest may have sat
            // here.
            match bell.load(order) {
                AWAKE => return,
                // A guest took the seat in this moment.
                TAKEN => {
                    bell.wait_timeout(TAKEN, Lookout::PERIOD);
                    yield_in_a_model();
                }
                armed => {
                    if bell.replace(armed, AWAKE, order) {
                        return self.begins_to_search(armed);
                    }
                }
            }
        }
    }

    /// Somebody who works, and would take no job, sleeps until it is rung for, by
    /// whoever sets its latch or by name, unless it `is_wanted` at once. It searches
    /// afterwards, as everybody does who was rung for; false if it did not sleep,
    /// and works on. `replace` comes before it sleeps.
    pub(crate) fn withdraw(
        &self,
        bell: Bell,
        latch: &CoreLatch,
        is_wanted: impl FnOnce() -> bool,
        replace: impl FnOnce(),
    ) -> bool {
        // As S1 and S2. It relies on no publisher, and calls nobody.
        self.change(Counts::ONE_WITHDRAWN);
        // Release: pairs with the acquire in `ring_if`.
        // Equivalent (sleep.withdraw.bell): to loom, as in `ring_if`.
        let order = fault::ordering("sleep.withdraw.bell", Ordering::Release);
        self.bell(bell).store(WITHDRAWN, order);
        let sleeps = latch.fall_asleep();
        // Pairs with the fence in `ring_for_mail`.
        fault::fence("sleep.withdraw.fence", Ordering::SeqCst);
        let is_over = !sleeps || is_wanted();
        if !is_over {
            replace();
            self.wait_for_the_bell(bell);
        }
        // Relaxed: nothing is handed over.
        let works_on = is_over && self.bell(bell).replace(WITHDRAWN, AWAKE, Ordering::Relaxed);
        if works_on {
            self.change(Counts::ONE_WITHDRAWN.wrapping_neg());
        }
        latch.wake_up();
        !works_on
    }

    /// As [`nobody_is_free`](Self::nobody_is_free), for somebody who has just stopped
    /// searching: true, or whoever publishes a job that the caller does not see after this
    /// finds that nobody is free.
    pub(crate) fn nobody_is_free_any_more(&self) -> bool {
        // Pairs with the fence of P2.
        fault::fence("sleep.any_more.fence", Ordering::SeqCst);
        self.nobody_is_free()
    }

    /// True if nobody searches, and nobody sleeps who would come for a job.
    pub(crate) fn nobody_is_free(&self) -> bool {
        self.counts().nobody_is_free()
    }
}

/// Where there is no clock, others must run for time to pass.
pub(super) fn yield_in_a_model() {
    if cfg!(any(heist_loom, heist_shuttle)) {
        thread::yield_now();
    }
}
