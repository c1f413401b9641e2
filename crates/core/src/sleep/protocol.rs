//! The sleep protocol: who searches, who sleeps, and whom to wake.
//!
//! The words (searching, sleeping, bell), the steps and the reason why no job
//! is slept through are in `README.md` beside this file; S1 to S4 and P1 to P3
//! below are its steps.

use crate::latch::CoreLatch;
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::{fault, Barrier, CachePadded, Futex};
use std::time::Duration;

/// The bell of a worker that is awake.
const AWAKE: u32 = 0;
/// The bell of a worker that sleeps, or is about to.
const ASLEEP: u32 = 1;

/// How many workers search and how many sleep, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts(u32);

impl Counts {
    const ONE_SLEEPING: u32 = 1;
    const ONE_SEARCHING: u32 = 1 << 16;

    #[cfg(all(test, not(heist_loom)))]
    fn searching(self) -> u32 {
        self.0 / Self::ONE_SEARCHING
    }

    fn sleeping(self) -> u32 {
        self.0 % Self::ONE_SEARCHING
    }

    /// Somebody sleeps, and nobody is awake and looking.
    #[inline(always)]
    fn wants_a_wake_up(self) -> bool {
        // Nothing in the upper half and something in the lower: one comparison,
        // since every push makes it.
        self.0.wrapping_sub(1) < Self::ONE_SEARCHING - 1
    }
}

/// What the workers of a pool share in order to sleep and wake.
#[derive(Debug)]
pub(crate) struct Sleep {
    counts: CachePadded<AtomicU32>,
    bells: Box<[CachePadded<Futex>]>,
    barrier: Barrier,
    /// True while some worker sleeps as the lookout.
    lookout: AtomicBool,
}

/// How a worker that has announced its sleep is to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rest {
    /// Until its bell rings.
    UntilRung,
    /// Until its bell rings, and not longer than [`LOOK_AGAIN`].
    AsLookout,
}

/// How long a job may lie unseen that was published without a barrier while a
/// worker fell asleep, on systems that have no membarrier.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl Sleep {
    /// For this many workers, all awake and none searching.
    pub(crate) fn new(workers: usize, barrier: Barrier) -> Self {
        let bells = (0..workers).map(|_| CachePadded::new(Futex::new(AWAKE)));
        Self {
            counts: CachePadded::new(AtomicU32::new(0)),
            bells: bells.collect(),
            barrier,
            lookout: AtomicBool::new(false),
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
        // P2. Pairs with the fences in `announce`: whoever is not seen here calls
        // after this, and then looks for the job.
        fault::fence("sleep.published.fence", Ordering::SeqCst);
        if Counts(self.counts.load(Ordering::Relaxed)).wants_a_wake_up() {
            self.wake_one()
        } else {
            0
        }
    }

    /// P3: wakes one sleeping worker, if any sleeps.
    #[cold]
    fn wake_one(&self) -> usize {
        // A worker on its way to sleep has changed the counts and not yet its
        // bell. This fence pairs with its heavy barrier: either we find its
        // bell armed or it finds the job for whose sake we came.
        fault::fence("sleep.wake_one.fence", Ordering::SeqCst);
        let woke = (0..self.bells.len()).any(|worker| self.ring(worker));
        usize::from(woke)
    }

    /// Wakes this worker if it sleeps. True if it did.
    pub(crate) fn ring(&self, worker: usize) -> bool {
        let bell = &self.bells[worker];
        // Relaxed look first: most bells are not armed.
        if bell.load(Ordering::Relaxed) != ASLEEP {
            return false;
        }
        // Acquire: pairs with the release in `announce`, so that our change of
        // the counts comes after the sleeper's. One swap: one waker wins.
        if !bell.replace(ASLEEP, AWAKE, Ordering::Acquire) {
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

    /// S1 to S3: a searching worker announces that it will sleep until its bell
    /// rings or its latch is set. It must then look for work once more and
    /// [`block`](Self::block) or [`cancel`](Self::cancel). `None` if the latch is
    /// set: the worker must not sleep, and is still searching.
    pub(crate) fn announce(
        &self,
        worker: usize,
        latch: &CoreLatch,
        call_all: impl FnOnce(),
    ) -> Option<Rest> {
        // S1. Searching turns into sleeping before the bell is armed, so that
        // whoever rings it can turn the count back.
        let change = Counts::ONE_SLEEPING.wrapping_sub(Counts::ONE_SEARCHING);
        let before = self.counts.fetch_add(change, Ordering::Relaxed);
        let sleeping = Counts(before.wrapping_add(change)).sleeping();
        // S2. Release: pairs with the acquire in `ring`.
        self.bells[worker].store(ASLEEP, Ordering::Release);
        // After the bell: whoever sets a sleeping latch finds it armed.
        if !latch.fall_asleep() {
            self.wake_oneself(worker);
            return None;
        }
        // S3. Pairs with the fence of P2: the call comes after that of an owner
        // which was ready for calls, and did not see us in the counts.
        fault::fence("sleep.announce.fence", Ordering::SeqCst);
        call_all();
        // S4. Pairs with P1: a publisher that does not hear the call is seen.
        if self.barrier.heavy("sleep.announce.heavy") {
            return Some(Rest::UntilRung);
        }
        // The publishers among the workers are not ordered with us. If any is
        // awake, one sleeper has to look again.
        let all_asleep = sleeping as usize == self.bells.len();
        // Relaxed: a role, which hands nothing over.
        if all_asleep || self.lookout.swap(true, Ordering::Relaxed) {
            Some(Rest::UntilRung)
        } else {
            Some(Rest::AsLookout)
        }
    }

    /// The worker found something after it had announced: it searches again.
    pub(crate) fn cancel(&self, worker: usize, rest: Rest) {
        self.leave_lookout(rest);
        self.wake_oneself(worker);
    }

    /// S4: sleeps until the bell rings, or the lookout's time is over. The
    /// worker searches again afterwards. False if nobody rang.
    pub(crate) fn block(&self, worker: usize, rest: Rest) -> bool {
        let bell = &self.bells[worker];
        // Relaxed: what the waker did is looked for with fresh eyes anyway.
        let is_armed = || bell.load(Ordering::Relaxed) == ASLEEP;
        match rest {
            Rest::UntilRung => {
                while is_armed() {
                    bell.wait(ASLEEP);
                }
                true
            }
            Rest::AsLookout => {
                // A wake-up for no reason only makes it look again early.
                bell.wait_timeout(ASLEEP, LOOK_AGAIN);
                self.leave_lookout(rest);
                !self.wake_oneself(worker)
            }
        }
    }

    fn leave_lookout(&self, rest: Rest) {
        if rest == Rest::AsLookout {
            self.lookout.store(false, Ordering::Relaxed);
        }
    }

    /// The worker turns from sleeping to searching by itself. False if somebody
    /// rang before, who then has changed the counts.
    fn wake_oneself(&self, worker: usize) -> bool {
        // Relaxed: nothing is handed over.
        let first = self.bells[worker].replace(ASLEEP, AWAKE, Ordering::Relaxed);
        if first {
            self.wakes_up();
        }
        first
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
        Sleep::new(workers, Barrier::new(BarrierRequest::Auto).expect("auto"))
    }

    fn sleep_without_membarrier(workers: usize) -> Sleep {
        Sleep::new(workers, Barrier::new(BarrierRequest::Fence).expect("fence"))
    }

    /// Lets a searching worker announce its sleep.
    fn announce(sleep: &Sleep, worker: usize) -> Rest {
        sleep.start_search();
        let rest = sleep.announce(worker, &CoreLatch::new(), || {});
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
        assert!(sleep.block(0, Rest::UntilRung), "its bell has rung");
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
        sleep.cancel(0, rest);
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
        assert_eq!(sleep.announce(0, &latch, || {}), None);
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
        sleep.cancel(1, Rest::UntilRung);
        assert!(!sleep.block(0, Rest::AsLookout), "nobody rang");
        assert_eq!(counts(&sleep), (2, 1));
        assert_eq!(
            announce(&sleep, 0),
            Rest::AsLookout,
            "the role is free again"
        );
    }
}
