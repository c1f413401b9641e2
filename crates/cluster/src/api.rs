//! The side of a program: the cluster, calls, shared data, chunks and jobs.

pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod chunks;
pub(crate) mod cluster;
pub(crate) mod job_handle;
pub(crate) mod json;
pub(crate) mod object;
mod permits;
pub(crate) mod remote_future;
mod session;
mod timers;
