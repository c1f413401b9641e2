//! A count of the shares of a pool, which keep its workers.

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{fault, CachePadded};

/// The shares of a pool: the handle holds one, and so does each detached job. When the last is
/// gone, and no sooner, the workers end, and no share can be taken any longer.
#[derive(Debug)]
pub(crate) struct Live(CachePadded<AtomicUsize>);

impl Live {
    /// A count of one share, that of the handle.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicUsize::new(1)))
    }

    /// Takes so many more shares. False if the last is gone.
    #[inline]
    #[must_use]
    pub(crate) fn keep(&self, things: usize) -> bool {
        let more = |live| (live > 0 || fault::planted("live.ended")).then_some(live + things);
        // Relaxed: a share is taken from one that the caller knows of.
        let before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        before.is_ok()
    }

    /// Returns so many shares. True if they were the last: the caller sees everything that was done
    /// before the others were returned, and ends the workers.
    #[inline]
    #[must_use]
    pub(crate) fn release(&self, things: usize) -> bool {
        // Release and Acquire: pairs with itself, of each caller with that of the last.
        let order = fault::ordering("live.release", Ordering::AcqRel);
        self.0.fetch_sub(things, order) == things
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::atomic::{AtomicUsize, Ordering};
    use heist_sync::cell::UnsafeCell;
    use heist_sync::thread;

    use super::Live;

    struct Pool {
        live: Live,
        ended: AtomicUsize,
        done: [UnsafeCell<bool>; 2],
    }

    // SAFETY: loom checks that nobody looks at what was done while another writes it.
    unsafe impl Sync for Pool {}
    // SAFETY: as above.
    unsafe impl Send for Pool {}

    impl Pool {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                live: Live::new(),
                ended: AtomicUsize::new(0),
                done: [false, false].map(UnsafeCell::new),
            })
        }

        /// True if a job has run.
        fn has_run(&self, job: usize) -> bool {
            // SAFETY: loom checks it.
            self.done[job].with(|done| unsafe { *done })
        }

        fn run(&self, job: usize) {
            // SAFETY: each job has a cell of its own, which whoever ends the pool reads.
            self.done[job].with_mut(|done| unsafe { *done = true });
        }

        /// Releases a share; whoever ends the pool looks at what all jobs did.
        fn release(&self, jobs: &[usize]) {
            if self.live.release(1) {
                self.ended.fetch_add(1, Ordering::Relaxed);
                for &job in jobs {
                    assert!(self.has_run(job), "the pool ended before job {job} had run");
                }
            }
        }
    }

    #[test]
    fn the_last_of_two_jobs_and_the_handle_ends_the_pool_and_has_seen_the_others() {
        loom::model(|| {
            let pool = Pool::new();
            let jobs = [0, 1].map(|job| {
                assert!(pool.live.keep(1));
                let pool = Arc::clone(&pool);
                thread::spawn(move || {
                    pool.run(job);
                    pool.release(&[0, 1]);
                })
            });
            pool.release(&[0, 1]);
            for job in jobs {
                job.join().unwrap();
            }
            assert_eq!(pool.ended.load(Ordering::Relaxed), 1);
            assert!(!pool.live.keep(1), "a pool that has ended takes no job");
        });
    }

    /// A worker has two shares in stock, one of which goes to a thread with its job.
    #[test]
    fn shares_that_are_taken_and_given_back_together_end_the_pool_once() {
        loom::model(|| {
            let pool = Pool::new();
            assert!(pool.live.keep(2));
            let other = thread::spawn({
                let pool = Arc::clone(&pool);
                move || {
                    pool.run(0);
                    pool.release(&[0, 1]);
                }
            });
            let worker = thread::spawn({
                let pool = Arc::clone(&pool);
                move || {
                    // Of three more it needs one, and has the one from before.
                    let is_taken = pool.live.keep(3);
                    assert!(is_taken, "its own share keeps the pool");
                    pool.run(1);
                    if pool.live.release(4) {
                        pool.ended.fetch_add(1, Ordering::Relaxed);
                        assert!(pool.has_run(0) && pool.has_run(1));
                    }
                }
            });
            pool.release(&[0, 1]);
            other.join().unwrap();
            worker.join().unwrap();
            assert_eq!(pool.ended.load(Ordering::Relaxed), 1);
        });
    }

    /// Somebody submits a job while the handle is dropped.
    #[test]
    fn a_pool_that_has_ended_refuses_a_job_and_ends_no_second_time() {
        loom::model(|| {
            let pool = Pool::new();
            let submitter = thread::spawn({
                let pool = Arc::clone(&pool);
                move || {
                    let is_taken = pool.live.keep(1);
                    if is_taken {
                        pool.run(0);
                        pool.release(&[0]);
                    }
                }
            });
            pool.release(&[]);
            submitter.join().unwrap();
            assert_eq!(pool.ended.load(Ordering::Relaxed), 1);
        });
    }
}
