//! What is done with the items at the end of a chain: one consumer per file.

mod collect;
mod for_each;
mod ordered;
mod reduce;

pub(crate) use collect::collect_into;
pub(crate) use for_each::ForEach;
pub(crate) use ordered::in_order;
pub(crate) use reduce::Reduce;
