//! The backend that is always there: worker processes on this machine.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{mpsc, Arc, Weak};
use std::time::{Duration, Instant};

use heist_sync::{thread, Mutex};

use super::hosted::{Attempts, Host, Opened};
use super::link::Link;
use super::queue::{Queue, Room};
use super::{
    Backend, BackendError, BackendOptions, CallSpec, Cpus, JobEvents, Node, Program, Reply,
    StartSpec,
};
use crate::planner::NodeId;
use crate::protocol::environment::{NODE_VARIABLE, OBJECTS_VARIABLE, WORKER_VARIABLE};
use crate::protocol::object_id::ObjectId;
use crate::protocol::reading::Reading;
use crate::protocol::{Answer, Ask, Frame, Limits, Outcome, Request};

/// How long all workers together have to say what they used.
const USAGE_PATIENCE: Duration = Duration::from_secs(2);

/// A worker that lives for less is not replaced at once.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// How many short lives in a row a node may have before it is given up.
const SHORT_LIVES_MAX: u32 = 5;

/// Worker processes on this machine: nothing to install, and the same semantics as a
/// cluster. Each process is a node.
///
/// The workers are processes of the same program, which therefore calls
/// [`init`](crate::init) first in its `main`.
///
/// # Examples
///
/// ```
/// use heist_cluster::{Cluster, ClusterError, Local};
///
/// fn main() -> Result<(), ClusterError> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new().nodes(3).cpus(2))?;
///     let names: Vec<_> = cluster.nodes()?.into_iter().map(|node| node.id.to_string()).collect();
///     assert_eq!(names, ["n1", "n2", "n3"]);
///     Ok(())
/// }
/// ```
///
/// # Cost
///
/// A process for each node, which starts in some milliseconds, and is replaced when it dies.
#[derive(Clone, Debug)]
pub struct Local {
    nodes: u32,
    cpus: u32,
    program: Option<PathBuf>,
    arguments: Vec<String>,
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// One node with all processors that this process may use.
    #[must_use]
    pub fn new() -> Self {
        let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            nodes: 1,
            cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
            program: None,
            arguments: Vec::new(),
        }
    }

    /// How many nodes, at least one. They are called `n1`, `n2` and so on.
    #[must_use]
    pub fn nodes(mut self, nodes: u32) -> Self {
        self.nodes = nodes.max(1);
        self
    }

    /// How many processors each node gives away, at least one.
    #[must_use]
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.cpus = cpus.max(1);
        self
    }

    /// Workers run this program, which has the same remote functions as this one, and calls
    /// [`init`](crate::init).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_cluster::{Cluster, Local};
    /// let refused = Cluster::connect(Local::new().program("/no/such/program"));
    /// assert!(refused.unwrap_err().to_string().contains("/no/such/program"));
    /// ```
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Workers run the test program that is running, and there the test that
    /// [`test_worker!`](macro@crate::test_worker) stands for, which has an example.
    #[must_use]
    pub fn under_test_harness(mut self) -> Self {
        self.arguments = crate::protocol::environment::test_worker_arguments();
        self
    }
}

impl BackendOptions for Local {
    fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError> {
        let is_under_test = !self.arguments.is_empty();
        let path = program.worker(self.program, is_under_test, "Local::program")?;
        let folder = tempfile::Builder::new().prefix("heist-cluster-").tempdir();
        let folder = folder.map_err(|error| {
            BackendError::setup(format!("could not make a folder for shared data: {error}"))
        })?;
        let nodes: Vec<_> = (1..=self.nodes)
            .map(|number| NodeId::from(format!("n{number}")))
            .collect();
        let cpus = Cpus::from(self.cpus);
        let shared = Arc::new(Shared {
            program: path,
            arguments: self.arguments,
            folder,
            fingerprint: program.fingerprint,
            limits: program.limits,
            state: Mutex::new(State {
                workers: nodes.iter().cloned().map(Process::absent).collect(),
                queue: Queue::new(nodes.into_iter().map(|node| (node, cpus))),
                running: Vec::new(),
                is_closed: false,
            }),
            attempts: Attempts::new(program.fingerprint, program.build),
        });
        for at in 0..self.nodes as usize {
            shared.launch(at).map_err(|error| {
                let program = shared.program.display();
                BackendError::setup(format!("could not start a worker, {program}: {error}"))
            })?;
        }
        Ok(Arc::new(LocalBackend { shared }))
    }
}

/// The workers end when it is dropped.
#[derive(Debug)]
struct LocalBackend {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    program: PathBuf,
    arguments: Vec<String>,
    /// Shared data, a file each.
    folder: tempfile::TempDir,
    fingerprint: crate::Fingerprint,
    limits: Limits,
    state: Mutex<State>,
    attempts: Arc<Attempts>,
}

#[derive(Debug)]
struct State {
    workers: Vec<Process>,
    queue: Queue<Item>,
    /// Which request is where, for cancelling.
    running: Vec<(u64, NodeId)>,
    is_closed: bool,
}

/// The process of a node.
#[derive(Debug)]
struct Process {
    node: NodeId,
    running: Option<(Arc<Link>, Child, Instant)>,
    short_lives: u32,
}

impl Process {
    fn absent(node: NodeId) -> Self {
        Self {
            node,
            running: None,
            short_lives: 0,
        }
    }
}

/// Work that waits for room.
enum Item {
    Call(CallSpec, Reply),
    Host(Opened),
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Call(..) => "Call",
            Self::Host(_) => "Host",
        })
    }
}

impl Item {
    fn fail(self, error: BackendError) {
        match self {
            Self::Call(_, reply) => reply(Err(error)),
            Self::Host(opened) => opened(Err(error)),
        }
    }
}

impl Shared {
    /// Starts the process of a node.
    fn launch(self: &Arc<Self>, at: usize) -> io::Result<()> {
        let node = self.state.lock().workers[at].node.clone();
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env(WORKER_VARIABLE, "socket")
            .env(NODE_VARIABLE, node.to_string())
            .env(OBJECTS_VARIABLE, self.folder.path())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // The output of functions is for people.
            .stdout(Stdio::from(io::stderr()));
        let child = command.spawn()?;
        // It holds the other end of the connection; the worker's death must close that.
        drop(command);
        let weak = Arc::downgrade(self);
        let name = format!("the worker {} (process {})", node, child.id());
        let limits = self.limits;
        let link = Link::open(name, ours.try_clone()?, ours, limits, move || {
            ended(&weak, at);
        })?;
        let mut state = self.state.lock();
        state.workers[at].running = Some((link, child, Instant::now()));
        state.queue.set_alive(&node, true);
        drop(state);
        self.dispatch();
        Ok(())
    }

    /// Gives room to those who can have it.
    fn dispatch(self: &Arc<Self>) {
        loop {
            let (room, link, item) = {
                let mut state = self.state.lock();
                let Some((room, item)) = state.queue.pop() else {
                    return;
                };
                let worker = state.workers.iter().find(|worker| worker.node == room.node);
                let link = worker.and_then(|worker| worker.running.as_ref());
                let link = link.map(|(link, ..)| Arc::clone(link));
                if let Item::Call(call, _) = &item {
                    let running = (call.id, room.node.clone());
                    state.running.push(running);
                }
                (room, link, item)
            };
            let Some(link) = link else {
                // It died a moment ago.
                self.state.lock().queue.release(&room);
                item.fail(BackendError::node_died(format!("{} is gone", room.node)));
                continue;
            };
            match item {
                Item::Call(call, reply) => {
                    let this = Arc::clone(self);
                    let id = call.id;
                    let reply = Box::new(move |answer| {
                        let mut state = this.state.lock();
                        state.running.retain(|(running, _)| *running != id);
                        state.queue.release(&room);
                        drop(state);
                        reply(answer);
                        this.dispatch();
                    });
                    link.send(id, call.request, reply);
                }
                Item::Host(opened) => opened(Ok(Arc::new(LocalHost {
                    shared: Arc::clone(self),
                    link,
                    room,
                }))),
            }
        }
    }

    fn enqueue(self: &Arc<Self>, cpus: Cpus, placement: super::Placement, item: Item) {
        let pushed = self.state.lock().queue.push(cpus, placement, item);
        match pushed {
            Ok(()) => self.dispatch(),
            Err((error, item)) => item.fail(error),
        }
    }

    fn links(&self) -> Vec<(NodeId, Option<Arc<Link>>)> {
        let state = self.state.lock();
        let link = |worker: &Process| worker.running.as_ref().map(|(link, ..)| Arc::clone(link));
        state
            .workers
            .iter()
            .map(|worker| (worker.node.clone(), link(worker)))
            .collect()
    }

    fn kill(&self, node: &NodeId) {
        let mut state = self.state.lock();
        let worker = state.workers.iter_mut().find(|worker| worker.node == *node);
        if let Some((_, child, _)) = worker.and_then(|worker| worker.running.as_mut()) {
            // It may be gone already, which is what is wanted.
            let _ = child.kill();
        }
    }
}

/// A worker has ended: another takes its place, unless that does no good.
fn ended(shared: &Weak<Shared>, at: usize) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    let mut state = shared.state.lock();
    let State {
        workers,
        queue,
        is_closed,
        ..
    } = &mut *state;
    let worker = &mut workers[at];
    queue.set_alive(&worker.node, false);
    let lived = worker.running.take().map(|(_, mut child, since)| {
        // The process has closed its end and is dead or dying.
        let _ = child.kill();
        let _ = child.wait();
        since.elapsed()
    });
    if *is_closed {
        return;
    }
    match lived {
        Some(lived) if lived < SHORT_LIFE => worker.short_lives += 1,
        _ => worker.short_lives = 0,
    }
    let give_up = worker.short_lives >= SHORT_LIVES_MAX;
    drop(state);
    if give_up || shared.launch(at).is_err() {
        let mut state = shared.state.lock();
        let nobody = state.workers.iter().all(|worker| worker.running.is_none());
        let waiting: Vec<_> = if nobody {
            state.queue.drain().collect()
        } else {
            Vec::new()
        };
        drop(state);
        for item in waiting {
            item.fail(BackendError::impossible(
                "no worker stays alive on this machine",
            ));
        }
    }
}

/// The worker of a node, with room for an attempt at a job.
#[derive(Debug)]
struct LocalHost {
    shared: Arc<Shared>,
    link: Arc<Link>,
    room: Room,
}

impl Host for LocalHost {
    fn node(&self) -> NodeId {
        self.room.node.clone()
    }

    fn send(&self, id: u64, request: Frame, reply: Reply) {
        self.link.send(id, request, reply);
    }

    /// The attempt shares its process with others, so it is asked to pause, and nobody
    /// listens to what it says then.
    fn kill(&self) {}
}

impl Drop for LocalHost {
    fn drop(&mut self) {
        self.shared.state.lock().queue.release(&self.room);
        self.shared.dispatch();
    }
}

impl Backend for LocalBackend {
    fn name(&self) -> &'static str {
        "local"
    }

    fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        Ok(self.shared.state.lock().queue.nodes().cloned().collect())
    }

    fn call(&self, call: CallSpec, reply: Reply) {
        let (cpus, placement) = (Cpus::from(call.cpus), call.placement.clone());
        self.shared
            .enqueue(cpus, placement, Item::Call(call, reply));
    }

    fn cancel(&self, id: u64, is_hard: bool) {
        let mut state = self.shared.state.lock();
        let waiting = state
            .queue
            .remove(|item| matches!(item, Item::Call(call, _) if call.id == id));
        let running = state.running.iter().find(|(running, _)| *running == id);
        let node = running.map(|(_, node)| node.clone());
        drop(state);
        if let Some(item) = waiting {
            item.fail(BackendError::cancelled());
        }
        let Some(node) = node else {
            return;
        };
        if is_hard {
            return self.shared.kill(&node);
        }
        let links = self.shared.links();
        if let Some((_, Some(link))) = links.into_iter().find(|(name, _)| *name == node) {
            let fingerprint = self.shared.fingerprint;
            let ask = Ask::Cancel { call: id };
            // The number is that of the call, with a bit that no call has.
            let id = id | 1 << 62;
            let request = Request::frame(id, fingerprint, ask, Vec::new());
            link.send(id, request, Box::new(|_| ()));
        }
    }

    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError> {
        let path = self.shared.folder.path().join(id.to_string());
        fs::write(&path, bytes).map_err(|error| {
            BackendError::setup(format!(
                "could not write shared data to {}: {error}",
                path.display()
            ))
        })
    }

    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError> {
        let path = self.shared.folder.path().join(id.to_string());
        fs::read(&path).map_err(|error| {
            BackendError::lost(format!(
                "could not read shared data from {}: {error}",
                path.display()
            ))
        })
    }

    fn forget(&self, id: ObjectId) {
        // The folder goes with the cluster in any case.
        let _ = fs::remove_file(self.shared.folder.path().join(id.to_string()));
    }

    fn start(&self, start: StartSpec, events: JobEvents) {
        let shared = &self.shared;
        shared
            .attempts
            .start(start, events, |cpus, placement, opened| {
                shared.enqueue(cpus, placement, Item::Host(opened));
            });
    }

    fn pause(&self, job: u64, epoch: u32) {
        self.shared.attempts.pause(job, epoch);
    }

    fn snapshot(&self, job: u64, epoch: u32) {
        self.shared.attempts.snapshot(job, epoch);
    }

    fn stop(&self, job: u64, epoch: u32) {
        self.shared.attempts.pause(job, epoch);
        self.shared.attempts.stop(job, epoch);
    }

    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        let deadline = Instant::now() + USAGE_PATIENCE;
        let fingerprint = self.shared.fingerprint;
        let asked: Vec<_> = self
            .shared
            .links()
            .into_iter()
            .map(|(node, link)| {
                let (sender, receiver) = mpsc::channel();
                match link {
                    Some(link) => {
                        // Readings are asked for one at a time, so the number is free.
                        let id = u64::MAX;
                        let request = Request::frame(id, fingerprint, Ask::Usage, Vec::new());
                        // A caller that has stopped waiting needs no answer.
                        link.send(
                            id,
                            request,
                            Box::new(move |answer| drop(sender.send(answer))),
                        );
                    }
                    None => {
                        drop(sender.send(Err(BackendError::node_died(format!("{node} is gone")))));
                    }
                }
                (node, receiver)
            })
            .collect();
        asked
            .into_iter()
            .map(|(node, receiver)| {
                let left = deadline.saturating_duration_since(Instant::now());
                let answer = receiver.recv_timeout(left).unwrap_or_else(|_| {
                    Err(BackendError::lost(format!(
                        "{node} did not say in time what it used"
                    )))
                });
                let reading = answer.and_then(|frame| match frame.understand::<Answer>() {
                    Ok(Answer {
                        outcome: Outcome::Usage(reading),
                        ..
                    }) => Ok(Reading {
                        // The process is the node.
                        family_cpu_ms: Vec::new(),
                        ..reading
                    }),
                    other => Err(BackendError::lost(format!("{node} answered {other:?}"))),
                });
                (node, reading)
            })
            .collect()
    }

    fn close(&self) {
        let mut state = self.shared.state.lock();
        state.is_closed = true;
        let waiting: Vec<_> = state.queue.drain().collect();
        let children: Vec<_> = state
            .workers
            .iter_mut()
            .filter_map(|worker| worker.running.take())
            .collect();
        drop(state);
        for item in waiting {
            item.fail(BackendError::cancelled());
        }
        for (_, mut child, _) in children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for LocalBackend {
    fn drop(&mut self) {
        self.close();
    }
}
