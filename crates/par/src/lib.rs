//! Parallel loops, iterators and algorithms that find their own grain.

pub mod algorithm;
pub mod array;
pub mod collections;
mod costs;
mod delegate;
mod driver;
#[doc(hidden)]
pub mod foreign;
mod granularity;
mod integer;
pub mod iter;
mod loops;
pub mod option;
mod pace;
mod part;
pub mod range;
pub mod range_inclusive;
pub mod result;
pub mod slice;
pub mod str;
pub mod string;
pub mod vec;
mod worker_local;

pub use granularity::{Granularity, SplitPolicy};
pub use loops::{parallel_for, parallel_reduce, sub_ranges, tiles, SubRanges, Tiles};
pub use worker_local::WorkerLocal;

/// The traits that add the methods: `use heist::prelude::*`.
pub mod prelude {
    pub use crate::iter::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator,
        IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelBridge, ParallelDrainFull,
        ParallelDrainRange, ParallelExtend, ParallelIterator,
    };
    pub use crate::slice::{ParallelSlice, ParallelSliceMut};
    pub use crate::str::ParallelString;
}
