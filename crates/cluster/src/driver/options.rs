//! How a driver treats jobs, and what it writes down.

use std::path::PathBuf;
use std::time::Duration;

use crate::event::ClusterEvent;
use crate::log::{LogLine, LogListener, Logs};
use crate::planner::Config;

/// How the driver treats jobs and what it writes down.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use heist_cluster::{planner, Cluster, Local, Options};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let folder = tempfile::tempdir()?;
///     let options = Options::new()
///         .store(folder.path().join("jobs"))
///         .events(folder.path())
///         .events_bytes_max(1 << 30)
///         .on_event(|event| println!("{}", event.what))
///         .rebalance(planner::Config::default())
///         .sample_every(Duration::from_secs(2));
///     let cluster = Cluster::connect_with(Local::new().nodes(2), options)?;
///     assert!(cluster.unfinished()?.is_empty());
///     drop(cluster);
///     assert!(folder.path().join("events.jsonl").exists());
///     Ok(())
/// }
/// ```
///
/// # Cost
///
/// With any of them the driver's thread begins with the cluster, otherwise with the first job. A
/// store costs a file for each state, which is on disk before the job goes on.
pub struct Options {
    pub(crate) store: Option<PathBuf>,
    pub(crate) events: Option<PathBuf>,
    pub(crate) events_bytes_max: u64,
    pub(crate) listener: Option<Listener>,
    pub(crate) rebalance: Option<Config>,
    pub(crate) sample_every: Option<Duration>,
    pub(crate) calls_bytes_max: u64,
    pub(crate) log_listener: Option<LogListener>,
}

/// The length of a file of events, unless the user says otherwise.
const EVENTS_BYTES_MAX: u64 = 256 << 20;

/// The memory for arguments of calls, unless the user says otherwise.
const CALLS_BYTES_MAX: u64 = 1 << 30;

impl Default for Options {
    fn default() -> Self {
        Self {
            store: None,
            events: None,
            events_bytes_max: EVENTS_BYTES_MAX,
            listener: None,
            rebalance: None,
            sample_every: None,
            calls_bytes_max: CALLS_BYTES_MAX,
            log_listener: None,
        }
    }
}

/// Is told of each event.
pub(crate) type Listener = Box<dyn FnMut(&ClusterEvent) + Send>;

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("store", &self.store)
            .field("events", &self.events)
            .field("rebalance", &self.rebalance)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Jobs live as long as the driver, nothing is written down, and nobody moves them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps jobs and their checkpoints in `folder`, which is made if it is not there, so that
    /// another driver can go on with them if this one is lost. One driver at a time uses it.
    #[must_use]
    pub fn store(mut self, folder: impl Into<PathBuf>) -> Self {
        self.store = Some(folder.into());
        self
    }

    /// Writes what happens to the file `events.jsonl` in `folder`, behind what is there. Jobs do
    /// not wait for its disk: where that is too slow events are left out, and stderr says so.
    #[must_use]
    pub fn events(mut self, folder: impl Into<PathBuf>) -> Self {
        self.events = Some(folder.into());
        self
    }

    /// How long the file of events may become: 256 MiB, unless this says otherwise. Then it is
    /// called `events.1.jsonl`, the one that was called so is removed, and another is begun; so
    /// there may be twice as many bytes. [`events`](Self::events) has an example.
    #[must_use]
    pub fn events_bytes_max(mut self, bytes: u64) -> Self {
        self.events_bytes_max = bytes;
        self
    }

    /// Tells `listener` what happens, on the thread that drives jobs: what it waits for, they wait
    /// for. One that panics is told no more.
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(&ClusterEvent) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Moves jobs when that pays.
    #[must_use]
    pub fn rebalance(mut self, config: Config) -> Self {
        self.rebalance = Some(config);
        self
    }

    /// How often usage is measured: every second, unless this says otherwise, and four times a
    /// second at most.
    #[must_use]
    pub fn sample_every(mut self, period: Duration) -> Self {
        self.sample_every = Some(period.max(Duration::from_millis(250)));
        self
    }

    /// How many bytes of arguments the calls may have that wait and run: 1 GiB, unless this says
    /// otherwise. [`Cluster::call`](crate::Cluster::call) waits when there are more, and
    /// [`Calls::try_call`](crate::Calls::try_call), which has an example, says so. A call counts
    /// as 512 bytes more than its arguments; one that is larger than all that is left to it runs
    /// alone. While a call may be tried again its arguments are there twice.
    #[must_use]
    pub fn calls_bytes_max(mut self, bytes: u64) -> Self {
        self.calls_bytes_max = bytes;
        self
    }

    /// Tells `listener` each line that functions and jobs print, in place of writing it to standard
    /// error; [`LogLine`] has an example. It is told on a thread of its own, and keeps nobody
    /// waiting: if it is too slow for more than 8 MiB, lines are left out, and the next one says
    /// how many. One that panics is told no more. Lines that come last are told before the cluster
    /// ends, for five seconds at most.
    ///
    /// [`Local`](crate::Local) knows which calls ran in the process when a line was printed,
    /// [`Slurm`](crate::Slurm) the one that did so last. On [`Ray`](crate::Ray) lines stay in Ray's
    /// own log files, on the nodes.
    #[must_use]
    pub fn on_log(mut self, listener: impl FnMut(&LogLine) + Send + 'static) -> Self {
        self.log_listener = Some(Box::new(listener));
        self
    }

    /// The way of lines that workers print.
    pub(crate) fn logs(&mut self) -> Logs {
        Logs::new(self.log_listener.take())
    }

    /// True if something is to be done before there is a job.
    pub(crate) fn wants_driver(&self) -> bool {
        self.store.is_some()
            || self.events.is_some()
            || self.listener.is_some()
            || self.rebalance.is_some()
    }
}
