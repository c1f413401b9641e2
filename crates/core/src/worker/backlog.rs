//! A backlog: jobs of a scope, a group or a strand that whoever waits for them may run, before the
//! pool does.
//!
//! A job that is pushed waits in the deque of the worker that pushed it. There the initialiser of a
//! [`Once`](crate::Once) may wait for it in vain: where a part of the initialiser has pushed it,
//! and that worker waits for the value next, on top of which the job must not run, for it may need
//! what this worker's frames are busy with. All others may wait for the value, too. The frame that
//! waits for the scope or the group is the one on top of which the job can always run, as a
//! submitted job does.
//!
//! So jobs of a scope that an initialiser has begun, those that a group is given in one, and the
//! drainer of a strand that is started in one, are queued in the backlog. In a lane of the pool
//! waits a *claim* on one of them, for those who have nothing else to do. A claim that finds no job
//! is void. "In an initialiser" is as `needed.rs` says.

use std::sync::Arc;

use heist_deque::Injector;

use crate::base::job::DetachedJob;
use crate::base::task::Task;
use crate::base::unwind::Payload;
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
        worker.run_claimed(|| worker.as_needed(true, || unsafe { job.finish(None) }));
        true
    }
}

impl AsRef<Self> for Backlog {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Queues a job in the backlog that `holder` has, and a claim on it in this lane of the pool, and
/// calls `wake`, which wakes those who wait for the backlog.
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
pub(crate) unsafe fn queue<H>(
    holder: &Arc<H>,
    pool: &Pool,
    lane: Priority,
    task: impl Task,
    wake: impl FnOnce(),
) where
    H: AsRef<Backlog> + Send + Sync + 'static,
{
    pool.keep_alive();
    // SAFETY: 1. and 2. are handed on.
    let job = carrying(pool.inherited(), false, unsafe { pool.detach(task) });
    (**holder).as_ref().jobs.push(job);
    wake();
    // SAFETY: 1. it borrows nothing. 2. No job unwinds.
    let claim = unsafe { DetachedJob::new(Claim(Arc::clone(holder))) };
    pool.inject(lane, claim);
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
            worker.as_needed(true, || unsafe { job.finish(None) });
        }
        drop(self);
        worker.pool().release();
    }

    fn discard(self, _: Payload) {
        self.run();
    }
}
