//! The door for iterators that speak rayon's plumbing, for the package in rayon's place alone.

pub use crate::algorithm::loose::{sort_by, sort_unstable_by};
pub use crate::iter::{Expand, Try};
pub use crate::part::{Continuation, IndexedContinuation, IndexedPart, Part};
pub use crate::str::Pattern;

use crate::iter::FlatMap;

/// `flat_map` by an expansion that is no closure.
pub fn flat_map<I: Part, E: Expand<I::Output>>(base: I, expand: E) -> FlatMap<I, E> {
    FlatMap::new(base, expand)
}
