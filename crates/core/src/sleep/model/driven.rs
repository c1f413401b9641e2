//! Driven workers, which rest in a function of the program's.

use std::sync::Arc;
use std::task::{Wake, Waker};

use heist_sync::atomic::Ordering;
use heist_sync::{thread, Barrier, BarrierRequest, Futex};

use super::{check, Entered, Pool};
use crate::base::latch::CoreLatch;
use crate::sleep::{Nap, Sleep};

/// The function that drives a worker: it waits for its waker, and nothing else.
struct Driver(Futex);

impl Wake for Driver {
    fn wake(self: Arc<Self>) {
        // Release: pairs with the acquire in `wait`. A swap, because loom orders plain stores
        // with those of others as it likes.
        self.0.swap(1, Ordering::Release);
        self.0.wake_one();
    }
}

impl Driver {
    fn new() -> Arc<Self> {
        Arc::new(Self(Futex::new(0)))
    }

    fn wait(&self) {
        // Acquire: pairs with the release in `wake`.
        while self.0.swap(0, Ordering::Acquire) == 0 {
            self.0.wait(0);
        }
    }
}

impl Pool {
    /// As [`search`](Self::search), of a driven worker. `between` comes before each wait of the
    /// driver; true if the worker has come out there.
    fn search_driven(
        &self,
        worker: usize,
        latch: &CoreLatch,
        mut between: impl FnMut(&Nap) -> bool,
    ) -> bool {
        let driver = Driver::new();
        let waker = Waker::from(Arc::clone(&driver));
        let mut searcher = Entered {
            pool: self,
            index: worker,
        };
        self.sleep.is_woken_by(worker, Some(&waker));
        self.sleep.start_search();
        let mut search = self.sleep.search_driven(&mut searcher, self, worker, latch);
        loop {
            match search {
                Ok(found) => {
                    searcher.touch();
                    self.sleep.stop_search(self);
                    return found.is_some();
                }
                Err(nap) => {
                    let is_out = between(&nap);
                    if !is_out {
                        driver.wait();
                        self.sleep.is_woken_by(worker, Some(&waker));
                    }
                    search = match self.sleep.naps_on(worker, nap, self) {
                        Some(nap) if !is_out => Err(nap),
                        _ => {
                            self.sleep.has_slept(&searcher, latch);
                            (self.sleep).search_driven(&mut searcher, self, worker, latch)
                        }
                    };
                }
            }
        }
    }
}

fn driven(workers: usize) -> Arc<Pool> {
    let mut pool = Pool::new(workers);
    let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
    Arc::get_mut(&mut pool).unwrap().sleep = Sleep::new(workers, 0, barrier).driven();
    pool
}

#[test]
fn a_job_from_outside_is_found_by_a_driven_worker_that_falls_asleep() {
    check(4, || {
        let pool = driven(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || assert!(pool.search_driven(0, &pool.end[0], |_| false))
        });
        pool.jobs.store(1, Ordering::Relaxed);
        pool.sleep.published(&*pool);
        worker.join().unwrap();
    });
}

/// The publisher is another worker, which works all the time.
#[test]
fn a_published_job_is_found_by_a_driven_worker_that_falls_asleep() {
    check(4, || {
        let pool = driven(2);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || assert!(pool.search_driven(0, &pool.end[0], |_| false))
        });
        pool.publish();
        worker.join().unwrap();
    });
}

#[test]
fn the_end_reaches_a_driven_worker_that_falls_asleep() {
    check(4, || {
        let pool = driven(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || assert!(!pool.search_driven(0, &pool.end[0], |_| false))
        });
        pool.set(&pool.end[0], 0);
        worker.join().unwrap();
    });
}

/// It comes out by itself, for a job that the driver has pushed there, while another wakes it.
#[test]
fn a_driven_worker_comes_out_while_it_is_unparked() {
    check(3, || {
        let pool = driven(1);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                let mut pushes = 1;
                let come_out = |nap: &Nap| {
                    let is_first = pushes == 1;
                    if is_first {
                        pushes = 0;
                        pool.sleep.cancel_nap(0, nap);
                        pool.jobs.fetch_add(1, Ordering::Relaxed);
                    }
                    is_first
                };
                assert!(pool.search_driven(0, &pool.end[0], come_out));
                // The other one, if both came.
                pushes == 1 || pool.search_driven(0, &pool.end[0], |_| false)
            }
        });
        pool.jobs.fetch_add(1, Ordering::Relaxed);
        pool.sleep.published(&*pool);
        assert!(worker.join().unwrap());
        assert_eq!(pool.jobs.load(Ordering::Relaxed), 0);
    });
}
