//! Regions of the calling worker: opening and closing them, and what jobs carry.

use std::sync::Arc;

use heist_sync::thread;

use crate::base::job::DetachedJob;
use crate::base::region::{is_same, Context};
use crate::base::task::Carrying;
use crate::base::unwind;
use crate::base::waiting::{Region, WaitMode, Waiting};
use crate::state::Pool;
use crate::worker::Worker;

impl Worker {
    /// The context of the code that runs here.
    #[inline]
    pub(crate) fn context(&self) -> Option<&Arc<Context>> {
        // SAFETY: this is the worker. The caller's own code runs in the region.
        unsafe { self.state().wait_modes.context() }
    }

    /// Calls `op`, in which that holds and nothing else.
    pub(crate) fn within<R>(&self, context: Option<Arc<Context>>, op: impl FnOnce() -> R) -> R {
        self.in_region(self.wait_mode(), context, op)
    }

    /// Calls `op`, in which every wait is so, and that holds.
    pub(crate) fn in_region<R>(
        &self,
        mode: WaitMode,
        context: Option<Arc<Context>>,
        op: impl FnOnce() -> R,
    ) -> R {
        struct Open<'a>(&'a Worker, &'a Region, bool);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                let Self(worker, region, was_strict) = self;
                worker.local().is_strict.set(*was_strict);
                worker.close(region);
                if worker.pool().waits_for_a_worker() {
                    // The call may have heard the signal and served nobody.
                    worker.signal_self();
                }
            }
        }
        let wait_modes = &self.state().wait_modes;
        let region = wait_modes.region(mode, context, self.next_slot());
        // SAFETY: in place, and the newest, until `Open` is dropped below.
        unsafe { wait_modes.open(&region, self.deque()) };
        let was_strict = self.local().is_strict.replace(mode.is_strict());
        let _open = Open(self, &region, was_strict);
        self.watched(false, op)
    }

    /// The region ends. The jobs that it leaves in the deque carry its context from now on (RG-1).
    fn close(&self, region: &Region) {
        let mut left = Vec::new();
        if !is_same(region.context(), region.context_around()) {
            while self.next_slot() > region.lowest() {
                let Some((kind, slot)) = self.pop_detached() else {
                    break;
                };
                // SAFETY: just popped.
                let job = unsafe { DetachedJob::move_from(slot, kind) };
                left.push(carrying(region.context().cloned(), job));
            }
        }
        self.state().wait_modes.close(region, self.deque());
        self.put_back(left);
    }

    /// Runs a job, which is told whether it is cancelled, in its own context, and as frames that
    /// wait so.
    #[inline]
    pub(crate) fn run_in(
        &self,
        mode: WaitMode,
        context: Option<Arc<Context>>,
        run: impl FnOnce(bool),
    ) {
        if is_same(context.as_ref(), self.context()) {
            let is_cancelled = context.is_some_and(|context| context.is_cancelled());
            self.as_there(mode, || run(is_cancelled));
        } else {
            self.run_apart(mode, context, run);
        }
    }

    #[cold]
    #[inline(never)]
    fn run_apart(&self, mode: WaitMode, context: Option<Arc<Context>>, run: impl FnOnce(bool)) {
        let is_cancelled = context
            .as_ref()
            .is_some_and(|context| context.is_cancelled());
        let mode = if mode.is_plain() {
            self.wait_mode()
        } else {
            mode
        };
        self.in_region(mode, context, || run(is_cancelled));
    }

    /// The job, which is to be queued where its slot says nothing, with the context of the present
    /// region.
    pub(crate) fn inheriting(&self, job: DetachedJob) -> DetachedJob {
        match self.context() {
            Some(context) if !thread::panicking() => carrying(Some(Arc::clone(context)), job),
            _ => job,
        }
    }

    /// True if the present region is cancelled.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.context().is_some_and(|context| context.is_cancelled())
    }

    /// True if the present region is to be left: it is cancelled. Not while the thread unwinds:
    /// destructors come to their end.
    #[inline]
    pub(crate) fn leaves(&self) -> bool {
        self.is_cancelled() && !thread::panicking()
    }

    /// Leaves the present region by unwinding, if it is cancelled.
    #[inline]
    pub(crate) fn checkpoint(&self) {
        if self.leaves() {
            unwind::cancel();
        }
    }
}

impl Pool {
    /// The context of a job of this pool that is begun here. None while the thread unwinds: jobs of
    /// destructors are not cancelled.
    pub(crate) fn inherited(&self) -> Option<Arc<Context>> {
        let worker = Worker::seen()?;
        worker.context().filter(|_| !thread::panicking()).cloned()
    }

    /// As [`Worker::inheriting`], for a job from outside.
    pub(crate) fn inheriting(&self, job: DetachedJob) -> DetachedJob {
        match self.inherited() {
            None => job,
            context => carrying(context, job),
        }
    }
}

/// Calls `op`, on a worker, in this context if there is one.
pub(crate) fn within<R>(context: Option<Arc<Context>>, op: impl FnOnce() -> R) -> R {
    match context {
        None => op(),
        context => Worker::current()
            .expect("jobs run on workers")
            .within(context, op),
    }
}

/// Calls `op`, on a worker, in no region.
pub(crate) fn apart<R>(op: impl FnOnce() -> R) -> R {
    let worker = Worker::current().expect("jobs run on workers");
    worker.within(None, op)
}

/// The job with its context, which may lie anywhere.
pub(crate) fn carrying(context: Option<Arc<Context>>, job: DetachedJob) -> DetachedJob {
    if job.carries() {
        return job;
    }
    let run = move || {
        let worker = Worker::current().expect("jobs run on workers");
        worker.run_in(WaitMode::new(Waiting::Any), context, |is_cancelled| {
            // SAFETY: the one run of the job around it.
            unsafe { job.finish(is_cancelled) }
        });
    };
    // SAFETY: 1. and 2. are those of the job.
    unsafe { DetachedJob::new(Carrying(run)) }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::sync::Arc;

    use heist_deque::Steal;

    use super::Context;
    use crate::base::job::Job;
    use crate::worker::Worker;
    use crate::{spawn, with_cancellation, CancellationToken, ThreadPoolBuilder};

    fn worker<'job>() -> &'job Worker {
        Worker::current().expect("the test runs on a worker")
    }

    /// Takes the oldest job of the calling worker as a thief would, and runs it. Its context, if
    /// that is of its slot; a job that carries it has none.
    fn stolen() -> Option<Arc<Context>> {
        let Steal::Success(job) = worker().state().steal(|| true) else {
            panic!("there is a job")
        };
        let Job::Detached { job, mode, context } = job else {
            panic!("a detached one")
        };
        let found = Option::clone(&context);
        worker().execute(Job::Detached { job, mode, context });
        found
    }

    fn here() -> Option<Arc<Context>> {
        worker().context().cloned()
    }

    fn is_here(context: Option<&Arc<Context>>) -> bool {
        super::is_same(context, worker().context())
    }

    /// A job that is to run in the context in which it was spawned.
    fn spawn_here() {
        let context = here();
        spawn(move || assert!(is_here(context.as_ref())));
    }

    fn on_a_worker(test: impl FnOnce() + Send) {
        let pool = ThreadPoolBuilder::new().num_threads(1).build();
        pool.expect("a pool").install(test);
    }

    #[test]
    fn a_thief_finds_the_context_of_the_frame_that_pushed_the_job() {
        on_a_worker(|| {
            let token = CancellationToken::new();
            spawn_here();
            with_cancellation(&token, || {
                let outer = here();
                assert!(outer.is_some());
                spawn_here();
                with_cancellation(&token, || {
                    spawn_here();
                    assert!(stolen().is_none());
                    assert!(super::is_same(stolen().as_ref(), outer.as_ref()));
                    assert!(is_here(stolen().as_ref()));
                })
                .expect("it ends");
                spawn_here();
                assert!(is_here(stolen().as_ref()));
            })
            .expect("it ends");
            assert!(here().is_none());
        });
    }

    #[test]
    fn jobs_that_a_region_leaves_carry_its_context_in_their_old_order() {
        on_a_worker(|| {
            let token = CancellationToken::new();
            spawn_here();
            with_cancellation(&token, || {
                spawn_here();
                with_cancellation(&token, || {
                    spawn_here();
                    spawn_here();
                })
                .expect("it ends");
                spawn_here();
            })
            .expect("it ends");
            spawn_here();
            for _ in 0..6 {
                assert!(stolen().is_none(), "of no region, or carried");
            }
        });
    }

    #[test]
    fn a_popped_job_runs_in_the_context_in_which_it_was_pushed() {
        on_a_worker(|| {
            let token = CancellationToken::new();
            for leaves in [false, true] {
                spawn_here();
                crate::spawn_fifo({
                    let context = here();
                    move || assert!(is_here(context.as_ref()))
                });
                with_cancellation(&token, || {
                    let context = here();
                    crate::spawn_fifo(move || assert!(is_here(context.as_ref())));
                    spawn_here();
                    if !leaves {
                        while crate::yield_now() == Some(crate::Yield::Executed) {}
                        spawn_here();
                    }
                })
                .expect("it ends");
                while crate::yield_now() == Some(crate::Yield::Executed) {}
            }
        });
    }

    /// The frames of a job of no region lie on top of the region's, and it leaves jobs.
    #[test]
    fn what_a_foreign_job_leaves_is_of_its_own_region() {
        on_a_worker(|| {
            let token = CancellationToken::new();
            spawn(|| {
                assert!(here().is_none());
                spawn(|| assert!(here().is_none()));
            });
            with_cancellation(&token, || {
                assert_eq!(crate::yield_now(), Some(crate::Yield::Executed));
                assert!(stolen().is_none());
                spawn_here();
                assert!(is_here(stolen().as_ref()));
            })
            .expect("it ends");
        });
    }
}
