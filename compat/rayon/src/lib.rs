//! Stands in for rayon 1.12: heist's iterators, sorts and loops below any program that uses rayon.
//!
//! Two lines in the manifest at the root of the program's workspace switch it over; without them it
//! is back on rayon:
//!
//! ```toml
//! [patch.crates-io]
//! rayon = { path = "../heist/compat/rayon" }
//! rayon-core = { path = "../heist/compat/rayon-core" }
//! ```
//!
//! The names, bounds and meanings are rayon's. Iterators of other crates that speak rayon's
//! [`plumbing`](iter::plumbing) run here too, in one chain with ours. The package's README says
//! how, and what is not there yet.
//!
//! # Examples
//!
//! ```
//! use rayon::prelude::*;
//!
//! assert_eq!((1..=100_u32).into_par_iter().filter(|n| n % 2 == 0).sum::<u32>(), 2550);
//! ```

#![forbid(unsafe_code)]

mod enter;
pub mod iter;
pub mod slice;

pub use heist_par::{array, collections, option, range, range_inclusive, result, str, string, vec};
pub use rayon_core::{
    broadcast, current_num_threads, current_thread_index, in_place_scope, in_place_scope_fifo,
    join, join_context, max_num_threads, scope, scope_fifo, spawn, spawn_broadcast, spawn_fifo,
    yield_local, yield_now, BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder,
    ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder, Yield,
};

/// The traits that add the methods: `use rayon::prelude::*`.
pub mod prelude {
    pub use crate::iter::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator,
        IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelBridge, ParallelDrainFull,
        ParallelDrainRange, ParallelExtend, ParallelIterator,
    };
    pub use crate::slice::{ParallelSlice, ParallelSliceMut};
    pub use crate::str::ParallelString;
}
