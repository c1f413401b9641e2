//! The driver's side of jobs: which attempt is valid, what is kept, what moves.
//!
//! The rest of the crate holds the `handle`. The `reactor` is the thread that feeds the state
//! machine of jobs (`machine`) and does what that says. The `store` keeps states on disk, `rates`
//! turns counters into what the planner reads, and the `rebalancer` is the planner's thread.
//! README.md beside them has the states and the bad interleavings.

pub(crate) mod handle;
mod journal;
mod machine;
pub(crate) mod messages;
pub(crate) mod options;
mod rates;
mod reactor;
mod rebalancer;
mod record;
mod results;
pub(crate) mod store;

#[cfg(test)]
mod tests;
