//! Questions about the calling thread.

use crate::state::Pool;
use crate::worker::Worker;

/// The number of workers of the calling worker's pool, or else of the global pool, which is built
/// if need be.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// assert!(heist::current_num_threads() >= 1);
/// ```
#[track_caller]
#[must_use]
pub fn current_num_threads() -> usize {
    Pool::here().len()
}

/// The calling worker's index in its pool, or `None` on a thread that is no worker. Builds no pool.
///
/// # Cost
///
/// Reads a thread-local variable.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// assert_eq!(heist::current_thread_index(), None);
/// ```
#[inline]
#[must_use]
pub fn current_thread_index() -> Option<usize> {
    Worker::current_or_hidden().map(Worker::index)
}

/// Whether the calling worker's deque holds a job, or `None` on a thread that is no worker.
///
/// A loop can use it to see whether the part that it offered is still there, or whether a thief has
/// come and another part should be offered.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// assert_eq!(heist::current_thread_has_pending_tasks(), None);
/// ```
#[inline]
#[must_use]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::current_or_hidden().map(Worker::has_pending)
}
