//! Spare workers: who works in the place of those that wait and would take no job.
//!
//! With [`Waiting::Descendants`](crate::Waiting) a worker that waits may find nothing
//! that it may run, while other jobs lie about. Then it withdraws, and a spare
//! worker comes out, with a stack of its own; so as many work as the pool has
//! workers. A spare withdraws when more are out than are needed, once its stack is
//! empty: for some time there may be more at work.

use crate::pool::Pool;
use crate::worker::Worker;
use heist_sync::{thread, Mutex};

/// The spare workers of a pool.
#[derive(Debug)]
pub(crate) struct Spares {
    counts: Mutex<Counts>,
    /// How many there can be.
    most: usize,
    stack_size: Option<usize>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Workers that have withdrawn and want their place taken.
    wanted: usize,
    /// Spares that have not withdrawn.
    out: usize,
    /// Spares that have a thread.
    started: usize,
}

impl Spares {
    pub(crate) fn new(most: usize, stack_size: Option<usize>) -> Self {
        Self {
            counts: Mutex::default(),
            most,
            stack_size,
        }
    }

    /// How many there can be.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// True if the calling spare is to withdraw: more are out than wanted.
    pub(crate) fn recall(&self) -> bool {
        let mut counts = self.counts.lock();
        let is_one_too_many = counts.out > counts.wanted;
        if is_one_too_many {
            counts.out -= 1;
        }
        is_one_too_many
    }

    /// True if the calling spare, which is about to withdraw, is to come out again:
    /// somebody may have found none that had withdrawn.
    fn is_one_short(&self) -> bool {
        let mut counts = self.counts.lock();
        let is_one_short = counts.out < counts.wanted;
        if is_one_short {
            counts.out += 1;
        }
        is_one_short
    }

    /// How many have a thread.
    pub(crate) fn started(&self) -> usize {
        self.counts.lock().started
    }

    /// Somebody who had withdrawn is back.
    pub(crate) fn give_back(&self) {
        self.counts.lock().wanted -= 1;
    }
}

impl Pool {
    /// Somebody withdraws: sees to it that a spare works in its place.
    pub(crate) fn replace_one(&self) {
        let mut counts = self.spares.counts.lock();
        counts.wanted += 1;
        if counts.out >= counts.wanted.min(self.spares.most) {
            return;
        }
        counts.out += 1;
        let first = self.len();
        // One that has a thread comes out if it is rung for.
        if (first..first + counts.started).any(|spare| self.sleep.call_in(spare)) {
            return;
        }
        if counts.started < self.spares.most && self.start_spare(first + counts.started) {
            counts.started += 1;
        } else {
            counts.out -= 1;
        }
    }

    /// Starts the thread of a spare. False if the system has none left: then the
    /// place stays empty.
    fn start_spare(&self, index: usize) -> bool {
        let mut builder = thread::Builder::new();
        if let Some(stack_size) = self.spares.stack_size {
            builder = builder.stack_size(stack_size);
        }
        let pool = self.share();
        // It counts as withdrawn until it rings its own bell.
        let thread = builder.spawn(move || {
            let is_withdrawn = pool.sleep.call_in(index);
            debug_assert!(is_withdrawn, "nobody else knows of it");
            // SAFETY: `started` counts up, under the lock: one thread for each index.
            unsafe { pool.run(index) };
        });
        thread.is_ok()
    }

    /// True if this is the index of a spare.
    pub(crate) fn is_spare(&self, index: usize) -> bool {
        index >= self.len()
    }
}

impl Worker {
    /// What a spare's thread does when it comes out: it was rung for, and so counts
    /// as searching.
    pub(crate) fn stand_in(&self) {
        let (pool, end) = (self.pool(), &self.seat().end);
        self.end_search();
        while !end.probe() {
            self.main_loop(end, || pool.spares.recall());
            self.withdraw_until(end, || pool.spares.is_one_short(), || ());
        }
    }
}
