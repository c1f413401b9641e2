//! The backend that uses Ray: its workers load the program's library.
//!
//! A side-car, a Python process beside this one, speaks to Ray for us: actors answer calls,
//! one after the other, an attempt at a job has an actor of its own, shared data is in Ray's
//! object store. Processors are reserved apart from actors, as placement groups.
//! Ray's runtime environment carries the library to the nodes, so nothing needs to be
//! installed there but Ray. Requests and answers pass through Ray unopened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use heist_sync::atomic::AtomicU64;
use heist_sync::Mutex;

use super::hosted::Attempts;
use super::{
    Backend, BackendError, BackendOptions, CallSpec, JobEvents, Node, Program, Reply, StartSpec,
};
use crate::planner::NodeId;
use crate::private::Folder;
use crate::protocol::object_id::ObjectId;
use crate::protocol::reading::Reading;
use crate::protocol::Ask;

mod library;
mod printed;
mod shared;
mod sidecar;
mod usage;

use self::printed::Printed;
use self::shared::{answer_to, frame, request, Shared};
use self::sidecar::{Op, Process, Sidecar};

/// The time limit for connecting to Ray.
const CONNECT_PATIENCE: Duration = Duration::from_secs(60);
/// The time limit for shared data, and for questions about nodes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running [Ray](https://www.ray.io) cluster, 2.40 or a later 2.x.
///
/// The program's remote functions are in a library crate with [`export!`](macro@crate::export) and
/// the crate types `cdylib` and `rlib`. This machine has a Python with the cluster's release of
/// Ray; the nodes need nothing but Ray.
///
/// The environment supplies missing settings:
///
/// | what | variable | otherwise |
/// |---|---|---|
/// | [`address`](Self::address) | `RAY_ADDRESS` | `auto`: the cluster that runs on this machine |
/// | [`python`](Self::python) | `HEIST_RAY_PYTHON` | `python3` |
/// | [`cdylib`](Self::cdylib) | `HEIST_CLUSTER_LIBRARY` | looked for beside the program |
///
/// Ray's own variables, those for its token among them, apply as they are. Two of them, which
/// say how soon a silent connection is given up, are set to three seconds unless they are set
/// (`RAY_grpc_client_keepalive_time_ms` and `RAY_grpc_client_keepalive_timeout_ms`); the nodes
/// should have the same.
///
/// The name of a node is that of `ray start --node-name`, or its label `heist-node`, or its
/// address; its id in Ray works as well.
///
/// Remote functions and jobs print into Ray's log files, from which their workers pass it on; the
/// last words of a worker that dies are only there. Arguments, results and states of more than a
/// mebibyte go through the nodes' object stores, and must fit there. Losing Ray's head node loses
/// everything.
///
/// Calls are answered by workers, processes of some 50 MiB, which keep their processors while
/// calls wait and a tenth of a second longer; a call reserves one processor at least. A worker
/// without processors waits half a minute for more to do on its node. From the first job on
/// one waits on each node for as long as the connection lasts, so that a job that moves does
/// not wait for a process to start.
///
/// Calls of a few milliseconds come to a worker several at once, and all of those are lost with it
/// if it dies. One that takes longer after all holds the others up for some hundredths of a second:
/// those that have not begun by then are given to another worker. [`near`](crate::Cluster::near)
/// only decides between idle workers.
///
/// # Examples
///
/// ```no_run
/// use heist_cluster::{Cluster, Ray};
///
/// let ray = Ray::new()
///     .address("10.0.0.1:6379")
///     .python("/opt/ray/bin/python")
///     .cdylib("target/release/libsimulation.so");
/// let cluster = Cluster::connect(ray)?;
/// # Ok::<(), heist_cluster::ClusterError>(())
/// ```
///
/// # Cost
///
/// Connecting takes seconds, and the first worker of each node some more to load the library. Then
/// a call costs about ten milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Ray {
    address: Option<String>,
    python: Option<PathBuf>,
    cdylib: Option<PathBuf>,
}

impl Ray {
    /// The cluster that the environment names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The address of the head of the cluster: `host:port`, or `auto`.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// A Python with Ray.
    #[must_use]
    pub fn python(mut self, python: impl Into<PathBuf>) -> Self {
        self.python = Some(python.into());
        self
    }

    /// The library with the remote functions and jobs, built from the same code as this program.
    #[must_use]
    pub fn cdylib(mut self, path: impl Into<PathBuf>) -> Self {
        self.cdylib = Some(path.into());
        self
    }
}

impl BackendOptions for Ray {
    fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError> {
        let address = checked(self.address)?;
        let python = self.python.or_else(|| variable("HEIST_RAY_PYTHON"));
        let python = python.unwrap_or_else(|| PathBuf::from("python3"));
        let library = self.cdylib.or_else(|| variable("HEIST_CLUSTER_LIBRARY"));
        let library = match library {
            Some(library) => library,
            None => library::find(&program.libraries, program.executable.as_deref())?,
        };
        let folder = prepare(&library)?;
        let package = folder.path().join(PACKAGE);
        let printed = Printed::new(program.logs);
        let (sidecar, process) = Sidecar::start(&python, folder, &printed)?;

        let hello = request(0, program.fingerprint, Ask::Usage { with_family: false });
        let connect = Op::Connect {
            address: &address,
            package: &package,
        };
        let answer = sidecar.ask(&connect, hello.to_bytes(), CONNECT_PATIENCE);
        let answer = answer.map_err(|error| {
            let printed = process.last_words();
            BackendError::setup(format!(
                "could not connect to Ray at {address} with {} and {}: {error}{printed}",
                python.display(),
                library.display()
            ))
        })?;
        frame(&answer)
            .and_then(|answer| usage::understand(&answer, &program.build))
            .map_err(|error| {
                BackendError::setup(format!("{} cannot be used: {error}", library.display()))
            })?;
        let fingerprint = program.fingerprint;
        let shared = Arc::new(Shared {
            sidecar,
            fingerprint,
            build: Arc::clone(&program.build),
            // Calls count from below; see the driver.
            next_host: AtomicU64::new(1 << 63),
            printed,
            hosts: Mutex::default(),
        });
        Ok(Arc::new(RayBackend {
            shared,
            attempts: Attempts::new(fingerprint, program.build),
            process,
        }))
    }
}

/// The address that was named, or that of the environment.
fn checked(address: Option<String>) -> Result<String, BackendError> {
    let address = match address {
        Some(address) => address,
        None => match env::var("RAY_ADDRESS") {
            Ok(address) if !address.is_empty() => address,
            Ok(_) | Err(env::VarError::NotPresent) => "auto".to_owned(),
            Err(error) => return Err(BackendError::setup(format!("RAY_ADDRESS: {error}"))),
        },
    };
    if address.contains("://") || address == "local" {
        return Err(BackendError::setup(format!(
            "the address of Ray is {address:?}; host:port or \"auto\" is accepted"
        )));
    }
    Ok(address)
}

/// The value of an environment variable, unless it is empty.
fn variable(name: &str) -> Option<PathBuf> {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// The package that travels to the nodes, within the folder of the side-car. Ray names it after its
/// content, so that a worker process has one build of the library for all of its life.
const PACKAGE: &str = "package/heist_ray";

/// A folder with the side-car and what it ships.
fn prepare(library: &Path) -> Result<Folder, BackendError> {
    let write = || {
        let folder = Folder::make_in(&env::temp_dir(), "heist-ray-", |_| true)?;
        let package = folder.path().join(PACKAGE);
        fs::create_dir_all(&package)?;
        for (name, text) in sidecar::FILES {
            fs::write(folder.path().join(name), text)?;
        }
        fs::write(package.join("__init__.py"), include_str!("ray/worker.py"))?;
        fs::copy(library, package.join("library.so"))?;
        Ok(folder)
    };
    write().map_err(|error: std::io::Error| {
        BackendError::setup(format!(
            "could not copy the library {} into a folder for Ray: {error}",
            library.display()
        ))
    })
}

/// The side-car ends when it is dropped, and with it what runs in Ray for us.
#[derive(Debug)]
struct RayBackend {
    shared: Arc<Shared>,
    attempts: Arc<Attempts>,
    process: Process,
}

impl Backend for RayBackend {
    fn name(&self) -> &'static str {
        "ray"
    }

    fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        self.shared.nodes(PATIENCE)
    }

    fn call(&self, call: CallSpec, reply: Reply) {
        let op = Op::Call {
            cpus: call.cpus,
            node: call.placement.node.as_ref(),
            is_pinned: call.placement.is_pinned,
            needs: &call.placement.needs,
            priority: call.placement.priority as u8,
            objects: names(&call.objects),
            near: names(&call.placement.near),
        };
        let printed = Arc::clone(&self.shared.printed);
        printed.begin(call.id, call.origin);
        let reply = answer_to(reply);
        let answered = move |answer| {
            printed.end(call.id);
            reply(answer);
        };
        self.shared
            .sidecar
            .send_call(call.id, &op, call.request.to_bytes(), Box::new(answered));
    }

    fn cancel(&self, id: u64, is_hard: bool) {
        // The number is that of the call, with a bit that no call has.
        let ask = Ask::Cancel { call: id };
        let request = request(id | 1 << 62, self.shared.fingerprint, ask);
        self.shared
            .sidecar
            .tell(&Op::Cancel { call: id, is_hard }, request.to_bytes());
    }

    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError> {
        let object = id.to_string();
        let put = self
            .shared
            .sidecar
            .ask(&Op::Put { object }, bytes, PATIENCE);
        put.map(|_| ())
    }

    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError> {
        let object = id.to_string();
        self.shared
            .sidecar
            .ask(&Op::Fetch { object }, Vec::new(), PATIENCE)
    }

    fn forget(&self, id: ObjectId) {
        let object = id.to_string();
        self.shared.sidecar.tell(&Op::Forget { object }, Vec::new());
    }

    fn start(&self, start: StartSpec, events: JobEvents) {
        let (objects, origin) = (names(&start.objects), start.origin());
        self.attempts
            .start(start, events, |cpus, placement, opened| {
                self.shared.open(cpus, &placement, objects, origin, opened);
            });
    }

    fn pause(&self, job: u64, epoch: u32) {
        self.attempts.pause(job, epoch);
    }

    fn snapshot(&self, job: u64, epoch: u32) {
        self.attempts.snapshot(job, epoch);
    }

    fn stop(&self, job: u64, epoch: u32) {
        self.attempts.stop(job, epoch);
    }

    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        usage::read(&self.shared)
    }

    fn close(&self) {
        self.process.hang_up();
    }
}

fn names(objects: &[ObjectId]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}
