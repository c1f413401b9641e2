//! Counting items by their key.

use std::ops::ControlFlow;

use crate::driver::drive;
use crate::iter::consumer::Reduce;
use crate::iter::IntoParallelIterator;

/// Counts the items of each bucket, of which there are `buckets`: `key` gives the index of an
/// item's bucket.
///
/// # Panics
///
/// Panics if `key` gives an index that is not below `buckets`, or if it panics itself.
///
/// # Cost
///
/// Allocates as many counts for each time that a thief takes a part of the items: for buckets that
/// are far fewer than the items.
///
/// # Examples
///
/// ```
/// use heist::algorithm::par_histogram;
///
/// let lengths = par_histogram(&["a", "b", "ab"], 3, |word| word.len());
/// assert_eq!(lengths, [0, 2, 1]);
/// ```
#[must_use]
pub fn par_histogram<T, F>(items: &[T], buckets: usize, key: F) -> Vec<usize>
where
    T: Sync,
    F: Fn(&T) -> usize + Sync,
{
    let begin = || vec![0; buckets];
    let count = |counts: &mut Vec<usize>, item: &T| {
        let bucket = key(item);
        let Some(count) = counts.get_mut(bucket) else {
            panic!("an item belongs to bucket {bucket}, but there are {buckets}: the index must be less");
        };
        *count += 1;
        ControlFlow::Continue(())
    };
    let add = |counts: &mut Vec<usize>, others: Vec<usize>| {
        for (count, other) in counts.iter_mut().zip(others) {
            *count += other;
        }
    };
    drive(items.into_par_iter(), Reduce::new(&begin, &count, &add)).into_result()
}
