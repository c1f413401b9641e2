//! The side of a worker: it answers requests, whatever way they come.
//!
//! One [`Worker`] serves a process. Requests come through a pipe or a socket (`stdio`), as
//! calls from a program that has loaded us as a library (`ffi`), or the process itself is one
//! job, and speaks through files (`batch`).

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_sync::Mutex;
use serde::{Deserialize, Serialize};

use crate::fingerprint::{self, Build, Fingerprint};
use crate::remote::{registry, Entry};
use crate::wire::{self, Answer, Ask, Frame, Limits, Outcome, Request};

mod batch;
mod call;
pub mod ffi;
mod jobs;
mod objects;
mod stdio;
mod usage;

pub(crate) use batch::batch_variable;
pub use call::CallContext;
pub(crate) use jobs::RunningJob;
pub(crate) use objects::Objects;
pub use stdio::init;
pub(crate) use stdio::{
    is_initialised, DESCRIBE, NODE_VARIABLE, OBJECTS_VARIABLE, WORKER_VARIABLE,
};
pub use usage::{JobReading, Reading};

/// Why a worker did nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// The driver is built from other code.
    WrongFingerprint {
        /// Of the driver.
        driver: Fingerprint,
        /// Of the worker.
        worker: Fingerprint,
        /// In what they differ, as far as that is known.
        differences: Vec<String>,
    },
    /// Nothing of that name is registered.
    Unknown {
        /// The name.
        name: String,
        /// What is registered.
        known: Vec<String>,
    },
    /// The message, the arguments or the state could not be read, or the result not written.
    Malformed {
        /// What was read or written.
        what: String,
        /// What was wrong with it.
        error: String,
    },
    /// No such attempt is running here.
    NotRunning {
        /// The job.
        job: u64,
        /// The attempt.
        epoch: u32,
    },
    /// A younger attempt at the job has been here.
    Superseded {
        /// The job.
        job: u64,
        /// The attempt that came too late.
        epoch: u32,
        /// The younger one.
        by: u32,
    },
    /// The worker could not do it.
    Failed {
        /// What it tried and why it failed.
        error: String,
    },
}

impl Refusal {
    /// With the differences of builds, if it is about those: the driver's is `build`, and that of
    /// the worker came with the refusal, as `payload`.
    pub(crate) fn explained(mut self, build: &Build, payload: &[u8]) -> Self {
        if let Self::WrongFingerprint { differences, .. } = &mut self {
            *differences = wire::decode(payload)
                .map(|worker| build.differences(&worker))
                .unwrap_or_default();
        }
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongFingerprint {
                driver,
                worker,
                differences,
            } => write!(
                f,
                "the driver is build {driver}; the worker is build {worker}{}; both must be built \
                 from the same sources, so build and ship the worker again",
                fingerprint::list(differences)
            ),
            Self::Unknown { name, known } if known.is_empty() => {
                write!(f, "the worker does not know `{name}`, nor anything else")
            }
            Self::Unknown { name, known } => write!(
                f,
                "the worker does not know `{name}`; it knows {}",
                known.join(", ")
            ),
            Self::Malformed { what, error } => write!(f, "{what} cannot be understood: {error}"),
            Self::NotRunning { job, epoch } => {
                write!(
                    f,
                    "attempt {epoch} at job {job} is not running in this worker"
                )
            }
            Self::Superseded { job, epoch, by } => write!(
                f,
                "attempt {epoch} at job {job} comes too late: attempt {by} has been here"
            ),
            Self::Failed { error } => f.write_str(error),
        }
    }
}

/// How the run of a job ended on a worker.
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

/// Answers requests in one process.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Pools that no call uses at the moment, by the number of their threads.
    pools: Mutex<HashMap<u32, Vec<ThreadPool>>>,
    calls: call::Calls,
    jobs: jobs::Jobs,
}

/// The one of this process.
pub(crate) fn worker() -> &'static Worker {
    static WORKER: OnceLock<Worker> = OnceLock::new();
    WORKER.get_or_init(|| Worker {
        pools: Mutex::default(),
        calls: call::Calls::default(),
        jobs: jobs::Jobs::default(),
    })
}

/// The name of the machine, as the backend calls it; empty in a process that is no worker.
pub(crate) fn node() -> &'static str {
    NODE.get().map_or("", String::as_str)
}

static NODE: OnceLock<String> = OnceLock::new();

/// What an answer consists of, but for the id.
type Said = (Outcome, Vec<u8>);

impl Worker {
    /// Does what `frame` asks for, and waits until it is done.
    pub(crate) fn answer(&self, frame: Frame) -> Frame {
        match frame.understand::<Request>() {
            Ok(request) => self.answer_request(request, frame.payload),
            Err(error) => {
                let what = "the header of a request".to_owned();
                let refusal = Refusal::Malformed { what, error };
                // Nobody knows which request it was; no request has this number.
                respond(0, (Outcome::Refused(refusal), Vec::new()))
            }
        }
    }

    pub(crate) fn answer_request(&self, request: Request, payload: Vec<u8>) -> Frame {
        let Request {
            id,
            fingerprint,
            ask,
        } = request;
        let ours = registry().fingerprint();
        if fingerprint != ours {
            let refusal = Refusal::WrongFingerprint {
                driver: fingerprint,
                worker: ours,
                differences: Vec::new(),
            };
            return respond(id, (Outcome::Refused(refusal), own_build()));
        }
        let said = self.act(id, ask, payload);
        respond(
            id,
            said.unwrap_or_else(|refusal| (Outcome::Refused(refusal), Vec::new())),
        )
    }

    fn act(&self, id: u64, ask: Ask, payload: Vec<u8>) -> Result<Said, Refusal> {
        let done = |payload| Ok((Outcome::Done, payload));
        match ask {
            Ask::Call { function, cpus } => self.call(id, &function, cpus, &payload),
            Ask::Cancel { call } => {
                self.calls.cancel(call);
                done(Vec::new())
            }
            Ask::Start {
                job,
                epoch,
                kind,
                cpus,
            } => self.start(job, epoch, &kind, cpus, &payload),
            Ask::Await { job, epoch } => self
                .jobs
                .await_begun(job, epoch)
                .and_then(|()| done(Vec::new())),
            Ask::Pause { job, epoch } => {
                self.jobs.pause(job, epoch).and_then(|()| done(Vec::new()))
            }
            Ask::Snapshot { job, epoch } => self
                .jobs
                .snapshot(job, epoch)
                .map(|(progress, state)| (Outcome::Snapshot { progress }, state)),
            Ask::Usage => Ok((Outcome::Usage(usage::read(&self.jobs)), Vec::new())),
            Ask::FromJson { name } => {
                let forms = self.find(&name)?.forms();
                let what = format!("the JSON for `{name}`");
                (forms.from_json)(&payload)
                    .map_err(|error| error.refusal(what))
                    .and_then(done)
            }
            Ask::ToJson { name } => {
                let forms = self.find(&name)?.forms();
                let what = format!("a result of `{name}`");
                (forms.to_json)(&payload)
                    .map_err(|error| error.refusal(what))
                    .and_then(done)
            }
        }
    }

    fn find(&self, name: &str) -> Result<Entry, Refusal> {
        registry().find(name).ok_or_else(|| Refusal::Unknown {
            name: name.to_owned(),
            known: registry().names().map(str::to_owned).collect(),
        })
    }

    fn call(&self, id: u64, name: &str, cpus: u32, args: &[u8]) -> Result<Said, Refusal> {
        let Entry::Function { call, .. } = self.find(name)? else {
            let error = format!("`{name}` is a job and cannot be called");
            return Err(Refusal::Failed { error });
        };
        let Some(running) = self.calls.begin(id) else {
            return Ok((Outcome::Cancelled, Vec::new()));
        };
        let run = || {
            let began = Instant::now();
            let call = || call::within(&running, || call(args));
            (panic::catch_unwind(AssertUnwindSafe(call)), began.elapsed())
        };
        let (result, ran) = self.in_pool(cpus, run)?;
        let run_ns = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        match result {
            Ok(Ok(result)) => Ok((Outcome::Returned { run_ns }, result)),
            Ok(Err(error)) => {
                Err(error.refusal(format!("the arguments or the result of `{name}`")))
            }
            Err(panic) => Ok((Outcome::Panicked(message(&*panic)), Vec::new())),
        }
    }

    fn start(
        &self,
        job: u64,
        epoch: u32,
        kind: &str,
        cpus: u32,
        state: &[u8],
    ) -> Result<Said, Refusal> {
        let Entry::Job { run, .. } = self.find(kind)? else {
            let error = format!("`{kind}` is a function and cannot be submitted as a job");
            return Err(Refusal::Failed { error });
        };
        jobs::run(
            &self.jobs,
            jobs::Start {
                job,
                epoch,
                kind,
                cpus,
                state,
            },
            run,
        )
    }

    /// Runs `call` in a pool of `cpus` threads that it has for itself: calls that were given
    /// processors at the same time run at the same time.
    fn in_pool<R: Send>(&self, cpus: u32, call: impl FnOnce() -> R + Send) -> Result<R, Refusal> {
        let idle = self.pools.lock().get_mut(&cpus).and_then(Vec::pop);
        let pool = idle.map_or_else(|| build_pool(cpus, |_| ()), Ok)?;
        let result = pool.install(call);
        self.pools.lock().entry(cpus).or_default().push(pool);
        Ok(result)
    }
}

/// A pool of `cpus` threads, each of which begins with `start`.
fn build_pool(
    cpus: u32,
    start: impl Fn(usize) + Send + Sync + 'static,
) -> Result<ThreadPool, Refusal> {
    let threads = usize::try_from(cpus).unwrap_or(usize::MAX).max(1);
    let built = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("heist-cluster-{index}"))
        .start_handler(start)
        .build();
    built.map_err(|error| Refusal::Failed {
        error: format!("could not start a pool of {threads} threads: {error}"),
    })
}

/// The parts of this build, for a driver that wants to know in what it differs; nothing if they
/// are too large.
fn own_build() -> Vec<u8> {
    let limits = Limits::from_environment().unwrap_or_default();
    let written = wire::encode(&**registry().build()).unwrap_or_default();
    match limits.admit("a build", &written) {
        Ok(()) => written,
        Err(_) => Vec::new(),
    }
}

fn respond(id: u64, (outcome, payload): Said) -> Frame {
    Frame::new(&Answer { id, outcome }, payload)
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it said nothing that is text".to_owned())
}

/// The time of day, for events and samples, in milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
