//! A count of jobs that anybody may wait for, any number of times.
//!
//! Scopes know who waits, and one latch in a frame is enough. A task group or a
//! forked job is waited for by whoever comes: a worker, which helps, or a
//! thread outside, which blocks. Each waiter brings its own latch.

use crate::latch::{CountLatch, Latch};
use crate::pool::Pool;
use crate::worker::Worker;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::Mutex;
use std::sync::Arc;

/// How many jobs have yet to end.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    pending: AtomicUsize,
    waiters: Mutex<Vec<Arc<CountLatch>>>,
}

impl Completion {
    /// One more job.
    pub(crate) fn add(&self) {
        // Relaxed: whoever hands the job on publishes it.
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// One job has ended.
    pub(crate) fn finish(&self) {
        // AcqRel: the last to end has seen the others' work and hands it on.
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            // A waiter that comes later looks at the count under the lock.
            for waiter in std::mem::take(&mut *self.waiters.lock()) {
                // SAFETY: the `Arc` keeps the latch, and each is set once.
                unsafe { CountLatch::set(Arc::as_ptr(&waiter)) };
            }
        }
    }

    /// True if no job is pending.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: pairs with `finish`: the jobs' work is visible.
        self.pending.load(Ordering::Acquire) == 0
    }

    /// Waits until no job is pending: helps on a worker, blocks elsewhere.
    ///
    /// # Panics
    ///
    /// Panics if some are, and the workers of `pool`, to which they were submitted,
    /// are not of this process.
    pub(crate) fn wait(&self, pool: &Pool) {
        let caller = Worker::current();
        while !self.is_done() {
            pool.demand_workers("wait for a job of");
            let latch = Arc::new(CountLatch::new(1, caller));
            {
                let mut waiters = self.waiters.lock();
                if self.is_done() {
                    return;
                }
                waiters.push(Arc::clone(&latch));
            }
            latch.wait_in_job(caller);
        }
    }
}
