//! Parallel iterators over slices, and what else is done with slices in parallel.

mod iter;

pub use iter::{Iter, IterMut};

/// What is done with a slice in parallel, without changing it.
pub trait ParallelSlice<T: Sync> {
    /// The slice with which the other methods work.
    fn as_parallel_slice(&self) -> &[T];
}

impl<T: Sync> ParallelSlice<T> for [T] {
    #[inline]
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// What is done with a slice in parallel, and may change it.
pub trait ParallelSliceMut<T: Send> {
    /// The slice with which the other methods work.
    fn as_parallel_slice_mut(&mut self) -> &mut [T];
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    #[inline]
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}
