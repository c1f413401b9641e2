//! What the standard library and the kernel answer when asked directly.

use serde::Serialize;

/// The answers of the machine that runs this process.
#[derive(Debug, Serialize)]
pub(crate) struct Host {
    pub(crate) os: &'static str,
    pub(crate) architecture: &'static str,
    pub(crate) page_bytes: Option<usize>,
    /// What `std::thread::available_parallelism` says; `None` if it cannot tell.
    pub(crate) available_parallelism: Option<usize>,
    /// A pool that is built without saying anything, or why it cannot be built.
    #[serde(skip)]
    pub(crate) default_pool: Result<BuiltPool, String>,
    /// Whether the kernel offers `membarrier` with `PRIVATE_EXPEDITED` to this
    /// process; `None` where there is no such call.
    pub(crate) membarrier: Option<bool>,
}

/// What a pool turned out to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltPool {
    pub(crate) workers: usize,
    pub(crate) barrier: heist::BarrierMode,
}

impl Host {
    /// `asked_workers` is what the environment says of the number of workers.
    pub(crate) fn ask(asked_workers: Option<usize>) -> Self {
        Self {
            os: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            page_bytes: page_bytes(),
            available_parallelism: std::thread::available_parallelism()
                .ok()
                .map(std::num::NonZero::get),
            default_pool: build_default_pool(asked_workers),
            membarrier: membarrier(),
        }
    }
}

/// Builds a pool as a program would, since nothing else tells as surely what a
/// program would get. Only a number that was asked for is taken at its word:
/// tens of thousands of threads would keep the machine busy for minutes.
fn build_default_pool(asked_workers: Option<usize>) -> Result<BuiltPool, String> {
    let workers = usize::from(asked_workers.is_some());
    let pool = heist::ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .map_err(|error| error.to_string())?;
    let built = BuiltPool {
        workers: asked_workers.unwrap_or_else(|| pool.current_num_threads()),
        barrier: pool.barrier_mode(),
    };
    pool.shutdown();
    Ok(built)
}

#[cfg(target_os = "linux")]
fn page_bytes() -> Option<usize> {
    Some(rustix::param::page_size())
}

#[cfg(not(target_os = "linux"))]
fn page_bytes() -> Option<usize> {
    None
}

#[cfg(target_os = "linux")]
fn membarrier() -> Option<bool> {
    use rustix::thread::{membarrier_query, MembarrierCommand};
    let offered = membarrier_query();
    // A sandbox may refuse the query itself; then nothing is offered.
    Some(
        offered.contains_command(MembarrierCommand::PrivateExpedited)
            && offered.contains_command(MembarrierCommand::RegisterPrivateExpedited),
    )
}

#[cfg(not(target_os = "linux"))]
fn membarrier() -> Option<bool> {
    None
}
