//! Models under loom: a worker blocks, and somebody comes out of the reserve for each job for which
//! nobody is free. `cargo xtask model`.

use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::thread::{self, JoinHandle};
use heist_sync::{Barrier, BarrierRequest, Mutex};

use super::Compensation;
use crate::base::latch::CoreLatch;
use crate::sleep::{Jobs, Searcher, Sleep, Sleeper};

/// A pool reduced to its sleep, in which the first worker blocks and those behind the workers
/// compensate: jobs are a number.
struct Pool {
    sleep: Sleep,
    compensation: Compensation,
    /// Jobs that nobody has taken.
    jobs: AtomicUsize,
    /// Whether the owners were signalled.
    signalled: AtomicBool,
    /// One for each worker.
    end: Vec<CoreLatch>,
    /// Those of the compensation workers that have come out.
    threads: Mutex<Vec<JoinHandle<()>>>,
    me: std::sync::Weak<Self>,
}

impl Jobs for Pool {
    fn signal_all(&self) {
        self.signalled.store(true, Ordering::Relaxed);
    }

    fn signal(&self, _: usize) {
        self.signalled.store(true, Ordering::Relaxed);
    }

    /// Jobs lie where everybody sees them.
    fn are_at(&self, _: usize) -> bool {
        false
    }

    fn are_beyond(&self, _: usize) -> bool {
        self.jobs.load(Ordering::Relaxed) > 0
    }

    fn want_reserve(&self) -> bool {
        !self.compensation.has_surplus()
    }

    fn call(&self, worker: usize) -> bool {
        let start = || {
            let pool = self.me.upgrade().expect("it is borrowed");
            let comes = thread::spawn(move || pool.has_come(worker));
            self.threads.lock().push(comes);
            true
        };
        self.compensation.call(worker, &self.sleep, start)
    }
}

/// A worker that searches until it has a job.
struct Seeker<'a>(&'a Pool);

impl Searcher for Seeker<'_> {
    type Job = ();

    fn find(&self) -> Option<()> {
        self.0.take().then_some(())
    }

    fn pause(&mut self, _: bool) -> bool {
        true
    }

    fn is_recalled(&self) -> bool {
        false
    }

    fn begins_to_sleep(&self) {}

    fn sleeps(&self) {}

    fn has_woken(&self) {}
}

impl Pool {
    fn new(workers: usize) -> Arc<Self> {
        Self::with(workers, 1)
    }

    fn with(workers: usize, most: usize) -> Arc<Self> {
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        Arc::new_cyclic(|me| Self {
            sleep: Sleep::new(workers, most, barrier),
            compensation: Compensation::new(workers, most),
            jobs: AtomicUsize::new(0),
            signalled: AtomicBool::new(false),
            end: (0..workers + most).map(|_| CoreLatch::new()).collect(),
            threads: Mutex::new(Vec::new()),
            me: me.clone(),
        })
    }

    fn take(&self) -> bool {
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let mut jobs = self.jobs.load(no);
        while jobs > 0 {
            match self.jobs.compare_exchange(jobs, jobs - 1, yes, no) {
                Ok(_) => return true,
                Err(now) => jobs = now,
            }
        }
        false
    }

    /// The compensation worker was called: it takes a job, for which it searches if it must.
    fn has_come(&self, worker: usize) {
        let has_found = self.take();
        self.sleep.stop_search(self);
        if !has_found {
            self.search(worker);
        }
    }

    fn search(&self, worker: usize) {
        let parker = Sleeper::Worker(worker);
        let found = (self.sleep).search(&mut Seeker(self), self, parker, false, &self.end[worker]);
        assert!(found.is_some());
        self.sleep.stop_search(self);
    }

    fn begin_blocking(&self) {
        self.sleep.begin_blocking();
        if self.compensation.want_one(&self.sleep) {
            self.sleep.look_around(0, self);
        }
    }

    fn end_blocking(&self) {
        self.compensation.give_back();
        self.sleep.end_blocking(0, self);
    }

    fn publish_from_outside(&self) {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        self.sleep.published(self);
    }

    /// As a push.
    fn publish(&self) {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        barrier.light("compensation.model.light");
        if self.signalled.load(Ordering::Relaxed) {
            self.signalled.store(false, Ordering::Relaxed);
            self.sleep.published(self);
        }
    }

    /// So many compensation workers have come out, each of which has a job.
    fn assert_have_come(&self, many: usize) {
        for _ in 0..many {
            let thread = self.threads.lock().pop();
            thread.expect("nobody has come").join().unwrap();
        }
        assert_eq!(self.jobs.load(Ordering::Relaxed), 0);
        assert!(self.sleep.no_worker_is_free());
    }
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn beside(pool: &Arc<Pool>, op: impl FnOnce(&Pool) + 'static) -> JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || op(&pool))
}

#[test]
fn somebody_comes_for_a_job_from_outside_when_the_worker_blocks() {
    check(3, || {
        let pool = Pool::new(1);
        let outside = beside(&pool, Pool::publish_from_outside);
        pool.begin_blocking();
        outside.join().unwrap();
        pool.assert_have_come(1);
    });
}

/// It may be in reserve from the first call that blocks, and not be wanted when the job comes.
#[test]
fn somebody_comes_for_a_job_from_outside_when_the_worker_blocks_again() {
    check(3, || {
        let pool = Pool::new(1);
        let outside = beside(&pool, Pool::publish_from_outside);
        pool.begin_blocking();
        pool.end_blocking();
        pool.begin_blocking();
        outside.join().unwrap();
        pool.assert_have_come(1);
    });
}

#[test]
fn somebody_comes_for_a_job_of_another_worker_when_one_blocks() {
    check(3, || {
        let pool = Pool::new(2);
        let other = beside(&pool, Pool::publish);
        pool.begin_blocking();
        other.join().unwrap();
        pool.assert_have_come(1);
    });
}

/// Two jobs, for the first of which another worker searches: whoever publishes the second may count
/// on that one.
#[test]
fn somebody_comes_for_a_second_job_when_the_only_searcher_has_the_first() {
    check(3, || {
        let pool = Pool::new(2);
        pool.begin_blocking();
        let searches = beside(&pool, |pool| pool.search(1));
        pool.publish_from_outside();
        pool.publish_from_outside();
        searches.join().unwrap();
        pool.assert_have_come(1);
    });
}

/// As above, and the jobs are those of a third worker, who hears of a sleeper by a signal.
#[test]
fn somebody_comes_for_a_second_push_when_the_only_searcher_has_the_first() {
    check(2, || {
        let pool = Pool::new(3);
        pool.begin_blocking();
        let searches = beside(&pool, |pool| pool.search(1));
        pool.publish();
        pool.publish();
        searches.join().unwrap();
        pool.assert_have_come(1);
    });
}

/// Two that are called at a time, one of them before it is wanted: whoever calls the second has
/// seen the first search.
#[test]
fn somebody_comes_for_each_of_two_jobs_when_one_is_called_ahead() {
    check(2, || {
        let pool = Pool::with(1, 2);
        pool.compensation.note_job(true);
        let outside = beside(&pool, |pool| {
            pool.publish_from_outside();
            pool.publish_from_outside();
        });
        pool.begin_blocking();
        if pool.are_beyond(0) {
            pool.sleep.call_another(2, &*pool);
        }
        outside.join().unwrap();
        pool.assert_have_come(2);
    });
}

/// It is on its way to its parker, and the worker blocks again.
#[test]
fn one_that_parks_in_this_moment_comes_for_a_job() {
    check(3, || {
        let pool = Pool::new(1);
        pool.begin_blocking();
        pool.publish_from_outside();
        pool.assert_have_come(1);
        pool.end_blocking();
        let parks = beside(&pool, |pool| {
            // As `Worker::stand_in`.
            let compensation = &pool.compensation;
            let mut was_called = false;
            if compensation.recall(1) {
                let (parker, is_wanted) = (Sleeper::Worker(1), || !compensation.is_parked(1));
                let end = &pool.end[1];
                was_called = (pool.sleep).withdraw(parker, end, pool, is_wanted, || (), None);
            }
            if was_called {
                pool.has_come(1);
            } else {
                pool.search(1);
            }
        });
        pool.publish_from_outside();
        pool.begin_blocking();
        parks.join().unwrap();
        assert!(pool.sleep.no_worker_is_free());
    });
}

/// It is parked, and turns from withdrawn to in reserve and back in the moment in which the pool
/// ends.
#[test]
fn one_that_leaves_the_reserve_in_this_moment_hears_of_the_end() {
    check(2, || {
        let pool = Pool::new(1);
        pool.begin_blocking();
        pool.publish_from_outside();
        pool.assert_have_come(1);
        pool.end_blocking();
        assert!(pool.compensation.recall(1));
        let parks = beside(&pool, |pool| {
            // As `Worker::stand_in`.
            let (compensation, end) = (&pool.compensation, &pool.end[1]);
            let (parker, is_wanted) = (Sleeper::Worker(1), || !compensation.is_parked(1));
            if (pool.sleep).withdraw(parker, end, pool, is_wanted, || (), None) {
                pool.sleep.stop_search(pool);
            }
            while !end.probe() {
                (pool.sleep).search(&mut Seeker(pool), pool, parker, false, end);
                pool.sleep.stop_search(pool);
            }
        });
        let ends = beside(&pool, |pool| {
            // SAFETY: the pool holds the latch.
            if unsafe { CoreLatch::set(&raw const pool.end[1]) } {
                pool.sleep.unpark(1);
            }
        });
        pool.begin_blocking();
        pool.end_blocking();
        pool.sleep.call_another(2, &*pool);
        parks.join().unwrap();
        ends.join().unwrap();
    });
}
