//! Consumers, which take the items at the end of a chain: one per file.

mod collect;
mod collect_any;
mod find;
mod for_each;
mod grain;
mod list;
mod ordered;
mod partition;
mod reduce;
mod reduce_with;
mod total;
mod try_reduce;
mod unzip;

pub(crate) use collect::{collect_into, unzip_into};
pub(crate) use collect_any::{collect, collect_onto};
pub(crate) use find::{find, Wanted};
pub(crate) use for_each::ForEach;
pub(crate) use list::Chunks;
pub(crate) use ordered::in_order;
pub(crate) use partition::partition;
pub(crate) use reduce::Reduce;
pub(crate) use reduce_with::reduce_with;
pub(crate) use total::{count, product, sum};
pub(crate) use try_reduce::try_reduce;
pub(crate) use unzip::{partition_map, unzip};
