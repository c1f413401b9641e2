//! The answers to requests, however these arrive.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;
use std::time::Instant;

use heist_core::ThreadPool;
use heist_sync::Mutex;

use super::pool::{build_pool, message};
use super::{calls, jobs, usage};
use crate::protocol::refusal::Refusal;
use crate::protocol::trace::Trace;
use crate::protocol::{self, Answer, Ask, Frame, Limits, Outcome, Request};
use crate::remote::registry::{registry, Entry};

/// Answers requests in one process.
#[derive(Debug)]
pub(crate) struct Worker {
    /// The pools that no call uses at the moment, by the number of their threads.
    pools: Mutex<HashMap<u32, Vec<ThreadPool>>>,
    calls: calls::Calls,
    jobs: jobs::Jobs,
}

/// The one of this process.
pub(crate) fn worker() -> &'static Worker {
    static WORKER: OnceLock<Worker> = OnceLock::new();
    WORKER.get_or_init(|| Worker {
        pools: Mutex::default(),
        calls: calls::Calls::default(),
        jobs: jobs::Jobs::default(),
    })
}

/// An answer without its id.
type Said = (Outcome, Vec<u8>);

impl Worker {
    /// Carries out the request in `frame`, and waits until it is done.
    pub(crate) fn answer(&self, frame: Frame) -> Frame {
        match frame.understand::<Request>() {
            Ok(request) => self.answer_request(request, frame.payload),
            Err(error) => {
                let what = "the header of a request".to_owned();
                let refusal = Refusal::Malformed { what, error };
                // The request is unknown; no request has this number.
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
            Ask::Call {
                function,
                cpus,
                trace,
            } => self.call(id, &function, (cpus, trace), &payload),
            Ask::Hello => done(Vec::new()),
            Ask::Cancel { call } => {
                self.calls.cancel(call);
                done(Vec::new())
            }
            Ask::Start {
                job,
                epoch,
                kind,
                cpus,
                trace,
            } => self.start(jobs::Start {
                job,
                epoch,
                kind: &kind,
                cpus,
                trace,
                state: &payload,
            }),
            Ask::Await { job, epoch } => self
                .jobs
                .await_begun(job, epoch)
                .and_then(|()| done(Vec::new())),
            Ask::Pause { job, epoch } => {
                self.jobs.pause(job, epoch).and_then(|()| done(Vec::new()))
            }
            Ask::Stop { job, epoch } => self.jobs.stop(job, epoch).and_then(|()| done(Vec::new())),
            Ask::Snapshot { job, epoch } => self
                .jobs
                .snapshot(job, epoch)
                .map(|(progress, state)| (Outcome::Snapshot { progress }, state)),
            Ask::Usage { with_family } => Ok((
                Outcome::Usage(usage::read(&self.jobs.running(), with_family)),
                Vec::new(),
            )),
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

    fn call(
        &self,
        id: u64,
        name: &str,
        (cpus, trace): (u32, Option<Trace>),
        args: &[u8],
    ) -> Result<Said, Refusal> {
        let Entry::Function { call, .. } = self.find(name)? else {
            let error = format!("`{name}` is a job and cannot be called");
            return Err(Refusal::Failed { error });
        };
        let Some(running) = self.calls.begin(id, trace) else {
            return Ok((Outcome::Cancelled, Vec::new()));
        };
        let run = || {
            let began = Instant::now();
            let call = || running.context.run(|| call(args));
            (panic::catch_unwind(AssertUnwindSafe(call)), began.elapsed())
        };
        let (result, ran) = self.in_pool(cpus, run)?;
        // The output of a function is sent before its answer.
        let _ = io::stdout().flush();
        let run_ns = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        match result {
            Ok(Ok(result)) => Ok((Outcome::Returned { run_ns }, result)),
            Ok(Err(error)) => {
                Err(error.refusal(format!("the arguments or the result of `{name}`")))
            }
            Err(panic) => Ok((Outcome::Panicked(message(&*panic)), Vec::new())),
        }
    }

    fn start(&self, start: jobs::Start<'_>) -> Result<Said, Refusal> {
        let Entry::Job { run, .. } = self.find(start.kind)? else {
            let kind = start.kind;
            let error = format!("`{kind}` is a function and cannot be submitted as a job");
            return Err(Refusal::Failed { error });
        };
        let (outcome, payload) = jobs::run(&self.jobs, start, run)?;
        Ok((Outcome::Job(outcome), payload))
    }

    /// Runs `call` in a pool of `cpus` threads of its own, so that calls that were given processors
    /// at the same time run at the same time.
    fn in_pool<R: Send>(&self, cpus: u32, call: impl FnOnce() -> R + Send) -> Result<R, Refusal> {
        let idle = self.pools.lock().get_mut(&cpus).and_then(Vec::pop);
        let pool = idle.map_or_else(|| build_pool(cpus, |_| ()), Ok)?;
        let result = pool.install(call);
        self.pools.lock().entry(cpus).or_default().push(pool);
        Ok(result)
    }
}

/// The parts of this build's fingerprint, from which a driver learns the difference; nothing if
/// they are too large.
fn own_build() -> Vec<u8> {
    let limits = Limits::from_environment().unwrap_or_default();
    let written = protocol::encode(&**registry().build()).unwrap_or_default();
    match limits.admit("a build", &written) {
        Ok(()) => written,
        Err(_) => Vec::new(),
    }
}

pub(super) fn respond(id: u64, (outcome, payload): Said) -> Frame {
    Frame::new(&Answer { id, outcome }, payload)
}

/// A worker's answer to a frame, for the fuzzer.
#[doc(hidden)]
pub fn answer(frame: Frame) -> Frame {
    worker().answer(frame)
}
