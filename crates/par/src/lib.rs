//! Parallel loops, iterators and algorithms that find their own grain.

pub mod array;
pub mod collections;
mod delegate;
mod engine;
mod granularity;
mod integer;
pub mod iter;
pub mod option;
mod parallel_for;
pub mod range;
pub mod range_inclusive;
pub mod result;
pub mod slice;
pub mod vec;

pub use granularity::{Granularity, SplitPolicy};
pub use parallel_for::parallel_for;

/// The traits that add the methods: `use heist_par::prelude::*`.
pub mod prelude {
    pub use crate::iter::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator,
        IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelDrainFull, ParallelDrainRange,
        ParallelExtend, ParallelIterator,
    };
    pub use crate::slice::{ParallelSlice, ParallelSliceMut};
}
