//! `skip` and `take`: all but the first items, and the first items only.

#[cfg(doc)]
use crate::iter::IndexedParallelIterator;

/// All but the first items: see [`IndexedParallelIterator::skip`]. The same iterator,
/// which has been cut.
pub type Skip<I> = I;

/// The first items only: see [`IndexedParallelIterator::take`]. The same iterator, which
/// has been cut.
pub type Take<I> = I;
