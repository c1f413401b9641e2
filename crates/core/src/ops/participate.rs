//! `participate`: be a worker for the time of a call.

use crate::state::Pool;
use crate::worker::Worker;

/// Runs `op` on a worker of the calling worker's pool, which is the caller itself, or else of the
/// global pool, as [`ThreadPool::participate`](crate::ThreadPool::participate) does.
///
/// Many small operations from outside cost less inside of one such call.
///
/// # Panics
///
/// Panics if `op` does.
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
