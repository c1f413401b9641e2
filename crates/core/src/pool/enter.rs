//! Running a closure on a worker: in place, as an external caller that participates, or moved into
//! the pool.

use std::ptr;

use crate::base::job::DetachedJob;
use crate::base::job_ref::{HeapJob, StackJob};
use crate::base::latch::{BlockingLatch, LatchRef};
use crate::base::task::{Metered, Task};
use crate::base::unwind;
use crate::insight::call::{Call, Pause};
use crate::insight::site::Site;
use crate::policy::Priority;
use crate::state::{Place, Pool, Wait};
use crate::worker::latch::ForeignLatch;
use crate::worker::needed;
use crate::worker::region;
use crate::worker::Worker;

/// A closure that moves into a pool, and is told that it did.
type Moved<'a> = &'a mut (dyn FnMut(&Worker, bool) + Send);

impl Pool {
    /// Queues a job: on the calling worker's deque, or from outside.
    ///
    /// # Safety
    ///
    /// 1. The task's borrows live until it has run or is discarded.
    /// 2. The task does not unwind.
    pub(crate) unsafe fn queue(&self, task: impl Task) {
        match Worker::visible().filter(|worker| ptr::eq(worker.pool(), self)) {
            // SAFETY: handed on.
            Some(worker) => unsafe { worker.push(task) },
            // SAFETY: handed on.
            None => self.queue_detached(unsafe { self.detach(task) }),
        }
    }

    /// The task as a job that is in no queue yet, and measured if the pool is metered.
    ///
    /// # Safety
    ///
    /// As for [`queue`](Self::queue).
    #[cold]
    pub(crate) unsafe fn detach<T: Task>(&self, task: T) -> DetachedJob {
        match T::SITE.filter(|_| self.metered) {
            // SAFETY: handed on.
            None => unsafe { DetachedJob::new(task) },
            // SAFETY: handed on.
            Some(site) => unsafe { DetachedJob::new(Metered::new(site, task)) },
        }
    }

    /// As [`queue`](Self::queue), for a job that is in no slot yet.
    pub(crate) fn queue_detached(&self, job: DetachedJob) {
        match self.current_worker() {
            Some(worker) => worker.push_detached(job),
            None => self.inject(Priority::Normal, self.inheriting(job)),
        }
    }

    /// Queues a job where it is to wait: a normal one as [`queue`](Self::queue) does.
    pub(crate) fn queue_at(&self, place: Place, job: DetachedJob) {
        match place {
            Place::Lane(Priority::Normal) => self.queue_detached(job),
            Place::Lane(lane) => self.inject(lane, self.inheriting(job)),
            Place::Near(worker) => self.hint(worker, self.inheriting(job)),
            Place::OnlyOn(worker) => {
                let (job, is_needed) = (self.inheriting(job), needed::is_needed_here());
                let run = move || {
                    let worker = Worker::current().expect("jobs run on workers");
                    // SAFETY: it is in no queue: this is its one run.
                    worker.as_mail(is_needed, || unsafe { job.execute() });
                };
                // SAFETY: 1. and 2. are those of the job.
                self.mail(worker, unsafe { HeapJob::into_job_ref(run) });
            }
        }
    }

    /// Runs `op` on the calling worker; an external caller participates in the global pool.
    #[inline]
    #[track_caller]
    pub(crate) fn on_worker<R: Send>(op: impl FnOnce(&Worker) -> R + Send) -> R {
        match Worker::current() {
            Some(worker) => op(worker),
            None => Self::global().participate(|worker, _| op(worker)),
        }
    }

    /// Runs `op` on a worker of this pool: here, if the caller is one; otherwise `op` moves into
    /// the pool and the caller waits. `op` is told whether it moved.
    pub(crate) fn in_worker<F, R>(&self, op: F) -> R
    where
        F: FnOnce(&Worker, bool) -> R + Send,
        R: Send,
    {
        match Worker::current() {
            Some(worker) if ptr::eq(worker.pool(), self) => op(worker, false),
            _ => self.in_worker_from_elsewhere(op),
        }
    }

    #[cold]
    fn in_worker_from_elsewhere<F, R>(&self, op: F) -> R
    where
        F: FnOnce(&Worker, bool) -> R + Send,
        R: Send,
    {
        let (mut op, mut result) = (Some(op), None);
        let site = const { &Site::of::<F>("install") };
        // One copy of all else, not one for each closure.
        self.move_into(site, &mut |worker, moved| {
            result = op.take().map(|op| op(worker, moved));
        });
        result.expect("it has been called, once")
    }

    #[inline(never)]
    fn move_into(&self, site: &'static Site, op: Moved<'_>) {
        self.demand_workers("move a call into");
        match Worker::current() {
            None => self.in_worker_from_outside(site, op),
            Some(worker) => self.in_worker_from_another_pool(worker, site, op),
        }
    }

    /// As [`in_worker`](Self::in_worker), but an external caller participates: it runs `op` itself,
    /// if the pool is open to callers and a worker sleeps whose place it can have.
    #[cold]
    #[inline(never)]
    pub(crate) fn participate<F, R>(&self, op: F) -> R
    where
        F: FnOnce(&Worker, bool) -> R + Send,
        R: Send,
    {
        if !self.callers_participate || Worker::current().is_some() {
            return self.in_worker(op);
        }
        self.demand_workers("participate in");
        match Worker::participate(self, op) {
            Ok(result) => result,
            Err(op) => self.in_worker_from_elsewhere(op),
        }
    }

    fn in_worker_from_outside(&self, site: &'static Site, op: Moved<'_>) {
        if let Some(place) = &self.serial {
            return self.serially(place, |worker| op(worker, false));
        }
        heist_sync::thread_local! { static LATCH: BlockingLatch = BlockingLatch::new() }
        // A pointer, because a thread that ends may have dropped its latch already: then it takes
        // one for this time.
        let own = LATCH.try_with(ptr::from_ref).ok();
        let once;
        let latch = match own {
            // SAFETY: it is there until the thread's destructors run, in which the thread does not
            // come back to this frame.
            Some(own) => unsafe { &*own },
            None => {
                once = BlockingLatch::new();
                &once
            }
        };
        let call = Call::new(self.metered, site);
        let job = StackJob::new(on_current_worker(&call, op), LatchRef(latch));
        // SAFETY: this frame waits for the latch below; `op` is Send.
        let reference = unsafe { job.as_job_ref() };
        self.inject(Priority::Normal, reference.into());
        latch.wait_and_reset();
        // SAFETY: the latch was set, and the outcome is taken once.
        unsafe { job.take_result() }.unwrap_or_else(|payload| unwind::resume(payload));
    }

    /// The caller is a worker of another pool: it goes on running its own pool's jobs while it
    /// waits.
    fn in_worker_from_another_pool(&self, caller: &Worker, site: &'static Site, op: Moved<'_>) {
        let (mode, context) = (caller.wait_mode().elsewhere(), self.inherited());
        let op = |worker: &Worker, moved| {
            worker.as_there(mode, || region::within(context, || op(worker, moved)));
        };
        let call = Call::new(self.metered, site);
        let _pause = Pause::begin();
        let job = StackJob::new(on_current_worker(&call, op), ForeignLatch::new(caller));
        // SAFETY: this frame waits for the latch below; `op` is Send.
        let reference = unsafe { job.as_job_ref() };
        self.inject(Priority::Normal, reference.into());
        // Nothing that was pushed here is waited for.
        let next_slot = caller.next_slot();
        caller.wait_until(&job.latch.core, Wait::Pool, None, |_| next_slot);
        // SAFETY: the latch is set, and the outcome is taken once.
        unsafe { job.take_result() }.unwrap_or_else(|payload| unwind::resume(payload));
    }
}

/// A closure that has moved into the pool runs on the worker that took it.
fn on_current_worker<'a, F, R>(call: &'a Call, op: F) -> impl FnOnce() -> R + use<'a, F, R>
where
    F: FnOnce(&Worker, bool) -> R,
{
    move || call.run(|| op(Worker::current().expect("jobs run on workers"), true))
}
