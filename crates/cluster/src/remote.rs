//! Functions and jobs that workers know by name, and what these see while they run.

pub(crate) mod context;
pub(crate) mod description;
mod form;
pub(crate) mod function;
pub(crate) mod job;
pub(crate) mod job_options;
pub(crate) mod objects;
pub(crate) mod registry;
pub(crate) mod running;
