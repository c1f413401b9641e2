//! The place of the one worker of a serial pool, which has no thread: the thread in the place is
//! the worker.
//!
//! **SE-1** If no thread is in the place, nothing is queued, or a thread is about to take the
//! place. A thread that has queued a job from outside then tries to take the place, and runs it
//! there. If another one is in the place, that one looks for jobs under the lock before it leaves:
//! after the attempt, and so it sees the job; or before, and then the attempt has found the place
//! free. It may leave in spite of jobs if another thread waits for the place, which has to leave it
//! in the same way.

use heist_sync::{fault, Condvar, Mutex};

/// The place of the one worker.
#[derive(Debug, Default)]
pub(crate) struct SerialPlace {
    state: Mutex<State>,
    is_free: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_taken: bool,
    /// The number of threads that wait for it.
    waiting: usize,
}

impl SerialPlace {
    /// Waits until the place is free, and takes it.
    pub(crate) fn take(&self) {
        let mut state = self.state.lock();
        state.waiting += 1;
        while state.is_taken {
            state = self.is_free.wait(state);
        }
        state.waiting -= 1;
        state.is_taken = true;
    }

    /// Takes the place if it is free. True if it was.
    pub(crate) fn try_take(&self) -> bool {
        !std::mem::replace(&mut self.state.lock().is_taken, true)
    }

    /// Leaves the place; `last` is called just before. False if the caller has to stay, because
    /// there are jobs and no thread waits for the place.
    pub(crate) fn leave(&self, has_jobs: impl FnOnce() -> bool, last: impl FnOnce()) -> bool {
        let mut state = self.state.lock();
        let is_wanted = state.waiting > 0 || fault::planted("serial.leave.look");
        if !is_wanted && has_jobs() {
            return false;
        }
        last();
        state.is_taken = false;
        drop(state);
        if !fault::planted("serial.leave.notify") {
            self.is_free.notify_one();
        }
        true
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::atomic::{AtomicUsize, Ordering};
    use heist_sync::cell::UnsafeCell;
    use heist_sync::thread;

    use super::SerialPlace;

    /// A pool of which a job is a number.
    #[derive(Default)]
    struct Pool {
        place: SerialPlace,
        queued: AtomicUsize,
        ran: Ran,
    }

    /// How many jobs have run, written by whoever is in the place.
    struct Ran(UnsafeCell<usize>);

    impl Default for Ran {
        fn default() -> Self {
            Self(UnsafeCell::new(0))
        }
    }

    // SAFETY: loom checks that one thread at a time is in the place.
    unsafe impl Sync for Ran {}
    // SAFETY: as above.
    unsafe impl Send for Ran {}

    impl Pool {
        fn run(&self, jobs: usize) {
            // SAFETY: the caller is in the place, which is what loom checks here.
            self.ran.0.with_mut(|ran| unsafe { *ran += jobs });
        }

        /// The caller is in the place, and leaves.
        fn leave(&self) {
            let has_jobs = || self.queued.load(Ordering::Relaxed) > 0;
            while !self.place.leave(has_jobs, || self.run(0)) {
                self.run(self.queued.swap(0, Ordering::Relaxed));
            }
        }

        fn spawn(&self) {
            self.queued.fetch_add(1, Ordering::Relaxed);
            if self.place.try_take() {
                self.leave();
            }
        }

        fn install(&self) {
            self.place.take();
            self.run(1);
            self.leave();
        }
    }

    /// Each thread makes one call; then all jobs have run, each once.
    fn check<const N: usize>(calls: [fn(&Pool); N]) {
        loom::model(move || {
            let pool = Arc::new(Pool::default());
            let threads = calls.map(|call| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || call(&pool))
            });
            for thread in threads {
                thread.join().unwrap();
            }
            // SAFETY: the threads have ended.
            assert_eq!(pool.ran.0.with(|ran| unsafe { *ran }), N);
        });
    }

    #[test]
    fn of_two_jobs_from_outside_none_is_left_behind() {
        check([Pool::spawn, Pool::spawn]);
    }

    #[test]
    fn a_caller_that_waits_comes_to_its_turn_and_leaves_no_job_behind() {
        check([Pool::install, Pool::install]);
        check([Pool::install, Pool::spawn, Pool::install]);
    }
}
