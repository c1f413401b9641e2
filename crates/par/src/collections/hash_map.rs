//! Parallel iterators over hash maps.

use std::collections::HashMap;
use std::marker::PhantomData;

use crate::delegate::source;
use crate::iter::{IntoParallelIterator, ParallelDrainFull};
use crate::part::{delegate, delegate_indexed, IndexedPart, Part};
use crate::vec;

source! {
    /// The entries of a hash map, by value.
    ///
    /// # Cost
    ///
    /// Moves the entries into a vector first.
    IntoIter[K: Send, V: Send](vec::IntoIter<(K, V)>) -> (K, V);
    |map: HashMap<K, V, S>| Vec::from_iter(map), for all S
}

source! {
    /// The entries of a hash map, by reference.
    ///
    /// # Cost
    ///
    /// Moves references to the entries into a vector first.
    Iter['a, K: Sync, V: Sync](vec::IntoIter<(&'a K, &'a V)>) -> (&'a K, &'a V), shared;
    |map: &'a HashMap<K, V, S>| Vec::from_iter(map), for all S
}

source! {
    /// The keys of a hash map, by reference, and its values, by mutable reference.
    ///
    /// # Cost
    ///
    /// Moves references to the entries into a vector first.
    IterMut['a, K: Sync, V: Send](vec::IntoIter<(&'a K, &'a mut V)>) -> (&'a K, &'a mut V);
    |map: &'a mut HashMap<K, V, S>| Vec::from_iter(map), for all S
}

/// All entries of a hash map, which stays: see [`ParallelDrainFull`].
///
/// # Cost
///
/// Moves the entries into a vector first.
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Drain<'a, K, V> {
    inner: vec::IntoIter<(K, V)>,
    marker: PhantomData<&'a mut HashMap<K, V>>,
}

impl<'a, K: Send, V: Send, S> ParallelDrainFull for &'a mut HashMap<K, V, S> {
    type Iter = Drain<'a, K, V>;
    type Item = (K, V);

    fn par_drain(self) -> Self::Iter {
        let all = Vec::from_iter(self.drain());
        Drain {
            inner: all.into_par_iter(),
            marker: PhantomData,
        }
    }
}

impl<K: Send, V: Send> Part for Drain<'_, K, V> {
    type Output = (K, V);

    delegate!(inner, marker);
}

impl<K: Send, V: Send> IndexedPart for Drain<'_, K, V> {
    delegate_indexed!(inner, marker);
}
