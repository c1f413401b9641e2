//! The options of a driver.

use std::path::PathBuf;
use std::time::Duration;

use crate::event::ClusterEvent;
use crate::log::{LogLine, LogListener, Logs};
use crate::planner::Config;

/// The driver's settings: the job store, events, the rebalancer, limits, log lines.
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
/// With any of them the driver's thread starts with the cluster, otherwise with the first job. A
/// store costs a file for each state, which is on disk before the job continues.
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

/// The default size limit of a file of events.
const EVENTS_BYTES_MAX: u64 = 256 << 20;

/// The default limit on memory for arguments of calls.
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

/// The listener for events.
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
    /// Jobs live as long as the driver; nothing is written, and no job is moved.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps jobs and their checkpoints in `folder`, which is created if need be, so that another
    /// driver can resume them if this one is lost. One driver at a time uses it.
    #[must_use]
    pub fn store(mut self, folder: impl Into<PathBuf>) -> Self {
        self.store = Some(folder.into());
        self
    }

    /// Appends events to the file `events.jsonl` in `folder`. Jobs do not wait for its disk: if
    /// that is too slow, events are dropped, and stderr says so.
    #[must_use]
    pub fn events(mut self, folder: impl Into<PathBuf>) -> Self {
        self.events = Some(folder.into());
        self
    }

    /// The size at which the file of events is rotated: 256 MiB by default. It replaces
    /// `events.1.jsonl`, so both together may hold twice as much. [`events`](Self::events) has an
    /// example.
    #[must_use]
    pub fn events_bytes_max(mut self, bytes: u64) -> Self {
        self.events_bytes_max = bytes;
        self
    }

    /// Calls `listener` with each event on the thread that drives jobs, which waits for it. After a
    /// panic it is called no more.
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(&ClusterEvent) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Lets the rebalancer move jobs when that pays.
    #[must_use]
    pub fn rebalance(mut self, config: Config) -> Self {
        self.rebalance = Some(config);
        self
    }

    /// The interval between measurements of usage: a second by default, and at least 250 ms.
    #[must_use]
    pub fn sample_every(mut self, period: Duration) -> Self {
        self.sample_every = Some(period.max(Duration::from_millis(250)));
        self
    }

    /// The limit on bytes of arguments of open calls: 1 GiB by default. At the limit
    /// [`Cluster::call`](crate::Cluster::call) blocks, and
    /// [`Calls::try_call`](crate::Calls::try_call), which has an example, refuses. A call counts as
    /// its arguments and 512 bytes; one above the limit runs alone. While a call may be retried,
    /// its arguments are in memory twice.
    #[must_use]
    pub fn calls_bytes_max(mut self, bytes: u64) -> Self {
        self.calls_bytes_max = bytes;
        self
    }

    /// Calls `listener` with each line that functions and jobs print, instead of writing it to
    /// standard error; [`LogLine`] has an example. It runs on a thread of its own and delays
    /// nothing: if it falls behind by more than 8 MiB, lines are dropped, and the next one says how
    /// many. After a panic it is called no more. The cluster's end waits up to five seconds for the
    /// last lines.
    ///
    /// [`Local`](crate::Local) knows which calls ran in the process when a line was printed,
    /// [`Slurm`](crate::Slurm) only the latest. On [`Ray`](crate::Ray) lines stay in Ray's own log
    /// files on the nodes.
    #[must_use]
    pub fn on_log(mut self, listener: impl FnMut(&LogLine) + Send + 'static) -> Self {
        self.log_listener = Some(Box::new(listener));
        self
    }

    /// The log of the lines that workers print.
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
