//! Many machines: remote tasks over an existing distributed engine, and jobs that migrate
//! while they run when that pays.

#![deny(unsafe_code)]

mod call;
mod cluster;
pub mod engine;
mod error;
mod job;
mod object;
pub mod planner;
mod remote;
pub mod wire;
mod worker;

pub use call::RemoteFuture;
pub use cluster::{Calls, Cluster};
pub use engine::{Local, Ray};
pub use error::{ClusterError, RemoteError};
pub use heist_cluster_attribute::{job, remote};
pub use job::{Job, JobContext, JobOptions, Pause, Priority, RegisteredJob, Stop};
pub use object::{ObjectId, Remote};
pub use remote::{CallOptions, Fingerprint, RemoteFunction};
pub use worker::{init, CallContext, JobOutcome, JobReading, Reading, Refusal};

/// What the attributes and macros write down.
#[doc(hidden)]
pub mod __private {
    pub use crate::remote::{Library, Registration};
    pub use crate::worker::ffi;
    pub use inventory::submit;
}

/// The name of the test that [`test_worker!`] defines.
const TEST_WORKER: &str = "heist_cluster_worker";

/// What makes a test program run that test alone.
fn test_worker_arguments() -> Vec<String> {
    ["--exact", TEST_WORKER, "--nocapture"]
        .map(str::to_owned)
        .to_vec()
}

/// Makes a test program one whose processes can be workers; stands once in its root.
///
/// It defines a test that does nothing, but for serving requests when an engine has started
/// the program as a worker; see [`Local::under_test_harness`].
///
/// # Examples
///
/// ```
/// heist_cluster::test_worker!();
/// ```
#[macro_export]
macro_rules! test_worker {
    () => {
        /// Serves requests in a process that an engine started; passes everywhere else.
        #[test]
        fn heist_cluster_worker() {
            $crate::init();
        }
    };
}
