//! Parallel iterators over slices, and what else is done with slices in parallel.

mod iter;

use crate::algorithm::{sort_by_cached_key, sort_stable, sort_unstable};
use std::cmp::Ordering;

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

    /// Sorts; equal items keep their order.
    ///
    /// As [`slice::sort`], which sorts small slices, and those of a pool with one worker.
    ///
    /// # Panics
    ///
    /// Panics if comparing does, and may panic if it is inconsistent. The slice
    /// then holds the same items in some order.
    ///
    /// # Cost
    ///
    /// Compares about *n* log *n* times; allocates memory for *n* items, and for half as
    /// many again. Slices that are in order, or in the opposite order without equal items,
    /// cost *n* comparisons and no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        sort_stable(self.as_parallel_slice_mut(), <[T]>::sort, T::lt);
    }

    /// Sorts in the order of `compare`; equal items keep their order: see
    /// [`par_sort`](Self::par_sort).
    ///
    /// # Panics
    ///
    /// As [`par_sort`](Self::par_sort).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let mut numbers = [1.5, -1.0, 0.5];
    /// numbers.par_sort_by(f64::total_cmp);
    /// assert_eq!(numbers, [-1.0, 0.5, 1.5]);
    /// ```
    fn par_sort_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let sort = |part: &mut [T]| part.sort_by(&compare);
        sort_stable(self.as_parallel_slice_mut(), sort, |a, b| {
            compare(a, b).is_lt()
        });
    }

    /// Sorts by keys; items of equal keys keep their order: see
    /// [`par_sort`](Self::par_sort).
    ///
    /// # Panics
    ///
    /// As [`par_sort`](Self::par_sort), and if `f` does.
    ///
    /// # Cost
    ///
    /// Calls `f` twice for each comparison: see
    /// [`par_sort_by_cached_key`](Self::par_sort_by_cached_key).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let mut words = ["three", "one", "two"];
    /// words.par_sort_by_key(|word| word.len());
    /// assert_eq!(words, ["one", "two", "three"]);
    /// ```
    fn par_sort_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        let sort = |part: &mut [T]| part.sort_by_key(&f);
        sort_stable(self.as_parallel_slice_mut(), sort, |a, b| f(a).lt(&f(b)));
    }

    /// Sorts by keys that are costly to compute: each is computed once, all of them in
    /// parallel. Items of equal keys keep their order.
    ///
    /// # Panics
    ///
    /// As [`par_sort`](Self::par_sort), and if `f` does.
    ///
    /// # Cost
    ///
    /// Allocates memory for the keys, as many indices twice, and the items.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let mut numbers = [10, 9, 100];
    /// numbers.par_sort_by_cached_key(|number| number.to_string());
    /// assert_eq!(numbers, [10, 100, 9]);
    /// ```
    fn par_sort_by_cached_key<K, F>(&mut self, f: F)
    where
        K: Ord + Send,
        F: Fn(&T) -> K + Sync,
    {
        sort_by_cached_key(self.as_parallel_slice_mut(), f);
    }

    /// Sorts in place; equal items may end up in any order.
    ///
    /// As [`slice::sort_unstable`], which sorts small slices, and those of a pool with one
    /// worker.
    ///
    /// # Panics
    ///
    /// Panics if comparing does, and may panic if it is inconsistent. The slice
    /// then holds the same items in some order.
    ///
    /// # Cost
    ///
    /// Compares about *n* log *n* times. Slices that are in order, or in the opposite
    /// order without equal items, cost *n* comparisons.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let mut numbers = [3, 1, 2];
    /// numbers.par_sort_unstable();
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sort_unstable(self.as_parallel_slice_mut(), <[T]>::sort_unstable, T::lt);
    }

    /// Sorts in place in the order of `compare`; equal items may end up in any order: see
    /// [`par_sort_unstable`](Self::par_sort_unstable).
    ///
    /// # Panics
    ///
    /// As [`par_sort_unstable`](Self::par_sort_unstable).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let mut numbers = [2, 3, 1];
    /// numbers.par_sort_unstable_by(|a, b| b.cmp(a));
    /// assert_eq!(numbers, [3, 2, 1]);
    /// ```
    fn par_sort_unstable_by<F>(&mut self, compare: F)
    where
        F: Fn(&T, &T) -> Ordering + Sync,
    {
        let sort = |part: &mut [T]| part.sort_unstable_by(&compare);
        sort_unstable(self.as_parallel_slice_mut(), sort, |a, b| {
            compare(a, b).is_lt()
        });
    }

    /// Sorts in place by keys; items of equal keys may end up in any order: see
    /// [`par_sort_unstable`](Self::par_sort_unstable).
    ///
    /// # Panics
    ///
    /// As [`par_sort_unstable`](Self::par_sort_unstable), and if `f` does.
    ///
    /// # Cost
    ///
    /// Calls `f` twice for each comparison: see
    /// [`par_sort_by_cached_key`](Self::par_sort_by_cached_key).
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_par::prelude::*;
    ///
    /// let mut numbers = [2_i32, -3, 1];
    /// numbers.par_sort_unstable_by_key(|number| number.abs());
    /// assert_eq!(numbers, [1, 2, -3]);
    /// ```
    fn par_sort_unstable_by_key<K, F>(&mut self, f: F)
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        let sort = |part: &mut [T]| part.sort_unstable_by_key(&f);
        sort_unstable(self.as_parallel_slice_mut(), sort, |a, b| f(a).lt(&f(b)));
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    #[inline]
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}
