//! The sleep protocol: who searches, who sleeps, and whom to wake.
//!
//! The words (searching, sleeping, bell), the steps and the reason why no job
//! is slept through are in `README.md` beside this file; S1 to S5 and P1 to P3
//! below are its steps.

use crate::latch::CoreLatch;
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::{fault, thread, Barrier, CachePadded, Futex};
use std::time::Duration;

/// The bell of somebody who is awake.
const AWAKE: u32 = 0;
/// The bell of somebody who sleeps, or is about to.
const ASLEEP: u32 = 1;
/// The bell of a worker that sleeps and has no frame but its main loop's: a guest
/// may take its seat.
const VACANT: u32 = 2;
/// The bell of a worker that sleeps on, whatever happens, while a guest sits on
/// its seat.
const TAKEN: u32 = 3;
/// The bell of somebody who sleeps and would not take a job: it rings for its latch
/// or its mail only.
const WITHDRAWN: u32 = 4;

/// How many workers search and how many sleep, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts(u32);

impl Counts {
    const ONE_SLEEPING: u32 = 1;
    const ONE_SEARCHING: u32 = 1 << 16;

    fn searching(self) -> u32 {
        self.0 / Self::ONE_SEARCHING
    }

    fn sleeping(self) -> u32 {
        self.0 % Self::ONE_SEARCHING
    }

    /// Somebody sleeps, and nobody is awake and looking.
    fn wants_a_wake_up(self) -> bool {
        self.searching() == 0 && self.sleeping() > 0
    }
}

/// What the workers of a pool share in order to sleep and wake.
#[derive(Debug)]
pub(crate) struct Sleep {
    counts: CachePadded<AtomicU32>,
    /// One for each worker, then one for each guest that may sit in its place.
    bells: Box<[CachePadded<Futex>]>,
    barrier: Barrier,
    /// True while some worker sleeps as the lookout.
    lookout: AtomicBool,
    /// True if a guest has found no seat. A hint.
    seat_wanted: AtomicBool,
    /// How often a guest has sat down.
    visits: AtomicU32,
    /// How many visits the last lookout had seen when it gave up.
    seen: AtomicU32,
}

/// Whose bell: that of the worker with this index, or of the guest on its seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bell {
    Worker(usize),
    Guest(usize),
}

/// How a worker that has announced its sleep is to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rest {
    /// Until its bell rings.
    UntilRung,
    /// Until its bell rings, and meanwhile it looks for jobs once in [`WATCH`].
    AsLookout,
}

/// How long a job may lie unseen: one that was published without a barrier while
/// a worker fell asleep, on systems that have no membarrier; or one for which a
/// guest did not think it worth to wake anybody.
const WATCH: Duration = Duration::from_millis(1);

impl Sleep {
    /// For this many workers, all awake and none searching, and some more behind
    /// them that have withdrawn.
    pub(crate) fn new(workers: usize, withdrawn: usize, barrier: Barrier) -> Self {
        let all = workers + withdrawn;
        let bells = (0..2 * all).map(|bell| {
            let is_awake = bell < workers || bell >= all;
            CachePadded::new(Futex::new(if is_awake { AWAKE } else { WITHDRAWN }))
        });
        Self {
            counts: CachePadded::new(AtomicU32::new(withdrawn as u32 * Counts::ONE_SLEEPING)),
            bells: bells.collect(),
            barrier,
            lookout: AtomicBool::new(false),
            seat_wanted: AtomicBool::new(false),
            visits: AtomicU32::new(0),
            seen: AtomicU32::new(0),
        }
    }

    /// How many workers there are.
    fn workers(&self) -> usize {
        self.bells.len() / 2
    }

    fn bell(&self, bell: Bell) -> &Futex {
        match bell {
            Bell::Worker(index) => &self.bells[index],
            Bell::Guest(index) => &self.bells[self.workers() + index],
        }
    }

    /// The barriers that this pool runs on.
    pub(crate) fn barrier(&self) -> &Barrier {
        &self.barrier
    }

    /// A worker begins to search.
    pub(crate) fn start_search(&self) {
        // Relaxed: a publisher that sees it relies on what the searcher does
        // before it sleeps, and that has barriers of its own.
        self.counts
            .fetch_add(Counts::ONE_SEARCHING, Ordering::Relaxed);
    }

    /// A worker stops searching, because it found a job or what it waited for
    /// is done. Returns how many others it woke.
    ///
    /// If it was the last to search, somebody may have published a job and
    /// woken nobody, counting on it: it passes the search on.
    pub(crate) fn stop_search(&self) -> usize {
        let before = self
            .counts
            .fetch_sub(Counts::ONE_SEARCHING, Ordering::Relaxed);
        let now = Counts(before - Counts::ONE_SEARCHING);
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
        // P2. Pairs with the fences in `announce`: whoever is not seen here calls
        // after this, and then looks for the job. And with the one in `keep_watch`.
        fault::fence("sleep.published.fence", Ordering::SeqCst);
        if !self.wants_a_wake_up() {
            Some(0)
        } else if self.lookout.load(Ordering::Relaxed) && is_brief() {
            None
        } else {
            Some(self.wake_one())
        }
    }

    /// P3: wakes one sleeping worker, if any sleeps.
    #[cold]
    fn wake_one(&self) -> usize {
        // A worker on its way to sleep has changed the counts and not yet its
        // bell. This fence pairs with its heavy barrier: either we find its
        // bell armed or it finds the job for whose sake we came.
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
        // Acquire: pairs with the release in `announce`, so that our change of
        // the counts comes after the sleeper's. One swap: one waker wins.
        let sleeps = matches!(state, ASLEEP | VACANT | WITHDRAWN) && is_meant(state);
        if !sleeps || !bell.replace(state, AWAKE, Ordering::Acquire) {
            return false;
        }
        self.wakes_up();
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

    /// A sleeping worker turns into a searching one.
    fn wakes_up(&self) {
        // One addition, so that nobody sees the worker in neither state.
        // Relaxed: as in `start_search`.
        let change = Counts::ONE_SEARCHING.wrapping_sub(Counts::ONE_SLEEPING);
        self.counts.fetch_add(change, Ordering::Relaxed);
    }

    /// S1 to S4: somebody who searches announces that it will sleep until its bell
    /// rings or its latch is set. It must then look for work once more and
    /// [`block`](Self::block) or [`cancel`](Self::cancel). `None` if the latch is
    /// set: it must not sleep, and is still searching.
    ///
    /// `vacates`: it has no frame that a guest could not sit on.
    pub(crate) fn announce(
        &self,
        bell: Bell,
        vacates: bool,
        latch: &CoreLatch,
        call_all: impl FnOnce(),
    ) -> Option<Rest> {
        // S1. Searching turns into sleeping before the bell is armed, so that
        // whoever rings it can turn the count back.
        let change = Counts::ONE_SLEEPING.wrapping_sub(Counts::ONE_SEARCHING);
        let before = self.counts.fetch_add(change, Ordering::Relaxed);
        let now = Counts(before.wrapping_add(change));
        // S2. Release: pairs with the acquire in `ring`, and in `sit_down`.
        let state = if vacates { VACANT } else { ASLEEP };
        self.bell(bell).store(state, Ordering::Release);
        // After the bell: whoever sets a sleeping latch finds it armed.
        if !latch.fall_asleep() {
            self.come_back(bell);
            return None;
        }
        // S3 and S4.
        let ordered = self.call_and_order(call_all);
        // Without order, the publishers among the workers may have missed us. If
        // any is awake, one sleeper has to look again. The same if guests come and
        // go, who rely on it.
        let is_wanted = if ordered {
            self.visits.load(Ordering::Relaxed) != self.seen.load(Ordering::Relaxed)
        } else {
            now.sleeping() as usize != self.workers()
        };
        // Relaxed: a role, which hands nothing over.
        if is_wanted && !self.lookout.swap(true, Ordering::Relaxed) {
            Some(Rest::AsLookout)
        } else {
            Some(Rest::UntilRung)
        }
    }

    /// S3 and S4. True if a publisher that we have not seen sees us, or the call.
    fn call_and_order(&self, call_all: impl FnOnce()) -> bool {
        // S3. Pairs with the fence of P2: the call comes after that of an owner
        // which was ready for calls, and did not see us in the counts.
        fault::fence("sleep.announce.fence", Ordering::SeqCst);
        call_all();
        // S4. Pairs with P1: a publisher that does not hear the call is seen.
        self.barrier.heavy("sleep.announce.heavy")
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
        self.counts
            .fetch_add(Counts::ONE_SLEEPING, Ordering::Relaxed);
        self.bell(bell).store(WITHDRAWN, Ordering::Release);
        let sleeps = latch.fall_asleep();
        // Pairs with the fence in `ring_for_mail`.
        fault::fence("sleep.withdraw.fence", Ordering::SeqCst);
        if !sleeps || is_wanted() {
            // Relaxed: nothing is handed over.
            if self.bell(bell).replace(WITHDRAWN, AWAKE, Ordering::Relaxed) {
                self.counts
                    .fetch_sub(Counts::ONE_SLEEPING, Ordering::Relaxed);
                return false;
            }
            return true;
        }
        replace();
        self.wait_for_the_bell(bell);
        true
    }

    /// It found something after it had announced: it searches again.
    pub(crate) fn cancel(&self, bell: Bell, rest: Rest) {
        self.leave_lookout(rest);
        self.come_back(bell);
    }

    /// S5: sleeps until the bell rings. It searches again afterwards. The lookout
    /// wakes somebody if it `sees_a_job`.
    pub(crate) fn block(&self, bell: Bell, rest: Rest, sees_a_job: impl Fn() -> bool) {
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
            match bell.load(Ordering::Acquire) {
                AWAKE => return,
                state => bell.wait(state),
            }
        }
    }

    /// Looks again and again, until the bell rings or there is nothing to watch.
    fn keep_watch(&self, bell: Bell, sees_a_job: impl Fn() -> bool) {
        let bell = self.bell(bell);
        let mut visits = self.visits.load(Ordering::Relaxed);
        loop {
            // Relaxed: `wait_for_the_bell` looks once more.
            match bell.load(Ordering::Relaxed) {
                AWAKE => break,
                // A wake-up for no reason only makes it look early.
                state => bell.wait_timeout(state, WATCH),
            }
            if self.wants_a_wake_up() && sees_a_job() {
                self.wake_one();
            }
            let before = std::mem::replace(&mut visits, self.visits.load(Ordering::Relaxed));
            if visits != before || self.somebody_works() {
                yield_in_a_model();
                continue;
            }
            self.seen.store(visits, Ordering::Relaxed);
            self.leave_lookout(Rest::AsLookout);
            // Pairs with the fence of P2: who published and relied on us had sat
            // down before.
            fault::fence("sleep.keep_watch.fence", Ordering::SeqCst);
            if !self.somebody_works() || self.lookout.swap(true, Ordering::Relaxed) {
                return;
            }
        }
        self.leave_lookout(Rest::AsLookout);
    }

    fn wants_a_wake_up(&self) -> bool {
        Counts(self.counts.load(Ordering::Relaxed)).wants_a_wake_up()
    }

    /// True if everybody is neither searching nor asleep.
    pub(crate) fn all_work(&self) -> bool {
        self.counts.load(Ordering::Relaxed) == 0
    }

    /// True if anybody is neither searching nor asleep.
    fn somebody_works(&self) -> bool {
        let counts = Counts(self.counts.load(Ordering::Relaxed));
        counts.searching() + counts.sleeping() < self.workers() as u32
    }

    fn leave_lookout(&self, rest: Rest) {
        if rest == Rest::AsLookout {
            self.lookout.store(false, Ordering::Relaxed);
        }
    }

    /// It turns from sleeping to searching by itself, unless somebody has rung.
    fn come_back(&self, bell: Bell) {
        let bell = self.bell(bell);
        loop {
            // Acquire: a guest may have sat here.
            match bell.load(Ordering::Acquire) {
                AWAKE => return,
                // A guest took the seat in this moment.
                TAKEN => {
                    bell.wait_timeout(TAKEN, WATCH);
                    yield_in_a_model();
                }
                armed => {
                    if bell.replace(armed, AWAKE, Ordering::Acquire) {
                        return self.wakes_up();
                    }
                }
            }
        }
    }

    /// A guest takes the seat of a worker that sleeps, if there is one, which
    /// then sleeps on. It counts as working. Returns the worker's index.
    pub(crate) fn sit_down(&self) -> Option<usize> {
        // The last ones: whoever wakes a worker begins with the first.
        let seat = (0..self.workers()).rev().find(|&worker| {
            let bell = self.bell(Bell::Worker(worker));
            // Acquire: pairs with the release in `announce` and in `stand_up`:
            // what those did who sat here has happened.
            bell.load(Ordering::Relaxed) == VACANT && bell.replace(VACANT, TAKEN, Ordering::Acquire)
        });
        let Some(seat) = seat else {
            self.seat_wanted.store(true, Ordering::Relaxed);
            return None;
        };
        self.counts
            .fetch_sub(Counts::ONE_SLEEPING, Ordering::Relaxed);
        self.visits.fetch_add(1, Ordering::Relaxed);
        Some(seat)
    }

    /// True, once, if a guest has found no seat: an idle worker that still spins
    /// should then sleep. Or else a caller that comes back at once would find it
    /// spinning each time.
    pub(crate) fn is_a_seat_wanted(&self) -> bool {
        let is_wanted = self.seat_wanted.load(Ordering::Relaxed);
        if is_wanted {
            self.seat_wanted.store(false, Ordering::Relaxed);
        }
        is_wanted
    }

    /// The guest leaves the seat of this worker, which sleeps on. The caller must
    /// then look for work once more, and ring if there is any. False if it should
    /// ring in any case.
    #[must_use]
    pub(crate) fn stand_up(&self, worker: usize, call_all: impl FnOnce()) -> bool {
        // As S1 to S4.
        let before = Counts(
            self.counts
                .fetch_add(Counts::ONE_SLEEPING, Ordering::Relaxed),
        );
        // Release: pairs with the acquire of whoever sits here next.
        self.bell(Bell::Worker(worker))
            .store(VACANT, Ordering::Release);
        let others_work = before.searching() + before.sleeping() + 1 < self.workers() as u32;
        if others_work {
            return self.call_and_order(call_all) || self.lookout.load(Ordering::Relaxed);
        }
        // Only those can have published who were outside the pool: they have a
        // fence of their own.
        fault::fence("sleep.stand_up.fence", Ordering::SeqCst);
        true
    }
}

/// Where there is no clock, others must run for time to pass.
fn yield_in_a_model() {
    if cfg!(any(heist_loom, heist_shuttle)) {
        thread::yield_now();
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;
    use heist_sync::BarrierRequest;

    #[test]
    fn a_wake_up_is_wanted_if_somebody_sleeps_and_nobody_searches() {
        for (searching, sleeping, wanted) in [
            (0, 0, false),
            (0, 1, true),
            (0, u16::MAX.into(), true),
            (1, 0, false),
            (1, 1, false),
            (u16::MAX.into(), u16::MAX.into(), false),
        ] {
            let counts = searching * Counts::ONE_SEARCHING + sleeping * Counts::ONE_SLEEPING;
            assert_eq!(Counts(counts).wants_a_wake_up(), wanted, "{counts:x}");
        }
    }

    fn sleep(workers: usize) -> Sleep {
        Sleep::new(
            workers,
            0,
            Barrier::new(BarrierRequest::Auto).expect("auto"),
        )
    }

    fn sleep_without_membarrier(workers: usize) -> Sleep {
        Sleep::new(
            workers,
            0,
            Barrier::new(BarrierRequest::Fence).expect("fence"),
        )
    }

    /// Lets a searching worker announce its sleep.
    fn announce(sleep: &Sleep, worker: usize) -> Rest {
        sleep.start_search();
        let rest = sleep.announce(Bell::Worker(worker), true, &CoreLatch::new(), || {});
        rest.expect("its latch is not set")
    }

    fn counts(sleep: &Sleep) -> (u32, u32) {
        let counts = Counts(sleep.counts.load(Ordering::Relaxed));
        (counts.searching(), counts.sleeping())
    }

    #[test]
    fn a_publication_wakes_one_sleeper_and_no_second_while_that_one_searches() {
        let sleep = sleep(3);
        for worker in 0..2 {
            let _ = announce(&sleep, worker);
        }
        assert_eq!(counts(&sleep), (0, 2));
        assert_eq!(sleep.published(), 1);
        assert_eq!(counts(&sleep), (1, 1));
        assert_eq!(sleep.published(), 0);
        sleep.block(Bell::Worker(0), Rest::UntilRung, || false);
    }

    #[test]
    fn the_last_searcher_passes_the_search_on() {
        let sleep = sleep(3);
        let _ = announce(&sleep, 1);
        sleep.start_search();
        assert_eq!(sleep.published(), 0, "somebody searches");
        assert_eq!(sleep.stop_search(), 1);
        assert_eq!(counts(&sleep), (1, 0));
    }

    #[test]
    fn a_cancelled_sleep_leaves_the_worker_searching() {
        let sleep = sleep(1);
        let rest = announce(&sleep, 0);
        sleep.cancel(Bell::Worker(0), rest);
        assert_eq!(counts(&sleep), (1, 0));
        assert!(!sleep.ring(0), "nobody sleeps");
    }

    #[test]
    fn nobody_sleeps_on_a_latch_that_is_set() {
        let sleep = sleep(1);
        let latch = CoreLatch::new();
        // SAFETY: the latch lives to the end of the test.
        assert!(!unsafe { CoreLatch::set(&raw const latch) });
        sleep.start_search();
        assert_eq!(sleep.announce(Bell::Worker(0), true, &latch, || {}), None);
        assert_eq!(counts(&sleep), (1, 0));
    }

    /// SL-2 without membarrier: while some worker is awake and some sleep, one
    /// of the sleepers looks again by itself; when all sleep, none does.
    #[test]
    fn without_membarrier_one_sleeper_is_the_lookout_unless_all_sleep() {
        let sleep = sleep_without_membarrier(3);
        assert_eq!(announce(&sleep, 0), Rest::AsLookout);
        assert_eq!(announce(&sleep, 1), Rest::UntilRung, "there is one already");
        assert_eq!(announce(&sleep, 2), Rest::UntilRung, "all sleep");
    }

    #[test]
    fn the_lookout_wakes_somebody_who_may_be_itself_if_it_sees_a_job() {
        let sleep = sleep_without_membarrier(2);
        let rest = announce(&sleep, 0);
        assert_eq!(rest, Rest::AsLookout);
        sleep.block(Bell::Worker(0), rest, || true);
        assert_eq!(counts(&sleep), (1, 0));
        assert_eq!(
            announce(&sleep, 0),
            Rest::AsLookout,
            "the role is free again"
        );
    }

    #[test]
    fn a_guest_takes_the_last_vacant_seat_and_gives_it_back() {
        let sleep = sleep(3);
        assert_eq!(sleep.sit_down(), None, "nobody sleeps");
        for worker in 0..2 {
            let _ = announce(&sleep, worker);
        }
        assert_eq!(sleep.sit_down(), Some(1));
        assert_eq!(counts(&sleep), (0, 1), "a guest is working");
        assert!(!sleep.ring(1), "its worker sleeps on");
        assert!(sleep.stand_up(1, || {}));
        assert_eq!(counts(&sleep), (0, 2));
        assert!(sleep.ring(1));
    }

    #[test]
    fn a_guest_takes_no_seat_on_which_somebody_waits() {
        let sleep = sleep(1);
        sleep.start_search();
        let rest = sleep.announce(Bell::Worker(0), false, &CoreLatch::new(), || {});
        assert_eq!(rest, Some(Rest::UntilRung));
        assert_eq!(sleep.sit_down(), None);
    }

    #[test]
    fn a_guest_that_waits_has_a_bell_of_its_own() {
        let sleep = sleep(2);
        let _ = announce(&sleep, 0);
        assert_eq!(sleep.sit_down(), Some(0));
        sleep.start_search();
        let rest = sleep.announce(Bell::Guest(0), false, &CoreLatch::new(), || {});
        assert_eq!(counts(&sleep), (0, 1));
        assert!(sleep.ring(0));
        sleep.block(Bell::Guest(0), rest.expect("not set"), || false);
        assert_eq!(counts(&sleep), (1, 0));
    }

    /// Guests come and go: the next to fall asleep is the lookout, and then a
    /// guest's brief work wakes nobody.
    #[test]
    fn while_there_is_a_lookout_brief_work_wakes_nobody() {
        let sleep = sleep(2);
        let _ = announce(&sleep, 0);
        let _ = announce(&sleep, 1);
        assert_eq!(sleep.sit_down(), Some(1));
        assert_eq!(sleep.published_by(|| true), Some(1), "no lookout yet");
        assert!(sleep.stand_up(1, || {}));
        // The one that was woken finds nothing.
        let rest = sleep.announce(Bell::Worker(0), true, &CoreLatch::new(), || {});
        assert_eq!(rest, Some(Rest::AsLookout));
        assert_eq!(sleep.sit_down(), Some(1));
        assert_eq!(sleep.published_by(|| true), None);
        assert_eq!(sleep.published_by(|| false), Some(1));
    }
}
