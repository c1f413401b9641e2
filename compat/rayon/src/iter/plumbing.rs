//! The plumbing: rayon's traits for iterators and consumers of one's own.
//!
//! A consumer of heist's that meets an iterator of another crate passes through the iterator's
//! `drive_unindexed` as a [`Consumer`] that takes the producer whole, and heist drives that as it
//! drives its own parts. A consumer of another crate gets its items by halving.

mod bridge;
mod contract;
mod part;
mod pass;
mod producer;

pub use bridge::{bridge, bridge_producer_consumer, bridge_unindexed};
pub use contract::{
    Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, UnindexedProducer,
};
pub(crate) use pass::{pass_through, HandOver, HandProducer};
pub(crate) use producer::ProducerPart;
