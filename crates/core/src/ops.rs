//! The operations, one file each.

pub(crate) mod blocking;
pub(crate) mod broadcast;
pub(crate) mod cancellation;
pub(crate) mod context;
pub(crate) mod current;
pub mod hosting;
pub(crate) mod job;
pub(crate) mod join;
pub(crate) mod lazy;
pub(crate) mod once;
pub(crate) mod participate;
pub(crate) mod poll;
pub(crate) mod propagation;
pub(crate) mod scope;
pub(crate) mod spawn;
pub(crate) mod strand;
pub(crate) mod submit;
pub(crate) mod task_group;
pub(crate) mod waiting;
pub(crate) mod yielding;

mod in_pool;
