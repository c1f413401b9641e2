//! Windows of a slice: neighbouring items, wherever they begin.

use std::ops::ControlFlow;

use crate::iter::plumbing::{front, indexed, run_front};
use crate::part::{IndexedPart, Part};

/// Windows of a slice: see [`ParallelSlice::par_windows`](super::ParallelSlice::par_windows).
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Windows<'data, T> {
    slice: &'data [T],
    window_size: usize,
}

impl<'data, T> Windows<'data, T> {
    pub(super) fn new(slice: &'data [T], window_size: usize) -> Self {
        assert!(
            window_size > 0,
            "windows of 0 items were asked for: a window has at least 1"
        );
        Self { slice, window_size }
    }
}

impl<T> Clone for Windows<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'data, T: Sync> Part for Windows<'data, T> {
    type Output = &'data [T];

    indexed!(but_run);

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(&'data [T]) -> ControlFlow<()>,
    {
        run_front(self, budget, consume)
    }

    /// The size of most windows is two. With that in plain sight, the compiler vectorises loops
    /// that it would not if the size were any.
    #[inline]
    fn run_fold<B, F>(&mut self, budget: &mut usize, init: B, op: F) -> B
    where
        F: FnMut(B, &'data [T]) -> B,
    {
        let front = front(self, budget);
        match front.window_size {
            2 => front.slice.windows(2).fold(init, op),
            size => front.slice.windows(size).fold(init, op),
        }
    }
}

impl<'data, T: Sync> IndexedPart for Windows<'data, T> {
    #[inline]
    fn part_len(&self) -> usize {
        self.slice.len().saturating_sub(self.window_size - 1)
    }

    fn split_off(&mut self, index: usize) -> Self {
        let slice = &self.slice[index..];
        // The windows that begin before the index end this much behind it.
        let end = index + (self.window_size - 1).min(slice.len());
        self.slice = &self.slice[..end];
        Self { slice, ..*self }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = &'data [T]> + ExactSizeIterator {
        self.slice.windows(self.window_size)
    }
}

/// Windows of a slice: see
/// [`ParallelSlice::par_array_windows`](super::ParallelSlice::par_array_windows).
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct ArrayWindows<'data, T, const N: usize> {
    windows: Windows<'data, T>,
}

impl<'data, T, const N: usize> ArrayWindows<'data, T, N> {
    pub(super) fn new(slice: &'data [T]) -> Self {
        let windows = Windows::new(slice, N);
        Self { windows }
    }
}

impl<T, const N: usize> Clone for ArrayWindows<'_, T, N> {
    fn clone(&self) -> Self {
        let windows = self.windows.clone();
        Self { windows }
    }
}

impl<'data, T: Sync, const N: usize> Part for ArrayWindows<'data, T, N> {
    type Output = &'data [T; N];

    indexed!();
}

impl<'data, T: Sync, const N: usize> IndexedPart for ArrayWindows<'data, T, N> {
    #[inline]
    fn part_len(&self) -> usize {
        self.windows.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let windows = self.windows.split_off(index);
        Self { windows }
    }

    fn into_seq(self) -> impl DoubleEndedIterator<Item = &'data [T; N]> + ExactSizeIterator {
        // With `N` in plain sight the compiler knows that no window is shorter or longer.
        let windows = self.windows.slice.windows(N);
        windows.map(|window| window.try_into().expect("a window has N items"))
    }
}
