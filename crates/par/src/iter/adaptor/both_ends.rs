//! Sequential iterators that are driven by an index.

/// Calls `make` for each index below `len`, with `true` for those from the front and `false` for
/// those from the back. The last one left counts as the front.
pub(crate) fn both_ends<R>(
    len: usize,
    mut make: impl FnMut(usize, bool) -> R,
) -> impl DoubleEndedIterator<Item = R> + ExactSizeIterator {
    let mut front = 0;
    (0..len).map(move |index| {
        let from_front = index == front;
        front += usize::from(from_front);
        make(index, from_front)
    })
}

/// The next item from one end.
pub(crate) fn take_from<I: DoubleEndedIterator>(items: &mut I, front: bool) -> I::Item {
    let item = if front {
        items.next()
    } else {
        items.next_back()
    };
    item.expect("a parallel iterator has fewer items than it said")
}
