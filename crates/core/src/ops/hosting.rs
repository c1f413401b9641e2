//! The means of a crate that hosts futures on a pool (`heist-futures`): a share of the pool, and a
//! wait that can be repeated.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use heist_sync::atomic::Ordering;
use heist_sync::process::Generation;

use crate::base::brief::Brief;
use crate::base::job::DetachedJob;
use crate::base::region::Context;
use crate::base::task::{Carrying, Metered, Task, Woken};
use crate::base::unwind::{self, AbortOnUnwind, Payload};
use crate::insight;
use crate::insight::meter::Meter;
use crate::insight::path::Path;
use crate::insight::site::Site;
use crate::ops::spawn;
use crate::policy::Priority;
use crate::pool::ThreadPool;
use crate::state::{Place, Pool};
use crate::worker::guest::Guest;
use crate::worker::region::{carrying, woken};
use crate::worker::signal::Signal;
use crate::worker::wait;
use crate::worker::Worker;

/// Where a job that is scheduled on a worker waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It is the newest of the worker's jobs, and the next.
    Next,
    /// As `Next`; and jobs that come on top of it do not keep it waiting for ever.
    Woken,
    /// Behind those that were scheduled in this order before, and all of the worker's jobs.
    InTurn,
    /// As `InTurn`, by its own run, which ends now.
    Again,
}

/// A task that knows its pool, and is queued whenever it is to run.
pub trait Hosted: Send + 'static {
    /// The type by whose name profiles show it.
    type Origin;

    /// Its pool.
    fn host(&self) -> &Host;

    /// Runs it, on a worker of that pool. True if it has been scheduled [again](Order::Again). A
    /// panic that leaves it ends the process.
    fn run(self) -> bool;
}

/// A share of a pool, which does not keep the pool from ending.
#[derive(Clone)]
pub struct Host {
    pool: Guest,
    /// The surroundings of the code that has asked for it.
    context: Option<Arc<Context>>,
}

impl Host {
    /// The pool of the calling worker, or else the global pool.
    #[must_use]
    #[track_caller]
    pub fn current() -> Self {
        Self::on(Pool::here())
    }

    /// This pool.
    #[inline]
    #[must_use]
    pub fn of(pool: &ThreadPool) -> Self {
        Self::on(pool.pool())
    }

    #[inline]
    fn on(pool: &Pool) -> Self {
        let worker = Worker::current_or_hidden();
        let pool = Guest::of(pool, worker);
        let context = worker.and_then(Worker::surroundings);
        Self { pool, context }
    }

    /// Queues a task in its pool. If the pool has ended, another thread drops it.
    ///
    /// In a forked child it is forgotten: a copy, whose original runs in the parent.
    #[expect(
        clippy::mem_forget,
        reason = "what the parent has is not the child's to drop"
    )]
    pub fn schedule<T: Hosted>(order: Order, task: T) {
        let Self { pool, context } = task.host();
        if pool.born.is_past() {
            return std::mem::forget(task);
        }
        match pool.current_worker() {
            Some(worker) if context.is_none() && !pool.metered => {
                Self::schedule_here(worker, order, task);
            }
            worker => Self::schedule_with_context(worker, order, task),
        }
    }

    /// As `schedule`, on a worker of its pool, of a task without a context, which nobody measures.
    #[inline(always)]
    fn schedule_here<T: Hosted>(worker: &Worker, order: Order, task: T) {
        // The share of its run goes on with it.
        if order != Order::Again && !worker.keep_pool() {
            return worker.pool().orphans.add(Box::new(task));
        }
        let job = Carrying(Run(task));
        match order {
            Order::Again if worker.local().order.keeps.get() => {
                // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
                let job = unsafe { Brief::new(job) };
                worker.local().order.again.set(Some(job));
            }
            // SAFETY: as above.
            Order::Next => unsafe { worker.push_task(job) },
            // SAFETY: as above.
            Order::Woken => unsafe { worker.push_task(Woken(job.0)) },
            // The present job may wait for it, and then run its descendants only.
            Order::InTurn if !worker.keeps_order() => {
                worker.local().pushes.was_early.set(true);
                // SAFETY: as above.
                unsafe { worker.push_task(Woken(job.0)) };
            }
            // SAFETY: as above.
            Order::InTurn | Order::Again => worker.push_behind(unsafe { Brief::new(job) }),
        }
    }

    /// As `schedule`, of any task, from anywhere.
    #[inline(never)]
    fn schedule_with_context<T: Hosted>(worker: Option<&Worker>, order: Order, task: T) {
        let Self { pool, context } = task.host();
        // Here and not in the task, which may have run before it is queued altogether.
        let share;
        let pool = match worker {
            Some(worker) => worker.pool(),
            None => {
                share = pool.share();
                &share
            }
        };
        // The share of its run goes on with it.
        let is_kept = || worker.map_or_else(|| pool.is_kept_alive(), Worker::keep_pool);
        if order != Order::Again && !is_kept() {
            return pool.orphans.add(Box::new(task));
        }
        let context = context.clone();
        let is_woken = matches!(order, Order::Woken | Order::InTurn);
        let job = match pool.metered {
            // SAFETY: a panic in it is held back.
            true => unsafe { begun_here(At::<T::Origin>::SITE, context, is_woken, Run(task)) },
            // SAFETY: as above.
            false => unsafe { with_context(context, is_woken, Run(task)) },
        };
        match worker {
            Some(worker) if order == Order::Next => worker.push_detached(job),
            Some(worker) if order == Order::Woken || is_woken && !worker.keeps_order() => {
                if order == Order::InTurn {
                    worker.local().pushes.was_early.set(true);
                }
                worker.push_detached(job);
            }
            Some(worker) => worker.push_behind(job),
            None => pool.inject(Priority::Normal, job),
        }
    }

    /// Queues a job that only this worker runs, behind those that came there before. If
    /// the pool has ended, another thread drops it; in a forked child it is forgotten.
    #[expect(
        clippy::mem_forget,
        reason = "what the parent has is not the child's to drop"
    )]
    pub fn mail<Origin>(&self, worker: usize, job: impl FnOnce() + Send + 'static) {
        let pool = &self.pool;
        if pool.born.is_past() {
            return std::mem::forget(job);
        }
        if !pool.is_kept_alive() {
            return pool.orphans.add(Box::new(job));
        }
        // Relaxed, here and where it is read: the mailbox hands the job over.
        let futures = &pool.worker(worker).mailed_futures;
        futures.fetch_add(1, Ordering::Relaxed);
        let run = || {
            if let Some(worker) = Worker::current() {
                let futures = &worker.state().mailed_futures;
                futures.fetch_sub(1, Ordering::Relaxed);
            }
            job();
        };
        let (job, context) = (spawn::kept(run), self.context.clone());
        let job = match pool.metered {
            // SAFETY: a panic in it is held back.
            true => unsafe { begun_here(At::<Origin>::SITE, context, false, job) },
            // SAFETY: as above.
            false => unsafe { with_context(context, false, job) },
        };
        pool.queue_at(Place::OnlyOn(worker), job);
    }

    /// Called before a future is spawned.
    ///
    /// # Panics
    ///
    /// Panics in a forked child of the process that has built the pool.
    #[inline]
    pub fn demand_workers(&self) {
        self.pool.demand_workers("spawn a future in");
    }

    /// Called before something is left to the thread of this worker.
    ///
    /// # Panics
    ///
    /// Panics if there is no such worker, or other threads may be in its place, and in a forked
    /// child.
    #[track_caller]
    pub fn demand_own_thread(&self, worker: usize) {
        self.demand_workers();
        self.pool.demand_place(Place::OnlyOn(worker));
        assert!(
            !self.pool.callers_participate,
            "could not spawn a local future: threads from outside may be in the place of worker {worker}; build the pool with threads of its own, and `callers(Callers::Move)`"
        );
    }

    /// Gives a panic that nobody waits for to the pool's handler.
    pub fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        self.pool.handle_panic(payload);
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Host")
            .field(&std::ptr::from_ref::<Pool>(&self.pool))
            .finish()
    }
}

/// The site of polls.
struct At<Origin>(PhantomData<Origin>);

impl<Origin> At<Origin> {
    const SITE: &'static Site = &Site::of::<Origin>("future");
}

/// A job with the surroundings, and of no region otherwise: whoever wakes a task knows nothing of
/// the call that has begun it.
///
/// # Safety
///
/// The job does not unwind.
unsafe fn with_context(
    context: Option<Arc<Context>>,
    is_woken: bool,
    job: impl Task + 'static,
) -> DetachedJob {
    // SAFETY: 1. it borrows nothing. 2. Handed on.
    unsafe {
        match (context, is_woken) {
            (None, false) => DetachedJob::new(Carrying(job)),
            (None, true) => DetachedJob::new(Woken(job)),
            (context, false) => carrying(context, false, DetachedJob::new(job)),
            (context, true) => woken(context, DetachedJob::new(job)),
        }
    }
}

/// The same for a metered pool: it comes behind the code that has woken it.
///
/// # Safety
///
/// As for [`with_context`].
#[cold]
unsafe fn begun_here(
    site: &'static Site,
    context: Option<Arc<Context>>,
    is_woken: bool,
    job: impl Task + 'static,
) -> DetachedJob {
    // SAFETY: handed on.
    unsafe { with_context(context, is_woken, Metered::awaited(site, job)) }
}

/// The point to which a thread had come in a job, as a profile counts; none where nobody counts.
/// A reader of what was written before it comes behind it.
#[derive(Default)]
pub struct Point(Option<Box<Path>>);

impl Point {
    /// Where the calling thread is.
    #[must_use]
    #[inline]
    pub fn here() -> Self {
        match Meter::here() {
            None => Self(None),
            Some(_) => Self::counted(),
        }
    }

    #[cold]
    fn counted() -> Self {
        Self(insight::call::point().map(Box::new))
    }

    /// The calling thread comes behind it.
    #[inline]
    pub fn pass(self) {
        if let Some(path) = self.0 {
            insight::call::go_behind(&path);
        }
    }
}

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Point").field(&self.0.is_some()).finish()
    }
}

/// Called before a future is waited for that was spawned in this process.
///
/// # Panics
///
/// Panics in a forked child of that, where no worker will ever run the future.
pub fn demand_present(born: Generation) {
    Pool::demand_present(born, "wait for a future of");
}

/// Calls `last` on the calling worker's thread when its pool has ended; a thread that the pool has
/// only borrowed does not.
pub fn at_end(last: fn()) {
    if let Some(worker) = Worker::current() {
        worker.local().thread.last.set(Some(last));
    }
}

/// Calls `op`, a destructor or a waker of others, whose panic is nobody's: on a worker the pool's
/// handler gets it, and elsewhere it is dropped.
#[inline]
pub fn held_back(op: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(op)) {
        handle_stray_panic(payload);
    }
}

#[cold]
fn handle_stray_panic(payload: Box<dyn Any + Send>) {
    match Worker::current_or_hidden() {
        Some(worker) => worker.pool().handle_panic(payload),
        None => unwind::discard_payload(payload),
    }
}

/// One run of a task, which keeps the pool.
struct Run<T>(T);

impl<T: Hosted> Run<T> {
    #[inline(always)]
    fn run_on(self, worker: &Worker, keeps: bool) {
        let (pool, was_early) = (worker.pool(), &worker.local().pushes.was_early);
        let (lowest, before) = (worker.next_slot(), was_early.replace(false));
        // A run in the middle of this one keeps nothing.
        let kept = worker.local().order.keeps.replace(keeps);
        let abort = AbortOnUnwind("a panic escaped from the run of a task");
        let is_scheduled_again = self.0.run();
        abort.defuse();
        // As after every job: in a child there is nobody to come back to.
        pool.abort_if_forked();
        worker.local().order.keeps.set(kept);
        if was_early.replace(before) {
            worker.put_behind(lowest);
        }
        // Otherwise its share of the pool goes on with it.
        if !is_scheduled_again {
            worker.release_pool();
        }
    }
}

impl<T: Hosted> Task for Run<T> {
    fn run(self) {
        self.run_on(Worker::current().expect("jobs run on workers"), false);
    }

    fn run_in_turn(self) {
        self.run_on(Worker::current().expect("jobs run on workers"), true);
    }

    fn discard(self, why: Payload) {
        let worker = Worker::current().expect("jobs are discarded by workers");
        worker.pool().handle_panic(unwind::dropped(self.0, why));
        worker.release_pool();
    }
}

/// Something that the thread which made it waits for, any number of times, and any thread sets.
#[derive(Clone, Debug)]
pub struct Wake(Arc<Signal>);

impl Wake {
    /// For the calling thread.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Signal::new(Worker::current())))
    }

    /// Ends a wait, the present one or the next.
    pub fn set(&self) {
        self.0.set();
    }

    /// Waits until it is set, and resets it. A worker runs jobs meanwhile; any other thread blocks.
    /// The patience is that of all waits of one frame.
    ///
    /// # Panics
    ///
    /// Panics on another thread than that for which it was made.
    pub fn wait(&self, patience: &mut Patience) {
        self.0.wait(Worker::current(), &mut patience.0);
    }
}

/// How long a frame waits again and again, and runs jobs, before another worker steps in. Dropped,
/// it says that the frame goes on.
#[derive(Debug, Default)]
pub struct Patience(wait::Patience);

impl Default for Wake {
    fn default() -> Self {
        Self::new()
    }
}
