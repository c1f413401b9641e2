//! References to slices, which can be cut.

use std::ops::Deref;

/// A reference to a slice, mutable or not, that can be cut.
pub(super) trait Cut: Deref<Target = [Self::Item]> + Default {
    /// The type of the items.
    type Item;

    /// The items before this index, and the others.
    fn cut(self, index: usize) -> (Self, Self);
}

impl<T> Cut for &[T] {
    type Item = T;

    #[inline]
    fn cut(self, index: usize) -> (Self, Self) {
        self.split_at(index)
    }
}

impl<T> Cut for &mut [T] {
    type Item = T;

    #[inline]
    fn cut(self, index: usize) -> (Self, Self) {
        self.split_at_mut(index)
    }
}
