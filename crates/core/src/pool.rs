//! How a pool is configured, built and reached.

pub(crate) mod builder;
pub(crate) mod choices;
pub(crate) mod thread;
pub(crate) mod thread_pool;

mod driven;
mod enter;
mod environment;
pub(crate) mod global;
pub(crate) mod pin;
mod pinning;
mod serial;
mod settings;
pub(crate) mod shutdown;
mod start;

pub(crate) use thread_pool::ThreadPool;
