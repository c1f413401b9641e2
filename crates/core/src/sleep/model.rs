//! Models of the sleep protocol and of the latch, under loom.
//!
//! Run with `cargo xtask model`. A lost wake-up shows as a deadlock: loom reports that every thread
//! is blocked.

mod driven;
mod hints;
mod resize;
mod several;
mod signal;

use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::{fault, thread, Barrier, BarrierRequest};

use super::protocol::{Rest, Sleeps};
use super::{Jobs, Searcher, Sleep, Sleeper};
use crate::base::latch::CoreLatch;

/// A pool reduced to its sleep: jobs are a number, the end is one latch each.
struct Pool {
    sleep: Sleep,
    jobs: AtomicUsize,
    /// Whether the publisher, the one owner here, was signalled.
    signalled: AtomicBool,
    end: Vec<CoreLatch>,
    /// One cell a place: loom notices if two threads have it at once.
    places: Vec<UnsafeCell<u32>>,
}

// SAFETY: loom checks that no two threads have one place.
unsafe impl Sync for Pool {}
// SAFETY: as above.
unsafe impl Send for Pool {}

/// The thread in a place.
struct Entered<'a> {
    pool: &'a Pool,
    index: usize,
}

impl Entered<'_> {
    fn touch(&self) {
        // SAFETY: the one thread in this place, which loom checks.
        self.pool.places[self.index].with_mut(|place| unsafe { *place += 1 });
    }
}

impl Searcher for Entered<'_> {
    type Job = ();

    fn find(&self) -> Option<()> {
        self.touch();
        self.pool.take().then_some(())
    }

    fn pause(&mut self, _: bool) -> bool {
        true
    }

    fn is_recalled(&self) -> bool {
        self.pool.sleep.is_recalled(self.index)
    }

    fn begins_to_sleep(&self) {
        self.touch();
    }

    fn sleeps(&self) {}

    fn has_woken(&self) {
        self.touch();
    }
}

impl Jobs for Pool {
    fn signal_all(&self) {
        if !fault::planted("sleep.model.signal") {
            self.signalled.store(true, Ordering::Relaxed);
        }
    }

    fn signal(&self, _: usize) {
        self.signalled.store(true, Ordering::Relaxed);
    }

    /// Jobs lie where everybody sees them.
    fn are_at(&self, _: usize) -> bool {
        false
    }

    fn are_beyond(&self, _: usize) -> bool {
        self.sees_a_job()
    }

    fn want_reserve(&self) -> bool {
        true
    }

    fn call(&self, worker: usize) -> bool {
        self.sleep.comes_out(worker)
    }
}

impl Pool {
    fn new(workers: usize) -> Arc<Self> {
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        Arc::new(Self {
            sleep: Sleep::new(workers, 0, barrier),
            jobs: AtomicUsize::new(0),
            signalled: AtomicBool::new(false),
            end: (0..workers).map(|_| CoreLatch::new()).collect(),
            places: (0..workers).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    /// P1, as a push by `Worker::lend`: nothing is ordered with the counts, unless the owner was
    /// signalled. True if it was.
    fn push(&self) -> bool {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        barrier.light("sleep.model.light");
        let is_signalled = self.signalled.load(Ordering::Relaxed);
        if is_signalled {
            self.signalled.store(false, Ordering::Relaxed);
        }
        is_signalled
    }

    fn publish(&self) {
        if self.push() {
            self.sleep.published(self);
        }
    }

    fn take(&self) -> bool {
        let mut jobs = self.jobs.load(Ordering::Relaxed);
        while jobs > 0 {
            match self
                .jobs
                .compare_exchange(jobs, jobs - 1, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => jobs = now,
            }
        }
        false
    }

    /// Lets the worker search, until it has a job (true) or its latch is set (false).
    fn search(&self, worker: usize, latch: &CoreLatch) -> bool {
        self.search_and_vacate(worker, latch, false)
    }

    fn sees_a_job(&self) -> bool {
        self.jobs.load(Ordering::Relaxed) > 0
    }

    /// As above; while it sleeps a caller may take its place, if it `vacates`.
    fn search_and_vacate(&self, worker: usize, latch: &CoreLatch, vacates: bool) -> bool {
        let mut searcher = Entered {
            pool: self,
            index: worker,
        };
        let parker = Sleeper::Worker(worker);
        let found = self
            .sleep
            .search(&mut searcher, self, parker, vacates, latch);
        searcher.touch();
        self.sleep.stop_search(self);
        found.is_some()
    }

    fn set(&self, latch: &CoreLatch, worker: usize) {
        // SAFETY: the latch lives as long as the pool.
        if unsafe { CoreLatch::set(latch) } {
            self.sleep.unpark(worker);
        }
    }
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// The publisher is another worker, which works all the time.
#[test]
fn a_published_job_is_found_by_a_worker_that_falls_asleep() {
    check(4, || {
        let pool = Pool::new(2);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || assert!(pool.search(0, &pool.end[0]))
        });
        pool.publish();
        worker.join().unwrap();
    });
}

#[test]
fn a_job_from_outside_is_found_by_a_worker_that_falls_asleep() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || assert!(pool.search(0, &pool.end[0]))
        });
        pool.jobs.store(1, Ordering::Relaxed);
        pool.sleep.published(&*pool);
        worker.join().unwrap();
    });
}

/// The last searcher takes a job from outside, and publishes another one, when somebody falls
/// asleep who may have seen nobody at work.
#[test]
fn a_job_of_the_last_searcher_is_found_by_a_worker_that_falls_asleep() {
    check(4, || {
        let pool = Pool::new(2);
        // The present thread is worker 1.
        pool.sleep.start_search();
        pool.jobs.store(1, Ordering::Relaxed);
        assert_eq!(pool.sleep.published(&*pool), 0, "somebody searches");
        assert!(pool.take());
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || assert!(pool.search(0, &pool.end[0]))
        });
        pool.sleep.stop_search(&*pool);
        pool.publish();
        worker.join().unwrap();
    });
}

/// Two jobs, two workers beside the publisher: one that counts on a searcher must not be let down
/// when that searcher leaves with the other job.
#[test]
fn two_published_jobs_occupy_two_workers() {
    check(2, || {
        let pool = Pool::new(3);
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || assert!(pool.search(worker, &pool.end[worker])))
            })
            .collect();
        pool.publish();
        pool.publish();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// A searcher that leaves because its latch is set takes no job with it, but somebody may have
/// counted on it.
#[test]
fn a_job_is_found_when_the_searcher_leaves_for_its_latch() {
    check(2, || {
        let pool = Pool::new(3);
        let waiting = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.search(0, &pool.end[0])
        });
        let other = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.search(1, &pool.end[1])
        });
        pool.set(&pool.end[0], 0);
        pool.publish();
        if !waiting.join().unwrap() {
            // The job is still there for the other, or the other has it.
            assert!(other.join().unwrap());
        } else {
            pool.set(&pool.end[1], 1);
            assert!(!other.join().unwrap());
        }
    });
}

#[test]
fn mail_reaches_a_worker_that_falls_asleep() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || assert!(pool.search(0, &pool.end[0]))
        });
        pool.jobs.store(1, Ordering::Relaxed);
        pool.sleep.unpark_for_mail(0);
        worker.join().unwrap();
    });
}

/// The latch: the waiter is woken and sees what the job wrote.
#[test]
fn a_set_latch_wakes_its_waiter_and_hands_over_the_result() {
    check(4, || {
        let pool = Pool::new(1);
        let result = Arc::new(UnsafeCell::new(0));
        let thief = thread::spawn({
            let (pool, result) = (Arc::clone(&pool), Arc::clone(&result));
            move || {
                // SAFETY: the waiter reads only after the latch is set, which is what loom checks
                // here.
                result.with_mut(|result| unsafe { *result = 7 });
                pool.set(&pool.end[0], 0);
            }
        });
        assert!(!pool.search(0, &pool.end[0]));
        // SAFETY: the latch is set.
        assert_eq!(result.with(|result| unsafe { *result }), 7);
        thief.join().unwrap();
    });
}

/// A worker that sleeps, and whose place may be taken meanwhile.
fn sleeper(pool: &Arc<Pool>, worker: usize) -> thread::JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || assert!(pool.search_and_vacate(worker, &pool.end[worker], true)))
}

impl Pool {
    /// As `Worker::participate`, with a job that the caller leaves behind.
    fn participate(&self, job: bool) {
        let Some(index) = self.sleep.take_place() else {
            if job {
                self.jobs.fetch_add(1, Ordering::Relaxed);
                self.sleep.published(self);
            }
            return;
        };
        Entered { pool: self, index }.touch();
        if job {
            self.jobs.fetch_add(1, Ordering::Relaxed);
        }
        self.sleep.leave_place(index, self);
    }
}

#[test]
fn a_job_that_a_caller_leaves_behind_is_found() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = sleeper(&pool, 0);
        pool.participate(true);
        worker.join().unwrap();
    });
}

#[test]
fn a_job_from_outside_is_found_when_a_caller_leaves() {
    check(3, || {
        let pool = Pool::new(1);
        let worker = sleeper(&pool, 0);
        let caller = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.participate(false)
        });
        pool.jobs.store(1, Ordering::Relaxed);
        pool.sleep.published(&*pool);
        worker.join().unwrap();
        caller.join().unwrap();
    });
}

/// The publisher is the second worker, which works all the time.
#[test]
fn a_published_job_is_found_when_a_caller_leaves() {
    check(3, || {
        let pool = Pool::new(2);
        let worker = sleeper(&pool, 0);
        let caller = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.participate(false)
        });
        pool.publish();
        worker.join().unwrap();
        caller.join().unwrap();
    });
}

/// The caller wakes nobody if there is a lookout, who may be about to give up.
#[test]
fn a_job_that_is_left_to_the_lookout_is_found() {
    check(3, || {
        let pool = Pool::new(2);
        // The second worker sleeps, and there has been a caller.
        pool.sleep.start_search();
        let rest = pool
            .sleep
            .announce(Sleeper::Worker(1), Sleeps::Vacant, &pool.end[1], &*pool);
        assert!(rest.is_some());
        pool.participate(false);
        let lookout = sleeper(&pool, 0);
        assert_eq!(pool.sleep.take_place().map(|_| ()), Some(()));
        pool.jobs.fetch_add(1, Ordering::Relaxed);
        // Left to the lookout, or somebody is woken.
        pool.sleep.published_by(&*pool, || true);
        lookout.join().unwrap();
    });
}

/// A worker that would take no job is woken by its latch, and by its mail, and by nothing else.
#[test]
fn a_worker_that_withdraws_comes_back_for_its_latch_or_its_mail() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                let has_mail = || pool.sees_a_job();
                while !pool.take() && !pool.end[0].probe() {
                    let parker = Sleeper::Worker(0);
                    let was_unparked =
                        pool.sleep
                            .withdraw(parker, &pool.end[0], &*pool, has_mail, || (), None);
                    if was_unparked {
                        pool.sleep.stop_search(&*pool);
                    }
                }
            }
        });
        let mailer = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                pool.jobs.store(1, Ordering::Relaxed);
                pool.sleep.unpark_for_mail(0);
            }
        });
        assert_eq!(pool.sleep.published(&*pool), 0, "it is not there for that");
        mailer.join().unwrap();
        worker.join().unwrap();
        pool.set(&pool.end[0], 0);
    });
}

#[test]
fn a_worker_that_withdraws_is_woken_by_its_latch() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                while !pool.end[0].probe() {
                    let parker = Sleeper::Worker(0);
                    let was_unparked =
                        pool.sleep
                            .withdraw(parker, &pool.end[0], &*pool, || false, || (), None);
                    if was_unparked {
                        pool.sleep.stop_search(&*pool);
                    }
                }
            }
        });
        pool.set(&pool.end[0], 0);
        worker.join().unwrap();
    });
}

/// Two workers: worker 1 sleeps, a caller is in its place, and worker 0 has heard of it.
fn with_a_caller() -> (Arc<Pool>, usize) {
    let pool = Pool::new(2);
    pool.sleep.start_search();
    let rest = pool
        .sleep
        .announce(Sleeper::Worker(1), Sleeps::Vacant, &pool.end[1], &*pool);
    assert_eq!(rest, Some(Rest::Briefly));
    let index = pool.sleep.take_place().expect("one is vacant");
    pool.signalled.store(false, Ordering::Relaxed);
    (pool, index)
}

/// The worker that searches when the caller changes the counts takes a job from outside before the
/// parker is armed, so that it finds nobody to pass the search on to; and then it publishes.
#[test]
fn a_job_that_is_published_when_a_caller_has_left_is_found() {
    check(3, || {
        let (pool, index) = with_a_caller();
        // Worker 0 searches, and a job from outside is there.
        pool.sleep.start_search();
        pool.jobs.store(1, Ordering::Relaxed);
        assert_eq!(pool.sleep.published(&*pool), 0, "somebody searches");
        let sleeper = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                // It has looked once more, before the caller came.
                pool.sleep.park(Sleeper::Worker(1));
                Entered {
                    pool: &pool,
                    index: 1,
                }
                .touch();
            }
        });
        let caller = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                Entered { pool: &pool, index }.touch();
                pool.sleep.leave_place(index, &*pool);
            }
        });
        // The present thread is worker 0.
        assert!(pool.take());
        pool.sleep.stop_search(&*pool);
        pool.publish();
        caller.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// A caller leaves while the only other worker blocks or withdraws, so that nobody works whom it
/// would have to signal; then that worker goes on, and publishes.
fn check_a_push_after(pause: impl Fn(&Pool) + Copy + Send + Sync + 'static) {
    check(3, move || {
        let (pool, index) = with_a_caller();
        let sleeper = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                // It has looked once more, before the caller came.
                pool.sleep.park(Sleeper::Worker(1));
            }
        });
        let caller = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.sleep.leave_place(index, &*pool)
        });
        // The present thread is worker 0.
        pause(&pool);
        pool.publish();
        caller.join().unwrap();
        sleeper.join().unwrap();
    });
}

#[test]
fn a_job_of_a_worker_that_has_blocked_is_found() {
    check_a_push_after(|pool| {
        pool.sleep.begin_blocking();
        pool.sleep.end_blocking(0, pool);
    });
}

#[test]
fn a_job_of_a_worker_that_has_almost_withdrawn_is_found() {
    check_a_push_after(|pool| {
        let is_wanted = || true;
        let parker = Sleeper::Worker(0);
        let was_unparked = pool
            .sleep
            .withdraw(parker, &pool.end[0], pool, is_wanted, || (), None);
        assert!(!was_unparked);
    });
}

/// One caller after the other has the place of a worker, which wakes in the end: each sees what was
/// done there before.
#[test]
fn a_place_is_handed_from_caller_to_caller_and_back() {
    check(2, || {
        let pool = Pool::new(1);
        let worker = sleeper(&pool, 0);
        let caller = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.participate(false)
        });
        pool.participate(true);
        worker.join().unwrap();
        caller.join().unwrap();
    });
}

/// Somebody submits a job while the only worker that is free stops searching: one of the two finds
/// that nobody is free, and signals.
#[test]
fn a_job_from_outside_that_a_searcher_has_missed_is_called_for() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                pool.sleep.start_search();
                pool.sleep.stop_search(&*pool);
                if pool.sleep.no_worker_is_free_any_more() && pool.sees_a_job() {
                    pool.signal_all();
                }
            }
        });
        pool.jobs.store(1, Ordering::Relaxed);
        if pool.sleep.published(&*pool) == 0 && pool.sleep.no_worker_is_free() {
            pool.signal_all();
        }
        worker.join().unwrap();
        assert!(pool.signalled.load(Ordering::Relaxed));
    });
}
