//! The state of a pool: of each worker, and of all.

pub(crate) mod limits;

mod active;
mod alert;
mod compensation;
mod frames;
mod hinted;
mod lanes;
mod local;
mod place;
mod placement;
mod pool;
mod serial;
mod worker;
mod yielded;

pub(crate) use active::Active;
pub(crate) use alert::Alert;
pub(crate) use compensation::Compensation;
pub(crate) use frames::{Doing, Entered, Frame, Frames, Stack, Wait};
pub(crate) use lanes::Lanes;
pub(crate) use local::{Carrier, Local, Marks};
pub(crate) use place::Place;
pub(crate) use placement::{Pinned, Placement};
pub(crate) use pool::{Drive, Handlers, Pool};
pub(crate) use serial::SerialPlace;
pub(crate) use worker::{Watchers, WorkerState};
