//! Jobs: long work with explicit state that can be paused, moved to another machine and resumed.

use std::fmt;
use std::sync::Arc;

use serde::{de::DeserializeOwned, Serialize};

use super::context;
use super::running::RunningJob;
use crate::protocol::trace::Trace;

/// Work that can stop at a safe point and resume elsewhere.
///
/// The value is the state: everything that a worker needs to continue. It is serialised at each
/// pause and checkpoint, and read on the machine where the job resumes. Files, connections and
/// threads do not travel: open them in [`run`](Self::run), and leave nothing in statics, as a
/// worker may run many jobs.
///
/// Put [`#[job]`](macro@crate::job) above the implementation: it registers the type, so that
/// workers know it.
///
/// # Examples
///
/// ```
/// use heist_cluster::{job, Job, JobContext, Stop};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Sum {
///     next: u64,
///     end: u64,
///     sum: u64,
/// }
///
/// #[job]
/// impl Job for Sum {
///     type Out = u64;
///     const VERSION: u32 = 1;
///
///     fn run(&mut self, context: &JobContext) -> Result<u64, Stop> {
///         while self.next < self.end {
///             context.safe_point(self)?;
///             context.set_progress(self.next as f64 / self.end as f64);
///             let until = self.end.min(self.next + 10_000);
///             self.sum += (self.next..until).sum::<u64>();
///             self.next = until;
///         }
///         Ok(self.sum)
///     }
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The result.
    type Out: Serialize + DeserializeOwned + Send + 'static;

    /// The version of the state's form. Increase it with each change of the fields, so that an old
    /// checkpoint is refused instead of misread.
    const VERSION: u32;

    /// Runs from the present state to the end.
    ///
    /// Call [`JobContext::safe_point`] about every 50 ms, where `run` could start again from the
    /// state, and return its error with `?`. Use heist for fine-grained work inside: the job has a
    /// pool with a thread for each of its processors.
    ///
    /// # Errors
    ///
    /// The error of a safe point, or [`Stop::fail`] if there can be no result.
    fn run(&mut self, context: &JobContext) -> Result<Self::Out, Stop>;
}

/// A [`Job`] that workers know: one below [`#[job]`](macro@crate::job), which has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a job that no worker knows",
    label = "put `#[heist_cluster::job]` above its `impl Job`"
)]
pub trait RegisteredJob: Job {
    /// Its path, by which workers know it.
    const NAME: &'static str;
}

/// Why [`Job::run`] ends without a result; [`JobContext`] has an example.
#[derive(Debug)]
pub enum Stop {
    /// The job is to pause here; only safe points return it.
    Pause(Pause),
    /// The job gives up, with a message for its waiters.
    Fail(String),
}

impl Stop {
    /// Ends the job without a result because of `error`. It is not retried.
    #[must_use]
    pub fn fail(error: impl fmt::Display) -> Self {
        Self::Fail(error.to_string())
    }
}

/// Shows that a safe point asked for the pause; [`Job`] has an example of one.
#[derive(Debug)]
pub struct Pause(());

/// A running job's connection to its driver: safe points, progress, and where it is.
///
/// # Examples
///
/// ```
/// use heist_cluster::{job, Job, JobContext, Stop};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Words {
///     path: std::path::PathBuf,
///     lines_done: usize,
///     words: usize,
/// }
///
/// #[job]
/// impl Job for Words {
///     type Out = usize;
///     const VERSION: u32 = 1;
///
///     fn run(&mut self, context: &JobContext) -> Result<usize, Stop> {
///         println!("attempt {} runs on {}", context.epoch(), context.node());
///         // No file travels: each attempt reads it anew.
///         let text = std::fs::read_to_string(&self.path).map_err(Stop::fail)?;
///         let lines: Vec<_> = text.lines().collect();
///         while let Some(line) = lines.get(self.lines_done) {
///             context.safe_point(self)?;
///             context.set_progress(self.lines_done as f64 / lines.len() as f64);
///             self.words += line.split_whitespace().count();
///             self.lines_done += 1;
///         }
///         Ok(self.words)
///     }
/// }
/// ```
#[derive(Debug)]
pub struct JobContext {
    running: Arc<RunningJob>,
    trace: Option<Trace>,
}

impl JobContext {
    pub(crate) fn new(running: Arc<RunningJob>, trace: Option<Trace>) -> Self {
        Self { running, trace }
    }

    pub(crate) fn has_begun(&self) {
        self.running.has_begun();
    }

    /// Declares that `job` could resume from its present state. Costs one load unless the state is
    /// wanted. [`JobContext`] has an example.
    ///
    /// # Errors
    ///
    /// [`Stop::Pause`] if the job is to stop here. Return it.
    pub fn safe_point<J: Job>(&self, job: &J) -> Result<(), Stop> {
        match self.running.goes_on(job) {
            true => Ok(()),
            false => Err(Stop::Pause(Pause(()))),
        }
    }

    /// Reports progress from 0 to 1. The rebalancer leaves nearly finished jobs where they are.
    pub fn set_progress(&self, done: f64) {
        self.running.set_progress(done);
    }

    /// The number of this attempt: 0 at first, and one more each time that the job resumes.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.running.epoch()
    }

    /// The place in a trace set by [`JobOptions::trace`](crate::JobOptions::trace), which has an
    /// example; the same for all attempts.
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        self.trace
    }

    /// The name of the machine, as the backend calls it.
    #[must_use]
    pub fn node(&self) -> &str {
        context::node()
    }
}
