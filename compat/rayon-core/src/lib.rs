//! Stands in for rayon-core 1.13, so that rayon, and every program that uses it, runs on heist
//! without a change.
//!
//! Three lines in the manifest of the program, the one at the root of its workspace, switch it
//! over; without them it is back on rayon:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "../heist/compat/rayon-core" }
//! ```
//!
//! `heist doctor --manifest Cargo.toml` says whether cargo took the patch: if it does not fit,
//! cargo warns and goes on with the original.
//!
//! The items are those of rayon-core 1.13.0, with its bounds, and mean what they mean there. Most
//! are heist's own; what differs is here: the environment variables
//! ([`ThreadPoolBuilder::num_threads`]), and the items that rayon has deprecated.
//!
//! All that heist does beyond rayon is off unless it is asked for: by the environment variables of
//! heist, or through the traits in [`heist`].
//!
//! # Environment
//!
//! | variable | changes |
//! |---|---|
//! | `HEIST_NUM_THREADS` | the number of workers of pools that were not told one |
//! | `RAYON_NUM_THREADS` | the same, if the former is not set |
//! | `RAYON_RS_NUM_CPUS` | the same, if the former are not set |
//! | `HEIST_BANNER` | 1: a line on standard error for each pool that starts |
//! | `HEIST_PROFILE` | the name of a file for the profile of the program, without `.json` |
//! | `HEIST_DAG` | the name of a file for its strands, each behind others, without `.dag.json` |
//! | `HEIST_TIMELINE` | the name of a file for its timeline, without `.timeline.json` |
//! | `HEIST_STALL` | a number of seconds: a pool that has stalled for so long is reported on standard error |
//! | `HEIST_LIVE` | 1: the program can be watched by `heist top` |
//! | `HEIST_RECORD_EVENTS` | how many events each worker keeps |
//! | `HEIST_BARRIER` | `auto`, `membarrier` or `fence`: how idle workers see what busy ones do |
//!
//! As in rayon, a variable of rayon's that is no number counts as not set. A variable of heist's
//! that is malformed is an error when a pool is built.
//!
//! # Examples
//!
//! ```
//! let (a, b) = rayon_core::join(|| 1 + 1, || 2 + 2);
//! assert_eq!((a, b), (2, 4));
//! ```

#![forbid(unsafe_code)]

mod builder;
mod deprecated;
mod global;
pub mod heist;
mod operations;
mod pool;

pub use builder::ThreadPoolBuilder;
#[allow(
    deprecated,
    reason = "rayon-core has them still; the oldest compiler does not warn of it"
)]
pub use deprecated::{initialize, Configuration};
pub use heist_core::{
    BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPoolBuildError, Yield,
};
pub use operations::{
    broadcast, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    in_place_scope, in_place_scope_fifo, join, join_context, max_num_threads, scope, scope_fifo,
    spawn, spawn_broadcast, spawn_fifo, yield_local, yield_now,
};
pub use pool::ThreadPool;
