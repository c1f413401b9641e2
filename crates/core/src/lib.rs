//! Workers and operations: the scheduler of heist.
//!
//! A [`ThreadPool`] has some workers, each a thread with a deque of its own. A worker pushes the
//! jobs that it makes to its deque and pops the newest back; a worker that has none steals the
//! oldest job of a victim. Jobs from outside the pool wait in lanes, one
//! for each [`Priority`].
//!
//! Operations, one file each:
//!
//! | operation | for |
//! |---|---|
//! | [`join`](join()) | two closures, both needed now |
//! | [`with_context`] | recursions that do little but join |
//! | [`scope`](scope()) | any number of jobs that borrow, awaited at the end |
//! | [`TaskGroup`] | jobs started one by one and awaited together |
//! | [`submit`](submit()) | a job whose value is wanted later, by a thread or a task of an executor |
//! | [`job`](job()) | a job that is told how to run: its priority, a worker |
//! | [`spawn`](spawn()) | a job that nobody waits for; [`spawn_on`], for a certain worker |
//! | [`Strand`] | jobs that run one at a time, in order |
//! | [`broadcast`](broadcast()) | a closure on every worker |
//! | [`blocking`] | a call that blocks |
//! | [`Once`], [`Lazy`] | a value that is made in parallel when it is first wanted |
//! | [`with_cancellation`] | a call that may have to stop early |
//! | [`with_propagation`] | a tracing span, say, that follows the work of a call |
//!
//! The names and meanings are those of rayon-core 1.13 where that has them. Called on a worker, an
//! operation uses that worker's pool; called elsewhere, the global pool, which is built on first
//! use. A caller that waits participates: it is a worker while the call lasts.
//!
//! Programs depend on the crate `heist`, which promises an interface; this one does not.
//!
//! # Examples
//!
//! ```
//! # use heist_core as heist;
//! fn sum(numbers: &[u64]) -> u64 {
//!     if numbers.len() <= 1000 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (left, right) = heist::join(|| sum(left), || sum(right));
//!     left + right
//! }
//! let numbers: Vec<u64> = (1..=10_000).collect();
//! assert_eq!(sum(&numbers), 50_005_000);
//! ```

mod base;
#[doc(hidden)]
pub mod insight;
mod live_view;
mod ops;
pub mod policy;
mod pool;
pub mod schedule;
mod sleep;
mod stall;
mod state;
mod worker;

pub use base::argument::FnContext;
pub use base::around::Around;
pub use base::cancellation::CancellationToken;
pub use base::error::ThreadPoolBuildError;
pub use base::join_error::{JoinError, PanicPayload};
pub use base::waiting::Waiting;
pub use heist_event::{Event, EventKind, PoolCounters, WorkerCounters, WorkerEvents, WorkerId};
pub use heist_sync::{BarrierMode, CoreClass, Distance, NumaNode, Topology};
pub use ops::blocking::blocking;
pub use ops::broadcast::{broadcast, spawn_broadcast, BroadcastContext};
pub use ops::cancellation::{checkpoint, is_cancelled, with_cancellation, Cancelled};
pub use ops::context::{with_context, JoinContext};
pub use ops::current::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index,
};
#[doc(hidden)]
pub use ops::hosting;
pub use ops::job::{job, JobBuilder};
#[doc(hidden)]
pub use ops::join::join_parts;
pub use ops::join::{join, join_context};
pub use ops::lazy::Lazy;
pub use ops::once::Once;
pub use ops::participate::participate;
pub use ops::poll::poll_for_thieves;
#[doc(hidden)]
pub use ops::poll::{
    give_way, look_around, look_before_loop, may_be_interrupted, show_jobs, Others,
};
pub use ops::propagation::with_propagation;
pub use ops::scope::{in_place_scope, in_place_scope_fifo, scope, scope_fifo, Scope, ScopeFifo};
pub use ops::spawn::{spawn, spawn_fifo, spawn_on};
pub use ops::strand::Strand;
pub use ops::submit::{submit, JoinHandle};
pub use ops::task_group::TaskGroup;
pub use ops::waiting::with_waiting;
pub use ops::yielding::{yield_local, yield_now, Yield};
pub use policy::Priority;
pub use pool::builder::ThreadPoolBuilder;
pub use pool::choices::{Callers, Injected, Pin};
pub use pool::global::forbid_implicit_global;
pub use pool::pin::pools_per_node;
pub use pool::shutdown::{RunningWorker, StillRunning};
pub use pool::thread::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
pub use pool::thread_pool::{counters, events, Diagnostics, ThreadPool};
pub use state::limits::max_num_threads;
