//! The regions of a worker: opening and closing them, and the contexts that jobs carry.

use std::sync::Arc;

use heist_sync::thread;

use crate::base::around;
use crate::base::job::DetachedJob;
use crate::base::region::{is_same, is_surrounded, may_run, Context, Region};
use crate::base::task::Task;
use crate::base::unwind::{self, Payload};
use crate::base::waiting::{WaitMode, Waiting};
use crate::policy::Priority;
use crate::state::Pool;
use crate::worker::needed;
use crate::worker::Worker;

impl Worker {
    /// The context of the code that runs here.
    #[inline]
    pub(crate) fn context(&self) -> Option<&Arc<Context>> {
        // SAFETY: this is the worker. The caller's own code runs in the region.
        unsafe { self.state().regions.context() }
    }

    /// Calls `op` in this context and no other.
    pub(crate) fn within<R>(&self, context: Option<Arc<Context>>, op: impl FnOnce() -> R) -> R {
        self.in_region(self.wait_mode(), context, op)
    }

    /// Calls `op` in this context, with every wait of this mode.
    ///
    /// # Panics
    ///
    /// Panics if `op` or a surrounding does; the latter may be before `op` is called.
    pub(crate) fn in_region<R>(
        &self,
        mode: WaitMode,
        context: Option<Arc<Context>>,
        op: impl FnOnce() -> R,
    ) -> R {
        /// A result that is still here when a surrounding panics is never seen.
        struct Unseen<R>(Option<R>);
        impl<R> Drop for Unseen<R> {
            fn drop(&mut self) {
                if let Some(result) = self.0.take() {
                    unwind::discard(result);
                }
            }
        }
        let (mut op, mut result) = (Some(op), Unseen(None));
        // One copy of all else, not one for each closure.
        self.enter_region(mode, context, &mut || result.0 = op.take().map(|op| op()));
        result.0.take().expect("it has been called, once")
    }

    #[inline(never)]
    fn enter_region(&self, mode: WaitMode, context: Option<Arc<Context>>, op: &mut dyn FnMut()) {
        match context {
            Some(context) if context.surrounds() => self.surrounded(mode, context, op),
            context if is_surrounded() => {
                self.in_open(mode.with(Waiting::Descendants), context, op);
            }
            context => self.in_open(mode, context, op),
        }
    }

    /// As [`in_region`](Self::in_region), if surroundings are to be entered. Inside them a waiting
    /// frame runs descendants only: other jobs would see the surroundings.
    fn surrounded(&self, mode: WaitMode, context: Arc<Context>, op: &mut dyn FnMut()) {
        let mode = mode.with(Waiting::Descendants);
        let missing = context.missing();
        if missing.is_empty() {
            return self.in_open(mode, Some(context), op);
        }
        let (mut op, mut result) = (Some(op), None);
        let mut run = || {
            let op = op.take();
            let op = op.expect("an `Around` calls what it is given once, and has called it again");
            let mut op = || self.as_a_job(mode, &mut *op);
            let inside = || self.in_open(mode, Some(Arc::clone(&context)), &mut op);
            result = Some(unwind::catch(|| context.entered(inside)));
        };
        let left = unwind::catch(|| around::nested(&missing, &mut run));
        match (result, left) {
            (Some(Ok(())), Ok(())) => {}
            (Some(Err(payload)), Ok(())) | (Some(Ok(())) | None, Err(payload)) => {
                unwind::resume(payload)
            }
            (Some(Err(first)), Err(second)) => unwind::resume(unwind::first(first, second)),
            (None, Ok(())) => panic!("an `Around` has not called what it was given"),
        }
    }

    /// As [`in_region`](Self::in_region), when all surroundings are entered.
    fn in_open(&self, mode: WaitMode, context: Option<Arc<Context>>, op: &mut dyn FnMut()) {
        struct Open<'a>(&'a Worker, &'a Region, bool);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                let Self(worker, region, was_strict) = self;
                worker.local().frames.is_strict.set(*was_strict);
                worker.close(region);
                if worker.pool().waits_for_a_worker() {
                    // The call may have consumed a signal without serving it.
                    worker.signal_self();
                }
            }
        }
        let regions = &self.state().regions;
        let region = regions.region(mode, context, self.next_slot());
        // SAFETY: in place, and the newest, until `Open` is dropped below.
        unsafe { regions.open(&region, self.deque()) };
        let was_strict = self.local().frames.is_strict.replace(mode.is_strict());
        let _open = Open(self, &region, was_strict);
        self.watched(false, op);
    }

    /// Ends the region. The jobs that it leaves in the deque carry its context from now on (RG-1).
    fn close(&self, region: &Region) {
        let mut left = Vec::new();
        if !is_same(region.context(), region.context_around()) {
            while self.next_slot() > region.lowest() {
                let Some((kind, slot)) = self.pop_detached() else {
                    break;
                };
                // SAFETY: just popped.
                let job = unsafe { DetachedJob::move_from(slot, kind) };
                let (context, is_needed) = (region.context().cloned(), region.is_needed());
                left.push(carrying(context, is_needed, job));
            }
        }
        self.state().regions.close(region, self.deque());
        // The frame below may wait for all jobs pushed here, and have entered other surroundings.
        let (here, elsewhere) = left.into_iter().partition(DetachedJob::may_run_here);
        self.put_back(here);
        for job in elsewhere {
            self.pool().inject(Priority::Normal, job);
        }
    }

    /// Runs a job in its own context, with waits of this mode. If the job is not to run, `run` gets
    /// the reason: its region is cancelled, or a surrounding has panicked.
    #[inline]
    pub(crate) fn run_in(
        &self,
        mode: WaitMode,
        context: Option<Arc<Context>>,
        run: impl FnOnce(Option<Payload>),
    ) {
        if is_same(context.as_ref(), self.context()) {
            let why = reason(context.as_ref());
            self.as_there(mode, || run(why));
        } else {
            self.run_apart(mode, context, run);
        }
    }

    /// As [`run_in`](Self::run_in), for a job that was queued in no slot, for which an initialiser
    /// may wait if it `is_needed`.
    pub(crate) fn run_queued(
        &self,
        is_needed: bool,
        context: Option<Arc<Context>>,
        run: impl FnOnce(Option<Payload>),
    ) {
        self.run_in(self.mode_if(is_needed), context, run);
    }

    #[cold]
    #[inline(never)]
    fn run_apart(
        &self,
        mode: WaitMode,
        context: Option<Arc<Context>>,
        run: impl FnOnce(Option<Payload>),
    ) {
        let why = reason(context.as_ref());
        let around = self.wait_mode();
        let mode = if mode.is_plain() { around } else { mode };
        let mut run = Some(run);
        let has_run = unwind::catch(|| {
            self.in_region(mode, context, || {
                if let Some(run) = run.take() {
                    self.and_leaves(mode, around, || run(why));
                }
            });
        });
        if let Err(payload) = has_run {
            match run {
                Some(run) => self.within(None, || run(Some(payload))),
                None => self.pool().handle_panic(payload),
            }
        }
    }

    /// The job with the context of the present region, to be queued outside the slots of that
    /// region.
    pub(crate) fn inheriting(&self, job: DetachedJob) -> DetachedJob {
        match (self.inherited(), needed::is_needed_here()) {
            (None, false) => job,
            (context, is_needed) => carrying(context, is_needed, job),
        }
    }

    /// The context of a job that is begun here. While the thread unwinds it cannot be cancelled:
    /// jobs of destructors run to their end.
    fn inherited(&self) -> Option<Arc<Context>> {
        let context = self.context()?;
        if thread::panicking() {
            Context::uncancelled(context)
        } else {
            Some(Arc::clone(context))
        }
    }

    /// The surroundings of the code that runs here, without the tokens.
    #[inline]
    pub(crate) fn surroundings(&self) -> Option<Arc<Context>> {
        self.context().and_then(Context::uncancelled)
    }

    /// True if the present region is cancelled.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.context().is_some_and(|context| context.is_cancelled())
    }

    /// True if somebody may cancel the present region.
    #[inline]
    pub(crate) fn may_be_cancelled(&self) -> bool {
        self.context()
            .is_some_and(|context| context.may_be_cancelled())
    }

    /// True if the present region is cancelled and to be left. False while the thread unwinds:
    /// destructors run to their end.
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
    /// The context of a job of this pool that is begun here.
    pub(crate) fn inherited(&self) -> Option<Arc<Context>> {
        Worker::current_or_hidden()?.inherited()
    }

    /// As [`Worker::inheriting`], for a job from outside.
    pub(crate) fn inheriting(&self, job: DetachedJob) -> DetachedJob {
        match (self.inherited(), needed::is_needed_here()) {
            (None, false) => job,
            (context, is_needed) => carrying(context, is_needed, job),
        }
    }

    /// False if [`inheriting`](Self::inheriting) leaves a job that is begun here as it is.
    #[inline]
    pub(crate) fn is_inherited_here(&self) -> bool {
        let worker = Worker::current_or_hidden();
        worker.is_some_and(|worker| worker.context().is_some() || needed::is_needed_here())
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

/// Calls `op`, on a worker, with no token of its region in effect.
pub(crate) fn apart<R>(op: impl FnOnce() -> R) -> R {
    let worker = Worker::current().expect("jobs run on workers");
    worker.within(worker.surroundings(), op)
}

/// The reason why no job of this context is to begin, if there is one.
#[inline]
fn reason(context: Option<&Arc<Context>>) -> Option<Payload> {
    let is_cancelled = context.is_some_and(|context| context.is_cancelled());
    is_cancelled.then(unwind::cancellation)
}

/// The job with its context, to be queued anywhere. An initialiser may wait for it if it
/// `is_needed`; a job that carries its context already knows that too.
pub(crate) fn carrying(
    context: Option<Arc<Context>>,
    is_needed: bool,
    job: DetachedJob,
) -> DetachedJob {
    if job.carries() {
        return job;
    }
    let job = InContext::<false> {
        context,
        is_needed,
        job,
    };
    // SAFETY: 1. and 2. are those of the job.
    unsafe { DetachedJob::new(job) }
}

/// The job with its context, which goes on with something that has begun before.
pub(crate) fn woken(context: Option<Arc<Context>>, job: DetachedJob) -> DetachedJob {
    let job = InContext::<true> {
        context,
        is_needed: false,
        job,
    };
    // SAFETY: 1. and 2. are those of the job.
    unsafe { DetachedJob::new(job) }
}

/// A job with its context.
struct InContext<const WOKEN: bool> {
    context: Option<Arc<Context>>,
    is_needed: bool,
    job: DetachedJob,
}

impl<const WOKEN: bool> Task for InContext<WOKEN> {
    const CARRIES: bool = true;
    const WOKEN: bool = WOKEN;

    fn run(self) {
        let Self {
            context,
            is_needed,
            job,
        } = self;
        let worker = Worker::current().expect("jobs run on workers");
        worker.run_queued(is_needed, context, |why| {
            // SAFETY: the one run of the job around it.
            unsafe { job.finish(why) }
        });
    }

    fn may_run_here(&self) -> bool {
        may_run(self.context.as_ref())
    }

    fn discard(self, _: Payload) {
        self.run();
    }
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

    /// Takes all jobs of the calling worker as a thief would, and runs them.
    fn steal_all() {
        while let Steal::Success(job) = worker().state().steal(|| true) {
            worker().execute(job);
        }
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

    /// A join in a region, whose half a thief takes, after `run`, which runs `older` jobs there.
    fn joins_in_a_region_after<J: Send>(older: impl FnOnce() -> J, run: impl FnOnce(J) + Send) {
        let (token, older) = (CancellationToken::new(), older());
        with_cancellation(&token, || {
            run(older);
            let context = here();
            let steals = || {
                let Steal::Success(job) = worker().state().steal(|| true) else {
                    panic!("a join has lent it")
                };
                let Job::Lent { context: found, .. } = &job else {
                    panic!("a lent one")
                };
                let found = Option::clone(found);
                worker().execute(job);
                assert!(super::is_same(found.as_ref(), context.as_ref()));
            };
            crate::join(steals, || assert!(is_here(context.as_ref())));
        })
        .expect("it ends");
    }

    /// Then its half lies in a slot that was used before the region began.
    #[test]
    fn a_join_lends_in_its_region_after_older_jobs_have_run_there() {
        on_a_worker(|| {
            joins_in_a_region_after(spawn_here, |()| {
                assert_eq!(crate::yield_now(), Some(crate::Yield::Executed));
            });
            joins_in_a_region_after(spawn_here, |()| {
                crate::scope(|scope| scope.spawn_broadcast(|_, _| ()));
            });
            joins_in_a_region_after(|| crate::submit(|| ()), crate::JoinHandle::join);
            // When the worker looks for what it has claimed, a thief has taken all.
            joins_in_a_region_after(|| crate::submit(|| ()), |_| crate::submit(steal_all).join());
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
