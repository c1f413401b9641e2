//! A job that one worker should have, and that others may take when it is late.

use std::sync::Arc;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{fault, thread, Barrier, BarrierRequest};

use super::check;
use crate::base::latch::CoreLatch;
use crate::sleep::{Jobs, Searcher, Sleep, Sleeper};

/// Two workers, and a job near the first of them.
struct Pool {
    sleep: Sleep,
    jobs: AtomicUsize,
    /// How often another worker has looked at the job. When it does so again the job is late.
    looks: AtomicUsize,
    end: [CoreLatch; 2],
}

struct Worker<'a> {
    pool: &'a Pool,
    index: usize,
}

impl Searcher for Worker<'_> {
    type Job = ();

    fn find(&self) -> Option<()> {
        let pool = self.pool;
        let may_take = || self.index == 0 || pool.looks.fetch_add(1, Ordering::Relaxed) > 0;
        let has_taken = pool.has_a_job() && may_take() && pool.take();
        has_taken.then_some(())
    }

    fn pause(&mut self, _: bool) -> bool {
        let stays_awake = self.pool.has_a_job();
        if stays_awake {
            thread::yield_now();
        }
        !stays_awake
    }

    fn is_recalled(&self) -> bool {
        false
    }

    fn begins_to_sleep(&self) {}

    fn sleeps(&self) {}

    fn has_woken(&self) {}
}

impl Jobs for Pool {
    fn signal_all(&self) {}

    fn signal(&self, _: usize) {}

    fn are_at(&self, _: usize) -> bool {
        false
    }

    /// At any age.
    fn are_beyond(&self, worker: usize) -> bool {
        let is_young = worker != 0 && self.looks.load(Ordering::Relaxed) == 0;
        self.has_a_job() && !(is_young && fault::planted("sleep.model.young"))
    }

    fn want_reserve(&self) -> bool {
        false
    }

    fn call(&self, _: usize) -> bool {
        false
    }
}

impl Pool {
    fn new() -> Arc<Self> {
        let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
        Arc::new(Self {
            sleep: Sleep::new(2, 0, barrier),
            jobs: AtomicUsize::new(0),
            looks: AtomicUsize::new(0),
            end: [CoreLatch::new(), CoreLatch::new()],
        })
    }

    fn has_a_job(&self) -> bool {
        self.jobs.load(Ordering::Relaxed) > 0
    }

    fn take(&self) -> bool {
        self.jobs
            .compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// As `Pool::hint`.
    fn hint(&self) {
        self.jobs.store(1, Ordering::Relaxed);
        self.sleep.published_for(0, self);
    }

    /// True if the worker has found the job, false if its latch is set.
    fn search(&self, index: usize) -> bool {
        let mut worker = Worker { pool: self, index };
        let parker = Sleeper::Worker(index);
        let end = &self.end[index];
        let found = self.sleep.search(&mut worker, self, parker, false, end);
        self.sleep.stop_search(self);
        found.is_some()
    }

    fn end(&self, index: usize) {
        // SAFETY: the latch lives as long as the pool.
        if unsafe { CoreLatch::set(&raw const self.end[index]) } {
            self.sleep.unpark(index);
        }
    }
}

fn searching(pool: &Arc<Pool>, index: usize) -> thread::JoinHandle<bool> {
    let pool = Arc::clone(pool);
    thread::spawn(move || pool.search(index))
}

#[test]
fn hn_1_a_job_near_a_worker_that_falls_asleep_is_found() {
    check(4, || {
        let pool = Pool::new();
        let worker = searching(&pool, 0);
        pool.hint();
        assert!(worker.join().unwrap());
    });
}

/// The first worker works all the time.
#[test]
fn hn_1_a_job_near_a_busy_worker_is_found_by_another_that_falls_asleep() {
    check(4, || {
        let pool = Pool::new();
        let other = searching(&pool, 1);
        pool.hint();
        assert!(other.join().unwrap());
    });
}

/// The first worker may be woken for the job, and leave for its latch.
#[test]
fn hn_1_a_job_near_a_worker_that_leaves_for_its_latch_is_found_by_another() {
    check(2, || {
        let pool = Pool::new();
        let waiting = searching(&pool, 0);
        let other = searching(&pool, 1);
        pool.hint();
        pool.end(0);
        if waiting.join().unwrap() {
            pool.end(1);
            assert!(!other.join().unwrap());
        } else {
            assert!(other.join().unwrap());
        }
    });
}
