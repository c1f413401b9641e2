//! `participate`: the caller is a worker for the duration of a call.

use crate::state::Pool;
use crate::worker::Worker;

/// Runs `op` in place on a worker; any other thread becomes a worker of the global pool for the
/// call, as [`ThreadPool::participate`](crate::ThreadPool::participate) says.
///
/// Many small operations from outside cost less inside one such call.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Cost
///
/// Nothing on a worker; otherwise as [`ThreadPool::participate`](crate::ThreadPool::participate).
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let index = heist::participate(heist::current_thread_index);
/// assert!(index.is_some());
/// ```
#[track_caller]
pub fn participate<OP, R>(op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    match Worker::current() {
        Some(_) => op(),
        None => Pool::global().participate(|_, _| op()),
    }
}
