//! Backends place work on machines, start it there and carry messages.
//!
//! Retries, epochs, checkpoints and the rebalancer lie above this interface, once for all
//! backends. A backend finds a place, delivers bytes, says when a machine
//! is lost, and never runs a call twice of its own accord.
//!
//! Programs choose one of the three that are here. [`BackendOptions`] and [`Backend`] are for those
//! who write another, or look at what passes through one.
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
mod queue;
mod ray;
mod silence;
pub(crate) mod slurm;

pub use crate::error::BackendError;
pub use crate::protocol::cpus::Cpus;
pub use crate::protocol::needs::Needs;
pub use kind::BackendKind;
pub use local::Local;
pub use ray::Ray;
pub use slurm::Slurm;

/// The choice of a backend and its settings: [`Local`], [`Ray`] or [`Slurm`]. The [module](self)
/// has an example of one's own.
pub trait BackendOptions {
    /// Reaches the backend, and starts what it needs here.
    ///
    /// # Errors
    ///
    /// Says what could not be started or reached.
    fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError>;
}

/// The program for which a backend runs workers; the [module](self) has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Program {
    /// Goes into every request.
    pub fingerprint: Fingerprint,
    /// The parts of that.
    pub(crate) build: Arc<Build>,
    /// The names of its libraries that have [`export!`](macro@crate::export).
    pub libraries: Vec<String>,
    /// How large messages may be.
    pub limits: Limits,
    /// Its executable, if that is not the one that is running.
    pub executable: Option<PathBuf>,
    /// Where lines go that workers print.
    pub(crate) logs: Logs,
}

impl Program {
    /// The executable that is run as a worker: the one that was `named`, or this program if it
    /// can be its own worker. `option` names it otherwise.
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
    /// Processors that the backend gives away there.
    pub cpus: f64,
    /// Memory that the backend gives away there; 0 if it does not say.
    pub memory_bytes: u64,
    /// False if the backend has lost it.
    pub is_alive: bool,
    /// The resources beside processors and memory that it has.
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

/// Where something is to run, as [`Calls`](crate::Calls) say; those have an example.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Placement {
    /// On this machine.
    pub node: Option<NodeId>,
    /// There and nowhere else; otherwise elsewhere if there is no room.
    pub is_pinned: bool,
    /// Preferably where these lie.
    pub near: Vec<ObjectId>,
    /// The resources beside processors that are reserved for it.
    pub needs: Needs,
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
    /// The function and the number of the call, for lines that it prints.
    pub origin: Arc<LogOrigin>,
}

/// Takes the answer to a request, or why there is none. Called once, on any thread; must not wait.
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
    /// The name for people.
    pub name: String,
    /// From where it goes on.
    pub state: Arc<Vec<u8>>,
    /// Processors to reserve.
    pub cpus: Cpus,
    /// Threads of its pool.
    pub threads: u32,
    /// The machine on which it is to run.
    pub placement: Placement,
    /// How often its state is wanted, in milliseconds, for backends whose jobs see to that
    /// themselves.
    pub checkpoint_every_ms: u64,
    /// The shared data that its first state refers to.
    pub objects: Vec<ObjectId>,
    /// The place in a trace of whoever submitted it.
    pub trace: Option<Trace>,
}

impl StartSpec {
    /// For lines that it prints.
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
    /// It has its state and runs.
    Running {
        /// The machine on which it runs.
        node: NodeId,
    },
    /// Its state at a safe point.
    Snapshot {
        /// How much was done, from 0 to 1.
        progress: f64,
        /// From where another attempt can go on.
        state: Vec<u8>,
    },
    /// Its state was wanted, and could not be sent, for this reason. It runs on.
    Unsent(String),
    /// It is over, in order.
    Ended {
        /// The way in which it ended.
        outcome: JobOutcome,
        /// The result or the state.
        payload: Vec<u8>,
    },
    /// The worker refused it. Another attempt would meet the same.
    Refused(Refusal),
    /// The backend lost it.
    Lost(BackendError),
}

/// Takes what becomes of a job, with the epoch. Called on any thread; must not wait.
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

/// Places work, and carries messages; the [module](self) has an example.
///
/// Every method may be called on any thread. None but [`nodes`](Self::nodes), [`put`](Self::put),
/// [`fetch`](Self::fetch) and [`usage`](Self::usage) waits for other machines.
pub trait Backend: Send + Sync {
    /// The name for people.
    fn name(&self) -> &'static str;

    /// The machines.
    ///
    /// # Errors
    ///
    /// Says why they are not known.
    fn nodes(&self) -> Result<Vec<Node>, BackendError>;

    /// Has a worker answer a request, when there is room.
    fn call(&self, call: CallSpec, reply: Reply);

    /// The answer to the request `id` is not wanted: it need not begin, and is asked to end
    /// if it has. With `is_hard` it is made to end, with its worker if need be; what else
    /// runs there is lost, and told so.
    fn cancel(&self, id: u64, is_hard: bool);

    /// Keeps data that calls share.
    ///
    /// # Errors
    ///
    /// Says why it could not be kept.
    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError>;

    /// Gives back shared data.
    ///
    /// # Errors
    ///
    /// Says why it could not be had.
    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError>;

    /// Drops shared data, which has no users left.
    fn forget(&self, id: ObjectId);

    /// Starts an attempt at a job, when there is room, and tells `events` of it until it has
    /// ended, was refused or lost.
    fn start(&self, start: StartSpec, events: JobEvents);

    /// Asks an attempt to pause. It ends as paused, if it does not end first.
    fn pause(&self, job: u64, epoch: u32);

    /// Asks an attempt for its state.
    fn snapshot(&self, job: u64, epoch: u32);

    /// Gives up an attempt, running or not; whatever it still says is not wanted.
    fn stop(&self, job: u64, epoch: u32);

    /// Ends what still runs of a job, given up or not, with its worker if need be; what else runs
    /// there is lost, and told so. Nothing more is said of the job. A backend whose
    /// [`stop`](Self::stop) does so already has nothing to do.
    fn kill(&self, job: u64) {
        let _ = job;
    }

    /// The resources that each machine has used, or why they are unknown. Waits for two seconds at
    /// most.
    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)>;

    /// Ends the cluster: gives up all running and waiting work, tells every waiter, and refuses
    /// later requests.
    fn close(&self);
}
