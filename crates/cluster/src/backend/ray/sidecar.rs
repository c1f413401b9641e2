//! The side-car: its process, and the messages that go to it and come from it.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::mem;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::{thread, Mutex};
use serde::{Deserialize, Serialize};

use super::printed::{Piece, Printed};
use crate::error::BackendError;
use crate::log::tail::Tail;
use crate::planner::NodeId;
use crate::private::Folder;
use crate::protocol::needs::Needs;
use crate::protocol::outgoing::Outgoing;
use crate::protocol::{Frame, FrameReader, Limits, ReadError};

/// The name of the program of the side-car, in its folder.
const SCRIPT: &str = "sidecar.py";
/// The files of the side-car, by name.
pub(super) const FILES: [(&str, &str); 7] = [
    (SCRIPT, include_str!("sidecar.py")),
    ("driver.py", include_str!("driver.py")),
    ("calls.py", include_str!("calls.py")),
    ("rooms.py", include_str!("rooms.py")),
    ("nodes.py", include_str!("nodes.py")),
    ("done.py", include_str!("done.py")),
    ("frames.py", include_str!("frames.py")),
];
/// Where it prints to.
const LOG: &str = "sidecar.log";

/// How long it has for saying goodbye to Ray.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// How soon a silent connection is given up; Ray itself would wait for seven minutes, with
/// all that is under way there.
const KEEPALIVE: [&str; 2] = [
    "RAY_grpc_client_keepalive_time_ms",
    "RAY_grpc_client_keepalive_timeout_ms",
];
const KEEPALIVE_MS: &str = "3000";

/// A request to the side-car; see sidecar.py.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Op<'a> {
    /// Comes first.
    Connect {
        address: &'a str,
        package: &'a Path,
    },
    Call {
        cpus: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        node: Option<&'a NodeId>,
        is_pinned: bool,
        #[serde(skip_serializing_if = "Needs::is_empty")]
        needs: &'a Needs,
        /// From the most urgent.
        priority: u8,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        objects: Vec<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        near: Vec<String>,
    },
    Cancel {
        call: u64,
        is_hard: bool,
    },
    Put {
        object: String,
    },
    Fetch {
        object: String,
    },
    Forget {
        object: String,
    },
    Nodes,
    Open {
        host: u64,
        cpus: f64,
        node: Option<&'a NodeId>,
        is_pinned: bool,
        #[serde(skip_serializing_if = "Needs::is_empty")]
        needs: &'a Needs,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        objects: Vec<String>,
    },
    Ask {
        host: u64,
    },
    Close {
        host: u64,
    },
    Probe {
        node: &'a NodeId,
    },
}

/// The header of a message to the side-car.
#[derive(Debug, Serialize)]
struct Told<'a> {
    /// The number under which the answer comes, if one is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<u64>,
    #[serde(flatten)]
    op: &'a Op<'a>,
}

/// The header of a message from the side-car.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Heard {
    Printed {
        printed: Piece,
    },
    /// The last: why the side-car ends by itself.
    Ended {
        ended: String,
    },
    Said(Said),
}

/// The header of an answer.
#[derive(Debug, Deserialize)]
struct Said {
    to: u64,
    error: Option<Kind>,
    #[serde(default)]
    message: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Setup,
    NodeDied,
    OwnDoing,
    Lost,
    Cancelled,
    Impossible,
}

/// Takes the payload of an answer, or why there is none.
pub(super) type Answered = Box<dyn FnOnce(Result<Vec<u8>, BackendError>) + Send>;

/// The connection to the side-car.
pub(super) struct Sidecar {
    /// A message is known by the number of its answer, if one is wanted.
    outgoing: Outgoing<Option<u64>>,
    waiting: Arc<Waiting>,
    next: AtomicU64,
}

/// Those who wait for an answer; none any more once the side-car has ended.
struct Waiting {
    answered: Mutex<Result<HashMap<u64, Answered>, BackendError>>,
    printed: Arc<Printed>,
}

impl fmt::Debug for Sidecar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sidecar").finish_non_exhaustive()
    }
}

impl Sidecar {
    /// Starts the side-car that lies in `folder`.
    pub(super) fn start(
        python: &Path,
        folder: Folder,
        printed: &Arc<Printed>,
    ) -> Result<(Arc<Self>, Process), BackendError> {
        let start = || {
            let (ours, theirs) = UnixStream::pair()?;
            let log = File::create(folder.path().join(LOG))?;
            let mut command = Command::new(python);
            command
                .arg("-u")
                .arg(folder.path().join(SCRIPT))
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(Stdio::from(log.try_clone()?))
                .stderr(Stdio::from(log))
                // Ctrl-C is for us, not for it.
                .process_group(0);
            for name in KEEPALIVE {
                if std::env::var_os(name).is_none() {
                    command.env(name, KEEPALIVE_MS);
                }
            }
            Ok((command.spawn()?, ours))
        };
        let (child, stream) = start().map_err(|error: io::Error| {
            BackendError::setup(format!(
                "could not start the Python {}: {error}; name one that has Ray with \
                 Ray::python or HEIST_RAY_PYTHON",
                python.display()
            ))
        })?;
        let process = Process {
            child,
            stream,
            folder,
        };
        let sidecar = Self::listen(&process.stream, printed).map_err(|error| {
            BackendError::setup(format!("could not listen to the side-car: {error}"))
        })?;
        Ok((sidecar, process))
    }

    /// Takes up the conversation, with threads that read and write.
    fn listen(stream: &UnixStream, printed: &Arc<Printed>) -> io::Result<Arc<Self>> {
        let input = stream.try_clone()?;
        let waiting = Arc::new(Waiting {
            answered: Mutex::new(Ok(HashMap::new())),
            printed: Arc::clone(printed),
        });
        let told = Arc::clone(&waiting);
        let failed = move |to: Option<u64>, error: &io::Error| {
            if [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset].contains(&error.kind()) {
                // The thread that reads answers, with what the side-car has said at its end.
                return;
            }
            let error = BackendError::setup(format!("the side-car of Ray cannot be told: {error}"));
            // If no answer is wanted, the side-car has ended, and so has what it was about.
            if let Some(id) = to {
                told.pass_on(id, Err(error));
            }
        };
        let output = stream.try_clone()?;
        let sidecar = Arc::new(Self {
            outgoing: Outgoing::start("heist-cluster-requests", output, failed)?,
            waiting,
            // Calls count from below; see the driver.
            next: AtomicU64::new(1 << 63),
        });
        let reading = Arc::clone(&sidecar);
        thread::Builder::new()
            .name("heist-cluster-ray".to_owned())
            .spawn(move || {
                let (answers, error) = reading.waiting.read(input);
                reading.outgoing.close();
                for answered in answers.into_values() {
                    answered(Err(error.clone()));
                }
            })?;
        Ok(sidecar)
    }

    /// Has a call run; `id` is what it is called when it is cancelled.
    pub(super) fn send_call(&self, id: u64, op: &Op<'_>, payload: Vec<u8>, answered: Answered) {
        let refused = match self.waiting.answered.lock().as_mut() {
            Ok(waiting) => {
                waiting.insert(id, answered);
                None
            }
            Err(error) => Some((answered, error.clone())),
        };
        if let Some((answered, error)) = refused {
            return answered(Err(error));
        }
        if !self.write(Some(id), op, payload) {
            self.waiting.pass_on(id, Err(gone("")));
        }
    }

    /// Has something else done.
    pub(super) fn send(&self, op: &Op<'_>, payload: Vec<u8>, answered: Answered) {
        // Only uniqueness matters.
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.send_call(id, op, payload, answered);
    }

    /// Has something done that has no answer.
    pub(super) fn tell(&self, op: &Op<'_>, payload: Vec<u8>) {
        // If the side-car has ended, so has whatever this is about.
        let _ = self.write(None, op, payload);
    }

    /// Has something done, and waits for the answer.
    pub(super) fn ask(
        &self,
        op: &Op<'_>,
        payload: Vec<u8>,
        patience: Duration,
    ) -> Result<Vec<u8>, BackendError> {
        let (sender, receiver) = mpsc::channel();
        // A caller that has stopped waiting needs no answer.
        let answered = Box::new(move |answer| drop(sender.send(answer)));
        self.send(op, payload, answered);
        receiver.recv_timeout(patience).unwrap_or_else(|_| {
            let patience_s = patience.as_secs();
            Err(BackendError::lost(format!(
                "Ray did not answer for {patience_s} seconds"
            )))
        })
    }

    /// False if the side-car has ended.
    fn write(&self, to: Option<u64>, op: &Op<'_>, payload: Vec<u8>) -> bool {
        // Our own types, which JSON can write.
        let header = serde_json::to_vec(&Told { to, op }).unwrap_or_default();
        self.outgoing.send(to, Frame { header, payload })
    }
}

impl Waiting {
    /// Reads until there is no more, and returns who waits in vain, and why.
    fn read(&self, input: UnixStream) -> (HashMap<u64, Answered>, BackendError) {
        let mut frames =
            FrameReader::new(BufReader::with_capacity(1 << 16, input), Limits::default());
        let mut why = String::new();
        loop {
            let frame = match frames.read() {
                Ok(frame) => frame,
                Err(ReadError::Closed | ReadError::Io(_)) => break,
                Err(error) => {
                    why = format!(" for this program: it could not be read ({error})");
                    break;
                }
            };
            match serde_json::from_slice::<Heard>(&frame.header) {
                Ok(Heard::Printed { printed }) => self.printed.take(printed, &frame.payload),
                Ok(Heard::Said(said)) => self.pass_on(said.to, said.outcome(frame.payload)),
                Ok(Heard::Ended { ended }) => {
                    why = format!(": {ended}");
                    break;
                }
                Err(error) => {
                    why = format!(" for this program: it said what is no answer ({error})");
                    break;
                }
            }
        }
        let error = gone(&why);
        let waiting = mem::replace(&mut *self.answered.lock(), Err(error.clone()));
        (waiting.unwrap_or_default(), error)
    }

    fn pass_on(&self, id: u64, answer: Result<Vec<u8>, BackendError>) {
        let answered = self
            .answered
            .lock()
            .as_mut()
            .ok()
            .and_then(|waiting| waiting.remove(&id));
        if let Some(answered) = answered {
            answered(answer);
        }
    }
}

/// Nothing will go better later on this connection.
fn gone(why: &str) -> BackendError {
    BackendError::setup(format!(
        "the side-car, which speaks to Ray for this program, has ended{why}"
    ))
}

impl Said {
    fn outcome(self, payload: Vec<u8>) -> Result<Vec<u8>, BackendError> {
        let mut message = self.message;
        if self.error.is_some() && !payload.is_empty() {
            let mut words = Tail::default();
            words.take(&payload);
            message = words.shown_behind(message);
        }
        Err(match self.error {
            None => return Ok(payload),
            Some(Kind::Setup) => BackendError::setup(message),
            Some(Kind::NodeDied) => BackendError::node_died(message),
            Some(Kind::OwnDoing) => BackendError::own_doing(message),
            Some(Kind::Lost) => BackendError::lost(message),
            Some(Kind::Cancelled) => BackendError::cancelled(),
            Some(Kind::Impossible) => BackendError::impossible(message),
        })
    }
}

/// The process of the side-car, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stream: UnixStream,
    folder: Folder,
}

impl Process {
    /// Its last output, as the end of a message about it.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read(self.folder.path().join(LOG)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let last = log.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(String::new, |line| {
            format!("; the last that it printed is: {line}")
        })
    }
}

impl Process {
    /// Lets it end, and with it what it does for us.
    pub(super) fn hang_up(&self) {
        // It may have closed its end already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.hang_up();
        // Until it has closed its end. Another thread may be reading too, or this one may have
        // been until now; nobody wants what is read.
        let _ = self.stream.set_read_timeout(Some(END_PATIENCE));
        let _ = io::copy(&mut &self.stream, &mut io::sink());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
