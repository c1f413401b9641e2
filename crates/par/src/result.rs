//! Parallel iterators over results: one item if it is `Ok`, or none.

use crate::delegate::source;
use crate::option;

source! {
    /// The item of an `Ok`, by value.
    #[derive(Clone)]
    IntoIter[T: Send](option::IntoIter<T>) -> T;
    |result: Result<T, E>| result.ok(), for all E
}

source! {
    /// The item of an `Ok`, by reference.
    Iter['a, T: Sync](option::IntoIter<&'a T>) -> &'a T, shared;
    |result: &'a Result<T, E>| result.as_ref().ok(), for all E
}

source! {
    /// The item of an `Ok`, by mutable reference.
    IterMut['a, T: Send](option::IntoIter<&'a mut T>) -> &'a mut T;
    |result: &'a mut Result<T, E>| result.as_mut().ok(), for all E
}
