//! What can take in the items of a parallel iterator, or be made of them.

use super::consumer::collect_into;
use super::{IntoParallelIterator, ParallelIterator};

/// What can be made from the items of a parallel iterator: see
/// [`collect`](ParallelIterator::collect).
pub trait FromParallelIterator<T: Send>: Sized {
    /// Makes it from all the items.
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>;
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
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>,
    {
        let mut vec = Self::new();
        vec.par_extend(iter);
        vec
    }
}

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = T>,
    {
        let iter = iter.into_par_iter();
        match iter.opt_len() {
            Some(len) => collect_into(self, iter, len),
            None => unimplemented!("items whose number is not known"),
        }
    }
}
