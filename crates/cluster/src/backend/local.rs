//! The backend that is always there: worker processes on this machine.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_sync::{thread, Mutex};
use rustix::io::Errno;

use super::hosted::Attempts;
use super::poller::Poller;
use super::queue::Queue;
use super::{
    Backend, BackendError, BackendOptions, CallSpec, Cpus, JobEvents, Needs, Node, Program, Reply,
    StartSpec,
};
use crate::planner::NodeId;
use crate::private::{self, Folder};
use crate::protocol::object_id::ObjectId;
use crate::protocol::reading::Reading;
use crate::protocol::{Answer, Ask, Outcome, Request};

mod process;
mod words;
mod workers;

use workers::{keep, Item, Process, Shared, State, Whereabouts};

/// The time in which all workers together must report their usage.
const USAGE_PATIENCE: Duration = Duration::from_secs(2);

/// Begins the names of folders with shared data.
const PREFIX: &str = "heist-cluster-";

/// The default of [`Local::lost_after`].
const SILENCE: Duration = Duration::from_secs(30);

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
/// A process for each node, which starts in a few milliseconds and is replaced when it dies, and
/// two descriptors of the driver: a socket, and a pipe for what the worker prints. Two threads
/// serve all nodes: one reads and writes, and one waits for processes.
#[derive(Clone, Debug)]
pub struct Local {
    nodes: u32,
    cpus: u32,
    each: Needs,
    silence: Duration,
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
            each: Needs::default(),
            silence: SILENCE,
            program: None,
            arguments: Vec::new(),
        }
    }

    /// The most nodes. Each is a process, and takes some of the driver's descriptors.
    pub const NODES_MAX: u32 = 4096;

    /// The number of nodes, from 1 to [`NODES_MAX`](Self::NODES_MAX); connecting fails with more.
    /// They are called `n1`, `n2` and so on.
    #[must_use]
    pub fn nodes(mut self, nodes: u32) -> Self {
        self.nodes = nodes.max(1);
        self
    }

    /// The processors of each node, at least one.
    #[must_use]
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.cpus = cpus.max(1);
        self
    }

    /// The memory of each node, by which calls with [`Calls::memory`](crate::Calls::memory) are
    /// placed; unlimited by default. It is counted, not enforced.
    ///
    /// [`Calls::resource`](crate::Calls::resource) has an example.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.each.memory_bytes = bytes;
        self
    }

    /// How many of the resource `name`, such as `gpu`, each node has; none by default. They are
    /// only counted.
    ///
    /// [`Calls::resource`](crate::Calls::resource) has an example.
    #[must_use]
    pub fn resource(mut self, name: impl Into<String>, count: u32) -> Self {
        self.each.named.insert(name.into(), count);
        self
    }

    /// How long a worker may show no sign of life: 30 s by default, at least 100 ms. Then it is
    /// killed and replaced, and its work retried. A function that computes does not make it silent;
    /// a stopped process is.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use heist_cluster::Local;
    ///
    /// // Where workers may be swapped out for long.
    /// let patient = Local::new().lost_after(Duration::from_secs(300));
    /// # drop(patient);
    /// ```
    #[must_use]
    pub fn lost_after(mut self, silence: Duration) -> Self {
        self.silence = silence.max(Duration::from_millis(100));
        self
    }

    /// Runs another program as workers; it has the same remote functions and calls
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

    /// Runs this test program as workers, by the test that
    /// [`test_worker!`](macro@crate::test_worker) defines, which has an example.
    #[must_use]
    pub fn under_test_harness(mut self) -> Self {
        self.arguments = crate::protocol::environment::test_worker_arguments();
        self
    }
}

impl BackendOptions for Local {
    fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError> {
        if self.nodes > Self::NODES_MAX {
            return Err(BackendError::setup(format!(
                "{} nodes of Local were wanted, each a process of this machine; {} is the most",
                self.nodes,
                Self::NODES_MAX
            )));
        }
        if let Some(fault) = self.each.fault() {
            return Err(BackendError::setup(fault));
        }
        let is_under_test = !self.arguments.is_empty();
        let path = program.worker(self.program, is_under_test, "Local::program")?;
        let folder = Folder::make_in(&env::temp_dir(), PREFIX, |_| true).map_err(|error| {
            BackendError::setup(format!("could not make a folder for shared data: {error}"))
        })?;
        let nodes: Vec<_> = (1..=self.nodes)
            .map(|number| NodeId::from(format!("n{number}")))
            .collect();
        let cpus = Cpus::from(self.cpus);
        let failed = |error: io::Error| not_started(&path, self.nodes, &error);
        let (sender, ended) = mpsc::channel();
        let shared = Arc::new(Shared {
            poller: Poller::start().map_err(failed)?,
            program: path.clone(),
            arguments: self.arguments,
            silence: self.silence,
            folder,
            fingerprint: program.fingerprint,
            limits: program.limits,
            logs: program.logs,
            state: Mutex::new(State {
                workers: nodes.iter().cloned().map(Process::absent).collect(),
                queue: Queue::new(nodes.into_iter().map(|node| (node, cpus)), &self.each),
                calls: HashMap::new(),
                ended: Some(sender),
            }),
            attempts: Attempts::new(program.fingerprint, program.build),
        });
        // From here on its workers end with it.
        let backend = Arc::new(LocalBackend(Arc::clone(&shared)));
        keep(&shared, ended).map_err(failed)?;
        for at in 0..self.nodes as usize {
            shared.launch(at).map_err(failed)?;
        }
        Ok(backend)
    }
}

/// A worker could not be started.
fn not_started(program: &Path, nodes: u32, error: &io::Error) -> BackendError {
    let program = program.display();
    let hint = match error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) {
        true => format!(
            "; {nodes} nodes take {} descriptors, and `ulimit -n` says how many there may be",
            2 * nodes
        ),
        false => String::new(),
    };
    BackendError::setup(format!(
        "could not start a worker, {program}: {error}{hint}"
    ))
}

/// The workers end when it is dropped.
#[derive(Debug)]
struct LocalBackend(Arc<Shared>);

impl Backend for LocalBackend {
    fn name(&self) -> &'static str {
        "local"
    }

    fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        Ok(self.0.state.lock().queue.nodes().cloned().collect())
    }

    fn call(&self, call: CallSpec, reply: Reply) {
        let (cpus, placement) = (Cpus::from(call.cpus), call.placement.clone());
        self.0.enqueue(cpus, &placement, Item::Call(call, reply));
    }

    fn cancel(&self, id: u64, is_hard: bool) {
        let mut state = self.0.state.lock();
        let link = match state.calls.get(&id) {
            None => return,
            Some(Whereabouts::Waits(number)) => {
                let number = *number;
                state.calls.remove(&id);
                let waiting = state.queue.remove(number);
                drop(state);
                return waiting
                    .into_iter()
                    .for_each(|item| item.fail(BackendError::cancelled()));
            }
            Some(Whereabouts::Runs(link)) => Arc::clone(link),
        };
        drop(state);
        if is_hard {
            self.0.kill(&link, "a call");
        } else {
            let fingerprint = self.0.fingerprint;
            let ask = Ask::Cancel { call: id };
            // The number is that of the call, with a bit that no call has.
            let id = id | 1 << 62;
            let request = Request::frame(id, fingerprint, ask, Vec::new());
            link.send(id, request, Box::new(|_| ()));
        }
    }

    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError> {
        let path = self.0.folder.path().join(id.to_string());
        let written = private::create(&path).and_then(|mut file| file.write_all(&bytes));
        written.map_err(|error| {
            BackendError::setup(format!(
                "could not write shared data to {}: {error}",
                path.display()
            ))
        })
    }

    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError> {
        let path = self.0.folder.path().join(id.to_string());
        fs::read(&path).map_err(|error| {
            BackendError::lost(format!(
                "could not read shared data from {}: {error}",
                path.display()
            ))
        })
    }

    fn forget(&self, id: ObjectId) {
        // The folder goes with the cluster in any case.
        let _ = fs::remove_file(self.0.folder.path().join(id.to_string()));
    }

    fn start(&self, start: StartSpec, events: JobEvents) {
        let shared = &self.0;
        let origin = Arc::new(start.origin());
        shared
            .attempts
            .start(start, events, |cpus, placement, opened| {
                shared.enqueue(cpus, &placement, Item::Host(origin, opened));
            });
    }

    fn pause(&self, job: u64, epoch: u32) {
        self.0.attempts.pause(job, epoch);
    }

    fn snapshot(&self, job: u64, epoch: u32) {
        self.0.attempts.snapshot(job, epoch);
    }

    fn stop(&self, job: u64, epoch: u32) {
        self.0.attempts.stop(job, epoch);
    }

    fn kill(&self, job: u64) {
        self.0.attempts.kill(job);
    }

    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        let deadline = Instant::now() + USAGE_PATIENCE;
        let fingerprint = self.0.fingerprint;
        let asked: Vec<_> = self
            .0
            .links()
            .into_iter()
            .map(|(node, link)| {
                let (sender, receiver) = mpsc::channel();
                match link {
                    Some(link) => {
                        // Readings are asked for one at a time, so the number is free.
                        let id = u64::MAX;
                        // The process is the node.
                        let with_family = false;
                        let ask = Ask::Usage { with_family };
                        let request = Request::frame(id, fingerprint, ask, Vec::new());
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
                    }) => Ok(reading),
                    other => Err(BackendError::lost(format!("{node} answered {other:?}"))),
                });
                (node, reading)
            })
            .collect()
    }

    fn close(&self) {
        let mut state = self.0.state.lock();
        state.ended = None;
        let waiting = state.queue.drain();
        let mut children: Vec<_> = state
            .workers
            .iter_mut()
            .filter_map(|worker| worker.running.take())
            .collect();
        drop(state);
        for item in waiting {
            item.fail(BackendError::cancelled());
        }
        for running in &mut children {
            running.kill("the cluster has ended".to_owned());
        }
        for running in children {
            let link = Arc::clone(&running.link);
            link.end(running.end("", false).why);
        }
        self.0.folder.remove();
    }
}

impl Drop for LocalBackend {
    fn drop(&mut self) {
        self.close();
    }
}
