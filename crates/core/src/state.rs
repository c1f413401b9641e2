//! The state of a pool: of each worker, and of all.

pub(crate) mod limits;

mod compensation;
mod pool;
mod worker;

pub(crate) use compensation::Compensation;
pub(crate) use pool::{Handlers, Pool};
pub(crate) use worker::{Carrier, Local, WorkerState};
