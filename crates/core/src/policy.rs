//! Decisions as plain functions over plain data: no atomics, no threads, no clock, so that each can
//! be tried on its own.

mod backoff;
mod call_history;
mod gaps;
mod grain;
mod idle;
mod neighbours;
mod rng;
mod stint;
mod turns;
mod victim;
mod yields;

pub use backoff::StealBackoff;
pub use call_history::CallHistory;
pub use gaps::Gaps;
pub use grain::Grain;
pub use idle::{IdleLadder, IdleStep};
pub use neighbours::{NearestFirst, Neighbours, Reach, Victim};
pub use rng::Rng;
pub use stint::Stint;
pub use turns::{Priority, Turns};
pub use victim::Victims;
pub use yields::Yields;

/// Random probes in a round. More would only delay the sweep.
const RANDOM_PROBES_MAX: usize = 4;
