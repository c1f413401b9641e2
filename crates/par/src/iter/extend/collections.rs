//! Collections that take one item after the other: the items are made in parallel, and put in by
//! the caller.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::ops::ControlFlow;

use crate::driver::drive;
use crate::iter::consumer::Reduce;
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};

/// Puts in all items, once `reserve` has made room for so many.
fn put_in<C, T>(collection: &mut C, items: LinkedList<Vec<T>>, reserve: impl Fn(&mut C, usize))
where
    C: Extend<T>,
{
    reserve(collection, items.iter().map(Vec::len).sum());
    for chunk in items {
        collection.extend(chunk);
    }
}

macro_rules! extend {
    ($([$($params:tt)*] $collection:ty: $item:ty, $reserve:expr;)*) => { $(
        impl<$($params)*> ParallelExtend<$item> for $collection {
            fn par_extend<I>(&mut self, iter: I)
            where
                I: IntoParallelIterator<Item = $item>,
            {
                put_in(self, iter.into_par_iter().collect_vec_list(), $reserve);
            }

            fn extend_collected(&mut self, items: Vec<$item>) {
                put_in(self, LinkedList::from([items]), $reserve);
            }
        }
    )* };
}

extend! {
    [T: Send] VecDeque<T>: T, Self::reserve;
    ['a, T: 'a + Copy + Send + Sync] VecDeque<T>: &'a T, Self::reserve;
    [T: Ord + Send] BinaryHeap<T>: T, Self::reserve;
    ['a, T: 'a + Copy + Ord + Send + Sync] BinaryHeap<T>: &'a T, Self::reserve;
    [T: Ord + Send] BTreeSet<T>: T, |_, _| {};
    ['a, T: 'a + Copy + Ord + Send + Sync] BTreeSet<T>: &'a T, |_, _| {};
    [K: Ord + Send, V: Send] BTreeMap<K, V>: (K, V), |_, _| {};
    ['a, K: 'a + Copy + Ord + Send + Sync, V: 'a + Copy + Send + Sync]
        BTreeMap<K, V>: (&'a K, &'a V), |_, _| {};
    [T: Eq + Hash + Send, S: BuildHasher + Send] HashSet<T, S>: T, Self::reserve;
    ['a, T: 'a + Copy + Eq + Hash + Send + Sync, S: BuildHasher + Send]
        HashSet<T, S>: &'a T, Self::reserve;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Send]
        HashMap<K, V, S>: (K, V), Self::reserve;
    ['a, K: 'a + Copy + Eq + Hash + Send + Sync, V: 'a + Copy + Send + Sync,
        S: BuildHasher + Send] HashMap<K, V, S>: (&'a K, &'a V), Self::reserve;
}

impl<T: Send> ParallelExtend<T> for LinkedList<T> {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = T>,
    {
        let push = |list: &mut Self, item| {
            list.push_back(item);
            ControlFlow::Continue(())
        };
        let append = |list: &mut Self, mut upper: Self| list.append(&mut upper);
        let reduce = Reduce::new(&Self::new, &push, &append);
        self.append(&mut drive(iter.into_par_iter(), reduce).into_result());
    }
}

impl<'a, T: 'a + Copy + Send + Sync> ParallelExtend<&'a T> for LinkedList<T> {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = &'a T>,
    {
        self.par_extend(iter.into_par_iter().copied());
    }
}

impl ParallelExtend<()> for () {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = ()>,
    {
        iter.into_par_iter().for_each(|()| ());
    }
}

macro_rules! from_empty {
    ($([$($params:tt)*] $collection:ty: $item:ty;)*) => { $(
        impl<$($params)*> FromParallelIterator<$item> for $collection {
            fn from_par_iter<I>(iter: I) -> Self
            where
                I: IntoParallelIterator<Item = $item>,
            {
                let mut collection = Self::default();
                collection.par_extend(iter);
                collection
            }
        }
    )* };
}
pub(super) use from_empty;

from_empty! {
    [T: Send] LinkedList<T>: T;
    [T: Eq + Hash + Send, S: BuildHasher + Default + Send] HashSet<T, S>: T;
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default + Send] HashMap<K, V, S>: (K, V);
    [] (): ();
}
