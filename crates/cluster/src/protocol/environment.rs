//! How a backend tells a process that it is a worker: variables of its environment.

use std::path::Path;

use heist_sync::atomic::{AtomicBool, Ordering};

/// Makes a process a worker; says where its answers go: `socket`, the other end of its
/// standard input, or a path; or that it is a batch job.
pub(crate) const WORKER_VARIABLE: &str = "HEIST_CLUSTER_WORKER";
/// In [`WORKER_VARIABLE`], has a program say what it has, in place of serving.
pub(crate) const DESCRIBE: &str = "describe";
/// The name of the machine.
pub(crate) const NODE_VARIABLE: &str = "HEIST_CLUSTER_NODE";
/// Where shared data lies.
pub(crate) const OBJECTS_VARIABLE: &str = "HEIST_CLUSTER_OBJECTS";

/// The process of the driver, if the worker is a child of its.
pub(crate) const DRIVER_VARIABLE: &str = "HEIST_CLUSTER_DRIVER";

static IS_INITIALISED: AtomicBool = AtomicBool::new(false);

/// True if [`init`](crate::init) was called in this process.
pub(crate) fn is_initialised() -> bool {
    IS_INITIALISED.load(Ordering::Relaxed)
}

/// Notes that [`init`](crate::init) was called.
pub(crate) fn set_initialised() {
    // Only read by this process's own calls of connect, later.
    IS_INITIALISED.store(true, Ordering::Relaxed);
}

/// The beginning of the worker's variable in a batch job.
pub(crate) const BATCH_PREFIX: &str = "batch:";

/// The variable that makes a process such a worker.
pub(crate) fn batch_variable(submission: u32, folder: &Path) -> String {
    format!("{BATCH_PREFIX}{submission}:{}", folder.display())
}

/// The name of the test that `test_worker!` defines.
const TEST_WORKER: &str = "heist_cluster_worker";

/// Arguments with which a test program runs that test alone.
pub(crate) fn test_worker_arguments() -> Vec<String> {
    ["--exact", TEST_WORKER, "--nocapture"]
        .map(str::to_owned)
        .to_vec()
}
