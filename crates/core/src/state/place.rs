//! Places where a job waits that a worker does not push to its own deque.

use crate::policy::Priority;

/// A place for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// For any worker.
    Lane(Priority),
    /// For the worker with this index, and if it is late for others.
    Near(usize),
    /// For the worker with this index.
    OnlyOn(usize),
}
