//! Futures on heist's workers: spawned beside jobs, stolen like jobs.
//!
//! | item | for |
//! |---|---|
//! | [`spawn_future`] | a future that runs on its own, and a handle to its output |
//! | [`spawn_local_on`], [`spawn_local`] | a future that stays on one worker's thread, and need not be `Send` |
//! | [`block_on`] | waiting for a future; a worker runs jobs meanwhile |
//! | [`yield_now`] | letting others have their turn |
//! | [`IntoStream`] | the items of a parallel iterator, computed ahead of whoever awaits them |
//! | `io`, with the feature of that name | sockets and timers |
//! | [`poll_budget`] | leaves that could be ready for ever, and should let others have their turn |
//!
//! A future is polled by one worker at a time. When a worker wakes it, it goes to that worker's
//! deque; if it yields, or the worker has woken ten in a row, it goes behind all the worker's
//! jobs. In both places it can be stolen at once. Woken by a thread outside the pool, it waits as a
//! job from outside does.
//!
//! Programs use it as the feature `futures` of the crate `heist`.
//!
//! # Examples
//!
//! ```
//! use heist::futures::{block_on, spawn_future};
//!
//! let sum = spawn_future(async {
//!     let (a, b) = heist::join(|| 1, || 2); // a job like any other
//!     a + b
//! });
//! assert_eq!(block_on(sum).unwrap(), 3);
//! ```
#![deny(unsafe_code)]

mod block_on;
mod handle;
mod in_pool;
#[cfg(feature = "io")]
pub mod io;
mod local;
mod polling;
mod spawn;
mod stream;
mod task;
mod yielding;

pub use block_on::block_on;
pub use handle::FutureHandle;
pub use heist_core::{JoinError, PanicPayload};
pub use in_pool::SpawnFuture;
pub use local::{spawn_local, spawn_local_on};
pub use polling::poll_budget;
pub use spawn::spawn_future;
pub use stream::{IntoStream, ParStream};
pub use yielding::{yield_now, YieldNow};
