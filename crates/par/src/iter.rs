//! Parallel iterators: chains of operations over a collection, run by all workers.

mod adaptor;
mod bridge;
mod by_ref;
pub(crate) mod consumer;
pub(crate) mod drain;
mod either;
mod expand;
mod extend;
mod indexed;
mod parallel;
pub mod plumbing;
mod source;
mod try_trait;

pub use ::either::Either;
pub use adaptor::*;
pub use bridge::{IterBridge, OrderedBridge, ParallelBridge};
pub use by_ref::{IntoParallelRefIterator, IntoParallelRefMutIterator};
pub use drain::{ParallelDrainFull, ParallelDrainRange};
pub use indexed::IndexedParallelIterator;
pub use parallel::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
pub use source::*;
#[doc(hidden)]
pub use try_trait::Try;
