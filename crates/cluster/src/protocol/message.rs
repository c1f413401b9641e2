//! Messages: requests of a driver, and a worker's answers.

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::frame::Frame;
use super::reading::Reading;
use super::refusal::Refusal;
use super::trace::Trace;

/// A request of a driver to a worker.
///
/// # Examples
///
/// A call and its answer, each the header of a frame:
///
/// ```
/// use heist_cluster::protocol::{Answer, Ask, Frame, Outcome, Request};
/// use heist_cluster::Fingerprint;
///
/// let request = Request {
///     id: 7,
///     fingerprint: Fingerprint::of_this_program(),
///     ask: Ask::Call { function: "sums::square".to_owned(), cpus: 1, trace: None },
/// };
/// let arguments = vec![3];
/// assert_eq!(Frame::new(&request, arguments).understand(), Ok(request));
///
/// let answer = Answer { id: 7, outcome: Outcome::Returned { run_ns: 1000 } };
/// let result = vec![9];
/// assert_eq!(Frame::new(&answer, result).understand(), Ok(answer));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The id, which the driver chooses and the answer repeats.
    pub id: u64,
    /// The fingerprint of the driver's program.
    pub fingerprint: Fingerprint,
    /// The kind of the request, with its parameters.
    pub ask: Ask,
}

impl Request {
    /// The frame of a request with a payload.
    pub(crate) fn frame(id: u64, fingerprint: Fingerprint, ask: Ask, payload: Vec<u8>) -> Frame {
        let request = Self {
            id,
            fingerprint,
            ask,
        };
        Frame::new(&request, payload)
    }
}

/// The kinds of [`Request`], which has an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "a job's number, its attempt (epoch) and names need no sentence each"
)]
pub enum Ask {
    /// Run a remote function; the payload has its arguments.
    Call {
        function: String,
        /// How many threads it may use.
        cpus: u32,
        /// The caller's place in a trace, if there is one.
        trace: Option<Trace>,
    },
    /// Cancel a call: it need not be finished.
    Cancel {
        /// The [`id`](Request::id) of its request.
        call: u64,
    },
    /// Run a job; the payload has its state. Answered when the job ends or pauses.
    Start {
        job: u64,
        epoch: u32,
        /// The name of its type.
        kind: String,
        /// How many threads it may use.
        cpus: u32,
        /// The submitter's place in a trace, if there is one.
        trace: Option<Trace>,
    },
    /// Answer when a job has begun to run.
    Await { job: u64, epoch: u32 },
    /// Pause a job at its next safe point; the answer to its start has the state. Refused if an
    /// earlier request found that the state is too large to be sent.
    Pause { job: u64, epoch: u32 },
    /// Send the state of a job at its next safe point.
    Snapshot { job: u64, epoch: u32 },
    /// Report the processor time used.
    Usage {
        /// That of the worker's parent and of all its children too. It takes a look at each process
        /// of the machine.
        with_family: bool,
    },
    /// Put a job's state or a function's arguments, given as JSON, into their usual form.
    FromJson {
        /// The name of the function or of the job's type.
        name: String,
    },
    /// Put a result into JSON.
    ToJson {
        /// The name of the function or of the job's type.
        name: String,
    },
    /// Answer, as a sign of life.
    Hello,
    /// Stop a job at its next safe point; its state is not wanted.
    Stop { job: u64, epoch: u32 },
}

/// A worker's answer to a [`Request`], which has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The id of the request.
    pub id: u64,
    /// The outcome of the request.
    pub outcome: Outcome,
}

/// The kinds of [`Answer`]; [`Request`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The function returned; the payload has its result.
    Returned {
        /// The time that it ran.
        run_ns: u64,
    },
    /// The function panicked, with this message.
    Panicked(String),
    /// The function was cancelled before it began.
    Cancelled,
    /// The request was refused, and nothing was run.
    Refused(Refusal),
    /// The request is done or under way; the payload may have its result.
    Done,
    /// A job stopped; the payload has its result or its state.
    Job(JobOutcome),
    /// The payload has the state of a running job.
    Snapshot {
        /// How much of it is done, from 0 to 1.
        progress: f64,
    },
    /// The processor time used.
    Usage(Reading),
}

/// How the run of a job ended on a worker, a part of an [`Outcome`]; [`Request`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JobOutcome {
    /// The payload has the result.
    Finished,
    /// At a safe point; the payload has the state.
    Paused {
        /// How much was done, from 0 to 1.
        progress: f64,
    },
    /// It gave up or panicked, with this message.
    Failed(String),
}
