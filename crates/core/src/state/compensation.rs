//! Compensation workers, which work in the place of workers that block, or that wait and take no
//! job.
//!
//! With [`Waiting::Descendants`](crate::Waiting) a worker that waits may find nothing that it may
//! run, while other jobs are queued, or nothing but such jobs for long (`Patience` in
//! `worker/wait.rs`); one in [`blocking`](crate::blocking) runs none. Then a
//! compensation worker, which has a stack of its own, is put in reserve (`sleep/reserve.rs`), and
//! comes out when there is a job for which no worker is free, so that as many work as the pool has
//! workers. It parks when more are out than are needed, once its stack is empty: for some time
//! there may be more at work. (The word is that of Java's ForkJoinPool.)
//!
//! A wake-up takes some 20 us where a processor has to come out of its sleep for it. Of jobs that
//! do nothing but block each would begin so much later than the one before. So as long as those
//! that come out meet such jobs, some are called ahead: before they are wanted.

use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::Mutex;

use crate::sleep::Sleep;

/// The most that are out ahead. 400 jobs that sleep for a millisecond each, with one worker, take
/// 7.8 ms without any, 6.0 with one, 5.9 with two and 5.2 with four.
pub(crate) const AHEAD_MAX: usize = 4;

/// The compensation workers of a pool.
#[derive(Debug)]
pub(crate) struct Compensation {
    places: Mutex<Places>,
    /// More are out or in reserve than are wanted. A hint, written under the lock.
    has_surplus: AtomicBool,
    /// How many may be out before they are wanted, written under the lock.
    ahead: AtomicUsize,
    /// One more than the highest index of a worker that has been started, written under the lock.
    reach: AtomicUsize,
    /// The first index.
    first: usize,
    /// The most compensation workers.
    most: usize,
}

#[derive(Debug)]
struct Places {
    /// Workers that have withdrawn and want their place taken.
    wanted: usize,
    /// The number that are out or in reserve.
    out: usize,
    /// The others.
    parked: Vec<usize>,
    /// Whether each has a thread.
    have_threads: Vec<bool>,
}

impl Places {
    fn park(&mut self, index: usize) {
        self.out -= 1;
        self.parked.push(index);
    }
}

impl Compensation {
    /// The compensation workers with indices from `first` on.
    pub(crate) fn new(first: usize, most: usize) -> Self {
        Self {
            places: Mutex::new(Places {
                wanted: 0,
                out: 0,
                parked: (first..first + most).rev().collect(),
                have_threads: vec![false; most],
            }),
            has_surplus: AtomicBool::new(false),
            ahead: AtomicUsize::new(0),
            reach: AtomicUsize::new(first),
            first,
            most,
        }
    }

    /// One more than the highest index of a worker of the pool that may have a job.
    ///
    /// Relaxed, as where it is written: the thread that is started comes behind that, and so does
    /// whoever learns of a job of its own.
    #[inline]
    pub(crate) fn reach(&self) -> usize {
        self.reach.load(Ordering::Relaxed)
    }

    /// The most compensation workers.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    fn change<R>(&self, change: impl FnOnce(&mut Places) -> R) -> R {
        let mut places = self.places.lock();
        let result = change(&mut places);
        // Relaxed: a thread that sees it looks again under the lock.
        let has_surplus = places.out > self.most_out(&places);
        self.has_surplus.store(has_surplus, Ordering::Relaxed);
        result
    }

    /// How many may be out or in reserve.
    fn most_out(&self, places: &Places) -> usize {
        // Of those that are wanted, or there would be as many when nobody blocks any more.
        // Relaxed: written under the lock.
        places.wanted + self.ahead.load(Ordering::Relaxed).min(places.wanted)
    }

    /// Notes whether the job for which a compensation worker came out blocked: then the next ones
    /// are likely to.
    pub(crate) fn note_job(&self, has_blocked: bool) {
        // Relaxed: a hint, here.
        let ahead = self.ahead.load(Ordering::Relaxed);
        if ahead < AHEAD_MAX && has_blocked || ahead > 0 && !has_blocked {
            self.change(|_| {
                let ahead = self.ahead.load(Ordering::Relaxed);
                let ahead = match has_blocked {
                    true => (ahead + 1).min(AHEAD_MAX),
                    false => ahead.saturating_sub(1),
                };
                self.ahead.store(ahead, Ordering::Relaxed);
            });
        }
    }

    /// True if more are out or in reserve than are wanted. A hint.
    pub(crate) fn has_surplus(&self) -> bool {
        self.has_surplus.load(Ordering::Relaxed)
    }

    /// True if the one with this index is parked from now on, because more are out than wanted.
    pub(crate) fn recall(&self, index: usize) -> bool {
        self.has_surplus()
            && self.change(|places| {
                let is_one_too_many = places.out > self.most_out(places);
                if is_one_too_many {
                    places.park(index);
                }
                is_one_too_many
            })
    }

    /// True if the one with this index is parked. Its parker does not tell: it is the same for one
    /// that waits in the middle of a job.
    pub(crate) fn is_parked(&self, index: usize) -> bool {
        self.places.lock().parked.contains(&index)
    }

    /// Notes that a worker withdraws and wants its place taken. True if some that were parked are
    /// in reserve now.
    pub(crate) fn want_one(&self, sleep: &Sleep) -> bool {
        self.change(|places| {
            places.wanted += 1;
            let before = places.out;
            while places.out < self.most_out(places) {
                let Some(parked) = places.parked.pop() else {
                    break;
                };
                places.out += 1;
                // It may not be asleep yet: then it sees that it is not parked any more.
                sleep.put_in_reserve(parked);
            }
            places.out > before
        })
    }

    /// Notes that a withdrawn worker is back.
    pub(crate) fn give_back(&self) {
        self.change(|places| places.wanted -= 1);
    }

    /// Calls the one with this index, which is in reserve; `start` starts a thread for it if it has
    /// none. False if it does not come out, because it is no longer wanted or no thread can be
    /// started: then it is parked, unless another thread has called it.
    pub(crate) fn call(&self, index: usize, sleep: &Sleep, start: impl FnOnce() -> bool) -> bool {
        self.change(|places| {
            if places.out > self.most_out(places) {
                if sleep.leaves_reserve(index) {
                    places.park(index);
                }
                return false;
            }
            if !sleep.comes_out(index) {
                return false;
            }
            self.reach
                .store(self.reach().max(index + 1), Ordering::Relaxed);
            let has_thread = &mut places.have_threads[index - self.first];
            *has_thread = *has_thread || start();
            let comes = *has_thread;
            if !comes {
                sleep.stays_away(index);
                places.park(index);
            }
            comes
        })
    }

    /// True if the one with this index has a thread.
    pub(crate) fn has_thread(&self, index: usize) -> bool {
        self.places.lock().have_threads[index - self.first]
    }
}

#[cfg(all(test, heist_loom))]
mod model;
