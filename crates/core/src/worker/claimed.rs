//! A job that is claimed before it runs: its closure, or later its outcome, and who waits for that.

use std::ptr::NonNull;
use std::sync::Arc;

use heist_sync::cell::UnsafeCell;
use heist_sync::thread;

use crate::base::claim::Claim;
use crate::base::job_ref::Header;
use crate::base::join_error::JoinError;
use crate::base::latch::Latch;
use crate::base::region::Context;
use crate::base::unwind::{self, Payload};
use crate::insight::call::{run_later, Later};
use crate::worker::completion::Completion;
use crate::worker::latch::CountLatch;

/// A job `F` with a value `T`.
#[repr(C)]
pub(crate) struct Claimed<F, T, L = CountLatch> {
    claim: Claim,
    pub(crate) completion: Completion<L>,
    /// Where the job's path begins, in a metered pool.
    start: Later,
    /// Belongs to whoever has claimed the job, until its completion; then to the one handle.
    content: UnsafeCell<Content<F, T>>,
}

enum Content<F, T> {
    Job(F),
    Outcome(Result<T, JoinError>),
    Nothing,
}

/// The one right to run a job, or to drop it.
#[must_use = "whoever waits for the job must be told"]
pub(crate) struct Claimant<'a, F, T, L>(&'a Claimed<F, T, L>);

// SAFETY: one thread at a time has the content, by the claim and the completion, and it moves from
// one to the other.
unsafe impl<F: Send, T: Send, L: Send + Sync> Sync for Claimed<F, T, L> {}
// SAFETY: as above.
unsafe impl<F: Send, T: Send, L: Send + Sync> Send for Claimed<F, T, L> {}

impl<F: FnOnce() -> T, T, L: Latch> Claimed<F, T, L> {
    /// A queued job, which `execute` runs in this context.
    pub(crate) fn new(
        job: F,
        execute: unsafe fn(NonNull<Header>),
        context: Option<Arc<Context>>,
        start: Later,
    ) -> Self {
        let completion = Completion::default();
        completion.add();
        Self {
            claim: Claim::new(execute, context),
            completion,
            start,
            content: UnsafeCell::new(Content::Job(job)),
        }
    }

    /// The context in which the job is to run.
    pub(crate) fn context(&self) -> Option<&Arc<Context>> {
        self.claim.context()
    }

    /// The right to run the job, unless somebody has it.
    pub(crate) fn claim(&self) -> Option<Claimant<'_, F, T, L>> {
        self.claim.run().then_some(Claimant(self))
    }

    /// Drops the job, unless somebody has claimed it. True if it has been cancelled, now or before.
    ///
    /// # Errors
    ///
    /// Gives the payload if the closure's drop has panicked, or the waker of whoever waits.
    pub(crate) fn cancel(&self) -> Result<bool, Payload> {
        if self.claim.cancel() {
            Claimant(self)
                .discard(unwind::cancellation())
                .map(|()| true)
        } else {
            Ok(self.claim.is_cancelled())
        }
    }

    /// The outcome of the job, unless it was taken.
    ///
    /// # Safety
    ///
    /// 1. The caller knows that the job is complete.
    /// 2. No other thread calls this.
    pub(crate) unsafe fn take_outcome(&self) -> Option<Result<T, JoinError>> {
        // SAFETY: by 1. the claimant is done with it, and by 2. the caller is alone.
        let content = self
            .content
            .with_mut(|content| unsafe { content.replace(Content::Nothing) });
        match content {
            Content::Outcome(outcome) => Some(outcome),
            _ => None,
        }
    }
}

impl<F: FnOnce() -> T, T, L: Latch> Claimant<'_, F, T, L> {
    /// Runs the job.
    ///
    /// # Errors
    ///
    /// Gives the payload if the waker of whoever waits has panicked.
    pub(crate) fn run(self) -> Result<(), Payload> {
        let job = self.take_job();
        let Claimed {
            start, completion, ..
        } = self.0;
        let outcome = run_later(start, Some(&completion.latest), || unwind::catch_job(job));
        self.end(outcome)
    }

    /// Drops the job, which is not to begin, and why.
    ///
    /// # Errors
    ///
    /// Gives the payload if the closure's drop has panicked, or the waker of whoever waits.
    pub(crate) fn discard(self, why: Payload) -> Result<(), Payload> {
        let job = self.take_job();
        let dropped = unwind::catch(|| drop(job));
        let told = self.end(Err(why));
        dropped.and(told)
    }

    fn take_job(&self) -> F {
        // SAFETY: the content is the claimant's.
        let content = self
            .0
            .content
            .with_mut(|content| unsafe { content.replace(Content::Nothing) });
        let Content::Job(job) = content else {
            unreachable!("a job is claimed once")
        };
        job
    }

    fn end(self, outcome: thread::Result<T>) -> Result<(), Payload> {
        let outcome = Content::Outcome(outcome.map_err(|payload| {
            if unwind::is_cancellation(&payload) {
                JoinError::Cancelled
            } else {
                JoinError::Panicked(payload.into())
            }
        }));
        // SAFETY: the content is the claimant's, and nothing that would have to be dropped.
        self.0
            .content
            .with_mut(|content| unsafe { content.write(outcome) });
        unwind::catch(|| self.0.completion.finish())
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::ptr::NonNull;
    use std::sync::Arc;
    use std::task::{Poll, Wake, Waker};

    use heist_sync::atomic::{AtomicUsize, Ordering};
    use heist_sync::{thread, Futex};

    use super::{Claimed, JoinError};
    use crate::base::job_ref::Header;
    use crate::worker::latch::CountLatch;
    use crate::worker::Worker;

    type Job = Box<dyn FnOnce() -> usize + Send>;

    /// A submitted job, and how often its closure has been dropped.
    struct Submitted {
        job: Claimed<Job, usize, CountLatch>,
        drops: Arc<AtomicUsize>,
    }

    struct CountDrops(Arc<AtomicUsize>);

    impl Drop for CountDrops {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// # Safety
    ///
    /// 1. It is not called.
    unsafe fn never(_: NonNull<Header>) {
        unreachable!("the model has no queue")
    }

    const VALUE: usize = 7;

    impl Submitted {
        fn new() -> Arc<Self> {
            let drops = Arc::new(AtomicUsize::new(0));
            let captured = CountDrops(Arc::clone(&drops));
            let job: Job = Box::new(move || {
                let _captured = captured;
                VALUE
            });
            Arc::new(Self {
                job: Claimed::new(job, never, None, None),
                drops,
            })
        }

        /// As a worker that takes the job from a queue: true if it has run it.
        fn take(&self) -> bool {
            let claimant = self.job.claim();
            claimant.is_some_and(|claimant| claimant.run().is_ok())
        }

        fn take_on_a_thread(self: &Arc<Self>) -> thread::JoinHandle<bool> {
            let this = Arc::clone(self);
            thread::spawn(move || this.take())
        }

        fn abort(&self) -> bool {
            self.job.cancel().expect("nothing panics")
        }

        /// As a thread that is no worker.
        fn wait(&self) {
            let latch = || CountLatch::new(1, None);
            let completion = &self.job.completion;
            completion.wait_with(latch, |latch| {
                latch.wait(None, None, Worker::pushed_in_job_from)
            });
        }

        /// The outcome of the job, which is complete: its value, or none if it was cancelled.
        fn value(&self) -> Option<usize> {
            assert_eq!(self.drops.load(Ordering::Relaxed), 1, "dropped once");
            // SAFETY: the tests have waited for it, on one thread, which loom checks.
            match unsafe { self.job.take_outcome() }.expect("an outcome") {
                Ok(value) => Some(value),
                Err(JoinError::Cancelled) => None,
                Err(JoinError::Panicked(_)) => unreachable!("the job does not panic"),
            }
        }
    }

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    #[test]
    fn a_job_runs_or_is_cancelled_and_whoever_waits_learns_which() {
        check(|| {
            let submitted = Submitted::new();
            let taker = submitted.take_on_a_thread();
            let is_cancelled = submitted.abort();
            submitted.wait();
            assert_eq!(submitted.value().is_none(), is_cancelled);
            assert_eq!(taker.join().unwrap(), !is_cancelled);
        });
    }

    #[test]
    fn two_that_abort_agree_and_a_worker_that_joins_runs_what_is_left() {
        check(|| {
            let submitted = Submitted::new();
            let other = thread::spawn({
                let submitted = Arc::clone(&submitted);
                move || submitted.abort()
            });
            let has_run = submitted.take();
            submitted.wait();
            assert_eq!(submitted.abort(), !has_run);
            assert_eq!(other.join().unwrap(), !has_run);
            assert_eq!(submitted.value(), has_run.then_some(VALUE));
        });
    }

    #[test]
    fn a_job_that_is_taken_and_joined_runs_once() {
        check(|| {
            let submitted = Submitted::new();
            let taker = submitted.take_on_a_thread();
            let has_run = submitted.take();
            submitted.wait();
            assert_eq!(submitted.value(), Some(VALUE));
            assert_ne!(taker.join().unwrap(), has_run);
        });
    }

    /// A task of some executor.
    struct Task(Futex);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            // Release: pairs with the acquire in `sleep`.
            self.0.store(1, Ordering::Release);
            self.0.wake_one();
        }
    }

    impl Task {
        fn new() -> Arc<Self> {
            Arc::new(Self(Futex::new(0)))
        }

        fn sleep(&self) {
            // Acquire: pairs with the release in `wake`.
            while self.0.load(Ordering::Acquire) == 0 {
                self.0.wait(0);
            }
        }
    }

    #[test]
    fn a_task_that_is_polled_is_woken_and_sees_the_value() {
        check(|| {
            let submitted = Submitted::new();
            let taker = submitted.take_on_a_thread();
            let task = Task::new();
            let waker = Waker::from(Arc::clone(&task));
            if submitted.job.completion.poll(&waker) == Poll::Pending {
                task.sleep();
                assert_eq!(submitted.job.completion.poll(&waker), Poll::Ready(()));
            }
            assert_eq!(submitted.value(), Some(VALUE));
            taker.join().unwrap();
        });
    }

    #[test]
    fn of_two_wakers_the_last_is_woken() {
        check(|| {
            let submitted = Submitted::new();
            let taker = submitted.take_on_a_thread();
            let tasks = [Task::new(), Task::new()];
            let wakers = tasks.clone().map(Waker::from);
            let polls = wakers
                .each_ref()
                .map(|waker| submitted.job.completion.poll(waker));
            if polls[1] == Poll::Pending {
                tasks[1].sleep();
            }
            submitted.wait();
            assert_eq!(submitted.value(), Some(VALUE));
            taker.join().unwrap();
        });
    }
}
