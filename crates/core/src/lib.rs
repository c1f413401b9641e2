//! Workers and operations: the scheduler of heist.
//!
//! A [`ThreadPool`] has some workers, each a thread with a deque of its own. A
//! worker pushes the jobs that it makes to its deque and pops the newest back;
//! a worker that has none steals the oldest job of a victim. Jobs from outside
//! the pool wait in an injector.
//!
//! Operations, one file each:
//!
//! | operation | for |
//! |---|---|
//! | [`join`](join()) | two closures, both needed now |
//! | [`with_context`] | recursions that do little but join |
//! | [`scope`](scope()) | any number of jobs that borrow, awaited at the end |
//! | [`TaskGroup`] | jobs started one by one and awaited together |
//! | [`fork`](fork()) | a job whose value is wanted later |
//! | [`spawn`](spawn()) | a job that nobody waits for |
//! | [`broadcast`](broadcast()) | a closure on every worker |
//!
//! The names and meanings are those of rayon-core 1.13 where that has them.
//! Called on a worker, an operation uses that worker's pool; called elsewhere,
//! the global pool, which is built on first use. A caller that waits takes part:
//! it is a worker while the call lasts.
//!
//! This crate is the engine room; programs depend on the crate `heist`.
//!
//! # Examples
//!
//! ```
//! fn sum(numbers: &[u64]) -> u64 {
//!     if numbers.len() <= 1000 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (left, right) = heist_core::join(|| sum(left), || sum(right));
//!     left + right
//! }
//! let numbers: Vec<u64> = (1..=10_000).collect();
//! assert_eq!(sum(&numbers), 50_005_000);
//! ```

mod broadcast;
mod completion;
mod config;
mod context;
mod counters;
mod environment;
mod error;
mod fork;
mod group;
mod guest;
mod handle;
mod job;
mod join;
mod latch;
mod live;
mod pending;
pub mod policy;
mod pool;
mod recorder;
mod room;
mod scope;
mod search;
mod seat;
mod sleep;
mod spares;
mod spawn;
mod threads;
mod unwind;
mod waiting;
mod worker;
mod yielding;

pub use broadcast::{broadcast, spawn_broadcast, BroadcastContext};
pub use config::{max_num_threads, ThreadPoolBuilder};
pub use context::{with_context, JoinContext};
pub use error::ThreadPoolBuildError;
pub use fork::{fork, JoinHandle};
pub use group::TaskGroup;
pub use handle::{counters, events, take_part, ThreadPool};
pub use heist_event::{Event, EventKind, PoolCounters, WorkerCounters, WorkerEvents, WorkerId};
pub use heist_sync::BarrierMode;
pub use join::{join, join_context, FnContext};
pub use scope::{in_place_scope, in_place_scope_fifo, scope, scope_fifo, Scope, ScopeFifo};
pub use spawn::{spawn, spawn_fifo};
pub use threads::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
pub use waiting::{with_waiting, Waiting};
pub use yielding::{yield_local, yield_now, Yield};

use pool::Pool;
use worker::Worker;

/// How many workers the calling worker's pool has, or else the global pool,
/// which is built if need be.
///
/// # Examples
///
/// ```
/// assert!(heist_core::current_num_threads() >= 1);
/// ```
#[must_use]
pub fn current_num_threads() -> usize {
    Pool::here().len()
}

/// The calling worker's index in its pool, or `None` on a thread that is no
/// worker. Builds no pool.
///
/// # Examples
///
/// ```
/// assert_eq!(heist_core::current_thread_index(), None);
/// ```
#[inline]
#[must_use]
pub fn current_thread_index() -> Option<usize> {
    Worker::seen().map(Worker::index)
}

/// Between two pieces of a long job: attends to whoever has called the worker since its
/// last push (a thief, somebody who has fallen asleep), as a join does, and returns true
/// if its deque is empty, so that somebody could be hungry. False on a thread that is no
/// worker. In a [prompt](ThreadPoolBuilder::prompt) pool it may run a job from outside.
///
/// A loop that looks up every few microseconds can keep what it has to itself until then.
///
/// # Cost
///
/// Some nanoseconds, unless somebody has called.
///
/// # Examples
///
/// ```
/// assert!(!heist_core::look_up()); // no worker
/// assert!(heist_core::take_part(heist_core::look_up));
/// ```
#[inline(never)] // around it is somebody's inner loop, which needs the registers
#[must_use]
pub fn look_up() -> bool {
    Worker::current().is_some_and(Worker::look_up)
}

/// Whether the calling worker's deque holds a job, or `None` on a thread that
/// is no worker.
///
/// A loop can use it to see whether the part that it offered is still there, or
/// whether a thief has come and another part should be offered.
///
/// # Examples
///
/// ```
/// assert_eq!(heist_core::current_thread_has_pending_tasks(), None);
/// ```
#[inline]
#[must_use]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::seen().map(Worker::has_pending)
}
