//! Spare workers: who works in the place of those that wait and would take no job.
//!
//! With [`Waiting::Descendants`](crate::Waiting) a worker that waits may find nothing
//! that it may run, while other jobs lie about. Then it withdraws, and a spare
//! worker comes out, with a stack of its own; so as many work as the pool has
//! workers. A spare withdraws when more are out than are needed, once its stack is
//! empty: for some time there may be more at work.

use crate::pool::Pool;
use crate::threads::Beginning;
use crate::worker::Worker;
use heist_sync::{thread, Mutex};

/// The spare workers of a pool.
#[derive(Debug)]
pub(crate) struct Spares {
    places: Mutex<Places>,
    /// How many there can be.
    most: usize,
    stack_size: Option<usize>,
}

#[derive(Debug, Default)]
struct Places {
    /// Workers that have withdrawn and want their place taken.
    wanted: usize,
    /// Spares that have a thread.
    started: usize,
    /// Those of them that nobody wants: their indices.
    parked: Vec<usize>,
}

impl Places {
    /// How many spares are out.
    fn out(&self) -> usize {
        self.started - self.parked.len()
    }
}

impl Spares {
    pub(crate) fn new(most: usize, stack_size: Option<usize>) -> Self {
        Self {
            places: Mutex::default(),
            most,
            stack_size,
        }
    }

    /// How many there can be.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// True if the spare with this index is parked from now on, because more are out
    /// than wanted.
    fn recall(&self, index: usize) -> bool {
        let mut places = self.places.lock();
        let is_one_too_many = places.out() > places.wanted;
        if is_one_too_many {
            places.parked.push(index);
        }
        is_one_too_many
    }

    /// True if the spare with this index is parked. Its bell does not tell: it is
    /// the same for a spare that waits in the middle of a job.
    fn is_parked(&self, index: usize) -> bool {
        self.places.lock().parked.contains(&index)
    }

    /// How many have a thread.
    pub(crate) fn started(&self) -> usize {
        self.places.lock().started
    }

    /// Somebody who had withdrawn is back.
    pub(crate) fn give_back(&self) {
        self.places.lock().wanted -= 1;
    }
}

impl Pool {
    /// Somebody withdraws: sees to it that a spare works in its place.
    pub(crate) fn replace_one(&self) {
        let mut places = self.spares.places.lock();
        places.wanted += 1;
        if places.out() >= places.wanted.min(self.spares.most) {
            return;
        }
        if let Some(spare) = places.parked.pop() {
            // It may not be asleep yet: then it sees that it is not parked any more.
            self.sleep.ring(spare);
        } else if self.start_spare(self.len() + places.started) {
            places.started += 1;
        }
    }

    /// Starts the thread of a spare. False if the system has none left, or the pool has
    /// ended and an exit handler waits: then the place stays empty.
    fn start_spare(&self, index: usize) -> bool {
        let mut builder = thread::Builder::new();
        if let Some(stack_size) = self.spares.stack_size {
            builder = builder.stack_size(stack_size);
        }
        let pool = self.share();
        let Some(beginning) = Beginning::of(&pool) else {
            return false;
        };
        // It counts as withdrawn until it rings its own bell.
        let thread = builder.spawn(move || {
            let is_withdrawn = pool.sleep.ring(index);
            debug_assert!(is_withdrawn, "nobody else knows of it");
            // SAFETY: `started` counts up, under the lock: one thread for each index.
            unsafe { pool.run(index, beginning) };
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
        let (spares, end) = (&self.pool().spares, &self.seat().end);
        let index = self.index();
        self.end_search();
        while !end.probe() {
            self.main_loop(end, || spares.recall(index));
            while !end.probe() && spares.is_parked(index) {
                self.withdraw_until(end, || !spares.is_parked(index), || ());
            }
        }
    }
}
