//! Sequential iterators that are driven by an index.

use std::ops::Range;

/// Calls `make` for each index below `len`, with `true` for those from the front and `false` for
/// those from the back. The iterator ends early where that gives nothing.
pub(crate) fn both_ends<R>(
    len: usize,
    make: impl FnMut(usize, bool) -> Option<R>,
) -> impl DoubleEndedIterator<Item = R> + ExactSizeIterator {
    BothEnds { left: 0..len, make }
}

struct BothEnds<F> {
    left: Range<usize>,
    make: F,
}

impl<R, F: FnMut(usize, bool) -> Option<R>> Iterator for BothEnds<F> {
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        let index = self.left.next()?;
        (self.make)(index, true)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<R, F: FnMut(usize, bool) -> Option<R>> DoubleEndedIterator for BothEnds<F> {
    #[inline]
    fn next_back(&mut self) -> Option<R> {
        let index = self.left.next_back()?;
        (self.make)(index, false)
    }
}

impl<R, F: FnMut(usize, bool) -> Option<R>> ExactSizeIterator for BothEnds<F> {}

/// The next item from one end: none after a fuse has blown, whatever number was told before.
pub(crate) fn take_from<I: DoubleEndedIterator>(items: &mut I, front: bool) -> Option<I::Item> {
    if front {
        items.next()
    } else {
        items.next_back()
    }
}
