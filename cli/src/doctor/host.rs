//! Facts that the standard library and the kernel tell when asked directly.

use std::env;
use std::path::Path;

use heist_run::usage::check_output;
use serde::Serialize;

use super::environment::Environment;

/// The answers of the machine that runs this process.
#[derive(Debug, Serialize)]
pub(crate) struct Host {
    pub(crate) os: &'static str,
    pub(crate) architecture: &'static str,
    pub(crate) page_bytes: Option<usize>,
    /// The answer of `std::thread::available_parallelism`; `None` if it cannot tell.
    pub(crate) available_parallelism: Option<usize>,
    /// A pool with all defaults, or the reason why it cannot be built.
    #[serde(skip)]
    pub(crate) default_pool: Result<BuiltPool, String>,
    /// Whether the kernel offers `membarrier` with `PRIVATE_EXPEDITED` to this
    /// process; `None` where there is no such call.
    pub(crate) membarrier: Option<bool>,
}

/// The properties of a pool that was built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltPool {
    pub(crate) workers: usize,
    pub(crate) barrier: heist::BarrierMode,
}

impl Host {
    /// `environment` says what a pool is built with.
    pub(crate) fn ask(environment: &Environment) -> Self {
        Self {
            os: env::consts::OS,
            architecture: env::consts::ARCH,
            page_bytes: page_bytes(),
            available_parallelism: std::thread::available_parallelism()
                .ok()
                .map(std::num::NonZero::get),
            default_pool: build_default_pool(environment),
            membarrier: membarrier(),
        }
    }
}

/// Builds a pool as a program would, the only sure test. Only numbers that were asked for are taken
/// at their word: tens of thousands of threads would keep the machine busy for minutes, and the
/// memory for billions of events may not be there.
fn build_default_pool(environment: &Environment) -> Result<BuiltPool, String> {
    write_nothing()?;
    let asked_workers = environment.asked_workers().map(|(workers, _)| workers);
    let mut builder =
        heist::ThreadPoolBuilder::new().num_threads(usize::from(asked_workers.is_some()));
    if environment.asks_for_events() {
        builder = builder.record_events(1);
    }
    let pool = builder.build().map_err(|error| error.to_string())?;
    let built = BuiltPool {
        workers: asked_workers.unwrap_or_else(|| pool.current_num_threads()),
        barrier: pool.diagnostics().barrier_mode,
    };
    pool.shutdown();
    Ok(built)
}

/// Looks whether the files could be written that a program is to write at its end, and has this one
/// write none: they would take the place of that program's.
fn write_nothing() -> Result<(), String> {
    for (name, ending) in [
        ("HEIST_PROFILE", ".json"),
        ("HEIST_DAG", ".dag.json"),
        ("HEIST_TIMELINE", ".timeline.json"),
    ] {
        // An empty one is refused by the pool.
        let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else {
            continue;
        };
        let mut file = value.clone();
        file.push(ending);
        check_output(Path::new(&file))
            .map_err(|why| format!("the environment variable {name} is set to {value:?}: {why}"))?;
        env::remove_var(name);
    }
    Ok(())
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
