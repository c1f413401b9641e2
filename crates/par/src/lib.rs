//! Parallel loops, iterators and algorithms that find their own grain.

mod cancellation;
mod engine;
mod granularity;
pub mod iter;
mod loops;
pub mod range;
pub mod slice;
pub mod vec;
mod worker_local;

pub use cancellation::CancellationToken;
pub use granularity::{Granularity, SplitPolicy};
pub use loops::{parallel_for, parallel_reduce, sub_ranges, tiles, SubRanges, Tiles};
pub use worker_local::WorkerLocal;

/// The traits that add the methods: `use heist_par::prelude::*`.
pub mod prelude {
    pub use crate::iter::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator,
        IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelExtend, ParallelIterator,
    };
}
