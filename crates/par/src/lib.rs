//! Parallel loops, iterators and algorithms that find their own grain.

pub mod algorithm;
mod engine;
mod granularity;
pub mod iter;
mod parallel_for;
pub mod range;
pub mod slice;
pub mod vec;

pub use granularity::{Granularity, SplitPolicy};
pub use parallel_for::parallel_for;

/// The traits that add the methods: `use heist_par::prelude::*`.
pub mod prelude {
    pub use crate::iter::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator,
        IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelExtend, ParallelIterator,
    };
    pub use crate::slice::{ParallelSlice, ParallelSliceMut};
}
