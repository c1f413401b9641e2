//! The side of a worker: it answers requests, whatever way they come.
//!
//! One worker (`answer`) serves a process. Requests come through a pipe or a socket (`stdio`),
//! as calls from a program that has loaded us as a library (`ffi`), or the process itself is
//! one job, and speaks through files (`batch`).

pub(crate) mod answer;
mod batch;
mod calls;
pub mod ffi;
mod jobs;
mod pool;
pub(crate) mod stdio;
mod usage;
