//! Parallel iterators over B-tree sets.

use std::collections::BTreeSet;

use crate::delegate::source;
use crate::vec;

source! {
    /// The items of a B-tree set, by value.
    ///
    /// # Cost
    ///
    /// Moves the items into a vector first.
    IntoIter[T: Send](vec::IntoIter<T>) -> T;
    |set: BTreeSet<T>| Vec::from_iter(set)
}

source! {
    /// The items of a B-tree set, by reference.
    ///
    /// # Cost
    ///
    /// Moves references to the items into a vector first.
    Iter['a, T: Sync](vec::IntoIter<&'a T>) -> &'a T, shared;
    |set: &'a BTreeSet<T>| Vec::from_iter(set)
}
