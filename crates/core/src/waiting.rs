//! What a worker may run while it waits.

use crate::pool::Pool;
use crate::worker::Worker;

/// What a worker may run on top of a frame that waits, for the second half of a
/// join that was stolen, or for the jobs of a scope.
///
/// | | [`Any`](Self::Any) | [`Descendants`](Self::Descendants) |
/// |---|---|---|
/// | a waiting worker runs | any job of the pool | what the waiting frame itself has begun |
/// | its stack holds | the frames of unrelated jobs, one on top of the other | not more than the job would take serially |
/// | a lock that is held over a `join` | waits for itself if such a job wants it | is safe |
/// | while nothing of that kind is there | nothing is lost | a spare worker takes the place, in a pool that was built so |
///
/// Jobs for [every worker](crate::broadcast()) run on waiting frames in both cases.
/// [`yield_now`](crate::yield_now) is a wish to run any job, and does so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Any job of the pool, as rayon does.
    #[default]
    Any,
    /// Only jobs that the waiting frame, or what it has called, has pushed.
    ///
    /// The idea is that of leapfrogging (Wagner and Calder, "Leapfrogging: a portable
    /// technique for implementing efficient futures", PPoPP 1993), in its strictest
    /// form.
    Descendants,
}

/// Calls `op`; what waits in it, on this worker or on one that has stolen a part of
/// it, waits in this way. A caller from outside takes part in the global pool, as
/// in [`join`](crate::join()).
///
/// In a pool that was not [built](crate::ThreadPoolBuilder::waiting) for
/// [`Waiting::Descendants`] there are no spare workers: while a worker waits in that
/// way and finds nothing, its place stays empty.
///
/// # Panics
///
/// Panics if `op` does.
///
/// # Examples
///
/// ```
/// use heist_core::{join, with_waiting, Waiting};
/// use std::sync::Mutex;
///
/// let account = Mutex::new(1);
/// let deposit = || {
///     let mut account = account.lock().unwrap();
///     // Another deposit must not run on top of this frame: it wants the lock.
///     *account += with_waiting(Waiting::Descendants, || join(|| 2, || 3)).0;
/// };
/// join(deposit, deposit);
/// assert_eq!(*account.lock().unwrap(), 5);
/// ```
pub fn with_waiting<OP, R>(waiting: Waiting, op: OP) -> R
where
    OP: FnOnce() -> R + Send,
    R: Send,
{
    match Worker::current() {
        Some(worker) => worker.with_waiting(waiting, op),
        None => Pool::global().take_part(|worker, _| worker.with_waiting(waiting, op)),
    }
}
