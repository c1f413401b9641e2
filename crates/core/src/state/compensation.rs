//! Compensation workers, who work in the place of those that block, or wait and would take no job.
//!
//! With [`Waiting::Descendants`](crate::Waiting) a worker that waits may find nothing that it may
//! run, while other jobs lie about; one in [`blocking`](crate::blocking) runs none. Then a
//! compensation worker comes out, with a stack of its own, so that as many work as the pool has
//! workers. It withdraws when more are out than are needed, once its stack is empty: for some time
//! there may be more at work. (The word is that of Java's ForkJoinPool.)

use heist_sync::Mutex;

/// The compensation workers of a pool.
#[derive(Debug)]
pub(crate) struct Compensation {
    places: Mutex<Places>,
    /// How many there can be.
    most: usize,
}

#[derive(Debug, Default)]
struct Places {
    /// Workers that have withdrawn and want their place taken.
    wanted: usize,
    /// Those that have a thread.
    started: usize,
    /// Those of them that nobody wants: their indices.
    parked: Vec<usize>,
}

impl Places {
    /// How many are out.
    fn out(&self) -> usize {
        self.started - self.parked.len()
    }
}

impl Compensation {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            places: Mutex::default(),
            most,
        }
    }

    /// How many there can be.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// True if the one with this index is parked from now on, because more are out than wanted.
    pub(crate) fn recall(&self, index: usize) -> bool {
        let mut places = self.places.lock();
        let is_one_too_many = places.out() > places.wanted;
        if is_one_too_many {
            places.parked.push(index);
        }
        is_one_too_many
    }

    /// True if the one with this index is parked. Its parker does not tell: it is the same for one
    /// that waits in the middle of a job.
    pub(crate) fn is_parked(&self, index: usize) -> bool {
        self.places.lock().parked.contains(&index)
    }

    /// Somebody withdraws, and wants its place taken: by one that is parked, which `unpark` is
    /// called for, or by one more, which `start` is to start. That is given how many were started
    /// before, and says whether it could.
    pub(crate) fn want_one(&self, unpark: impl FnOnce(usize), start: impl FnOnce(usize) -> bool) {
        let mut places = self.places.lock();
        places.wanted += 1;
        if places.out() >= places.wanted.min(self.most) {
            return;
        }
        if let Some(parked) = places.parked.pop() {
            // It may not be asleep yet: then it sees that it is not parked any more.
            unpark(parked);
        } else if start(places.started) {
            places.started += 1;
        }
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
