//! Backends place work on machines, start it there and carry messages.
//!
//! Retries, epochs, checkpoints and the rebalancer sit above this interface, once for all backends.
//! A backend finds a place, delivers bytes, reports lost machines, and never runs a call twice by
//! itself.
//!
//! Programs choose one of the three here. [`BackendOptions`] and [`Backend`] are for writing
//! another, or observing one.
//!
//! # Examples
//!
//! A backend that counts the calls of another one:
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::sync::Arc;
//!
//! use heist_cluster::backend::{
//!     Backend, BackendError, BackendOptions, CallSpec, JobEvents, Local, Node, Program, Reply,
//!     StartSpec,
//! };
//! use heist_cluster::planner::NodeId;
//! use heist_cluster::{remote, Cluster, ObjectId, Reading};
//!
//! /// The backend to use, and where its calls are counted.
//! struct Counted(Local, Arc<AtomicU64>);
//!
//! impl BackendOptions for Counted {
//!     fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError> {
//!         println!("build {}", program.fingerprint);
//!         Ok(Arc::new(Counting { inner: self.0.connect(program)?, calls: self.1 }))
//!     }
//! }
//!
//! struct Counting {
//!     inner: Arc<dyn Backend>,
//!     calls: Arc<AtomicU64>,
//! }
//!
//! impl Backend for Counting {
//!     fn call(&self, call: CallSpec, reply: Reply) {
//!         self.calls.fetch_add(1, Ordering::Relaxed);
//!         self.inner.call(call, reply);
//!     }
//!
//!     // All else is left to the other one.
//!     fn name(&self) -> &'static str {
//!         self.inner.name()
//!     }
//!     fn nodes(&self) -> Result<Vec<Node>, BackendError> {
//!         self.inner.nodes()
//!     }
//!     // ..
//! #     fn cancel(&self, id: u64, is_hard: bool) { self.inner.cancel(id, is_hard); }
//! #     fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError> {
//! #         self.inner.put(id, bytes)
//! #     }
//! #     fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError> { self.inner.fetch(id) }
//! #     fn forget(&self, id: ObjectId) { self.inner.forget(id); }
//! #     fn start(&self, start: StartSpec, events: JobEvents) { self.inner.start(start, events); }
//! #     fn pause(&self, job: u64, epoch: u32) { self.inner.pause(job, epoch); }
//! #     fn snapshot(&self, job: u64, epoch: u32) { self.inner.snapshot(job, epoch); }
//! #     fn stop(&self, job: u64, epoch: u32) { self.inner.stop(job, epoch); }
//! #     fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> { self.inner.usage() }
//! #     fn close(&self) { self.inner.close(); }
//! }
//!
//! #[remote]
//! fn square(x: u64) -> u64 {
//!     x * x
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     heist_cluster::init();
//!     let calls = Arc::new(AtomicU64::new(0));
//!     let cluster = Cluster::connect(Counted(Local::new(), Arc::clone(&calls)))?;
//!     assert_eq!(cluster.call(square, 3).get()?, 9);
//!     assert_eq!(calls.load(Ordering::Relaxed), 1);
//!     Ok(())
//! }
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::log::{LogOrigin, Logs};
use crate::planner::{JobId, NodeId};
use crate::protocol::environment::is_initialised;
use crate::protocol::fingerprint::{Build, Fingerprint};
use crate::protocol::object_id::ObjectId;
use crate::protocol::reading::Reading;
use crate::protocol::refusal::Refusal;
use crate::protocol::trace::Trace;
use crate::protocol::JobOutcome;
use crate::protocol::{Frame, Limits};

mod hosted;
mod kind;
pub(crate) mod link;
mod local;
pub(crate) mod own;
pub(crate) mod poller;
mod queue;
mod ray;
mod silence;
pub(crate) mod slurm;
mod turns;

pub use crate::error::BackendError;
pub use crate::protocol::cpus::Cpus;
pub use crate::protocol::needs::Needs;
pub use heist_core::Priority;
pub use kind::BackendKind;
pub use local::Local;
pub use ray::Ray;
pub use slurm::Slurm;

/// The choice of a backend and its settings: [`Local`], [`Ray`] or [`Slurm`]. The [module](self)
/// has an example of another.
pub trait BackendOptions {
    /// Connects to the backend, and starts its local processes.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be started or reached.
    fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError>;
}

/// The program for which a backend runs workers; the [module](self) has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Program {
    /// The fingerprint of the build, for every request.
    pub fingerprint: Fingerprint,
    /// The parts of that.
    pub(crate) build: Arc<Build>,
    /// The names of its libraries with [`export!`](macro@crate::export).
    pub libraries: Vec<String>,
    /// How large messages may be.
    pub limits: Limits,
    /// Its executable, if not the running one.
    pub executable: Option<PathBuf>,
    /// The destination of lines that workers print.
    pub(crate) logs: Logs,
}

impl Program {
    /// The executable for workers: the one that was `named`, or this program if it can be its own
    /// worker. Errors recommend `option`.
    fn worker(
        &self,
        named: Option<PathBuf>,
        is_under_test: bool,
        option: &str,
    ) -> Result<PathBuf, BackendError> {
        if let Some(path) = named.or_else(|| self.executable.clone()) {
            return Ok(path);
        }
        if !is_under_test && !is_initialised() {
            return Err(BackendError::setup(format!(
                "this program cannot be its own worker, because it does not call \
                 heist_cluster::init() first in main; do so, or name another program with {option}"
            )));
        }
        std::env::current_exe().map_err(|error| {
            BackendError::setup(format!("could not find out which program this is: {error}"))
        })
    }
}

/// A machine, or what the backend treats as one.
///
/// # Examples
///
/// ```
/// use heist_cluster::backend::Node;
///
/// let mut node = Node::new("n1".into(), 4.0);
/// assert!(node.is_alive);
/// node.memory_bytes = 16 << 30;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Node {
    /// The backend's name for it.
    pub id: NodeId,
    /// Processors that the backend allocates there.
    pub cpus: f64,
    /// Memory that the backend allocates there; 0 if unknown.
    pub memory_bytes: u64,
    /// False if the backend has lost it.
    pub is_alive: bool,
    /// Its resources beside processors and memory.
    #[serde(default)]
    pub resources: BTreeMap<String, u32>,
}

impl Node {
    /// A machine that is there.
    #[must_use]
    pub fn new(id: NodeId, cpus: f64) -> Self {
        Self {
            id,
            cpus,
            memory_bytes: 0,
            is_alive: true,
            resources: BTreeMap::new(),
        }
    }

    /// All that it has beside processors.
    pub(crate) fn needs(&self) -> Needs {
        Needs::new(self.memory_bytes, &self.resources)
    }
}

/// The placement of a call or a job; [`Calls`](crate::Calls) has an example.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Placement {
    /// On this machine.
    pub node: Option<NodeId>,
    /// True if no other machine will do when there is no room.
    pub is_pinned: bool,
    /// Data to be near, if possible.
    pub near: Vec<ObjectId>,
    /// The resources to reserve beside processors.
    pub needs: Needs,
    /// The urgency of a call among those that wait. The attempts at jobs are normal.
    pub priority: Priority,
}

/// A request that any worker can answer; the [module](self) has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallSpec {
    /// The number of the request in the frame, unique for this attempt.
    pub id: u64,
    /// The request.
    pub request: Frame,
    /// Processors to reserve.
    pub cpus: u32,
    /// The machine on which it is to run.
    pub placement: Placement,
    /// The shared data among its arguments.
    pub objects: Vec<ObjectId>,
    /// The origin of lines that it prints: the function and the number of the call.
    pub origin: Arc<LogOrigin>,
}

/// Receives the answer to a request, or an error. Called once, on any thread; must not block.
///
/// # Examples
///
/// ```
/// use heist_cluster::backend::{BackendError, Reply};
///
/// let reply: Reply = Box::new(|answer| assert!(answer.is_err_and(|error| error.is_cancelled())));
/// reply(Err(BackendError::cancelled()));
/// ```
pub type Reply = Box<dyn FnOnce(Result<Frame, BackendError>) + Send>;

/// An attempt at a job; the [module](self) has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StartSpec {
    /// The driver's number of the job.
    pub job: u64,
    /// The attempt's number.
    pub epoch: u32,
    /// The name of its type.
    pub kind: String,
    /// The display name.
    pub name: String,
    /// The state from which it resumes.
    pub state: Arc<Vec<u8>>,
    /// Processors to reserve.
    pub cpus: Cpus,
    /// Threads of its pool.
    pub threads: u32,
    /// The machine on which it is to run.
    pub placement: Placement,
    /// The interval between checkpoints in milliseconds, for backends whose jobs take them on their
    /// own.
    pub checkpoint_every_ms: u64,
    /// The shared data that its first state refers to.
    pub objects: Vec<ObjectId>,
    /// The submitter's place in a trace.
    pub trace: Option<Trace>,
}

impl StartSpec {
    /// The origin of lines that it prints.
    fn origin(&self) -> LogOrigin {
        LogOrigin::Job {
            job: JobId::from(self.name.as_str()),
            epoch: self.epoch,
            trace: self.trace,
        }
    }
}

/// An event in the life of an attempt; [`JobEvents`] has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JobEvent {
    /// It received its state and runs.
    Running {
        /// The machine on which it runs.
        node: NodeId,
    },
    /// Its state at a safe point.
    Snapshot {
        /// The progress, from 0 to 1.
        progress: f64,
        /// The state from which another attempt can resume.
        state: Vec<u8>,
    },
    /// Its state was requested and could not be sent, for this reason. It continues.
    Unsent(String),
    /// It ended in order.
    Ended {
        /// The way in which it ended.
        outcome: JobOutcome,
        /// The result or the state.
        payload: Vec<u8>,
    },
    /// The worker refused it, as it would another attempt.
    Refused(Refusal),
    /// The backend lost it.
    Lost(BackendError),
}

/// Receives the events of a job with their epoch. Called on any thread; must not block.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use heist_cluster::backend::{BackendError, JobEvent, JobEvents};
///
/// let events: JobEvents = Arc::new(|epoch, event| println!("attempt {epoch}: {event:?}"));
/// events(0, JobEvent::Running { node: "n1".into() });
/// events(0, JobEvent::Lost(BackendError::node_died("n1 is gone")));
/// ```
pub type JobEvents = Arc<dyn Fn(u32, JobEvent) + Send + Sync>;

/// A backend: places work and carries messages. The [module](self) has an example.
///
/// Every method may be called on any thread. Only [`nodes`](Self::nodes), [`put`](Self::put),
/// [`fetch`](Self::fetch) and [`usage`](Self::usage) wait for other machines.
pub trait Backend: Send + Sync {
    /// The name for people.
    fn name(&self) -> &'static str;

    /// The machines.
    ///
    /// # Errors
    ///
    /// Fails if they are not known.
    fn nodes(&self) -> Result<Vec<Node>, BackendError>;

    /// Has a worker answer a request, when there is room.
    fn call(&self, call: CallSpec, reply: Reply);

    /// Cancels the request `id`: it need not begin, and is asked to end if it has. With `is_hard`
    /// it is killed, with its worker if need be; other work there is reported as lost.
    fn cancel(&self, id: u64, is_hard: bool);

    /// Stores shared data.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be kept.
    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError>;

    /// Returns shared data.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError>;

    /// Drops shared data that has no users left.
    fn forget(&self, id: ObjectId);

    /// Starts an attempt at a job when there is room, and calls `events` until it has ended, was
    /// refused or is lost.
    fn start(&self, start: StartSpec, events: JobEvents);

    /// Asks an attempt to pause. It ends as paused, unless it ends first.
    fn pause(&self, job: u64, epoch: u32);

    /// Asks an attempt for its state.
    fn snapshot(&self, job: u64, epoch: u32);

    /// Abandons an attempt, running or not; its further events are ignored.
    fn stop(&self, job: u64, epoch: u32);

    /// Kills all attempts at a job that still run, abandoned or not, with their workers if need be;
    /// other work there is reported as lost. No event of the job follows. A backend whose
    /// [`stop`](Self::stop) does this already has nothing to do.
    fn kill(&self, job: u64) {
        let _ = job;
    }

    /// The usage of each machine, or the reason why it is unknown. Waits for at most two seconds.
    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)>;

    /// Ends the cluster: abandons all work, tells every waiter, and refuses later requests.
    fn close(&self);
}
