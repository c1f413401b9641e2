//! The driver's side of jobs: which attempt is valid, what is kept, what moves.
//!
//! [`handle`] is what the rest of the crate holds; [`table`] is the protocol, a plain state
//! machine; [`reactor`] is the thread that feeds it and does what it says; [`store`] keeps states on disk; [`rates`] turns counters into what
//! the planner reads. README.md beside them has the states and the bad interleavings.

pub(crate) mod handle;
mod rates;
mod reactor;
pub(crate) mod store;
pub(crate) mod table;
