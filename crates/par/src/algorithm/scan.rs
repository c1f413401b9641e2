//! Prefix sums: each item combined with all before it.

use heist_core::{current_num_threads, participate};

use super::part_len;
use crate::driver::drive;
use crate::iter::consumer::{collect, ForEach};
use crate::iter::Map;
use crate::vec::IntoIter;

/// Below so many items one worker is as fast as several.
const MIN_LEN: usize = 32_768;

/// Replaces each item by the combination of all up to it, in order: the second by `op(first,
/// second)` and so on. `op` must be associative.
///
/// # Panics
///
/// Panics if `op` does; some items are then replaced, and others are not.
///
/// # Cost
///
/// Calls `op` about twice for each item, and once if there is one worker or there are fewer than
/// 32,768 items.
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_inclusive_scan;
///
/// let mut numbers = [3, 1, 4, 1];
/// par_inclusive_scan(&mut numbers, |a, b| a + b);
/// assert_eq!(numbers, [3, 4, 8, 9]);
/// ```
pub fn par_inclusive_scan<T, F>(items: &mut [T], op: F)
where
    T: Clone + Send + Sync,
    F: Fn(&T, &T) -> T + Sync + Send,
{
    let scan = |part: &mut [T], before: Option<T>| {
        let Some((first, rest)) = part.split_first_mut() else {
            return;
        };
        if let Some(before) = before {
            *first = op(&before, first);
        }
        let mut sum = first.clone();
        for item in rest {
            sum = op(&sum, item);
            *item = sum.clone();
        }
    };
    if items.len() < MIN_LEN {
        return scan(items, None);
    }
    participate(|| {
        if current_num_threads() == 1 {
            return scan(items, None);
        }
        let before = |before: &Option<T>, sum: T| {
            Some(match before {
                None => sum,
                Some(before) => op(before, &sum),
            })
        };
        scan_parts(items, None, before, &op, scan);
    });
}

/// Replaces each item by the combination of `first` and all items before it, in order: the first by
/// `first`, the second by `op(first, first item)`, and so on. Returns the combination of `first`
/// and all. `op` must be associative.
///
/// # Panics
///
/// Panics if `op` does; some items are then replaced, and others are not.
///
/// # Cost
///
/// As [`par_inclusive_scan`].
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_exclusive_scan;
///
/// let mut lengths = [3, 1, 4];
/// let total = par_exclusive_scan(&mut lengths, 0, |a, b| a + b);
/// // Where each begins, if they lie one behind the other.
/// assert_eq!((lengths, total), ([0, 3, 4], 8));
/// ```
pub fn par_exclusive_scan<T, F>(items: &mut [T], first: T, op: F) -> T
where
    T: Clone + Send + Sync,
    F: Fn(&T, &T) -> T + Sync + Send,
{
    let scan = |part: &mut [T], before: T| {
        let mut sum = before;
        for item in part {
            let next = op(&sum, item);
            *item = std::mem::replace(&mut sum, next);
        }
        sum
    };
    if items.len() < MIN_LEN {
        return scan(items, first);
    }
    participate(|| {
        if current_num_threads() == 1 {
            return scan(items, first);
        }
        let before = |before: &T, sum: T| op(before, &sum);
        scan_parts(items, first, before, &op, |part, before| {
            scan(part, before);
        })
    })
}

/// Combines the items of each part, then the parts one after the other, and then scans each part,
/// beginning with what is before it. Returns the combination of all.
fn scan_parts<T, B, F>(
    items: &mut [T],
    first: B,
    next: impl Fn(&B, T) -> B,
    op: &F,
    scan: impl Fn(&mut [T], B) + Sync + Send,
) -> B
where
    T: Clone + Send + Sync,
    B: Send,
    F: Fn(&T, &T) -> T + Sync + Send,
{
    let len = part_len(items.len());
    let parts: Vec<_> = items.chunks(len).collect();
    let sum = |part: &[T]| {
        let (first, rest) = part.split_first().expect("a part is not empty");
        rest.iter().fold(first.clone(), |sum, item| op(&sum, item))
    };
    let sums = collect(Map::new(IntoIter::new(parts), sum));
    let mut before = first;
    let parts = items.chunks_mut(len).zip(sums);
    let parts: Vec<_> = parts
        .map(|(part, sum)| {
            let next = next(&before, sum);
            (part, std::mem::replace(&mut before, next))
        })
        .collect();
    let scan = |(part, before)| scan(part, before);
    drive(IntoIter::new(parts), ForEach::new(&scan));
    before
}
