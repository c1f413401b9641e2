//! Pools of threads for the program's code, and messages of its panics.

use std::any::Any;

use heist_core::{ThreadPool, ThreadPoolBuilder};

use crate::protocol::refusal::Refusal;

/// A pool of `cpus` threads, each of which begins with `start`.
pub(super) fn build_pool(
    cpus: u32,
    start: impl Fn(usize) + Send + Sync + 'static,
) -> Result<ThreadPool, Refusal> {
    let threads = usize::try_from(cpus).unwrap_or(usize::MAX).max(1);
    let built = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("heist-cluster-{index}"))
        .start_handler(start)
        .build();
    built.map_err(|error| Refusal::Failed {
        error: format!("could not start a pool of {threads} threads: {error}"),
    })
}

/// The message of a panic.
pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it said nothing that is text".to_owned())
}
