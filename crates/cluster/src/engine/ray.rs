//! The engine for many machines: a Ray cluster, whose workers load the program's library.
//!
//! A side-car, a Python process beside this one, speaks to Ray for us: calls are Ray's
//! tasks, an attempt at a job has an actor of its own, shared data is in Ray's object store.
//! Ray's runtime environment carries the library to the nodes, so nothing needs to be
//! installed there but Ray. Requests and answers pass through Ray unopened.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};
use std::{env, fs};

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::Mutex;

use super::hosted::{Attempts, Host, Opened};
use super::{
    CallSpec, Engine, EngineError, EngineOptions, JobEvents, Node, Placement, Program, Reply,
    StartSpec,
};
use crate::object::ObjectId;
use crate::planner::NodeId;
use crate::remote::Fingerprint;
use crate::wire::{Answer, Ask, Frame, FrameReader, Limits, Outcome, Request};
use crate::worker::Reading;

mod library;
mod sidecar;

use sidecar::{Op, Process, Sidecar};

/// How long Ray may take to let us in.
const CONNECT_PATIENCE: Duration = Duration::from_secs(60);
/// How long shared data may take, and what Ray knows about its nodes.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long all nodes together have to say what they used.
const USAGE_PATIENCE: Duration = Duration::from_secs(2);

/// A [Ray](https://www.ray.io) cluster that is up already, 2.40 or a later 2.x.
///
/// The program's remote functions are in a library crate that has
/// [`export!`](macro@crate::export) and the crate types `cdylib` and `rlib`. This machine
/// has a Python with the cluster's release of Ray; the nodes need nothing but Ray.
///
/// What is not said here comes from the environment:
///
/// | what | variable | otherwise |
/// |---|---|---|
/// | [`address`](Self::address) | `RAY_ADDRESS` | `auto`: the cluster that runs on this machine |
/// | [`python`](Self::python) | `HEIST_RAY_PYTHON` | `python3` |
/// | [`library`](Self::library) | `HEIST_CLUSTER_LIBRARY` | looked for beside the program |
///
/// Ray's own variables, those for its token among them, apply as they are. Two of them, which
/// say how soon a silent connection is given up, are set to three seconds unless they are set
/// (`RAY_grpc_client_keepalive_time_ms` and `RAY_grpc_client_keepalive_timeout_ms`); the nodes
/// should have the same.
///
/// A node is called as `ray start --node-name` said, or its label `heist-node`, or by its
/// address. Its id in Ray is understood as well.
///
/// What remote functions print is in Ray's log files. A call whose data is more than a
/// mebibyte goes through the object store of the nodes, and has to fit there.
///
/// # Examples
///
/// ```no_run
/// use heist_cluster::{Cluster, Ray};
///
/// let cluster = Cluster::connect(Ray::new().address("10.0.0.1:6379"))?;
/// # Ok::<(), heist_cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ray {
    address: Option<String>,
    python: Option<PathBuf>,
    library: Option<PathBuf>,
}

impl Ray {
    /// The cluster that the environment says.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the head of the cluster listens: `host:port`, or `auto`.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// The Python that has Ray.
    #[must_use]
    pub fn python(mut self, python: impl Into<PathBuf>) -> Self {
        self.python = Some(python.into());
        self
    }

    /// The library with the remote functions and jobs of this program, built from the same
    /// code as the program.
    #[must_use]
    pub fn library(mut self, library: impl Into<PathBuf>) -> Self {
        self.library = Some(library.into());
        self
    }
}

impl EngineOptions for Ray {
    fn connect(self, program: Program) -> Result<Arc<dyn Engine>, EngineError> {
        let address = match self.address {
            Some(address) => address,
            None => match env::var("RAY_ADDRESS") {
                Ok(address) if !address.is_empty() => address,
                Ok(_) | Err(env::VarError::NotPresent) => "auto".to_owned(),
                Err(error) => return Err(EngineError::setup(format!("RAY_ADDRESS: {error}"))),
            },
        };
        if address.contains("://") || address == "local" {
            return Err(EngineError::setup(format!(
                "the address of Ray is {address:?}; host:port or \"auto\" is accepted"
            )));
        }
        let python = self.python.or_else(|| variable("HEIST_RAY_PYTHON"));
        let python = python.unwrap_or_else(|| PathBuf::from("python3"));
        let library = self.library.or_else(|| variable("HEIST_CLUSTER_LIBRARY"));
        let library = match library {
            Some(library) => library,
            None => library::find(&program.libraries)?,
        };
        let folder = prepare(&library)?;
        let package = folder.path().join(PACKAGE);
        let (sidecar, process) = Sidecar::start(&python, folder)?;

        let hello = request(0, program.fingerprint, Ask::Usage);
        let connect = Op::Connect {
            address: &address,
            package: &package,
        };
        let answer = sidecar.ask(&connect, &hello.to_bytes(), CONNECT_PATIENCE);
        let answer = answer.map_err(|error| {
            let printed = process.last_words();
            EngineError::setup(format!(
                "could not connect to Ray at {address} with {} and {}: {error}{printed}",
                python.display(),
                library.display()
            ))
        })?;
        understand(&answer).map_err(|error| {
            EngineError::setup(format!("{} cannot be used: {error}", library.display()))
        })?;
        let fingerprint = program.fingerprint;
        let shared = Arc::new(Shared {
            sidecar,
            fingerprint,
            next_host: AtomicU64::new(1),
            hosts: Mutex::default(),
        });
        Ok(Arc::new(RayEngine {
            shared,
            attempts: Attempts::new(fingerprint),
            _process: process,
        }))
    }
}

/// What a variable of the environment says, unless it is empty.
fn variable(name: &str) -> Option<PathBuf> {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// What travels to the nodes, within the folder of the side-car. Ray names it after its
/// content, so that a worker process has one build of the library for all of its life.
const PACKAGE: &str = "package/heist_ray";

/// A folder with the side-car and what it ships.
fn prepare(library: &Path) -> Result<tempfile::TempDir, EngineError> {
    let write = || {
        let folder = tempfile::Builder::new().prefix("heist-ray-").tempdir()?;
        let package = folder.path().join(PACKAGE);
        fs::create_dir_all(&package)?;
        let sidecar = folder.path().join(sidecar::SCRIPT);
        fs::write(sidecar, include_str!("ray/sidecar.py"))?;
        fs::write(package.join("__init__.py"), include_str!("ray/worker.py"))?;
        fs::copy(library, package.join("library.so"))?;
        Ok(folder)
    };
    write().map_err(|error: std::io::Error| {
        EngineError::setup(format!(
            "could not copy the library {} into a folder for Ray: {error}",
            library.display()
        ))
    })
}

/// The side-car ends when it is dropped, and with it what runs in Ray for us.
#[derive(Debug)]
struct RayEngine {
    shared: Arc<Shared>,
    attempts: Arc<Attempts>,
    _process: Process,
}

#[derive(Debug)]
struct Shared {
    sidecar: Arc<Sidecar>,
    fingerprint: Fingerprint,
    next_host: AtomicU64,
    /// The actors of jobs, and where they are.
    hosts: Mutex<HashMap<u64, NodeId>>,
}

impl Shared {
    fn open(self: &Arc<Self>, cpus: f64, placement: &Placement, opened: Opened) {
        // Only uniqueness matters.
        let host = self.next_host.fetch_add(1, Ordering::Relaxed);
        let op = Op::Open {
            host,
            cpus,
            node: placement.node.as_ref(),
            is_pinned: placement.is_pinned,
        };
        let shared = Arc::clone(self);
        let ready = move |answer: Result<Vec<u8>, EngineError>| {
            opened(answer.map(|name| {
                let node = NodeId::from(String::from_utf8_lossy(&name).into_owned());
                shared.hosts.lock().insert(host, node.clone());
                let id = host;
                Arc::new(RayHost { shared, id, node }) as Arc<dyn Host>
            }));
        };
        self.sidecar.send(&op, &[], Box::new(ready));
    }

    fn ask_host(&self, host: u64, request: &Frame, reply: Reply) {
        let request = request.to_bytes();
        self.sidecar
            .send(&Op::Ask { host }, &request, answer_to(reply));
    }
}

/// The actor of an attempt at a job.
#[derive(Debug)]
struct RayHost {
    shared: Arc<Shared>,
    id: u64,
    node: NodeId,
}

impl Host for RayHost {
    fn node(&self) -> NodeId {
        self.node.clone()
    }

    fn send(&self, _: u64, request: Frame, reply: Reply) {
        self.shared.ask_host(self.id, &request, reply);
    }

    fn kill(&self) {
        self.shared.hosts.lock().remove(&self.id);
        self.shared.sidecar.tell(&Op::Close { host: self.id });
    }
}

impl Drop for RayHost {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Engine for RayEngine {
    fn name(&self) -> &'static str {
        "ray"
    }

    fn nodes(&self) -> Result<Vec<Node>, EngineError> {
        self.nodes_within(PATIENCE)
    }

    fn call(&self, call: CallSpec, reply: Reply) {
        let mut requests = call.request.to_bytes();
        // The number is that of the call, with a bit that no call has.
        let (id, ask) = (call.id | 1 << 62, Ask::Cancel { call: call.id });
        requests.extend(request(id, self.shared.fingerprint, ask).to_bytes());
        let op = Op::Call {
            cpus: call.cpus,
            node: call.placement.node.as_ref(),
            is_pinned: call.placement.is_pinned,
            objects: names(&call.objects),
            near: names(&call.placement.near),
        };
        self.shared
            .sidecar
            .send_call(call.id, &op, &requests, answer_to(reply));
    }

    fn cancel(&self, id: u64, is_hard: bool) {
        self.shared.sidecar.tell(&Op::Cancel { call: id, is_hard });
    }

    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), EngineError> {
        let object = id.to_string();
        let put = self
            .shared
            .sidecar
            .ask(&Op::Put { object }, &bytes, PATIENCE);
        put.map(|_| ())
    }

    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, EngineError> {
        let object = id.to_string();
        self.shared
            .sidecar
            .ask(&Op::Fetch { object }, &[], PATIENCE)
    }

    fn forget(&self, id: ObjectId) {
        let object = id.to_string();
        self.shared.sidecar.tell(&Op::Forget { object });
    }

    fn start(&self, start: StartSpec, events: JobEvents) {
        self.attempts
            .start(start, events, |cpus, placement, opened| {
                self.shared.open(cpus, &placement, opened);
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

    fn usage(&self) -> Vec<(NodeId, Result<Reading, EngineError>)> {
        let deadline = Instant::now() + USAGE_PATIENCE;
        let Ok(nodes) = self.nodes_within(USAGE_PATIENCE) else {
            return Vec::new();
        };
        let shared = &self.shared;
        let frame = request(0, shared.fingerprint, Ask::Usage);
        let bytes = frame.to_bytes();
        let probes: Vec<_> = nodes
            .into_iter()
            .map(|node| {
                let (sender, receiver) = mpsc::channel();
                // Who has stopped waiting does not mind.
                let told: Reply = Box::new(move |answer| drop(sender.send(answer)));
                match node.is_alive {
                    true => {
                        let op = Op::Probe { node: &node.id };
                        shared.sidecar.send(&op, &bytes, answer_to(told));
                    }
                    false => told(Err(EngineError::node_died(format!("{} is gone", node.id)))),
                }
                (node.id, receiver)
            })
            .collect();
        let hosts: Vec<_> = shared
            .hosts
            .lock()
            .iter()
            .map(|(host, node)| (*host, node.clone()))
            .collect();
        let jobs: Vec<_> = hosts
            .into_iter()
            .map(|(host, node)| {
                let (sender, receiver) = mpsc::channel();
                let told = Box::new(move |answer| drop(sender.send(answer)));
                shared.ask_host(host, &frame, told);
                (node, receiver)
            })
            .collect();

        let wait = |node: &NodeId, receiver: mpsc::Receiver<Result<Frame, EngineError>>| {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = receiver.recv_timeout(left).unwrap_or_else(|_| {
                Err(EngineError::lost(format!(
                    "{node} did not say in time what it used"
                )))
            });
            answer.and_then(|frame| reading(&frame))
        };
        let mut readings: Vec<_> = probes
            .into_iter()
            .map(|(node, receiver)| {
                let reading = wait(&node, receiver);
                (node, reading)
            })
            .collect();
        for (at, receiver) in jobs {
            // The job of an actor that says nothing has no reading, as one that has ended.
            let Ok(of_job) = wait(&at, receiver) else {
                continue;
            };
            let node = readings.iter_mut().find(|(node, _)| *node == at);
            if let Some((_, Ok(reading))) = node {
                reading.jobs.extend(of_job.jobs);
            }
        }
        readings
    }
}

impl RayEngine {
    fn nodes_within(&self, patience: Duration) -> Result<Vec<Node>, EngineError> {
        let nodes = self.shared.sidecar.ask(&Op::Nodes, &[], patience)?;
        serde_json::from_slice(&nodes)
            .map_err(|error| EngineError::lost(format!("what Ray says of its nodes: {error}")))
    }
}

fn request(id: u64, fingerprint: Fingerprint, ask: Ask) -> Frame {
    let request = Request {
        id,
        fingerprint,
        ask,
    };
    Frame::new(&request, Vec::new())
}

fn names(objects: &[ObjectId]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

/// Passes on the frame in an answer of the side-car.
fn answer_to(reply: Reply) -> sidecar::Answered {
    Box::new(move |answer| reply(answer.and_then(|bytes| frame(&bytes))))
}

fn frame(bytes: &[u8]) -> Result<Frame, EngineError> {
    FrameReader::new(bytes, Limits::default())
        .read()
        .map_err(|error| EngineError::lost(format!("an answer cannot be understood: {error}")))
}

fn understand(bytes: &[u8]) -> Result<Reading, EngineError> {
    reading(&frame(bytes)?)
}

fn reading(frame: &Frame) -> Result<Reading, EngineError> {
    match frame.understand::<Answer>().map(|answer| answer.outcome) {
        Ok(Outcome::Usage(reading)) => Ok(reading),
        Ok(Outcome::Refused(refusal)) => Err(EngineError::impossible(refusal.to_string())),
        other => Err(EngineError::lost(format!(
            "the answer to a question for usage was {other:?}"
        ))),
    }
}
