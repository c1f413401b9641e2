//! Vectors, and what a vector turns into.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::iter::consumer::collect_onto;
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = T>,
    {
        collect_onto(self, iter.into_par_iter());
    }

    fn extend_collected(&mut self, mut items: Self) {
        if self.capacity() == 0 {
            *self = items;
        } else {
            self.append(&mut items);
        }
    }
}

impl<'a, T: 'a + Copy + Send + Sync> ParallelExtend<&'a T> for Vec<T> {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = &'a T>,
    {
        self.par_extend(iter.into_par_iter().copied());
    }
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

    fn from_collected(items: Self) -> Self {
        items
    }
}

/// Collections that are made of a vector at once.
macro_rules! from_vec {
    ($([$($params:tt)*] $collection:ty: $item:ty, $from:expr;)*) => { $(
        impl<$($params)*> FromParallelIterator<$item> for $collection {
            fn from_par_iter<I>(iter: I) -> Self
            where
                I: IntoParallelIterator<Item = $item>,
            {
                Self::from_collected(Vec::from_par_iter(iter))
            }

            fn from_collected(items: Vec<$item>) -> Self {
                $from(items)
            }
        }
    )* };
}

// The maps and sets of std sort the whole vector first: that is faster than to put in one item
// after the other.
from_vec! {
    [T: Send] Box<[T]>: T, Self::from;
    [T: Send] Rc<[T]>: T, Self::from;
    [T: Send] Arc<[T]>: T, Self::from;
    [T: Send] VecDeque<T>: T, Self::from;
    [T: Ord + Send] BinaryHeap<T>: T, Self::from;
    [T: Ord + Send] BTreeSet<T>: T, Self::from_iter;
    [K: Ord + Send, V: Send] BTreeMap<K, V>: (K, V), Self::from_iter;
}

/// Always owned.
impl<C, T> FromParallelIterator<T> for Cow<'_, C>
where
    C: ToOwned<Owned: FromParallelIterator<T>> + ?Sized,
    T: Send,
{
    fn from_par_iter<I>(iter: I) -> Self
    where
        I: IntoParallelIterator<Item = T>,
    {
        Cow::Owned(C::Owned::from_par_iter(iter))
    }
}
