//! Collections that give their items to a parallel iterator and stay, without them.

use std::ops::{Bound, Range, RangeBounds};

use super::ParallelIterator;

/// A collection that gives all its items away, and keeps its memory.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
/// use std::collections::HashSet;
///
/// let mut primes = HashSet::from([2, 3, 5, 7]);
/// assert_eq!(primes.par_drain().sum::<u32>(), 17);
/// assert!(primes.is_empty());
/// ```
pub trait ParallelDrainFull {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of the items.
    type Item: Send;

    /// Gives all items away. When the iterator is dropped, those that it has not given are dropped
    /// too. If it is leaked, any number of items may be lost.
    fn par_drain(self) -> Self::Iter;
}

/// A collection that gives a range of its items away, and keeps the others and its memory.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let mut numbers: Vec<u32> = (0..8).collect();
/// assert_eq!(numbers.par_drain(2..6).sum::<u32>(), 14);
/// assert_eq!(numbers, [0, 1, 6, 7]);
/// ```
pub trait ParallelDrainRange<Idx = usize> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of the items.
    type Item: Send;

    /// Gives the items of a range away. When the iterator is dropped, those that it has not given
    /// are dropped too, and the others stay. If it is leaked, any number of items may be lost.
    ///
    /// # Panics
    ///
    /// Panics if the range begins after its end, or ends after the last item.
    fn par_drain<R: RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}

/// The same range by its first index and the one after its last.
///
/// # Panics
///
/// Panics if these are not indices of `len` items.
pub(crate) fn range_within(range: &impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => start..end,
        _ => panic!(
            "the range from {:?} to {:?} was asked for: it must lie within 0..{len}",
            range.start_bound(),
            range.end_bound(),
        ),
    }
}
