//! The items of a vector, by value.

use super::taken::Taken;
use crate::part::{delegate, delegate_indexed, IndexedPart, Part};

/// The items of a vector, by value.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let words = vec!["fig".to_owned(), "apple".to_owned()];
/// let text = words.into_par_iter().reduce(String::new, |a, b| a + &b);
/// assert_eq!(text, "figapple");
/// ```
#[derive(Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct IntoIter<T> {
    items: Taken<T, Vec<T>>,
}

impl<T> IntoIter<T> {
    pub(crate) fn new(vec: Vec<T>) -> Self {
        let all = 0..vec.len();
        let items = Taken::new(vec, all);
        Self { items }
    }
}

impl<T: Send> Part for IntoIter<T> {
    type Output = T;

    delegate!(items);
}

impl<T: Send> IndexedPart for IntoIter<T> {
    delegate_indexed!(items);
}

impl<T: Clone> Clone for IntoIter<T> {
    fn clone(&self) -> Self {
        Self::new(self.items.as_slice().to_vec())
    }
}
