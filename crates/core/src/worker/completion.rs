//! A count of jobs for whose end any thread may wait, any number of times.
//!
//! A scope knows its waiter, and one latch in a frame is enough. Any thread may wait for a task
//! group or a submitted job: a worker, which helps, or a thread outside, which blocks. Each waiter
//! brings its own latch. A task of an executor waits by its waker.

use std::mem;
use std::ptr;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{fault, Mutex};

use crate::base::latch::Latch;
use crate::insight;
use crate::insight::latest::Latest;
use crate::state::{Pool, Wait};
use crate::worker::backlog::Backlog;
use crate::worker::latch::CountLatch;
use crate::worker::Worker;

/// The number of jobs that have yet to end.
#[derive(Debug)]
pub(crate) struct Completion<L = CountLatch> {
    pending: AtomicUsize,
    waiters: Mutex<Waiters<L>>,
    /// The latest point that a job has come to, in a metered pool.
    pub(crate) latest: Latest,
}

/// The waiters to wake.
#[derive(Debug)]
struct Waiters<L> {
    latches: Vec<Arc<L>>,
    /// The waker of the one task that may wait.
    waker: Option<Waker>,
}

impl<L> Default for Waiters<L> {
    fn default() -> Self {
        Self {
            latches: Vec::new(),
            waker: None,
        }
    }
}

impl<L> Default for Completion<L> {
    fn default() -> Self {
        Self {
            pending: AtomicUsize::new(0),
            waiters: Mutex::default(),
            latest: Latest::new(),
        }
    }
}

impl Completion {
    /// Waits until no job is pending: helps on a worker, also with the `backlog`, or blocks.
    ///
    /// # Panics
    ///
    /// Panics if some are, and the workers of `pool`, to which they were submitted, are not of this
    /// process.
    pub(crate) fn wait(&self, pool: &Pool, backlog: Option<&Backlog>) {
        let caller = Worker::current();
        let latch = || {
            pool.demand_workers("wait for a job of");
            CountLatch::new(1, caller)
        };
        self.wait_with(latch, |latch| {
            let is_here = caller.is_none_or(|worker| ptr::eq(worker.pool(), pool));
            let what = if is_here { Wait::Jobs } else { Wait::Pool };
            let backlog = backlog.filter(|_| is_here);
            latch.wait_as(caller, what, backlog, Worker::pushed_in_job_from);
        });
        insight::call::reach(&self.latest);
    }

    /// Wakes the workers that wait, for a job that was published for them alone.
    pub(crate) fn wake_waiters(&self) {
        let waiters = self.waiters.lock();
        waiters
            .latches
            .iter()
            .for_each(|latch| latch.wake_for_mail());
    }

    /// As [`wait`](Self::wait), as long as there is time `left`. True if no job is pending.
    ///
    /// # Panics
    ///
    /// As there.
    pub(crate) fn wait_while_left(
        &self,
        pool: &Pool,
        backlog: &Backlog,
        left: impl Fn() -> Duration,
    ) -> bool {
        let caller = Worker::current();
        if self.is_done() {
            insight::call::reach(&self.latest);
            return true;
        }
        pool.demand_workers("wait for a job of");
        // A latch for a thread, on a worker too, which looks for jobs itself.
        let latch = Arc::new(CountLatch::new(1, None));
        if !self.enter(&latch) {
            return true;
        }
        let here = pool.current_worker();
        let help = || here.is_some_and(|worker| backlog.run_one(worker));
        let is_done = latch.wait_while_left(caller, help, left);
        if is_done {
            insight::call::reach(&self.latest);
        } else {
            let mut waiters = self.waiters.lock();
            waiters.latches.retain(|other| !Arc::ptr_eq(other, &latch));
        }
        is_done
    }
}

impl<L: Latch> Completion<L> {
    /// Counts one more job.
    pub(crate) fn add(&self) {
        // Relaxed: handing the job on publishes it.
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the end of a job.
    ///
    /// # Panics
    ///
    /// Panics as a waker does, when all else is done.
    pub(crate) fn finish(&self) {
        // Release: pairs with the acquire in `is_done`, which reads what the last made of this, and
        // so sees the work of each.
        let order = fault::ordering("completion.finish", Ordering::Release);
        if self.pending.fetch_sub(1, order) == 1 {
            // A waiter that comes later looks at the count under the lock.
            let waiters = mem::take(&mut *self.waiters.lock());
            for latch in waiters.latches {
                // SAFETY: the `Arc` keeps the latch, and each is set once.
                unsafe { L::set(Arc::as_ptr(&latch)) };
            }
            if let Some(waker) = waiters.waker {
                waker.wake();
            }
        }
    }

    /// True if no job is pending.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: pairs with `finish`: the jobs' work is visible.
        let order = fault::ordering("completion.is_done", Ordering::Acquire);
        self.pending.load(order) == 0
    }

    /// Ready if no job is pending; otherwise this waker, and no earlier one, is woken then.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<()> {
        if self.is_done() {
            insight::call::reach(&self.latest);
            return Poll::Ready(());
        }
        // Wakers run the program's code: they are cloned and dropped outside the lock.
        let waker = waker.clone();
        let mut waiters = self.waiters.lock();
        if self.is_done() && !fault::planted("completion.poll") {
            drop(waiters);
            return Poll::Ready(());
        }
        let former = waiters.waker.replace(waker);
        drop(waiters);
        drop(former);
        Poll::Pending
    }

    /// Waits until no job is pending, each time by a latch of its own.
    pub(super) fn wait_with(&self, latch: impl Fn() -> L, wait: impl Fn(&L)) {
        while !self.is_done() {
            let latch = Arc::new(latch());
            if !self.enter(&latch) {
                return;
            }
            wait(&latch);
        }
    }

    /// Registers the latch, to be set when no job is pending. False if none is pending now.
    fn enter(&self, latch: &Arc<L>) -> bool {
        let mut waiters = self.waiters.lock();
        if self.is_done() && !fault::planted("completion.recheck") {
            return false;
        }
        waiters.latches.push(Arc::clone(latch));
        true
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::atomic::Ordering;
    use heist_sync::cell::UnsafeCell;
    use heist_sync::{thread, Futex};

    use super::Completion;
    use crate::base::latch::{CoreLatch, Latch};
    use crate::worker::latch::CountLatch;
    use crate::worker::Worker;

    struct Group<L> {
        completion: Completion<L>,
        results: [UnsafeCell<bool>; 2],
    }

    // SAFETY: loom checks that nobody uses a result while another writes it.
    unsafe impl<L> Sync for Group<L> {}
    // SAFETY: as above.
    unsafe impl<L> Send for Group<L> {}

    impl<L: Latch + 'static> Group<L> {
        /// A group of which this many jobs run on threads of their own.
        fn running(jobs: usize) -> (Arc<Self>, Vec<thread::JoinHandle<()>>) {
            let group = Arc::new(Self {
                completion: Completion::default(),
                results: [false, false].map(UnsafeCell::new),
            });
            let run = |job| {
                group.completion.add();
                let group = Arc::clone(&group);
                thread::spawn(move || group.run(job))
            };
            let threads = (0..jobs).map(run).collect();
            (group, threads)
        }

        fn run(&self, job: usize) {
            // SAFETY: each job has a result of its own, and a waiter reads it when it knows that
            // the job has ended, which is what loom checks here.
            self.results[job].with_mut(|result| unsafe { *result = true });
            self.completion.finish();
        }

        fn assert_done(&self, job: usize) {
            // SAFETY: as in `run`.
            assert!(self.results[job].with(|result| unsafe { *result }));
        }
    }

    impl Group<CountLatch> {
        /// As a thread that is no worker.
        fn wait(&self) {
            let latch = || CountLatch::new(1, None);
            self.completion.wait_with(latch, |latch| {
                latch.wait(None, None, Worker::pushed_in_job_from)
            });
        }
    }

    /// How a worker waits, reduced to its latch and its parker. A setter that sets the latch twice
    /// unparks one that is not armed.
    struct Waker {
        core: CoreLatch,
        word: Futex,
    }

    const AWAKE: u32 = 0;
    const ASLEEP: u32 = 1;

    impl Waker {
        fn new() -> Self {
            Self {
                core: CoreLatch::new(),
                word: Futex::new(AWAKE),
            }
        }

        fn wait(&self) {
            while !self.core.probe() {
                self.word.store(ASLEEP, Ordering::Relaxed);
                if self.core.fall_asleep() {
                    while self.word.load(Ordering::Relaxed) == ASLEEP {
                        self.word.wait(ASLEEP);
                    }
                    self.core.wake_up();
                }
            }
        }
    }

    impl Latch for Waker {
        unsafe fn set(this: *const Self) {
            // SAFETY: the waiter holds a share of it.
            let this = unsafe { &*this };
            assert!(!this.core.probe(), "each latch is set once");
            // SAFETY: as above.
            if unsafe { CoreLatch::set(&raw const this.core) } {
                this.word.store(AWAKE, Ordering::Relaxed);
                this.word.wake_one();
            }
        }
    }

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    #[test]
    fn a_thread_that_waits_is_woken_and_sees_what_the_job_did() {
        check(|| {
            let (group, threads) = Group::running(1);
            group.wait();
            group.assert_done(0);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }

    #[test]
    fn a_worker_that_waits_is_woken_once_and_sees_what_all_jobs_did() {
        check(|| {
            let (group, threads) = Group::running(2);
            group.completion.wait_with(Waker::new, Waker::wait);
            group.assert_done(0);
            group.assert_done(1);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }

    #[test]
    fn two_that_wait_are_both_woken() {
        check(|| {
            let (group, threads) = Group::running(1);
            let other = thread::spawn({
                let group = Arc::clone(&group);
                move || group.completion.wait_with(Waker::new, Waker::wait)
            });
            group.completion.wait_with(Waker::new, Waker::wait);
            group.assert_done(0);
            for thread in threads.into_iter().chain([other]) {
                thread.join().unwrap();
            }
        });
    }
}
