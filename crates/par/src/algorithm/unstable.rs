//! The unstable sort: halves by parallel partition, parts by the standard library's sort.
//!
//! Items need not be `Sync`, so that workers cannot compare with one pivot at the same time. Each
//! has a pivot of its own instead, and these are neighbours in a sorted sample of the items. The
//! few items that lie between the pivots may end up on either side: when both sides are sorted they
//! are the last of the lower and the first of the upper one, and there they are sorted once more.

use std::ops::Range;

use heist_core::checkpoint;

use super::both;
use super::order::{overlap, Order};
use super::partition::{exchange, partition_by};
use super::sample::take_sample;

/// Sorts; equal items may end up in any order.
pub(super) fn sort<T, S, L>(items: &mut [T], order: &Order<'_, S, L>)
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    let halvings = order.halvings();
    let part_len = items.len() >> halvings;
    sort_level(items, part_len, 2 * halvings, order);
}

/// Splits until the parts are about so long, or, with bad luck, for so many times.
fn sort_level<T, S, L>(items: &mut [T], part_len: usize, times: u32, order: &Order<'_, S, L>)
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    // Not once more because one half is a little larger than the other.
    if items.len() <= part_len + part_len / 4 || times == 0 {
        checkpoint();
        return (order.sort)(items);
    }
    let workers = (items.len() + part_len / 2) / part_len;
    let Range { start, end } = split(items, workers, order);
    let (rest, upper) = items.split_at_mut(end);
    let lower = &mut rest[..start];
    both(
        || sort_level(lower, part_len, times - 1, order),
        || sort_level(upper, part_len, times - 1, order),
    );
    mend(items, start, order);
}

/// Splits in two, with so many pivots, and returns the range between the two, whose items are all
/// equal. It is empty unless there are very many of those.
fn split<T, S, L>(items: &mut [T], pivots: usize, order: &Order<'_, S, L>) -> Range<usize>
where
    T: Send,
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    let (is_less, part_len) = (order.is_less, order.part_len);
    let is_below = |item: &T, pivot: &T| is_less(item, pivot);
    let is_not_above = |item: &T, pivot: &T| !is_less(pivot, item);

    // Sorting the sample and sorting what lies between the pivots cost about the same.
    let sample_len = ((items.len() * pivots) as f64).sqrt() as usize;
    let sample = take_sample(items, sample_len);
    (order.sort)(sample);
    // Where in the sample those begin and end that equal the one in the middle. The bounds hold
    // even if the comparison is inconsistent.
    let half = sample_len / 2;
    let middle = &sample[half];
    let start = sample.partition_point(|item| is_below(item, middle));
    let end = sample.partition_point(|item| is_not_above(item, middle));
    let (start, end) = (start.min(half), end.max(half + 1));
    // Between items that are less and the others is the better place to split, or between items
    // that are not greater and the others.
    let below = half - start <= end - half;
    let first = if below {
        start
    } else {
        end.saturating_sub(pivots)
    };
    for i in 0..pivots {
        sample.swap(i, (first + i).min(sample_len - 1));
    }
    let (pivots, rest) = items.split_at_mut(pivots);

    if end - start > half {
        let not_above = partition_by(rest, pivots, part_len, &is_not_above);
        let below = partition_by(&mut rest[..not_above], pivots, part_len, &is_below);
        let pivots = pivots.len();
        exchange(&mut items[..pivots + below], pivots, part_len);
        below..pivots + not_above
    } else if below {
        let below = partition_by(rest, pivots, part_len, &is_below);
        let pivots = pivots.len();
        exchange(&mut items[..pivots + below], pivots, part_len);
        below..below
    } else {
        let not_above = pivots.len() + partition_by(rest, pivots, part_len, &is_not_above);
        not_above..not_above
    }
}

/// Sorts what is greater than the least of the upper part, or less than the greatest of the lower
/// one. Both parts are sorted; the upper one begins at `middle`.
fn mend<T, S, L>(items: &mut [T], middle: usize, order: &Order<'_, S, L>)
where
    S: Fn(&mut [T]),
    L: Fn(&T, &T) -> bool,
{
    let range = overlap(items, middle, order.is_less);
    if !range.is_empty() {
        (order.sort)(&mut items[range]);
    }
}
