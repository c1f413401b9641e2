//! Partition: the items for which something holds come first.

use heist_core::{current_num_threads, participate};

use super::order::swap;
use super::{both, part_len};

/// A worker's share is not worth the trouble below so many items.
const MIN_SHARE: usize = 4096;

/// Puts the items of which `predicate` is true before the others, and returns how many they are.
/// Both may end up in any order.
///
/// # Panics
///
/// Panics if `predicate` does; the slice then holds the same items in some order.
///
/// # Cost
///
/// Calls `predicate` once for each item, and allocates nothing. Parts are partitioned on their own
/// and then put together by swaps.
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_partition;
///
/// let mut numbers = [1, 2, 3, 4, 5];
/// let even = par_partition(&mut numbers, |n| n % 2 == 0);
/// numbers[..even].sort();
/// assert_eq!(numbers[..even], [2, 4]);
/// ```
pub fn par_partition<T, P>(items: &mut [T], predicate: P) -> usize
where
    T: Send,
    P: Fn(&T) -> bool + Sync,
{
    let len = items.len();
    if len < 2 * MIN_SHARE {
        return partition_alone(items, predicate);
    }
    participate(|| {
        let mut parts = vec![(); current_num_threads().min(len / MIN_SHARE)];
        partition_by(items, &mut parts, part_len(len), &|item: &T, ()| {
            predicate(item)
        })
    })
}

/// Partitions by a relation to a pivot, of which each part has one of its own: pivots need not be
/// `Sync`.
pub(super) fn partition_by<T, Q, P>(
    items: &mut [T],
    pivots: &mut [Q],
    part_len: usize,
    is_before: &P,
) -> usize
where
    T: Send,
    Q: Send,
    P: Fn(&T, &Q) -> bool + Sync,
{
    if let [pivot] = pivots {
        return partition_alone(items, |item| is_before(item, pivot));
    }
    let pivots_middle = pivots.len() / 2;
    let middle = items.len() / pivots.len() * pivots_middle;
    let (pivots_0, pivots_1) = pivots.split_at_mut(pivots_middle);
    let (items_0, items_1) = items.split_at_mut(middle);
    let (len_0, len_1) = both(
        || partition_by(items_0, pivots_0, part_len, is_before),
        || partition_by(items_1, pivots_1, part_len, is_before),
    );
    exchange(&mut items[len_0..middle + len_1], middle - len_0, part_len);
    len_0 + len_1
}

/// Puts the items from `middle` on before the others, in any order.
pub(super) fn exchange<T: Send>(items: &mut [T], middle: usize, part_len: usize) {
    let len = middle.min(items.len() - middle);
    let (first, rest) = items.split_at_mut(len);
    let (_, last) = rest.split_at_mut(rest.len() - len);
    swap(first, last, part_len);
}

/// Swaps each item to the end of those that belong before: a swap costs less than a branch that is
/// hard to foretell.
fn partition_alone<T, P>(items: &mut [T], predicate: P) -> usize
where
    P: Fn(&T) -> bool,
{
    let mut len = 0;
    for i in 0..items.len() {
        let is_before = predicate(&items[i]);
        items.swap(len, i);
        len += usize::from(is_before);
    }
    len
}
