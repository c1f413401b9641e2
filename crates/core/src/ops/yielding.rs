//! `yield_now`: run one job in the middle of another.

use crate::base::job::Job;
use crate::base::region::is_surrounded;
use crate::schedule::{self, Point};
use crate::worker::Worker;

/// The outcome of a yield: see [`yield_now`] and [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was no job.
    Idle,
}

impl Yield {
    pub(crate) fn to_any(worker: &Worker) -> Self {
        Self::to(worker, || worker.find())
    }

    pub(crate) fn to_own(worker: &Worker) -> Self {
        Self::to(worker, || {
            // The newest may be the second half of a join below, which is taken as thieves do.
            let own = worker.take_own().or_else(|| worker.take_oldest());
            own.or_else(|| worker.take_urgent())
        })
    }

    fn to(worker: &Worker, find: impl FnOnce() -> Option<Job>) -> Self {
        let has_run = worker.on_top(|| {
            if is_surrounded() {
                // Others would see what is entered here.
                return worker.run_own_job(worker.pushed_from());
            }
            worker.run(find())
        });
        if has_run {
            Self::Executed
        } else {
            Self::Idle
        }
    }
}

/// Runs one job, from wherever the worker finds it first, and says whether there was one. `None` on
/// a thread that is no worker.
///
/// For a job that waits for another without one of this crate's operations: it must not spin,
/// because the other may lie in its own deque.
///
/// # Cost
///
/// That of the job; if there is none, a look at each other worker's deque and at the queues of jobs
/// from outside.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{yield_now, Yield};
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     heist::spawn(|| ());
///     assert_eq!(yield_now(), Some(Yield::Executed));
///     assert_eq!(yield_now(), Some(Yield::Idle));
/// });
/// assert_eq!(yield_now(), None);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub fn yield_now() -> Option<Yield> {
    present_worker().map(Yield::to_any)
}

/// As [`yield_now`], but only for a job from the worker's own deque or mailbox; in a
/// [prompt](crate::Injected::Prompt) pool also for one from outside for which nobody is free.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// assert_eq!(heist::yield_local(), None);
/// ```
pub fn yield_local() -> Option<Yield> {
    present_worker().map(Yield::to_own)
}

/// The calling worker. In a schedule others go before any other thread.
fn present_worker() -> Option<&'static Worker> {
    let worker = Worker::current();
    if worker.is_none() {
        schedule::point(Point::Round);
    }
    worker
}
