//! Parallel iterators over linked lists.

use std::collections::LinkedList;

use crate::delegate::source;
use crate::vec;

source! {
    /// The items of a linked list, by value.
    ///
    /// # Cost
    ///
    /// Moves the items into a vector first.
    #[derive(Clone)]
    IntoIter[T: Send](vec::IntoIter<T>) -> T;
    |list: LinkedList<T>| Vec::from_iter(list)
}

source! {
    /// The items of a linked list, by reference.
    ///
    /// # Cost
    ///
    /// Moves references to the items into a vector first.
    Iter['a, T: Sync](vec::IntoIter<&'a T>) -> &'a T, shared;
    |list: &'a LinkedList<T>| Vec::from_iter(list)
}

source! {
    /// The items of a linked list, by mutable reference.
    ///
    /// # Cost
    ///
    /// Moves references to the items into a vector first.
    IterMut['a, T: Send](vec::IntoIter<&'a mut T>) -> &'a mut T;
    |list: &'a mut LinkedList<T>| Vec::from_iter(list)
}
