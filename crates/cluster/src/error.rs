//! Errors of calls, jobs, clusters and backends.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::refusal::Refusal;

/// Why there is no result of a call or of a job.
///
/// # Examples
///
/// ```
/// use heist_cluster::RemoteError;
///
/// fn advice(error: &RemoteError) -> &'static str {
///     match error {
///         RemoteError::Panicked(_) | RemoteError::Failed(_) => "mend the function",
///         RemoteError::Refused(_) => "build driver and workers from the same sources",
///         RemoteError::Backend { .. } => "look at the cluster",
///         _ => "see the message",
///     }
/// }
/// assert_eq!(advice(&RemoteError::Panicked("no".to_owned())), "mend the function");
/// ```
///
/// A value that a function returns, even a `Result::Err`, is a result and none of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RemoteError {
    /// The function panicked with this message. Not retried.
    Panicked(String),
    /// The job gave up with this message. Not retried.
    Failed(String),
    /// The worker refused it, as any other would.
    Refused(Refusal),
    /// The backend cannot run it, or lost it more often than it may be retried.
    Backend {
        /// The last error of the backend.
        error: BackendError,
        /// How many attempts there were.
        attempts: u32,
    },
    /// It was cancelled.
    Cancelled,
    /// Arguments, a result or data could not be written or read.
    Malformed(String),
    /// It exceeded its time limit and was cancelled.
    TimedOut {
        /// The limit.
        within: Duration,
    },
}

impl RemoteError {
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(message.into())
    }

    /// The result was taken before.
    pub(crate) fn given_already(whose: &str) -> Self {
        Self::Malformed(format!("the result of {whose} was given already"))
    }

    /// True if its machine or worker process died and no retries are left.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{backend::BackendError, RemoteError};
    ///
    /// assert!(RemoteError::from(BackendError::node_died("n1 is gone")).is_node_death());
    /// assert!(!RemoteError::Cancelled.is_node_death());
    /// ```
    #[must_use]
    pub fn is_node_death(&self) -> bool {
        matches!(self, Self::Backend { error, .. } if error.is_node_death())
    }
}

impl From<BackendError> for RemoteError {
    fn from(error: BackendError) -> Self {
        Self::Backend { error, attempts: 1 }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(message) => write!(f, "the function panicked: {message}"),
            Self::Failed(message) => write!(f, "the job gave up: {message}"),
            Self::Refused(refusal) => write!(f, "the worker refused: {refusal}"),
            Self::Backend { error, attempts: 1 } => error.fmt(f),
            Self::Backend { error, attempts } if error.is_own_doing() => write!(
                f,
                "it ended its worker and is not run again after {attempts} attempts: {error}"
            ),
            Self::Backend { error, attempts } => {
                write!(f, "lost {attempts} times, at last: {error}")
            }
            Self::Cancelled => f.write_str("it was cancelled"),
            Self::Malformed(message) => f.write_str(message),
            Self::TimedOut { within } => {
                write!(
                    f,
                    "it was not over within {within:?}, its deadline, and was cancelled"
                )
            }
        }
    }
}

impl std::error::Error for RemoteError {}

/// A call was refused because open calls hold as many bytes of arguments as they may.
///
/// Waiting for results makes room. [`Calls::try_call`](crate::Calls::try_call) has an example.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Full<A> {
    /// The arguments, for another try.
    pub args: A,
    /// The bytes that open calls hold.
    pub used_bytes: u64,
    /// The limit, set by [`Options::calls_bytes_max`](crate::Options::calls_bytes_max).
    pub bytes_max: u64,
}

impl<A> fmt::Debug for Full<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Full")
            .field("used_bytes", &self.used_bytes)
            .field("bytes_max", &self.bytes_max)
            .finish_non_exhaustive()
    }
}

impl<A> fmt::Display for Full<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the call was not begun: calls that wait and run have {} bytes, and may have {}; wait \
             for results, or set Options::calls_bytes_max",
            self.used_bytes, self.bytes_max
        )
    }
}

impl<A> std::error::Error for Full<A> {}

/// Why a cluster cannot be used.
///
/// # Examples
///
/// ```
/// use heist_cluster::{Cluster, ClusterError, Local};
///
/// let error: ClusterError = Cluster::connect(Local::new().program("missing")).unwrap_err();
/// assert!(error.to_string().starts_with("could not start a worker, missing: "));
/// ```
#[derive(Debug)]
pub struct ClusterError(ClusterErrorKind);

#[derive(Debug)]
pub(crate) enum ClusterErrorKind {
    Backend(BackendError),
    Ambiguous(Vec<&'static str>),
    Store(String),
    Job(String),
    Program(String),
}

impl From<BackendError> for ClusterError {
    fn from(error: BackendError) -> Self {
        Self(ClusterErrorKind::Backend(error))
    }
}

impl From<ClusterErrorKind> for ClusterError {
    fn from(kind: ClusterErrorKind) -> Self {
        Self(kind)
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ClusterErrorKind::Backend(error) => error.fmt(f),
            ClusterErrorKind::Ambiguous(names) => write!(
                f,
                "two remote functions or jobs have the same path: {}; rename one of each",
                names.join(", ")
            ),
            ClusterErrorKind::Store(message)
            | ClusterErrorKind::Job(message)
            | ClusterErrorKind::Program(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ClusterError {}

/// A failure of a backend.
///
/// # Examples
///
/// ```
/// use heist_cluster::backend::BackendError;
///
/// // Another attempt may go better.
/// assert!(BackendError::node_died("n1 is gone").is_passing());
/// assert!(BackendError::node_died("n1 is gone").is_node_death());
/// assert!(BackendError::lost("the connection to n1 broke").is_passing());
/// // It would not.
/// assert!(!BackendError::setup("there is no n1").is_passing());
/// assert!(!BackendError::impossible("n1 has 2 processors, 3 are wanted").is_passing());
/// assert!(BackendError::cancelled().is_cancelled());
/// let crash = BackendError::own_doing("the worker n2 aborted");
/// assert!(crash.is_own_doing() && crash.is_node_death() && crash.is_passing());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendError {
    kind: BackendErrorKind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum BackendErrorKind {
    Setup,
    NodeDied,
    Lost,
    Cancelled,
    Impossible,
    OwnDoing,
}

impl BackendError {
    /// It could not be started or reached.
    pub fn setup(message: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::Setup, message)
    }

    /// The machine, or the worker's process there, is gone.
    pub fn node_died(message: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::NodeDied, message)
    }

    /// The worker's process is gone, and its exit status blames the work that it ran;
    /// [`BackendError`] has an example.
    pub fn own_doing(message: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::OwnDoing, message)
    }

    /// The backend does not know what became of it, or is itself gone.
    pub fn lost(message: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::Lost, message)
    }

    /// It was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(BackendErrorKind::Cancelled, "it was cancelled")
    }

    /// It cannot be done here, not even later.
    pub fn impossible(message: impl Into<String>) -> Self {
        Self::new(BackendErrorKind::Impossible, message)
    }

    fn new(kind: BackendErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    /// True if the machine or the worker's process there is gone.
    #[must_use]
    pub fn is_node_death(&self) -> bool {
        matches!(
            self.kind,
            BackendErrorKind::NodeDied | BackendErrorKind::OwnDoing
        )
    }

    /// True if the work seems to have ended its worker's process. It is retried once, in case it
    /// was bad luck. [`BackendError`] has an example.
    #[must_use]
    pub fn is_own_doing(&self) -> bool {
        self.kind == BackendErrorKind::OwnDoing
    }

    /// True if it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.kind == BackendErrorKind::Cancelled
    }

    /// True if the backend cannot be reached from here; another driver may fare better.
    pub(crate) fn is_setup(&self) -> bool {
        self.kind == BackendErrorKind::Setup
    }

    /// True if another attempt may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.is_node_death() || self.kind == BackendErrorKind::Lost
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BackendError {}
