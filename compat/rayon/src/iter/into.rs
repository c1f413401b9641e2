//! Collections and ranges turn into parallel iterators, and lend or give up their items to them.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::Hash;
use std::ops::{Range, RangeBounds, RangeInclusive};

use heist_par::foreign::Part;
use heist_par::{iter, range, range_inclusive};

use super::indexed::IndexedParallelIterator;
use super::parallel::{IntoParallelIterator, Lazy, ParallelIterator};

/// Turns into what heist turns it into.
macro_rules! into {
    ($([$($params:tt)*] $collection:ty;)*) => { $(
        impl<$($params)*> IntoParallelIterator for $collection {
            type Iter = <Self as iter::IntoParallelIterator>::Iter;
            type Item = <Self as iter::IntoParallelIterator>::Item;

            fn into_par_iter(self) -> Self::Iter {
                iter::IntoParallelIterator::into_par_iter(self)
            }
        }
    )* };
}

into! {
    [T: Send, const N: usize] [T; N];
    ['a, T: Sync, const N: usize] &'a [T; N];
    ['a, T: Send, const N: usize] &'a mut [T; N];
    ['a, T: Sync] &'a [T];
    ['a, T: Send] &'a mut [T];
    [T: Send] Box<[T]>;
    ['a, T: Sync] &'a Box<[T]>;
    ['a, T: Send] &'a mut Box<[T]>;
    [T: Send] Vec<T>;
    ['a, T: Sync] &'a Vec<T>;
    ['a, T: Send] &'a mut Vec<T>;
    [T: Send] Option<T>;
    ['a, T: Sync] &'a Option<T>;
    ['a, T: Send] &'a mut Option<T>;
    [T: Send, E] Result<T, E>;
    ['a, T: Sync, E] &'a Result<T, E>;
    ['a, T: Send, E] &'a mut Result<T, E>;
    [T: Ord + Send] BinaryHeap<T>;
    ['a, T: Ord + Sync] &'a BinaryHeap<T>;
    [K: Ord + Send, V: Send] BTreeMap<K, V>;
    ['a, K: Ord + Sync, V: Sync] &'a BTreeMap<K, V>;
    ['a, K: Ord + Sync, V: Send] &'a mut BTreeMap<K, V>;
    [T: Ord + Send] BTreeSet<T>;
    ['a, T: Ord + Sync] &'a BTreeSet<T>;
    [K: Eq + Hash + Send, V: Send, S] HashMap<K, V, S>;
    ['a, K: Eq + Hash + Sync, V: Sync, S] &'a HashMap<K, V, S>;
    ['a, K: Eq + Hash + Sync, V: Send, S] &'a mut HashMap<K, V, S>;
    [T: Eq + Hash + Send, S] HashSet<T, S>;
    ['a, T: Eq + Hash + Sync, S] &'a HashSet<T, S>;
    [T: Send] LinkedList<T>;
    ['a, T: Sync] &'a LinkedList<T>;
    ['a, T: Send] &'a mut LinkedList<T>;
    [T: Send] VecDeque<T>;
    ['a, T: Sync] &'a VecDeque<T>;
    ['a, T: Send] &'a mut VecDeque<T>;
}

// For all types at once: or else the compiler could not tell the type of `0..10`.
impl<T> IntoParallelIterator for Range<T>
where
    range::Iter<T>: Part,
{
    type Iter = range::Iter<T>;
    type Item = <range::Iter<T> as Part>::Output;

    fn into_par_iter(self) -> Self::Iter {
        iter::IntoParallelIterator::into_par_iter(self)
    }
}

impl<T> IntoParallelIterator for RangeInclusive<T>
where
    range_inclusive::Iter<T>: Part,
{
    type Iter = range_inclusive::Iter<T>;
    type Item = <range_inclusive::Iter<T> as Part>::Output;

    fn into_par_iter(self) -> Self::Iter {
        iter::IntoParallelIterator::into_par_iter(self)
    }
}

/// A tuple of iterators, in one of three ways: by value, by reference, by mutable reference.
macro_rules! tuple {
    ($tuple:ty, $into:path, $method:ident, [$($lifetime:lifetime)?], $($name:ident)*) => {
        impl<$($lifetime,)? $($name),*> IntoParallelIterator for $tuple
        where
            $($name: $into,)*
            $(<$name as $into>::Iter: IndexedParallelIterator,)*
        {
            type Iter = iter::MultiZip<($(Lazy<<$name as $into>::Iter>,)*)>;
            type Item = ($(<$name as $into>::Item,)*);

            #[expect(non_snake_case, reason = "variables are called as their types")]
            fn into_par_iter(self) -> Self::Iter {
                let ($($name,)*) = self;
                iter::IntoParallelIterator::into_par_iter(($(Lazy::new($name.$method()),)*))
            }
        }
    };
}

macro_rules! tuples {
    () => {};
    ($first:ident $($other:ident)*) => {
        tuple!(
            ($first, $($other,)*), IntoParallelIterator, into_par_iter, [], $first $($other)*
        );
        tuple!(
            &'a ($first, $($other,)*), IntoParallelRefIterator<'a>, par_iter, ['a],
            $first $($other)*
        );
        tuple!(
            &'a mut ($first, $($other,)*), IntoParallelRefMutIterator<'a>, par_iter_mut, ['a],
            $first $($other)*
        );
        tuples!($($other)*);
    };
}

tuples!(A B C D E F G H I J K L);

/// A collection that lends its items to a parallel iterator.
pub trait IntoParallelRefIterator<'data> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items, which is mostly a reference.
    type Item: Send + 'data;

    /// Gives what is lent.
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, C> IntoParallelRefIterator<'data> for C
where
    C: ?Sized + 'data,
    &'data C: IntoParallelIterator,
{
    type Iter = <&'data C as IntoParallelIterator>::Iter;
    type Item = <&'data C as IntoParallelIterator>::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A collection that lends its items to a parallel iterator, which may change them.
pub trait IntoParallelRefMutIterator<'data> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items, which is mostly a mutable reference.
    type Item: Send + 'data;

    /// Gives what is lent.
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, C> IntoParallelRefMutIterator<'data> for C
where
    C: ?Sized + 'data,
    &'data mut C: IntoParallelIterator,
{
    type Iter = <&'data mut C as IntoParallelIterator>::Iter;
    type Item = <&'data mut C as IntoParallelIterator>::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A collection that gives all its items and stays, empty.
pub trait ParallelDrainFull {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items.
    type Item: Send;

    /// Takes all items out.
    fn par_drain(self) -> Self::Iter;
}

/// Drains as heist does.
macro_rules! drain_full {
    ($([$($params:tt)*] $collection:ty;)*) => { $(
        impl<$($params)*> ParallelDrainFull for $collection {
            type Iter = <Self as iter::ParallelDrainFull>::Iter;
            type Item = <Self as iter::ParallelDrainFull>::Item;

            fn par_drain(self) -> Self::Iter {
                iter::ParallelDrainFull::par_drain(self)
            }
        }
    )* };
}

drain_full! {
    ['a, T: Ord + Send] &'a mut BinaryHeap<T>;
    ['a, K: Eq + Hash + Send, V: Send, S] &'a mut HashMap<K, V, S>;
    ['a, T: Eq + Hash + Send, S] &'a mut HashSet<T, S>;
}

/// A collection that gives a range of its items and keeps the others.
pub trait ParallelDrainRange<Idx = usize> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of its items.
    type Item: Send;

    /// Takes the items of a range out.
    ///
    /// # Panics
    ///
    /// Panics if the range is not within the collection.
    fn par_drain<R: RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}

/// Drains as heist does.
macro_rules! drain_range {
    ($([$($params:tt)*] $collection:ty;)*) => { $(
        impl<$($params)*> ParallelDrainRange<usize> for $collection {
            type Iter = <Self as iter::ParallelDrainRange<usize>>::Iter;
            type Item = <Self as iter::ParallelDrainRange<usize>>::Item;

            fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Self::Iter {
                iter::ParallelDrainRange::par_drain(self, range)
            }
        }
    )* };
}

drain_range! {
    ['a, T: Send] &'a mut Vec<T>;
    ['a, T: Send] &'a mut VecDeque<T>;
    ['a] &'a mut String;
}
