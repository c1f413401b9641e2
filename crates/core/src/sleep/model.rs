//! Models of the sleep protocol and of the latch, under loom.
//!
//! Run with `cargo xtask model`. A lost wake-up shows as a deadlock: loom
//! reports that every thread is blocked.

use super::{Bell, Jobs, Searcher, Sleep};
use crate::latch::CoreLatch;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::{fault, thread, Barrier, BarrierRequest};
use std::sync::Arc;

/// A pool reduced to its sleep: jobs are a number, the end is one latch each.
struct Pool {
    sleep: Sleep,
    jobs: AtomicUsize,
    /// Whether the publisher, the one owner here, was called.
    called: AtomicBool,
    end: Vec<CoreLatch>,
    /// What only those touch who sit there: loom notices if two do so at once.
    seats: Vec<UnsafeCell<u32>>,
}

// SAFETY: loom checks that nobody touches a seat beside somebody else.
unsafe impl Sync for Pool {}
// SAFETY: as above.
unsafe impl Send for Pool {}

/// Whoever sits on a seat.
struct Seated<'a> {
    pool: &'a Pool,
    seat: usize,
}

impl Seated<'_> {
    fn touch(&self) {
        // SAFETY: the one who sits here, which is what loom checks.
        self.pool.seats[self.seat].with_mut(|seat| unsafe { *seat += 1 });
    }
}

impl Searcher for Seated<'_> {
    type Job = ();

    fn find(&self) -> Option<()> {
        self.touch();
        self.pool.take().then_some(())
    }

    fn pause(&mut self, _: bool) -> bool {
        true
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
    fn call_all(&self) {
        if !fault::planted("sleep.model.call") {
            self.called.store(true, Ordering::Relaxed);
        }
    }

    /// Jobs lie where everybody sees them.
    fn are_at(&self, _: usize) -> bool {
        false
    }

    fn are_beyond(&self, _: usize) -> bool {
        self.sees_a_job()
    }
}

impl Pool {
    fn new(workers: usize) -> Arc<Self> {
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        Arc::new(Self {
            sleep: Sleep::new(workers, 0, barrier),
            jobs: AtomicUsize::new(0),
            called: AtomicBool::new(false),
            end: (0..workers).map(|_| CoreLatch::new()).collect(),
            seats: (0..workers).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    /// As a push by `Worker::lend`: nothing is ordered with the counts, unless
    /// the owner was called.
    fn publish(&self) {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        // P1.
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        barrier.light("sleep.model.light");
        if self.called.load(Ordering::Relaxed) {
            self.called.store(false, Ordering::Relaxed);
            self.sleep.published();
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

    /// As above; while it sleeps a guest may take its seat, if it `vacates`.
    fn search_and_vacate(&self, worker: usize, latch: &CoreLatch, vacates: bool) -> bool {
        let mut searcher = Seated {
            pool: self,
            seat: worker,
        };
        let bell = Bell::Worker(worker);
        let found = self.sleep.search(&mut searcher, self, bell, vacates, latch);
        searcher.touch();
        self.sleep.stop_search();
        found.is_some()
    }

    fn set(&self, latch: &CoreLatch, worker: usize) {
        // SAFETY: the latch lives as long as the pool.
        if unsafe { CoreLatch::set(latch) } {
            self.sleep.ring(worker);
        }
    }
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn a_published_job_is_found_by_a_worker_that_falls_asleep() {
    check(4, || {
        let pool = Pool::new(1);
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
        pool.sleep.published();
        worker.join().unwrap();
    });
}

/// Two jobs, two workers: a publisher that counts on a searcher must not be let
/// down when that searcher leaves with the other job.
#[test]
fn two_published_jobs_occupy_two_workers() {
    check(2, || {
        let pool = Pool::new(2);
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

/// A searcher that leaves because its latch is set takes no job with it, but
/// somebody may have counted on it.
#[test]
fn a_job_is_found_when_the_searcher_leaves_for_its_latch() {
    check(2, || {
        let pool = Pool::new(2);
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
        pool.sleep.ring_for_mail(0);
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
                // SAFETY: the waiter reads only after the latch is set, which
                // is what loom checks here.
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

/// A worker that sleeps, and whose seat may be taken meanwhile.
fn sleeper(pool: &Arc<Pool>, worker: usize) -> thread::JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || assert!(pool.search_and_vacate(worker, &pool.end[worker], true)))
}

impl Pool {
    /// What `Worker::visit` does, with a job that the guest leaves behind.
    fn visit(&self, job: bool) {
        let Some(seat) = self.sleep.sit_down() else {
            if job {
                self.jobs.fetch_add(1, Ordering::Relaxed);
                self.sleep.published();
            }
            return;
        };
        Seated { pool: self, seat }.touch();
        if job {
            self.jobs.fetch_add(1, Ordering::Relaxed);
        }
        self.sleep.stand_up(seat, self);
    }
}

#[test]
fn a_job_that_a_guest_leaves_behind_is_found() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = sleeper(&pool, 0);
        pool.visit(true);
        worker.join().unwrap();
    });
}

#[test]
fn a_job_from_outside_is_found_when_a_guest_leaves() {
    check(3, || {
        let pool = Pool::new(1);
        let worker = sleeper(&pool, 0);
        let guest = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.visit(false)
        });
        pool.jobs.store(1, Ordering::Relaxed);
        pool.sleep.published();
        worker.join().unwrap();
        guest.join().unwrap();
    });
}

/// The publisher is the second worker, which works all the time.
#[test]
fn a_published_job_is_found_when_a_guest_leaves() {
    check(3, || {
        let pool = Pool::new(2);
        let worker = sleeper(&pool, 0);
        let guest = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.visit(false)
        });
        pool.publish();
        worker.join().unwrap();
        guest.join().unwrap();
    });
}

/// The guest wakes nobody if there is a lookout, who may be about to give up.
#[test]
fn a_job_that_is_left_to_the_lookout_is_found() {
    check(3, || {
        let pool = Pool::new(2);
        // The second worker sleeps, and there has been a guest.
        pool.sleep.start_search();
        let rest = pool
            .sleep
            .announce(Bell::Worker(1), true, &pool.end[1], &*pool);
        assert!(rest.is_some());
        pool.visit(false);
        let lookout = sleeper(&pool, 0);
        assert_eq!(pool.sleep.sit_down().map(|_| ()), Some(()));
        pool.jobs.fetch_add(1, Ordering::Relaxed);
        // Left to the lookout, or somebody is woken.
        pool.sleep.published_by(|| true);
        lookout.join().unwrap();
    });
}

/// A worker that would take no job is woken by its latch, and by its mail, and by
/// nothing else.
#[test]
fn a_worker_that_withdraws_comes_back_for_its_latch_or_its_mail() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                let has_mail = || pool.sees_a_job();
                while !pool.take() && !pool.end[0].probe() {
                    let bell = Bell::Worker(0);
                    let rung = pool.sleep.withdraw(bell, &pool.end[0], has_mail, || ());
                    if rung {
                        pool.sleep.stop_search();
                    }
                }
            }
        });
        let mailer = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                pool.jobs.store(1, Ordering::Relaxed);
                pool.sleep.ring_for_mail(0);
            }
        });
        assert_eq!(pool.sleep.published(), 0, "it is not there for that");
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
                    let bell = Bell::Worker(0);
                    let rung = pool.sleep.withdraw(bell, &pool.end[0], || false, || ());
                    if rung {
                        pool.sleep.stop_search();
                    }
                }
            }
        });
        pool.set(&pool.end[0], 0);
        worker.join().unwrap();
    });
}

/// The worker that searches when the guest changes the counts takes a job from outside
/// before the guest's bell is armed, so that it finds nobody to pass the search on to;
/// and then it publishes.
#[test]
fn a_job_that_is_published_when_a_guest_has_left_is_found() {
    check(3, || {
        let pool = Pool::new(2);
        // Worker 1 sleeps, and a guest sits on its seat.
        pool.sleep.start_search();
        let rest = pool
            .sleep
            .announce(Bell::Worker(1), true, &pool.end[1], &*pool)
            .expect("its latch is not set");
        let seat = pool.sleep.sit_down().expect("one is vacant");
        // Worker 0 has heard that it sleeps. It searches, and a job from outside is there.
        pool.called.store(false, Ordering::Relaxed);
        pool.sleep.start_search();
        pool.jobs.store(1, Ordering::Relaxed);
        assert_eq!(pool.sleep.published(), 0, "somebody searches");
        let sleeper = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                let sees_a_job = || pool.sees_a_job();
                pool.sleep.block(Bell::Worker(1), rest, sees_a_job);
                Seated {
                    pool: &pool,
                    seat: 1,
                }
                .touch();
            }
        });
        let guest = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                Seated { pool: &pool, seat }.touch();
                pool.sleep.stand_up(seat, &*pool);
            }
        });
        // The present thread is worker 0.
        assert!(pool.take());
        pool.sleep.stop_search();
        pool.publish();
        guest.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// One guest after the other sits on the seat of a worker, which wakes in the end: each
/// sees what was done there before.
#[test]
fn a_seat_is_handed_from_guest_to_guest_and_back() {
    check(2, || {
        let pool = Pool::new(1);
        let worker = sleeper(&pool, 0);
        let guest = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.visit(false)
        });
        pool.visit(true);
        worker.join().unwrap();
        guest.join().unwrap();
    });
}

/// Somebody submits a job while the only worker that is free stops searching: one of the
/// two finds that nobody is free, and calls.
#[test]
fn a_job_from_outside_that_a_searcher_has_missed_is_called_for() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                pool.sleep.start_search();
                pool.sleep.stop_search();
                if pool.sleep.nobody_is_free_any_more() && pool.sees_a_job() {
                    pool.call_all();
                }
            }
        });
        pool.jobs.store(1, Ordering::Relaxed);
        if pool.sleep.published() == 0 && pool.sleep.nobody_is_free() {
            pool.call_all();
        }
        worker.join().unwrap();
        assert!(pool.called.load(Ordering::Relaxed));
    });
}
