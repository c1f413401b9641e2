//! The sleep protocol: who searches, who sleeps, and whom to wake.
//!
//! The words (searching, sleeping, bell), the steps and the reason why no job
//! is slept through are in `README.md` beside this file; S1 to S4 and P1 to P3
//! below are its steps.

use crate::latch::CoreLatch;
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::{fault, Barrier, CachePadded, Futex};

/// The bell of a worker that is awake.
const AWAKE: u32 = 0;
/// The bell of a worker that sleeps, or is about to.
const ASLEEP: u32 = 1;

/// How many workers search and how many sleep, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts(u32);

impl Counts {
    const ONE_SEARCHING: u32 = 1;
    const ONE_SLEEPING: u32 = 1 << 16;

    fn searching(self) -> u32 {
        self.0 % Self::ONE_SLEEPING
    }

    fn sleeping(self) -> u32 {
        self.0 / Self::ONE_SLEEPING
    }

    /// Somebody sleeps, and nobody is awake and looking.
    #[inline(always)]
    fn wants_a_wake_up(self) -> bool {
        self.sleeping() > 0 && self.searching() == 0
    }
}

/// What the workers of a pool share in order to sleep and wake.
#[derive(Debug)]
pub(crate) struct Sleep {
    counts: CachePadded<AtomicU32>,
    bells: Box<[CachePadded<Futex>]>,
    barrier: Barrier,
}

impl Sleep {
    /// For this many workers, all awake and none searching.
    pub(crate) fn new(workers: usize, barrier: Barrier) -> Self {
        let bells = (0..workers).map(|_| CachePadded::new(Futex::new(AWAKE)));
        Self {
            counts: CachePadded::new(AtomicU32::new(0)),
            bells: bells.collect(),
            barrier,
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

    /// P1 to P3: a job has just been published; sees to it that somebody comes
    /// for it. Returns how many workers it woke.
    #[inline(always)]
    pub(crate) fn published(&self) -> usize {
        // P1. Pairs with the heavy barrier in `announce`.
        self.barrier.light("sleep.published.light");
        // P2. Relaxed: ordered by the barrier.
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
    /// rings or its latch is set. If this returns true it must look for work
    /// once more and then [`block`](Self::block) or [`cancel`](Self::cancel).
    /// If it returns false it must not sleep, and is still searching: the latch
    /// is set, or the barrier has failed.
    #[must_use]
    pub(crate) fn announce(&self, worker: usize, latch: &CoreLatch) -> bool {
        // S1. Searching turns into sleeping before the bell is armed, so that
        // whoever rings it can turn the count back.
        let change = Counts::ONE_SLEEPING.wrapping_sub(Counts::ONE_SEARCHING);
        self.counts.fetch_add(change, Ordering::Relaxed);
        // S2. Release: pairs with the acquire in `ring`.
        self.bells[worker].store(ASLEEP, Ordering::Release);
        // After the bell: whoever sets a sleeping latch finds it armed.
        if !latch.fall_asleep() {
            self.cancel(worker);
            return false;
        }
        // S3. Pairs with P1: a publisher that we have not seen sees us.
        if self.barrier.heavy("sleep.announce.heavy") {
            return true;
        }
        self.cancel(worker);
        latch.wake_up();
        // The kernel has withdrawn membarrier under our feet: nothing orders us
        // with the publishers now, so look again instead of sleeping for good.
        heist_sync::thread::sleep(std::time::Duration::from_millis(1));
        false
    }

    /// The worker found something after it had announced: it searches again.
    pub(crate) fn cancel(&self, worker: usize) {
        // Relaxed: nothing is handed over. If somebody rang already, that one
        // has changed the counts.
        if self.bells[worker].replace(ASLEEP, AWAKE, Ordering::Relaxed) {
            self.wakes_up();
        }
    }

    /// S4: sleeps until the bell rings. The worker searches again afterwards.
    pub(crate) fn block(&self, worker: usize) {
        let bell = &self.bells[worker];
        // Relaxed: what the waker did is looked for with fresh eyes anyway.
        while bell.load(Ordering::Relaxed) == ASLEEP {
            bell.wait(ASLEEP);
        }
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;
    use heist_sync::BarrierRequest;

    fn sleep(workers: usize) -> Sleep {
        Sleep::new(workers, Barrier::new(BarrierRequest::Auto).expect("auto"))
    }

    fn counts(sleep: &Sleep) -> (u32, u32) {
        let counts = Counts(sleep.counts.load(Ordering::Relaxed));
        (counts.searching(), counts.sleeping())
    }

    #[test]
    fn a_publication_wakes_one_sleeper_and_no_second_while_that_one_searches() {
        let sleep = sleep(3);
        for worker in 0..2 {
            sleep.start_search();
            assert!(sleep.announce(worker, &CoreLatch::new()));
        }
        assert_eq!(counts(&sleep), (0, 2));
        assert_eq!(sleep.published(), 1);
        assert_eq!(counts(&sleep), (1, 1));
        assert_eq!(sleep.published(), 0);
        sleep.block(0); // returns: its bell has rung
    }

    #[test]
    fn the_last_searcher_passes_the_search_on() {
        let sleep = sleep(3);
        sleep.start_search();
        assert!(sleep.announce(1, &CoreLatch::new()));
        sleep.start_search();
        assert_eq!(sleep.published(), 0, "somebody searches");
        assert_eq!(sleep.stop_search(), 1);
        assert_eq!(counts(&sleep), (1, 0));
    }

    #[test]
    fn a_cancelled_sleep_leaves_the_worker_searching() {
        let sleep = sleep(1);
        sleep.start_search();
        assert!(sleep.announce(0, &CoreLatch::new()));
        sleep.cancel(0);
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
        assert!(!sleep.announce(0, &latch));
        assert_eq!(counts(&sleep), (1, 0));
    }
}
