//! Decisions as plain functions over plain data: no atomics, no threads, no
//! clock, so that each can be tried on its own.

mod gaps;
mod idle;
mod manners;
mod rng;
mod split;
mod turns;
mod victim;
mod visits;

pub use gaps::Gaps;
pub use idle::{IdleLadder, IdleStep};
pub use manners::Manners;
pub use rng::Rng;
pub use split::Grain;
pub use turns::Turns;
pub use victim::Victims;
pub use visits::Visits;
