//! Filling and copying whole slices.

use heist_core::participate;

use super::part_len;
use crate::iter::{IntoParallelIterator, ParallelIterator};

/// Below so many bytes one worker is as fast as several.
const MIN_BYTES: usize = 1 << 18;

/// Sets all items to clones of `value`.
///
/// # Panics
///
/// Panics if cloning or dropping an item does.
///
/// # Examples
///
/// ```
/// let mut numbers = [1, 2, 3];
/// heist::algorithm::par_fill(&mut numbers, 7);
/// assert_eq!(numbers, [7, 7, 7]);
/// ```
pub fn par_fill<T>(items: &mut [T], value: T)
where
    T: Clone + Send + Sync,
{
    let value = &value;
    for_each_part(items, |part, _| part.fill(value.clone()));
}

/// Copies all items of `source` to the same places of `items`.
///
/// # Panics
///
/// Panics if the slices are not equally long.
///
/// # Examples
///
/// ```
/// let mut numbers = [1, 2, 3];
/// heist::algorithm::par_copy_from_slice(&mut numbers, &[4, 5, 6]);
/// assert_eq!(numbers, [4, 5, 6]);
/// ```
pub fn par_copy_from_slice<T>(items: &mut [T], source: &[T])
where
    T: Copy + Send + Sync,
{
    assert_same_len(items, source);
    for_each_part(items, |part, start| {
        part.copy_from_slice(&source[start..][..part.len()]);
    });
}

/// Clones all items of `source` into the same places of `items`.
///
/// # Panics
///
/// Panics if the slices are not equally long, or if cloning or dropping an item does.
///
/// # Examples
///
/// ```
/// let mut words = vec![String::new(); 2];
/// heist::algorithm::par_clone_from_slice(&mut words, &["a".to_owned(), "b".to_owned()]);
/// assert_eq!(words, ["a", "b"]);
/// ```
pub fn par_clone_from_slice<T>(items: &mut [T], source: &[T])
where
    T: Clone + Send + Sync,
{
    assert_same_len(items, source);
    for_each_part(items, |part, start| {
        part.clone_from_slice(&source[start..][..part.len()]);
    });
}

fn assert_same_len<T>(items: &[T], source: &[T]) {
    let (to, from) = (items.len(), source.len());
    assert!(
        to == from,
        "{from} items were to be copied to a slice of {to}: it must have as many"
    );
}

/// Calls the closure with parts of the items and where they begin.
fn for_each_part<T, F>(items: &mut [T], op: F)
where
    T: Send,
    F: Fn(&mut [T], usize) + Sync + Send,
{
    if size_of_val(items) < MIN_BYTES {
        return op(items, 0);
    }
    participate(|| {
        let len = part_len(items.len());
        let parts: Vec<_> = items.chunks_mut(len).enumerate().collect();
        parts
            .into_par_iter()
            .for_each(|(index, part)| op(part, index * len));
    });
}
