//! What can take in the items of a parallel iterator, or be made of them.

mod collections;
mod failures;
mod pairs;
mod text;
mod vec;

use super::IntoParallelIterator;
#[cfg(doc)]
use super::ParallelIterator;

/// What can be made from the items of a parallel iterator: see
/// [`collect`](ParallelIterator::collect).
///
/// # Examples
///
/// ```
/// use heist_par::prelude::*;
///
/// /// The largest number, and how many there were.
/// struct Largest(Option<u32>, usize);
///
/// impl FromParallelIterator<u32> for Largest {
///     fn from_par_iter<I: IntoParallelIterator<Item = u32>>(numbers: I) -> Self {
///         let each = numbers.into_par_iter().map(|number| (Some(number), 1));
///         let (largest, count) = each.reduce(|| (None, 0), |a, b| (a.0.max(b.0), a.1 + b.1));
///         Largest(largest, count)
///     }
/// }
///
/// let Largest(largest, count) = vec![5, 9, 7].into_par_iter().collect();
/// assert_eq!((largest, count), (Some(9), 3));
/// ```
pub trait FromParallelIterator<T: Send>: Sized {
    /// Makes it from all the items.
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>;

    /// Makes it from items that have been collected already.
    #[doc(hidden)]
    fn from_collected(items: Vec<T>) -> Self {
        Self::from_par_iter(items)
    }
}

/// What can take in the items of a parallel iterator.
///
/// # Examples
///
/// ```
/// use heist_par::prelude::*;
///
/// let mut numbers = vec![1, 2];
/// numbers.par_extend(3..6);
/// assert_eq!(numbers, [1, 2, 3, 4, 5]);
/// ```
pub trait ParallelExtend<T: Send> {
    /// Takes in all the items, in their order where there is one.
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = T>;

    /// Takes in items that have been collected already.
    #[doc(hidden)]
    fn extend_collected(&mut self, items: Vec<T>) {
        self.par_extend(items);
    }
}
