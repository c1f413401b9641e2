//! The backend that uses Slurm: workers that srun places, and jobs that are batch jobs.

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;
use std::time::Duration;

use heist_sync::{thread, Mutex};

use self::calls::Calls;
use self::command::{command, output};
use self::guard::Guard;
use self::jobs::{Message, Watcher};
use self::site::Site;
use self::watched::Watched;
use super::poller::Poller;
use super::{
    Backend, BackendError, BackendOptions, CallSpec, JobEvents, Node, Program, Reply, StartSpec,
};
use crate::planner::NodeId;
use crate::private::{self, Folder};
use crate::protocol::object_id::ObjectId;
use crate::protocol::reading::Reading;
use crate::whole_file;

mod batch;
mod begin;
mod calls;
mod command;
mod guard;
mod heartbeat;
mod held_up;
mod jobs;
mod log;
mod pools;
mod process;
mod site;
mod tracked;
mod watched;

/// The commands of Slurm that this backend runs.
const COMMANDS: [&str; 6] = ["sinfo", "srun", "sbatch", "squeue", "scontrol", "scancel"];

/// The oldest version that works.
const VERSION_MIN: (u32, u32) = (21, 8);

/// The machines of Slurm, through its commands: `sinfo`, `srun`, `sbatch`, `squeue`,
/// `scontrol` and `scancel`.
///
/// Remote functions run in workers that `srun` places; a worker answers call after call, and its
/// allocation ends after some idle time. Jobs are batch jobs. Slurm alone decides on placement;
/// [`near`](crate::Cluster::near) has no effect, as shared data is equally near everywhere.
///
/// All nodes and the driver share a [folder](Self::folder). The workers are processes of the same
/// program, on a path that all nodes share; it calls [`init`](crate::init) first in its `main`.
///
/// A job survives the loss of its node, because Slurm requeues it (where `JobRequeue` allows that,
/// as is usual), and of its driver, because its result stays in the folder. A job that moves keeps
/// its number in Slurm if `RequeueExitHold` contains the exit code 85; otherwise it is submitted
/// anew. Jobs get whole processors; one that needs less shares its processor if the partition has
/// `OverSubscribe=YES`.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use heist_cluster::{Cluster, Slurm};
///
/// heist_cluster::init();
/// let slurm = Slurm::new()
///     .partition("batch,spare")
///     .arguments(["--account=physics", "--time=01:00:00"])
///     .folder("/shared/heist")
///     .program("/shared/bin/simulation")
///     // For calls: 64 processors at most, and none for longer than a minute without work.
///     .cpus(64)
///     .linger(Duration::from_secs(60));
/// let cluster = Cluster::connect(slurm)?;
/// # Ok::<(), heist_cluster::ClusterError>(())
/// ```
///
/// # Cost
///
/// A call costs two milliseconds on an existing worker, and some 100 ms if one must be placed, more
/// if the partition is full. While there are jobs, `squeue` is polled now and then.
#[derive(Clone, Debug)]
pub struct Slurm {
    partition: Option<String>,
    extra: Vec<String>,
    folder: Option<PathBuf>,
    program: Option<PathBuf>,
    arguments: Vec<String>,
    cpus_max: Option<u32>,
    linger: Duration,
    silence: Duration,
    variables: Vec<String>,
}

impl Default for Slurm {
    fn default() -> Self {
        Self::new()
    }
}

impl Slurm {
    /// The default partition, with a folder of its own in the home directory.
    #[must_use]
    pub fn new() -> Self {
        Self {
            partition: None,
            extra: Vec::new(),
            folder: None,
            program: None,
            arguments: Vec::new(),
            cpus_max: None,
            linger: Duration::from_secs(5),
            silence: Duration::from_secs(60),
            variables: Vec::new(),
        }
    }

    /// Uses this partition, or a list of partitions separated by commas.
    #[must_use]
    pub fn partition(mut self, name: impl Into<String>) -> Self {
        self.partition = Some(name.into());
        self
    }

    /// Adds arguments for `srun` and `sbatch`, such as `--account=physics` or `--time=01:00:00`.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.extra.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Passes on these variables of this program's environment, if set, to functions and jobs.
    ///
    /// By default they get Slurm's variables, those that begin with `HEIST_`, `RUST_` or `LC_`, and
    /// `PATH`, `LD_LIBRARY_PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LANGUAGE`, `TZ` and
    /// `TMPDIR`. All others stay here, as they may hold secrets.
    ///
    /// # Examples
    ///
    /// ```
    /// let slurm = heist_cluster::Slurm::new().environment(["DATASET"]);
    /// ```
    #[must_use]
    pub fn environment(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.variables.extend(names.into_iter().map(Into::into));
        self
    }

    /// Keeps shared data and the states and results of jobs in this folder, on a file system that
    /// all nodes share. One driver at a time uses it. Its contents outlive a lost driver, for the
    /// next one to resume from.
    ///
    /// By default it is a new folder in `$XDG_STATE_HOME/heist-cluster`, or in
    /// `.local/state/heist-cluster` of the home directory, and removed with the cluster. That of a
    /// lost driver is removed, and its jobs end, when the next driver on this machine connects
    /// without a folder: no other would know of them.
    #[must_use]
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.folder = Some(path.into());
        self
    }

    /// Runs another program as workers; it has the same remote functions and calls
    /// [`init`](crate::init).
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// The most processors of all workers for calls together, at least one; by default those of the
    /// partition.
    #[must_use]
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.cpus_max = Some(cpus.max(1));
        self
    }

    /// The idle time after which a worker ends: five seconds by default. A new one takes some 100
    /// ms, if there is room.
    #[must_use]
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// How long a worker for calls or the process of a job may show no sign of life: a minute by
    /// default, at least two seconds. Then its allocation is ended, its calls are retried, and the
    /// job goes on elsewhere. So it is with a worker that Slurm has placed and that has not begun
    /// by then. Slurm itself does not notice a stopped process, nor always that a node was away for
    /// a moment. A worker for calls that Slurm suspends is silent, too; a job is not.
    ///
    /// The process of a job shows that it lives by a file in the [folder](Self::folder), on a full
    /// disk too, unless not even an empty file can be made there.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// // Where jobs of a higher priority may suspend workers for so long.
    /// let patient = heist_cluster::Slurm::new().lost_after(Duration::from_secs(300));
    /// # drop(patient);
    /// ```
    #[must_use]
    pub fn lost_after(mut self, silence: Duration) -> Self {
        self.silence = silence.max(Duration::from_secs(2));
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

impl BackendOptions for Slurm {
    fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError> {
        let is_under_test = !self.arguments.is_empty();
        let path = program.worker(self.program, is_under_test, "Slurm::program")?;
        check_commands()?;
        let (folder, own) = make_folders(self.folder.as_deref())?;
        let name = name_of(own.path());
        let site = Arc::new(Site {
            guard: Guard::new(name.clone()),
            name,
            partition: self.partition,
            extra: self.extra,
            program: path,
            arguments: self.arguments,
            fingerprint: program.fingerprint,
            build: program.build,
            limits: program.limits,
            silence: self.silence,
            logs: program.logs,
            poller: Poller::start().map_err(no_thread)?,
            jobs: folder.join("jobs"),
            objects: own.path().join("objects"),
            variables: self.variables,
            nodes: Mutex::default(),
        });
        for path in [&site.objects, &site.jobs] {
            private::make(path).map_err(|error| {
                BackendError::setup(format!("could not make {}: {error}", path.display()))
            })?;
        }
        let nodes = site
            .nodes()
            .map_err(|error| BackendError::setup(error.to_string()))?;
        if nodes.is_empty() {
            let partition = site.partition.as_deref().unwrap_or("(the default)");
            return Err(BackendError::setup(format!(
                "Slurm has no nodes in the partition {partition}; `sinfo` shows those that it has"
            )));
        }
        let calls = Calls::new(Arc::clone(&site), self.cpus_max, self.linger);
        let watched = Arc::new(Watched::default());
        let watcher = Watcher::new(Arc::clone(&site), Arc::clone(&calls), Arc::clone(&watched));
        let (sender, receiver) = mpsc::channel();
        thread::Builder::new()
            .name("heist-cluster-slurm".to_owned())
            .spawn(move || watcher.run(&receiver))
            .map_err(no_thread)?;
        Ok(Arc::new(SlurmBackend {
            site,
            calls,
            watched,
            sender,
            own,
        }))
    }
}

fn no_thread(error: io::Error) -> BackendError {
    BackendError::setup(format!("could not start a thread: {error}"))
}

/// Checks that Slurm is usable from here.
fn check_commands() -> Result<(), BackendError> {
    for name in COMMANDS {
        let text = output(command(name).arg("--version")).map_err(|error| {
            BackendError::setup(format!("Slurm cannot be used from here: {error}"))
        })?;
        let version = version(&text).filter(|version| *version >= VERSION_MIN);
        if version.is_none() {
            let (year, month) = VERSION_MIN;
            return Err(BackendError::setup(format!(
                "`{name} --version` said {:?}; Slurm {year}.{month:02} or newer is needed",
                text.trim()
            )));
        }
    }
    Ok(())
}

/// The year and month in a line such as `slurm-wlm 22.05.8`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split_whitespace().last()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The folder that is shared, and one of this driver's own, which is or lies in the former and is
/// gone after it.
fn make_folders(named: Option<&Path>) -> Result<(PathBuf, Folder), BackendError> {
    let failed = |path: &Path, error: io::Error| {
        BackendError::setup(format!(
            "could not make a folder in {} that the nodes share: {error}; \
             Slurm::folder names another one",
            path.display()
        ))
    };
    if let Some(path) = named {
        let made = private::make(path).and_then(|()| {
            let path = path.canonicalize()?;
            // The jobs of another driver may go on here.
            let own = Folder::make_in(&path, "driver-", end_calls_in)?;
            Ok((path, own))
        });
        return made.map_err(|error| failed(path, error));
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(std::env::home_dir()?.join(".local/state")));
    let state = state.ok_or_else(|| {
        BackendError::setup("there is no home directory; Slurm::folder names a folder to use")
    })?;
    let base = state.join("heist-cluster");
    let made = private::make(&base).and_then(|()| Folder::make_in(&base, "slurm-", end_all_in));
    let made = made.map_err(|error| failed(&base, error))?;
    Ok((made.path().to_owned(), made))
}

/// Gives up what Slurm has of the jobs in the folder of a driver that was lost: nobody will ask for
/// their results. False if that cannot be done now.
fn end_all_in(folder: &Path) -> bool {
    let ended = batch::of_folder(folder).and_then(|slurm_jobs| match slurm_jobs.as_slice() {
        [] => Ok(()),
        slurm_jobs => batch::cancel(slurm_jobs),
    });
    ended.is_ok() && end_calls_in(folder)
}

/// Ends the workers of the lost driver whose own folder it is. False if that cannot be done now.
fn end_calls_in(folder: &Path) -> bool {
    guard::end(&name_of(folder)).is_ok()
}

/// The name that the workers of a driver have in Slurm. The end of the folder's name is random.
fn name_of(own: &Path) -> String {
    let folder = own.file_name().unwrap_or_default();
    format!("heist-{}", folder.to_string_lossy())
}

/// The connection to Slurm. Dropping it ends all work that it runs.
#[derive(Debug)]
struct SlurmBackend {
    site: Arc<Site>,
    calls: Arc<Calls>,
    watched: Arc<Watched>,
    sender: Sender<Message>,
    own: Folder,
}

impl SlurmBackend {
    fn tell(&self, message: Message) {
        // The watcher ends after us.
        let _ = self.sender.send(message);
    }

    fn object(&self, id: ObjectId) -> PathBuf {
        self.site.objects.join(id.to_string())
    }
}

impl Backend for SlurmBackend {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        self.site.nodes()
    }

    fn call(&self, call: CallSpec, reply: Reply) {
        self.calls.call(call, reply);
    }

    fn cancel(&self, id: u64, is_hard: bool) {
        self.calls.cancel(id, is_hard);
    }

    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError> {
        let write = |file: &mut BufWriter<fs::File>| file.write_all(&bytes);
        whole_file::write(&self.site.objects, &id.to_string(), true, write).map_err(|error| {
            BackendError::setup(format!(
                "could not write shared data to {}: {error}",
                self.object(id).display()
            ))
        })
    }

    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError> {
        let path = self.object(id);
        fs::read(&path).map_err(|error| {
            BackendError::lost(format!(
                "could not read shared data from {}: {error}",
                path.display()
            ))
        })
    }

    fn forget(&self, id: ObjectId) {
        // It is in nobody's way if this fails.
        let _ = fs::remove_file(self.object(id));
    }

    fn start(&self, start: StartSpec, events: JobEvents) {
        self.calls.make_room();
        self.tell(Message::Start(Box::new(start), events));
    }

    fn pause(&self, job: u64, epoch: u32) {
        self.tell(Message::Pause(job, epoch));
    }

    fn snapshot(&self, job: u64, epoch: u32) {
        self.tell(Message::Snapshot(job, epoch));
    }

    fn stop(&self, job: u64, epoch: u32) {
        self.tell(Message::Stop(job, epoch));
    }

    /// Sums the use of our own processes on each node. Other users' load is not known; a node
    /// without a process of ours counts as unused.
    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        // Slurm may not answer in time; whoever asks for usage has asked for the nodes before.
        let nodes = self.site.known_nodes();
        let calls = self.calls.usage();
        let jobs = self.watched.usage();
        let read = |node: &Node| {
            let processes = calls.iter().chain(&jobs).filter(|(id, _)| *id == node.id);
            let processes: Result<Vec<_>, _> =
                processes.map(|(_, reading)| reading.as_ref()).collect();
            processes
                .map(|processes| sum(node, &processes))
                .map_err(BackendError::clone)
        };
        let alive = nodes.iter().filter(|node| node.is_alive);
        alive.map(|node| (node.id.clone(), read(node))).collect()
    }

    fn close(&self) {
        self.calls.close();
        self.watched.close();
        self.own.remove();
    }
}

/// The reading of a node on which these processes are ours.
fn sum(node: &Node, processes: &[&Reading]) -> Reading {
    let mut sum = Reading {
        machine_cpus: node.cpus as u32,
        ..Reading::default()
    };
    for reading in processes {
        sum.at_ms = sum.at_ms.max(reading.at_ms);
        sum.process_cpu_ms += reading.process_cpu_ms;
        sum.process_memory_bytes += reading.process_memory_bytes;
        // Slurm's own processes are nobody's work.
        sum.family_cpu_ms
            .push((reading.pid, reading.process_cpu_ms));
        sum.machine.clone_from(&reading.machine);
        sum.machine_memory_available_bytes = reading.machine_memory_available_bytes;
        sum.jobs.extend(reading.jobs.iter().cloned());
    }
    if processes.is_empty() {
        sum.at_ms = crate::protocol::clock::unix_ms();
    }
    sum
}

impl Drop for SlurmBackend {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
