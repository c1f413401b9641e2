//! The part that both kinds of scope share: the count of their jobs, and its waiter.

use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::thread;

use crate::base::latch::Latch;
use crate::base::still::Still;
use crate::base::task::Task;
use crate::base::unwind::{self, FirstPanic};
use crate::insight;
use crate::insight::call::{later, run_later};
use crate::insight::latest::Latest;
use crate::insight::site::Site;
use crate::ops::broadcast::{job_that_keeps, within_checked, BroadcastContext};
use crate::policy::Priority;
use crate::state::Pool;
use crate::worker::backlog::{self, Backlog};
use crate::worker::latch::CountLatch;
use crate::worker::needed;
use crate::worker::Worker;

/// The count of a scope's jobs, its waiter, and what those tell it.
pub(super) struct Base<'scope> {
    pub(super) pool: Arc<Pool>,
    /// One for the scope's own closure, one for each job that has not ended.
    pending: CountLatch,
    /// The jobs of other threads than its own, if it is one of the pool's and an initialiser may
    /// wait for the scope.
    backlog: Option<Arc<Backlog>>,
    pub(super) panic: FirstPanic,
    /// Jobs that have not begun are dropped. Relaxed throughout: it hands nothing over.
    is_cancelled: AtomicBool,
    /// The thread unwinds: jobs run to their end, also in a region that is cancelled.
    pub(super) is_in_destructor: AtomicBool,
    /// The latest point that a job has come to, if the pool is metered.
    pub(super) latest: Latest,
    /// Invariant in `'scope`: a scope for longer borrows is not one for shorter ones, nor the other
    /// way round.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

impl<'scope> Base<'scope> {
    pub(super) fn new(pool: Arc<Pool>, waiter: Option<&Worker>) -> Self {
        let is_of = |worker: &&Worker| ptr::eq(worker.pool(), &raw const *pool);
        let needed = waiter
            .filter(is_of)
            .filter(|here| here.wait_mode().is_needed());
        Self {
            pending: CountLatch::new(1, waiter),
            backlog: needed.map(|_| Arc::new(Backlog::new())),
            pool,
            panic: FirstPanic::default(),
            is_cancelled: AtomicBool::new(false),
            is_in_destructor: AtomicBool::new(false),
            latest: Latest::new(),
            borrows: PhantomData,
        }
    }

    /// Runs the scope's closure, waits for the jobs, and lets a panic go on.
    pub(super) fn complete<R>(&self, waiter: Option<&Worker>, op: impl FnOnce() -> R) -> R {
        let op = || {
            let result = unwind::catch(op).map_err(|payload| self.panic.keep(payload));
            // SAFETY: the latch lies in the scope, which is still here.
            unsafe { CountLatch::set(&raw const self.pending) };
            if !self.pending.is_set() {
                self.pool.abort_if_forked();
            }
            self.pending
                .wait(waiter, self.backlog.as_deref(), Worker::pushed_from);
            insight::call::reach(&self.latest);
            result
        };
        let result = match waiter {
            Some(worker) if worker.local().frames.is_watched.get() && !worker.is_only_seen() => {
                worker.checkpoint();
                self.is_in_destructor
                    .store(thread::panicking(), Ordering::Relaxed);
                worker.watched(false, op)
            }
            _ => op(),
        };
        if self.is_cancelled() {
            self.pool.alert.lower(self.pool.born);
        }
        let panicked = self.panic.take();
        match (result, panicked) {
            (Ok(result), None) => result,
            // That of a region which began in the scope, and has told its caller.
            (Ok(result), Some(payload))
                if unwind::is_cancellation(&payload) && !waiter.is_some_and(Worker::leaves) =>
            {
                result
            }
            (result, Some(payload)) => {
                unwind::discard(result);
                unwind::resume(payload)
            }
            (Err(()), None) => unreachable!("the panic of the closure was kept"),
        }
    }

    /// One more job, about to be queued: in the backlog, if that is given.
    #[inline]
    pub(super) fn add(&self) -> Option<&Arc<Backlog>> {
        self.pool.demand_workers("submit a job to");
        if self.pending.increment() {
            None
        } else {
            self.backlog.as_ref()
        }
    }

    /// Queues a job in the backlog.
    ///
    /// # Safety
    ///
    /// As for [`Pool::queue`].
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn queue_in(&self, backlog: &Arc<Backlog>, job: impl Task) {
        let wake = || self.pending.wake_for_mail();
        // SAFETY: handed on.
        unsafe { backlog::queue(backlog, &self.pool, Priority::Normal, job, wake) };
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub(super) fn cancel(&self) {
        if !self.is_cancelled.swap(true, Ordering::Relaxed) {
            self.pool.alert.raise();
        }
    }

    /// Queues a job for each worker.
    pub(super) fn broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let base = Still(self);
        let start = later(self.pool.metered, const { &Site::of::<BODY>("broadcast") });
        let body = (Arc::new(body), self.pool.inherited(), start);
        let bodies = iter::repeat_n(body, self.pool.len());
        let is_needed = self.backlog.is_some() || needed::is_needed_here();
        let references = bodies.map(|(body, context, start)| {
            self.pending.increment();
            let body = move || BroadcastContext::with(&*body);
            let job = move |_: &Pool| {
                // The scope may be gone when `run` has ended.
                let worker = Worker::current().expect("jobs run on workers");
                worker.as_mail(is_needed, || {
                    Self::run(base, || {
                        if !base.get().is_cancelled() {
                            let latest = Some(&base.get().latest);
                            run_later(&start, latest, || within_checked(context, body));
                        }
                    });
                });
            };
            // SAFETY: 1. the scope waits for each run, so that what it borrows for `'scope` is
            // there. 2. A panic in it is held back.
            unsafe { job_that_keeps(&self.pool, job) }
        });
        self.pool.post_detached(references);
    }

    /// Runs a job of the scope on a worker. Does not unwind.
    pub(super) fn run(base: Still<Self>, body: impl FnOnce()) {
        Self::end(base, unwind::catch_job(body));
    }

    /// A job of the scope has ended.
    #[inline(always)]
    pub(super) fn end(base: Still<Self>, result: thread::Result<()>) {
        if let Err(payload) = result {
            base.get().panic.keep(payload);
        }
        // SAFETY: the scope is there until this job has set the latch.
        unsafe { CountLatch::set(&raw const (*base.0).pending) };
    }
}

impl Base<'_> {
    pub(super) fn debug(&self, f: &mut fmt::DebugStruct<'_, '_>) {
        f.field("pool_id", &Arc::as_ptr(&self.pool))
            .field("panic", &self.panic.is_kept())
            .field("job_completed_latch", &self.pending);
    }
}
