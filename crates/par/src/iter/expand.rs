//! The ways in which [`flat_map`](super::ParallelIterator::flat_map) and
//! [`flatten`](super::ParallelIterator::flatten) expand an item.

use super::adaptor::{Expand, Itself};
use super::IntoParallelIterator;

impl<T, F, PI> Expand<T> for F
where
    F: Fn(T) -> PI + Sync + Send,
    PI: IntoParallelIterator,
{
    type Iter = PI::Iter;

    #[inline]
    fn expand(&self, item: T) -> PI::Iter {
        self(item).into_par_iter()
    }
}

impl<T: IntoParallelIterator> Expand<T> for Itself {
    type Iter = T::Iter;

    #[inline]
    fn expand(&self, item: T) -> T::Iter {
        item.into_par_iter()
    }
}
