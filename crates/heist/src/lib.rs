//! A work-stealing runtime: fork-join, scopes, task groups, and parallel loops that balance
//! irregular work across the cores.
//!
//! Every worker has a deque of its own. It pushes the jobs that it makes at one end and takes the
//! newest back from there; a worker that has nothing to do steals the oldest job from the other end
//! of another worker's deque. So busy workers do not wait for each other, and idle ones find work
//! wherever it is.
//!
//! # The nouns
//!
//! - A *pool* ([`ThreadPool`]) has *workers*, threads with a deque each. Free functions use the
//!   pool of the worker that calls them, or else the global pool, which is built on first use with
//!   one worker per processor.
//! - A *job* is a closure that a worker may run. The worker that makes it is its *owner*, the one
//!   that steals it a *thief*, the one it is stolen from the *victim*.
//!
//! # Which operation
//!
//! | I have | use |
//! |---|---|
//! | two things to do, whose results I both need | [`join`](join()) |
//! | a recursion that does little but join | [`with_context`] |
//! | a collection, and something to do with each item | [`prelude`]: `par_iter()` and its adaptors, see the [`guide`] |
//! | a loop over indices | [`parallel_for`](parallel_for()), [`parallel_reduce`](parallel_reduce()), [`tiles`] |
//! | a slice to sort | [`par_sort`](slice::ParallelSliceMut::par_sort) and its kin |
//! | jobs that borrow from here | [`scope`](scope()) |
//! | jobs that come one by one | [`TaskGroup`] |
//! | a job whose result I need later, or await in async code | [`submit`](submit()) |
//! | a job that nobody waits for | [`spawn`](spawn()) |
//! | jobs that must run in order, one at a time | [`Strand`] |
//! | something to do on each worker | [`broadcast`](broadcast()) |
//! | an urgent job beside long ones, or one for idle times | [`job`]`().`[`priority`](JobBuilder::priority) |
//! | a job for a particular worker | [`spawn_on`](spawn_on()), [`JobBuilder::only_on`] |
//! | a call that blocks, in the middle of a job | [`blocking`](blocking()) |
//! | a value that is made on first use, in parallel | [`Lazy`], [`Once`] |
//! | something that may have to stop early | [`with_cancellation`] |
//! | a tracing span, or other thread-local state, around all parts of a call | [`with_propagation`] |
//! | data that lies near some processors | [`pools_per_node`], [`ThreadPoolBuilder::pin`] |
//! | a test that is to hold whoever steals what | [`schedule::check`](schedule::check()) |
//!
//! Where rayon has the same operation, it has the same name and meaning here.
//!
//! # Examples
//!
//! ```
//! fn quicksort<T: Ord + Send>(items: &mut [T]) {
//!     if items.len() <= 1 {
//!         return;
//!     }
//!     let (mut low, last) = (0, items.len() - 1);
//!     for i in 0..last {
//!         if items[i] < items[last] {
//!             items.swap(i, low);
//!             low += 1;
//!         }
//!     }
//!     items.swap(low, last);
//!     let (left, right) = items.split_at_mut(low);
//!     heist::join(|| quicksort(left), || quicksort(&mut right[1..]));
//! }
//!
//! let mut items = [5, 2, 4, 1, 3];
//! quicksort(&mut items);
//! assert_eq!(items, [1, 2, 3, 4, 5]);
//! ```
//!
//! # Seeing what happened
//!
//! Every pool always counts: [`ThreadPool::counters`] says for each worker how many jobs it ran,
//! stole and failed to steal, and how long it worked, searched and slept. A pool built with
//! [`ThreadPoolBuilder::record_events`] also records when. The module `observe`, a feature of that
//! name, turns that into a picture.
//!
//! ```
//! let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
//! pool.join(|| (), || ());
//! println!("{}", pool.counters());
//! # Ok::<(), heist::ThreadPoolBuildError>(())
//! ```
//!
//! # When not to use it
//!
//! Do not use it to wait: a job that blocks on a file, a socket or a lock blocks its worker, unless
//! it does so inside [`blocking`] in a pool with compensation workers. And a worker that waits for
//! a stolen job runs other jobs meanwhile, on the same stack: do not hold a lock across a `join` if
//! another job of the pool could want it.
//!
//! # Environment
//!
//! | variable | changes |
//! |---|---|
//! | `HEIST_NUM_THREADS` | the number of workers of pools built without one; 0 means one per processor |
//! | `RAYON_NUM_THREADS` | the same, if the former is not set |
//! | `HEIST_GLOBAL` | `explicit`: a call outside any pool panics, unless the program has built the global pool; `implicit`: such a call builds it |
//! | `HEIST_BANNER` | 1: each pool that starts says so in a line on standard error |
//! | `HEIST_PROFILE` | the name of a file, without its ending `.json`: the program's work and span, the sites where they are and the causes of idleness are measured, and written there when it ends |
//! | `HEIST_DAG` | the name of a file, without its ending `.dag.json`: the program's strands, and which came behind which, for `heist sim replay`, are written there when it ends |
//! | `HEIST_TIMELINE` | the name of a file, without its ending `.timeline.json`: what each worker did when, for `heist report`, is written there when the program ends |
//! | `HEIST_STALL` | a number of seconds: a pool in which nothing has moved for so long, while somebody waits, is reported on standard error, with who waits for whom; 0: never |
//! | `HEIST_LIVE` | 1: the program writes four times a second what its workers do, into a file that `heist top` reads |
//! | `HEIST_RECORD_EVENTS` | the number of events that each worker keeps, in pools built without one; 0: none; unset: none, or 32,768 with `HEIST_TIMELINE` |
//! | `HEIST_BARRIER` | the barrier between thieves and owners. `membarrier`: the system interrupts the owners when a thief needs it; `fence`: owners take a lock for each job; `auto`: the former where the system has it |
//!
//! A malformed value is an error when a pool is built.
//!
//! # Where it runs
//!
//! | system | pools | barrier |
//! |---|---|---|
//! | Linux | threads | membarrier, from 4.14 on and unless a sandbox refuses it |
//! | Windows | threads | its own form of membarrier |
//! | macOS and other Unix | threads | fences |
//! | WebAssembly | no threads: the caller is the global pool, and runs everything in place | fences |
//!
//! Where there are no threads, [`ThreadPoolBuilder::build`] fails with an error that [says
//! so](ThreadPoolBuildError::is_unsupported), and a job of [`spawn`](spawn()) runs when the caller
//! waits in an operation or calls [`yield_now`]. Where there is no clock either
//! (`wasm32-unknown-unknown`), all times are 0.
//!
//! A pool does not survive `fork`: see [`ThreadPool`].

#![forbid(unsafe_code)]

pub use heist_core::{
    blocking, broadcast, checkpoint, counters, current_num_threads,
    current_thread_has_pending_tasks, current_thread_index, events, forbid_implicit_global,
    in_place_scope, in_place_scope_fifo, is_cancelled, job, join, join_context, max_num_threads,
    participate, poll_for_thieves, pools_per_node, scope, scope_fifo, spawn, spawn_broadcast,
    spawn_fifo, spawn_on, submit, with_cancellation, with_context, with_propagation, with_waiting,
    yield_local, yield_now, Around, BarrierMode, BroadcastContext, Callers, CancellationToken,
    Cancelled, CoreClass, CustomSpawn, DefaultSpawn, Diagnostics, Distance, Event, EventKind,
    FnContext, Injected, JobBuilder, JoinContext, JoinError, JoinHandle, Lazy, NumaNode, Once,
    PanicPayload, Pin, PoolCounters, Priority, RunningWorker, Scope, ScopeFifo, StillRunning,
    Strand, TaskGroup, ThreadBuilder, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder,
    Topology, Waiting, WorkerCounters, WorkerEvents, WorkerId, Yield,
};
pub use heist_par::{
    algorithm, array, collections, iter, option, parallel_for, parallel_reduce, prelude, range,
    range_inclusive, result, slice, str, string, sub_ranges, tiles, vec, Granularity, SplitPolicy,
    SubRanges, Tiles, WorkerLocal,
};

#[doc = include_str!("../GUIDE.md")]
pub mod guide {
    #[doc = include_str!("../CONTROL.md")]
    pub mod control {}
}

/// Tests under one schedule after another, which a seed repeats: for who steals what, and when.
///
/// A seed is the value of `HEIST_SCHEDULE`, under which one worker runs at a time.
pub mod schedule {
    pub use heist_core::schedule::{check, Check};
}

/// The part of rayon's interface of iterators that is here, and what is missing.
#[doc = include_str!("../COVERAGE.md")]
pub mod coverage {}

/// Reading events: timelines and the report. With the feature `observe`.
#[cfg(feature = "observe")]
pub mod observe {
    pub use heist_observe::*;
}

/// Futures on the workers, and parallel iterators as streams. With the feature `futures`.
#[cfg(feature = "futures")]
pub mod futures {
    pub use heist_futures::*;
}
