//! Jobs: long work with explicit state, which can be paused, moved to another machine and
//! gone on with.

use std::fmt;
use std::sync::Arc;

use serde::{de::DeserializeOwned, Serialize};

use super::context;
use super::running::RunningJob;
use crate::protocol::trace::Trace;

/// Work that can stop at a safe point and go on elsewhere.
///
/// The value itself is the state: all that a worker needs to go on. It is written down when
/// the job pauses and when a checkpoint is taken, and read on the machine where the job goes
/// on. Files, connections and threads do not travel; a job that needs them opens them in
/// [`run`](Self::run), and leaves nothing behind in statics, as a worker may run many jobs.
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

    /// Counts the forms that the state has had. Change it with the fields, and a checkpoint
    /// of the old form is refused instead of misread.
    const VERSION: u32;

    /// Goes on from the state to the end.
    ///
    /// Call [`JobContext::safe_point`] every 50 ms or so, where the state is one from which
    /// `run` can go on, and return what it returns. Fine-grained work inside uses heist as
    /// anywhere; the job has a pool of as many threads as it was given processors.
    ///
    /// # Errors
    ///
    /// The error of a safe point; [`Stop::fail`] if there can be no result.
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
    /// The job is to pause here; only safe points say so.
    Pause(Pause),
    /// The job gives up, with a message for those that wait for it.
    Fail(String),
}

impl Stop {
    /// There will be no result, because of `error`. The job is not run again.
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

    /// Says that `job` could go on from its present state. Costs a load unless somebody
    /// wants the state.
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

    /// Says how much of the job is done, from 0 to 1. The rebalancer leaves alone what is
    /// nearly done.
    pub fn set_progress(&self, done: f64) {
        self.running.set_progress(done);
    }

    /// Which attempt at the job this is: 0 at first, and one more each time that it goes on
    /// elsewhere.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.running.epoch()
    }

    /// The place in a trace that [`JobOptions::trace`](crate::JobOptions::trace) has set, which has
    /// an example: the same for all attempts.
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
