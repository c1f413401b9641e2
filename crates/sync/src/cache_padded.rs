//! A value that shares its cache lines with nothing else.

use std::ops::Deref;

/// Aligns `T` to 128 bytes: a line of 64 bytes plus the neighbour that the prefetcher of x86-64
/// brings along, and one line of Apple's processors.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Pads `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
