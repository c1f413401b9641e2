//! Selection: the item that would be at an index if the items were sorted.

use std::cmp::Ordering;

use heist_core::{current_num_threads, participate};

use super::part_len;
use super::partition::partition_by;
use super::sample::take_sample;

/// Below so many items one worker is as fast as several.
const MIN_LEN: usize = 32_768;
/// A sample is large enough for bounds that hold but a few items.
const SAMPLE_LEN: usize = 2048;
/// Three standard deviations of the rank that an item in the middle has in a sample.
const SAMPLE_MARGIN: usize = 68;
/// So often the range in which the item must be is narrowed: twice is usual.
const ROUNDS: u32 = 16;

/// Puts the item to `index` that belongs there in sorted order, no greater ones before it and no
/// lesser ones behind it. Returns those before it, it, and those behind it.
///
/// # Panics
///
/// Panics if `index` is not below the number of items, or if the comparison does.
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_select_nth_unstable;
///
/// let mut numbers = [5, 1, 4, 2, 3];
/// let (below, median, _) = par_select_nth_unstable(&mut numbers, 2);
/// assert_eq!((below.len(), *median), (2, 3));
/// ```
pub fn par_select_nth_unstable<T>(items: &mut [T], index: usize) -> (&mut [T], &mut T, &mut [T])
where
    T: Ord + Send + Sync,
{
    par_select_nth_unstable_by(items, index, T::cmp)
}

/// As [`par_select_nth_unstable`], in the order of `compare`.
///
/// # Panics
///
/// Panics if `index` is not below the number of items, or if `compare` does.
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_select_nth_unstable_by;
///
/// let mut numbers = [0.5, 2.5, 1.5];
/// let (_, greatest, _) = par_select_nth_unstable_by(&mut numbers, 0, |a, b| f64::total_cmp(b, a));
/// assert_eq!(*greatest, 2.5);
/// ```
pub fn par_select_nth_unstable_by<T, F>(
    items: &mut [T],
    index: usize,
    compare: F,
) -> (&mut [T], &mut T, &mut [T])
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let len = items.len();
    assert!(
        index < len,
        "the item at index {index} of {len} items was asked for: the index must be less"
    );
    if len >= MIN_LEN {
        participate(|| select(items, index, &compare));
    } else {
        items.select_nth_unstable_by(index, |a, b| compare(a, b));
    }
    let (before, rest) = items.split_at_mut(index);
    let (item, behind) = rest
        .split_first_mut()
        .expect("the index is below the length");
    (before, item, behind)
}

/// Narrows the range in which the item must be, until one worker does the rest.
fn select<T, F>(items: &mut [T], index: usize, compare: &F)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let mut range = 0..items.len();
    for _ in 0..ROUNDS {
        let part = &mut items[range.clone()];
        if part.len() < MIN_LEN {
            break;
        }
        let wanted = index - range.start;
        take_sample(part, SAMPLE_LEN).sort_unstable_by(|a, b| compare(a, b));
        part.swap(0, pivot_rank(wanted, part.len()));
        let not_above =
            1 + partition_about_first(part, &|item, pivot| compare(item, pivot).is_le());
        if wanted >= not_above {
            range.start += not_above;
        } else if not_above < part.len() / 4 * 3 {
            range.end = range.start + not_above;
        } else {
            // Perhaps very many are equal to the pivot.
            let part = &mut part[..not_above];
            let below = partition_about_first(part, &|item, pivot| compare(item, pivot).is_lt());
            part.swap(0, below);
            if wanted >= below {
                return;
            }
            range.end = range.start + below;
        }
    }
    let wanted = index - range.start;
    items[range].select_nth_unstable_by(wanted, |a, b| compare(a, b));
}

/// The place in the sorted sample of an item that most likely belongs a little behind the wanted
/// one, or before it if that leaves fewer items in the range.
fn pivot_rank(wanted: usize, len: usize) -> usize {
    let rank = (wanted as f64 / len as f64 * SAMPLE_LEN as f64) as usize;
    if rank < SAMPLE_LEN / 2 {
        rank + SAMPLE_MARGIN
    } else {
        rank.saturating_sub(SAMPLE_MARGIN)
    }
}

/// Partitions the items behind the first one, which is the pivot.
fn partition_about_first<T, P>(items: &mut [T], is_before: &P) -> usize
where
    T: Send + Sync,
    P: Fn(&T, &T) -> bool + Sync,
{
    let part_len = part_len(items.len());
    let (pivot, rest) = items.split_first_mut().expect("there is a pivot");
    let mut pivots = vec![&*pivot; current_num_threads()];
    partition_by(rest, &mut pivots, part_len, &|item: &T, pivot: &&T| {
        is_before(item, pivot)
    })
}
