//! A backlog: jobs of a scope, a group or a strand that whoever waits for them may run, before the
//! pool does.
//!
//! A job that is pushed waits in the deque of the worker that pushed it. There the initialiser of a
//! [`Once`](crate::Once) may wait for it in vain: where a part of the initialiser has pushed it,
//! and that worker waits for the value next, on top of which the job must not run, for it may need
//! what this worker's frames are busy with. So do all others, perhaps. The frame that waits for the
//! scope or the group is the one on top of which it can always run, as a submitted job does.
//!
//! So jobs of a scope that an initialiser has begun, those that a group is given in one, and the
//! drainer of a strand that is started in one, are queued in the backlog. In the pool, behind all
//! other jobs, waits a *claim* on one of them, for those who have nothing else to do. A claim that
//! finds no job is void.

use std::sync::Arc;

use heist_deque::Injector;

use crate::base::job::DetachedJob;
use crate::base::task::Task;
use crate::base::unwind::Payload;
use crate::base::waiting::WaitMode;
use crate::policy::Priority;
use crate::state::Pool;
use crate::worker::region::carrying;
use crate::worker::Worker;

/// Jobs for which somebody waits, oldest first.
#[derive(Debug)]
pub(crate) struct Backlog {
    jobs: Injector<DetachedJob>,
}

impl Backlog {
    pub(crate) fn new() -> Self {
        Self {
            jobs: Injector::new(),
        }
    }

    pub(crate) fn has_a_job(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Runs the oldest job on this worker, whose frame waits for it. False if there is none.
    pub(crate) fn run_one(&self, worker: &Worker) -> bool {
        let Some(job) = self.jobs.take() else {
            return false;
        };
        // SAFETY: taken from the queue, which hands each job out once.
        worker.run_claimed(|| unsafe { job.finish(None) });
        true
    }
}

impl Worker {
    /// Sees to it that the jobs which the present piece of an initialiser leaves behind wait as
    /// those that were stolen from it: the initialiser may have their handles.
    pub(crate) fn leave_as_needed(&self) {
        let (lowest, mut left) = (self.pushed_in_job_from(), Vec::new());
        while self.next_slot() > lowest {
            let Some((kind, slot)) = self.pop_detached() else {
                break;
            };
            // SAFETY: just popped.
            let job = unsafe { DetachedJob::move_from(slot, kind) };
            // SAFETY: 1. and 2. are those of the job.
            left.push(unsafe {
                if job.carries() {
                    DetachedJob::new(Needed::<true>(job))
                } else {
                    DetachedJob::new(Needed::<false>(job))
                }
            });
        }
        self.put_back(left);
    }
}

/// A job for which an initialiser may wait.
struct Needed<const CARRIES: bool>(DetachedJob);

impl<const CARRIES: bool> Task for Needed<CARRIES> {
    const CARRIES: bool = CARRIES;

    fn run(self) {
        // SAFETY: the one run of the job around it.
        needed(|| unsafe { self.0.finish(None) });
    }

    fn may_run_here(&self) -> bool {
        self.0.may_run_here()
    }

    fn discard(self, why: Payload) {
        // SAFETY: as above.
        unsafe { self.0.finish(Some(why)) };
    }
}

/// Calls `op`, a job for which an initialiser may wait, so that nothing unrelated runs on top.
fn needed(op: impl FnOnce()) {
    let worker = Worker::current().expect("jobs run on workers");
    worker.as_there(WaitMode::needed(), op);
}

impl AsRef<Self> for Backlog {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// True if an initialiser may wait for what is begun here.
pub(crate) fn is_wanted() -> bool {
    Worker::current().is_some_and(|worker| worker.wait_mode().is_needed())
}

/// Queues a job in the backlog that `holder` has, and a claim on it in the pool. `wake` wakes those
/// who wait for the backlog.
///
/// # Panics
///
/// Panics if the pool has ended.
///
/// # Safety
///
/// 1. The task's borrows live until it has run or is discarded.
/// 2. The task does not unwind.
#[cold]
pub(crate) unsafe fn queue<H>(holder: &Arc<H>, pool: &Pool, task: impl Task, wake: impl FnOnce())
where
    H: AsRef<Backlog> + Send + Sync + 'static,
{
    pool.keep_alive();
    // SAFETY: 1. and 2. are handed on.
    let job = carrying(pool.inherited(), unsafe { pool.detach(task) });
    (**holder).as_ref().jobs.push(job);
    wake();
    // SAFETY: 1. it borrows nothing. 2. No job unwinds.
    let claim = unsafe { DetachedJob::new(Claim(Arc::clone(holder))) };
    pool.inject(Priority::Normal, claim);
}

/// A claim on one job of a backlog. It keeps the pool.
struct Claim<H>(Arc<H>);

impl<H: AsRef<Backlog> + Send + Sync + 'static> Task for Claim<H> {
    const CARRIES: bool = true;

    fn run(self) {
        // One of the pool's, which is there as long as a thread is one of its workers.
        let worker = Worker::current().expect("jobs run on workers");
        if let Some(job) = (*self.0).as_ref().jobs.take() {
            // SAFETY: as in `run_one`.
            needed(|| unsafe { job.finish(None) });
        }
        drop(self);
        worker.pool().release();
    }

    fn discard(self, _: Payload) {
        self.run();
    }
}
