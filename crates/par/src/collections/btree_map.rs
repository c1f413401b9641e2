//! Parallel iterators over B-tree maps.

use std::collections::BTreeMap;

use crate::delegate::source;
use crate::vec;

source! {
    /// The entries of a B-tree map, by value.
    ///
    /// # Cost
    ///
    /// Moves the entries into a vector first.
    IntoIter[K: Send, V: Send](vec::IntoIter<(K, V)>) -> (K, V);
    |map: BTreeMap<K, V>| Vec::from_iter(map)
}

source! {
    /// The entries of a B-tree map, by reference.
    ///
    /// # Cost
    ///
    /// Moves references to the entries into a vector first.
    Iter['a, K: Sync, V: Sync](vec::IntoIter<(&'a K, &'a V)>) -> (&'a K, &'a V), shared;
    |map: &'a BTreeMap<K, V>| Vec::from_iter(map)
}

source! {
    /// The keys of a B-tree map, by reference, and its values, by mutable reference.
    ///
    /// # Cost
    ///
    /// Moves references to the entries into a vector first.
    IterMut['a, K: Sync, V: Send](vec::IntoIter<(&'a K, &'a mut V)>) -> (&'a K, &'a mut V);
    |map: &'a mut BTreeMap<K, V>| Vec::from_iter(map)
}
