//! Many machines: remote tasks over an existing distributed backend, and running jobs that migrate
//! when that pays.
//!
//! Within a machine heist steals fine-grained tasks; this crate runs coarse ones on other machines.
//! It is not a cluster manager: a **backend** finds the machines, places work on them and notices
//! when one is lost.
//!
//! | noun | is |
//! |---|---|
//! | [`Cluster`] | machines, reached through a backend |
//! | backend | [`Local`]: worker processes here, nothing to install; [`Ray`] 2; [`Slurm`] |
//! | [`#[remote]`](macro@remote) | makes a function one that can be called elsewhere; a call gives a [`RemoteFuture`] |
//! | [`Remote<T>`](Remote) | data that many calls share |
//! | [`chunks`](Cluster::chunks) | a range or a list, cut so that each part runs for about 100 ms |
//! | [`Job`] | long work with explicit state, which can pause, move and go on |
//! | [`planner`] | decides which job moves where, and says why not |
//!
//! # Examples
//!
//! ```no_run
//! use heist_cluster::{remote, Cluster, Local};
//!
//! #[remote(cpus = 2)]
//! fn count_squares(numbers: std::ops::Range<u64>) -> u64 {
//!     // Within a machine: heist's parallel iterators, joins and scopes.
//!     numbers.filter(|n| n.isqrt().pow(2) == *n).count() as u64
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     heist_cluster::init(); // a worker process never returns from here
//!     let cluster = Cluster::connect(Local::new().nodes(3).cpus(2))?;
//!     let squares = cluster.chunks(0..1_000_000_000).map(count_squares).reduce(0, |a, b| a + b)?;
//!     println!("{squares}");
//!     Ok(())
//! }
//! ```
//!
//! The same program runs on Ray with `Ray::new()` and on Slurm with `Slurm::new()` instead of
//! `Local`. For Ray its functions belong in a library of the crate type `cdylib` that contains
//! [`export!`].
//!
//! # Promises
//!
//! - A call has one result. An attempt that the backend loses is run again, as often as the
//!   function's `retries` say, so a function may run more than once: results are exactly once, side
//!   effects are not. With `retries = 0` it runs at most once.
//! - The value that a function returns, an error of its own included, is the result; a panic is a
//!   [`RemoteError::Panicked`]; neither is tried again.
//! - A job has one result. A clean move repeats nothing; an accident repeats at most what was
//!   done since the last checkpoint; an attempt that was given up and comes back changes
//!   nothing. `src/driver/README.md` has the protocol.
//! - A worker refuses a driver that is built from other sources, those of the packages that it
//!   needs among them ([`Fingerprint`]), and the error says what differs.
//!
//! # When not to use it
//!
//! A call costs a tenth of a millisecond on `Local`, two milliseconds on Slurm and about ten on
//! Ray, so do work of less than 50 ms locally. Jobs that depend on an order, on warm caches or on
//! low latency should not move; say so by [`planner::Mobility`].
//!
//! # Security
//!
//! Nothing in this crate listens on a port; it talks to workers through pipes or through the
//! backend. **Anyone who reaches the ports of a backend can run code on its machines**: Ray listens
//! on all interfaces unless each node is bound to a private network, so turn on its token
//! authentication (`RAY_AUTH_MODE=token`) and keep its ports behind a firewall; Slurm authenticates
//! its users by munge. Payloads are size-limited and malformed ones refused, but a worker runs
//! whatever its driver asks for.

#![deny(unsafe_code)]

#[cfg(not(unix))]
compile_error!("heist-cluster speaks to its workers through Unix sockets, and needs a Unix system");

// The attributes write down paths as other crates have them.
#[cfg(test)]
extern crate self as heist_cluster;

mod api;
pub mod backend;
mod driver;
mod error;
pub mod event;
mod log;
pub mod planner;
mod private;
pub mod protocol;
mod remote;
mod sealed_file;
mod whole_file;
mod worker;

pub use api::calls::Calls;
pub use api::chunks::{Arguments, Chunks, Cut, IntoCut, Mapped, Progress};
pub use api::cluster::Cluster;
pub use api::remote_future::RemoteFuture;
pub use backend::{Local, Ray, Slurm};
pub use error::{ClusterError, Full, RemoteError};
/// The name becomes a value that derefs to the function, so calls look as before and are
/// type-checked; where a closure is expected, write `|x| square(x)`. Such a value is a pattern
/// too: where `square` is in scope, `let square = 3` does not compile. Functions whose names are
/// those of variables are best imported with their module, as in `maths::square`.
///
/// | option | is | otherwise |
/// |---|---|---|
/// | `cpus` | processors that a call reserves, and threads of the pool in which it runs | 1 |
/// | `retries` | how many times it may be run again after the backend lost an attempt | 3 |
/// | `backoff_ms` | pauses before that, `[first, longest]`, as by [`Calls::backoff`] | none |
/// | `within_ms` | deadline of a call, as by [`Calls::within`] | none |
/// | `memory` | bytes that a call reserves, such as `4 << 30`, as by [`Calls::memory`] | 0 |
/// | `resources` | what else it reserves, `resources(gpu = 1)`, as by [`Calls::resource`] | none |
///
/// [`Calls`] override them for a call.
///
/// The function owns its arguments; they and the result implement serde's traits. It may run more
/// than once, unless `retries = 0`.
///
/// # Examples
///
/// ```
/// use heist_cluster::remote;
///
/// #[remote(cpus = 2, retries = 0)]
/// fn square(x: u64) -> u64 {
///     x * x
/// }
/// assert_eq!(square(7), 49);
///
/// #[remote(memory = 4 << 30, resources(gpu = 1, "fast-disk" = 2), backoff_ms = [100, 60_000])]
/// fn train(epochs: u32) -> u32 {
///     epochs
/// }
/// ```
///
/// Functions that cannot run elsewhere do not compile: references, generics, `async`, methods.
///
/// ```compile_fail
/// #[heist_cluster::remote]
/// fn length(text: &str) -> usize {
///     text.len()
/// }
/// ```
///
/// ```compile_fail
/// #[heist_cluster::remote]
/// fn same<T>(value: T) -> T {
///     value
/// }
/// ```
///
/// ```compile_fail
/// #[heist_cluster::remote]
/// async fn later() -> u64 {
///     7
/// }
/// ```
///
/// Nor do unknown options, calls of functions that are not remote, or wrong arguments.
///
/// ```compile_fail
/// #[heist_cluster::remote(cores = 2)]
/// fn nothing() {}
/// ```
///
/// ```compile_fail
/// # let cluster = heist_cluster::Cluster::connect(heist_cluster::Local::new()).unwrap();
/// fn square(x: u64) -> u64 {
///     x * x
/// }
/// let result = cluster.call(square, 7);
/// ```
///
/// ```compile_fail
/// # let cluster = heist_cluster::Cluster::connect(heist_cluster::Local::new()).unwrap();
/// #[heist_cluster::remote]
/// fn square(x: u64) -> u64 {
///     x * x
/// }
/// let result = cluster.call(square, "seven");
/// ```
pub use heist_cluster_attribute::remote;
pub use log::{LogLine, LogOrigin};
pub use protocol::fingerprint::Fingerprint;

pub use api::job_handle::{JobHandle, JobStatus, UnfinishedJob};
pub use api::json::{ForeignProgram, JsonCall, JsonJob};
pub use api::object::Remote;
pub use driver::options::Options;
/// Workers know the type by its path. The type is not generic.
///
/// # Examples
///
/// See [`Job`]. Without the attribute a job cannot be submitted:
///
/// ```compile_fail,E0277
/// use heist_cluster::{Cluster, Job, JobContext, JobOptions, Local, Stop};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Idle;
///
/// impl Job for Idle {
///     type Out = ();
///     const VERSION: u32 = 1;
///
///     fn run(&mut self, _: &JobContext) -> Result<(), Stop> {
///         Ok(())
///     }
/// }
/// let cluster = Cluster::connect(Local::new()).unwrap();
/// let job = cluster.submit(Idle, JobOptions::new("idle"));
/// ```
pub use heist_cluster_attribute::job;
pub use heist_core::Priority;
pub use protocol::object_id::ObjectId;
pub use protocol::reading::{JobReading, Reading};
pub use protocol::refusal::Refusal;
pub use protocol::trace::Trace;
pub use protocol::JobOutcome;
pub use remote::context::CallContext;
pub use remote::function::{CallOptions, RemoteFunction};
pub use remote::job::{Job, JobContext, Pause, RegisteredJob, Stop};
pub use remote::job_options::JobOptions;
pub use worker::stdio::init;

/// Names for the code that attributes and macros generate.
#[doc(hidden)]
pub mod __private {
    pub use crate::protocol::fingerprint::Part;
    pub use crate::remote::registry::{Library, Registration};
    pub use crate::worker::answer::answer;
    pub use crate::worker::ffi;
    pub use inventory::submit;
}

/// Lets processes of a test program be workers; write it once, in the root.
///
/// It defines a test that passes at once, unless a backend started the program as a worker: then it
/// serves requests. See [`Local::under_test_harness`].
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, Cluster, Local};
///
/// heist_cluster::test_worker!();
///
/// #[remote]
/// fn square(x: u64) -> u64 {
///     x * x
/// }
///
/// // A test.
/// fn squares_are_computed_elsewhere() {
///     let cluster = Cluster::connect(Local::new().under_test_harness()).unwrap();
///     assert_eq!(cluster.call(square, 3).get(), Ok(9));
/// }
/// ```
#[macro_export]
macro_rules! test_worker {
    () => {
        /// Serves requests in a process that a backend started; passes everywhere else.
        #[test]
        fn heist_cluster_worker() {
            $crate::init();
        }
    };
}

// Tests of backends run workers.
#[cfg(test)]
test_worker!();
