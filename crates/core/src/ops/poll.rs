//! `poll_for_thieves`: answer thieves in the middle of a long job.

use crate::worker::Worker;

/// Between two grains of a long job: answers whoever has signalled the worker since its last push
/// (a thief, somebody who has fallen asleep), as a join does, and returns true if its deque is
/// empty, so that somebody could be hungry. False if there is nobody else in the pool, and on a
/// thread that is no worker. In a [prompt](crate::Injected::Prompt) pool it may run a job from
/// outside.
///
/// A loop that polls every few microseconds can keep what it has to itself until then.
///
/// # Cost
///
/// Some nanoseconds, unless there is a signal.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// assert!(!heist::poll_for_thieves()); // no worker
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert!(pool.install(heist::poll_for_thieves));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[inline(never)] // around it is somebody's inner loop, which needs the registers
#[must_use]
pub fn poll_for_thieves() -> bool {
    Worker::current().is_some_and(Worker::poll_for_thieves)
}
