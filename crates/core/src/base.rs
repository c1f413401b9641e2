//! Parts that know neither a worker nor a pool.

pub(crate) mod argument;
pub(crate) mod around;
pub(crate) mod cancellation;
pub(crate) mod claim;
pub(crate) mod count;
pub(crate) mod counters;
pub(crate) mod error;
pub(crate) mod fifo;
pub(crate) mod job;
pub(crate) mod job_queue;
pub(crate) mod job_ref;
pub(crate) mod join_error;
pub(crate) mod latch;
pub(crate) mod live;
pub(crate) mod on_stack;
pub(crate) mod once;
pub(crate) mod orphans;
pub(crate) mod recorder;
pub(crate) mod region;
pub(crate) mod slot_job;
pub(crate) mod still;
pub(crate) mod strand_queue;
pub(crate) mod task;
pub(crate) mod unwind;
pub(crate) mod waiting;
pub(crate) mod whole_file;
