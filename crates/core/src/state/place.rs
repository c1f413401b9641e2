//! The places in which a job can wait, other than its worker's own deque.

use crate::policy::Priority;

/// A place for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a lane, for any worker.
    Lane(Priority),
    /// For the worker with this index, or for others if it is late.
    Near(usize),
    /// For the worker with this index.
    OnlyOn(usize),
}
