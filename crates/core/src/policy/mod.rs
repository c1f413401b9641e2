//! Decisions as plain functions over plain data: no atomics, no threads, no
//! clock. The runtime and the simulator call the same ones.

mod idle;
mod manners;
mod rng;
mod split;
mod victim;

pub use idle::{IdleLadder, IdleStep};
pub use manners::Manners;
pub use rng::Rng;
pub use split::Grain;
pub use victim::Victims;
