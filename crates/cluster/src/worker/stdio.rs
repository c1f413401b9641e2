//! A worker as a process of its own, which gets its requests on standard input.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;

use heist_sync::parent::Parent;
use heist_sync::thread;

use super::answer::{respond, worker};
use super::batch;
use crate::protocol::environment::{
    set_initialised, BATCH_PREFIX, DESCRIBE, DRIVER_VARIABLE, NODE_VARIABLE, OBJECTS_VARIABLE,
    WORKER_VARIABLE,
};
use crate::protocol::outgoing::Outgoing;
use crate::protocol::refusal::Refusal;
use crate::protocol::{self, Ask, FrameReader, Limits, Outcome, ReadError, Request};
use crate::remote::context;
use crate::remote::description;
use crate::remote::objects::Objects;

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
    set_initialised();
    if let Some(answers) = taken(WORKER_VARIABLE) {
        if let Some(node) = taken(NODE_VARIABLE) {
            context::set_node(node);
        }
        if let Some(folder) = taken(OBJECTS_VARIABLE) {
            Objects::here().set_folder(PathBuf::from(folder));
        }
        if let Some(driver) = taken(DRIVER_VARIABLE) {
            end_with(&driver);
        }
        if answers == DESCRIBE {
            let described = description::write(&mut io::stdout());
            process::exit(i32::from(described.is_err()));
        }
        let served = match answers.strip_prefix(BATCH_PREFIX) {
            Some(what) => batch::run(what),
            None => serve(&answers).map(|()| 0),
        };
        process::exit(served.unwrap_or_else(|error| code(&error)));
    }
}

/// The exit code of a worker that cannot go on, after it has printed why.
fn code(error: &io::Error) -> i32 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        // The driver has gone, as it does at the end.
        return 0;
    }
    let _ = writeln!(io::stderr(), "heist-cluster: the worker ends: {error}");
    1
}

/// Takes an environment variable that is for this process and not for those that it starts.
fn taken(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    std::env::remove_var(name);
    Some(value)
}

/// Ends this process when its driver has died, if that is its parent: a forked child of the driver
/// may hold the driver's end of the connection, which then does not end.
fn end_with(driver: &str) {
    // If it is dead already, or cannot be watched, the end of the connection has to do.
    let Some(driver) = driver.parse().ok().and_then(Parent::watched) else {
        return;
    };
    let watching = move || {
        if driver.wait() {
            process::exit(0);
        }
    };
    // As above.
    let _ = thread::Builder::new()
        .name("heist-cluster-driver".to_owned())
        .spawn(watching);
}

fn serve(answers: &str) -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Otherwise functions, and the programs that they start, would read the driver's requests, and
    // hold the connection after this process is dead.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
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

/// Answers the requests from `input`, until it ends.
fn serve_streams(input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    let limits = Limits::from_environment().map_err(io::Error::other)?;
    let mut frames = FrameReader::new(BufReader::with_capacity(1 << 16, input), limits);
    // If the driver cannot be answered, its requests need not be read.
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

/// The request number of an oversized frame, if its header could be read; 0 if not.
fn addressee(error: &ReadError) -> u64 {
    match error {
        ReadError::Oversized {
            header: Some(header),
            ..
        } => protocol::decode::<Request>(header).map_or(0, |request| request.id),
        _ => 0,
    }
}
