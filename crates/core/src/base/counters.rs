//! The counters of a worker, always on and written by it alone.
//!
//! Only the worker writes, with a load and a store, so that counting is an addition to memory that
//! no other processor writes. Any thread may read.

use heist_event::WorkerCounters;
use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::{fault, Backoff};

/// A number that one thread counts up and others may read.
#[derive(Debug)]
pub(crate) struct Count(AtomicU64);

impl Count {
    fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts. Only the one writer may call this.
    #[inline(always)]
    pub(crate) fn add(&self, n: u64) {
        // Relaxed, and no read-modify-write: there is one writer, and a reader only wants some
        // recent value.
        self.0
            .store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    /// Counts, where there may be two writers: the worker, and an external caller that has just
    /// taken its place. Both must then count in this way.
    pub(crate) fn add_beside_others(&self, n: u64) {
        // Relaxed: as above.
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The use that a worker makes of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    Working,
    Searching,
    Asleep,
}

/// The counters of one worker.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Jobs that thieves took. Written by them, under the lock of the deque.
    pub(crate) stolen_from: Count,
    /// Jobs taken back from the own deque and run through their reference.
    pub(crate) pops: Count,
    /// Jobs taken back by the join that pushed them and run in place: each is a pop and a job.
    pub(crate) in_place: Count,
    /// Jobs run through their reference.
    pub(crate) executed: Count,
    pub(crate) steals: Count,
    pub(crate) steals_empty: Count,
    pub(crate) steals_lost: Count,
    pub(crate) injected: Count,
    pub(crate) mailed: Count,
    pub(crate) sleeps: Count,
    pub(crate) wakes: Count,
    pub(crate) time: Stopwatch,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            stolen_from: Count::new(),
            pops: Count::new(),
            in_place: Count::new(),
            executed: Count::new(),
            steals: Count::new(),
            steals_empty: Count::new(),
            steals_lost: Count::new(),
            injected: Count::new(),
            mailed: Count::new(),
            sleeps: Count::new(),
            wakes: Count::new(),
            time: Stopwatch::new(),
        }
    }

    /// The counters now, `now_ns` after the pool was built.
    pub(crate) fn snapshot(&self, now_ns: u64) -> WorkerCounters {
        let in_place = self.in_place.get();
        let [working_ns, searching_ns, asleep_ns] = self.time.read(now_ns);
        let mut counters = WorkerCounters::default();
        counters.pops = self.pops.get() + in_place;
        // Pushed jobs have left the deque in one of these ways. Counting them is cheaper, for most
        // pushes end in place.
        counters.pushes = counters.pops + self.stolen_from.get();
        counters.jobs = self.executed.get() + in_place;
        counters.steals = self.steals.get();
        counters.steals_empty = self.steals_empty.get();
        counters.steals_lost = self.steals_lost.get();
        counters.injected = self.injected.get();
        counters.mailed = self.mailed.get();
        counters.sleeps = self.sleeps.get();
        counters.wakes = self.wakes.get();
        counters.working_ns = working_ns;
        counters.searching_ns = searching_ns;
        counters.asleep_ns = asleep_ns;
        counters
    }
}

/// Sums up the time of each [`Activity`], including the present one.
///
/// The present activity and its beginning are one word, which also tells a reader whether the sums
/// changed under its eyes (a sequence lock whose sequence is the time). The clock is read when the
/// activity changes, never when a job begins or ends.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    /// `since_ns * 4 + activity`, or `CHANGING`.
    present: AtomicU64,
    sums_ns: [AtomicU64; 3],
}

const CHANGING: u64 = 3;

impl Stopwatch {
    fn new() -> Self {
        Self {
            // No thread is this worker yet.
            present: AtomicU64::new(Activity::Asleep as u64),
            sums_ns: [(); 3].map(|()| AtomicU64::new(0)),
        }
    }

    /// Notes a change of activity, `now_ns` after the pool was built.
    pub(crate) fn change(&self, activity: Activity, now_ns: u64) {
        let present = self.present.load(Ordering::Relaxed); // own write
        debug_assert_ne!(present, CHANGING, "two threads are one worker");
        let elapsed = now_ns.saturating_sub(present / 4);
        self.present.store(CHANGING, Ordering::Relaxed);
        // Release: pairs with the acquire fence in `read`: a reader that sees the new sum sees that
        // the present changed.
        fault::fence("counters.change", Ordering::Release);
        let sum = &self.sums_ns[(present % 4) as usize];
        sum.store(sum.load(Ordering::Relaxed) + elapsed, Ordering::Relaxed);
        // Release: pairs with the acquire load in `read`: a reader that sees the new present sees
        // the new sum.
        let order = fault::ordering("counters.present", Ordering::Release);
        self.present.store(now_ns * 4 + activity as u64, order);
    }

    /// For how long the worker has been working, if it is.
    pub(crate) fn working_for(&self, now_ns: u64) -> Option<u64> {
        // Relaxed: a single word.
        let present = self.present.load(Ordering::Relaxed);
        let is_working = present % 4 == Activity::Working as u64;
        is_working.then(|| now_ns.saturating_sub(present / 4))
    }

    /// The present activity, and for how long it has been that.
    pub(crate) fn present(&self, now_ns: u64) -> (Activity, u64) {
        let mut backoff = Backoff::new();
        loop {
            // Relaxed: a single word.
            let present = self.present.load(Ordering::Relaxed);
            let activity = match present % 4 {
                0 => Activity::Working,
                1 => Activity::Searching,
                2 => Activity::Asleep,
                _ => {
                    backoff.wait();
                    continue;
                }
            };
            return (activity, now_ns.saturating_sub(present / 4));
        }
    }

    fn read(&self, now_ns: u64) -> [u64; 3] {
        let mut backoff = Backoff::new();
        loop {
            // Acquire: pairs with the release store in `change`.
            let order = fault::ordering("counters.look", Ordering::Acquire);
            let present = self.present.load(order);
            let mut sums = [0, 1, 2].map(|i: usize| self.sums_ns[i].load(Ordering::Relaxed));
            // Acquire: pairs with the release fence in `change`.
            fault::fence("counters.read", Ordering::Acquire);
            let unchanged = self.present.load(Ordering::Relaxed) == present;
            if unchanged && present != CHANGING {
                sums[(present % 4) as usize] += now_ns.saturating_sub(present / 4);
                return sums;
            }
            backoff.wait();
        }
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::thread;

    use super::*;

    #[test]
    fn a_reader_beside_the_writer_sees_sums_that_add_up() {
        loom::model(|| {
            let watch = Arc::new(Stopwatch::new());
            // Not the other way round: loom tries no order of a load and a later store if the
            // storing thread has loaded in between.
            let reader = thread::spawn({
                let watch = Arc::clone(&watch);
                move || watch.read(10)
            });
            watch.change(Activity::Searching, 3);
            watch.change(Activity::Working, 5);
            let read = reader.join().unwrap();
            assert_eq!(read.iter().sum::<u64>(), 10, "{read:?}");
        });
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_present_activity_counts_up_to_now() {
        let watch = Stopwatch::new();
        watch.change(Activity::Searching, 10);
        watch.change(Activity::Asleep, 15);
        assert_eq!(watch.read(115), [0, 5, 110]);
        assert_eq!(watch.present(115), (Activity::Asleep, 100));
        watch.change(Activity::Working, 200);
        assert_eq!(watch.present(207), (Activity::Working, 7));
        assert_eq!(watch.read(201), [1, 5, 195]);
    }

    #[test]
    fn a_reader_beside_the_writer_sees_sums_that_add_up() {
        let watch = Stopwatch::new();
        let rounds = 100_000;
        heist_sync::thread::scope(|scope| {
            scope.spawn(|| {
                let all = [Activity::Searching, Activity::Asleep, Activity::Working];
                for (round, activity) in (1..rounds).zip(all.iter().cycle()) {
                    watch.change(*activity, round);
                }
            });
            for _ in 0..1000 {
                let sums = watch.read(rounds);
                assert_eq!(sums.iter().sum::<u64>(), rounds);
            }
        });
    }
}
