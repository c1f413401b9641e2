//! A worker as a process of its own, which is told what to do through its standard input.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::thread;

use super::{batch, respond, worker, Objects, Refusal};
use crate::json;
use crate::outgoing::Outgoing;
use crate::wire::{self, Ask, FrameReader, Limits, Outcome, ReadError, Request};

/// Makes a process a worker; says where its answers go: `socket`, the other end of its
/// standard input, or a path; or that it is a batch job.
pub(crate) const WORKER_VARIABLE: &str = "HEIST_CLUSTER_WORKER";
/// In [`WORKER_VARIABLE`], has a program say what it has, in place of serving.
pub(crate) const DESCRIBE: &str = "describe";
/// The name of the machine.
pub(crate) const NODE_VARIABLE: &str = "HEIST_CLUSTER_NODE";
/// Where shared data lies.
pub(crate) const OBJECTS_VARIABLE: &str = "HEIST_CLUSTER_OBJECTS";

static IS_INITIALISED: AtomicBool = AtomicBool::new(false);

/// Call this first in `main`: in a process that a backend started as a worker it serves
/// requests and never returns; everywhere else it does nothing.
///
/// # Examples
///
/// ```
/// heist_cluster::init();
/// // The program begins here.
/// ```
pub fn init() {
    // Only read by this process's own calls of connect, later.
    IS_INITIALISED.store(true, Ordering::Relaxed);
    if let Some(answers) = taken(WORKER_VARIABLE) {
        if let Some(node) = taken(NODE_VARIABLE) {
            let _ = super::NODE.set(node);
        }
        if let Some(folder) = taken(OBJECTS_VARIABLE) {
            Objects::here().set_folder(PathBuf::from(folder));
        }
        if answers == DESCRIBE {
            let described = json::describe(&mut io::stdout());
            process::exit(i32::from(described.is_err()));
        }
        let served = match answers.strip_prefix(batch::PREFIX) {
            Some(what) => batch::run(what),
            None => serve(&answers).map(|()| 0),
        };
        process::exit(served.unwrap_or_else(|error| code(&error)));
    }
}

/// The exit code of a worker that cannot go on, which says why.
fn code(error: &io::Error) -> i32 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        // The driver has gone, as it does in the end.
        return 0;
    }
    let _ = writeln!(io::stderr(), "heist-cluster: the worker ends: {error}");
    1
}

/// True if [`init`] was called in this process.
pub(crate) fn is_initialised() -> bool {
    IS_INITIALISED.load(Ordering::Relaxed)
}

/// A variable that is for this process and not for those that it starts.
fn taken(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    std::env::remove_var(name);
    Some(value)
}

fn serve(answers: &str) -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if answers == "socket" {
        let output = UnixStream::from(input.as_fd().try_clone_to_owned()?);
        serve_streams(input, output)
    } else {
        let output = OpenOptions::new().write(true).open(answers);
        let output = output.map_err(|error| {
            io::Error::other(format!(
                "{WORKER_VARIABLE} is {answers:?}, which is neither \"socket\" nor a file that \
                 could be opened: {error}"
            ))
        })?;
        serve_streams(input, output)
    }
}

/// Answers what comes from `input`, until it ends.
fn serve_streams(input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    let limits = Limits::from_environment().map_err(io::Error::other)?;
    let mut frames = FrameReader::new(BufReader::with_capacity(1 << 16, input), limits);
    // A driver that cannot be answered need not be listened to.
    let failed = |(), error: &io::Error| process::exit(code(error));
    let answers = Arc::new(Outgoing::start("heist-cluster-answers", output, failed)?);
    let answer = |frame| answers.send((), frame);
    loop {
        let frame = match frames.read() {
            Ok(frame) => frame,
            Err(error) if error.is_passing() => {
                let id = addressee(&error);
                let what = "a message".to_owned();
                let error = error.to_string();
                let refusal = Outcome::Refused(Refusal::Malformed { what, error });
                answer(respond(id, (refusal, Vec::new())));
                continue;
            }
            Err(ReadError::Closed) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        let Ok(request) = frame.understand::<Request>() else {
            answer(worker().answer(frame));
            continue;
        };
        let waits = matches!(
            request.ask,
            Ask::Call { .. } | Ask::Start { .. } | Ask::Await { .. } | Ask::Snapshot { .. }
        );
        let payload = frame.payload;
        if !waits {
            answer(worker().answer_request(request, payload));
            continue;
        }
        let answers = Arc::clone(&answers);
        // This thread may wait for the driver to read; the one that reads may not.
        let serving = move || answers.write((), worker().answer_request(request, payload));
        thread::Builder::new()
            .name("heist-cluster-call".to_owned())
            .spawn(serving)?;
    }
}

/// Which request an oversized frame was, if its header could be read; 0 is none.
fn addressee(error: &ReadError) -> u64 {
    match error {
        ReadError::Oversized {
            header: Some(header),
            ..
        } => wire::decode::<Request>(header).map_or(0, |request| request.id),
        _ => 0,
    }
}
