//! Functions and jobs of another program, by name and with JSON values: for callers that cannot
//! link the code that they run.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use heist_sync::atomic::{AtomicU64, Ordering};
use serde_json::Value;

use super::call::Call;
use super::calls::Calls;
use super::cluster::Cluster;
use super::job_handle::{JobHandle, UnfinishedJob};
use super::remote_future::RemoteFuture;
use crate::backend::link::{directions, Link};
use crate::backend::poller::Poller;
use crate::backend::{BackendOptions, Program};
use crate::driver::options::Options;
use crate::error::{ClusterError, ClusterErrorKind, RemoteError};
use crate::planner::JobId;
use crate::protocol::environment::{DESCRIBE, WORKER_VARIABLE};
use crate::protocol::fingerprint::{Build, Fingerprint};
use crate::protocol::{Answer, Ask, Limits, Outcome, Request};
use crate::remote::description::{Described, Description};
use crate::remote::job_options::JobOptions;

/// The time limit for converting a value.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that calls [`init`](crate::init) and whose functions and jobs this one runs.
///
/// One process of it stays, to convert between JSON and its values.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use heist_cluster::{job, remote, ForeignProgram, Job, JobContext, JobOptions, Local, Options};
/// use heist_cluster::Stop;
/// use serde_json::json;
///
/// #[remote]
/// fn power(base: u64, exponent: u32) -> u64 {
///     base.pow(exponent)
/// }
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Countdown {
///     from: u64,
/// }
///
/// #[job]
/// impl Job for Countdown {
///     type Out = String;
///     const VERSION: u32 = 1;
///
///     fn run(&mut self, context: &JobContext) -> Result<String, Stop> {
///         while self.from > 0 {
///             context.safe_point(self)?;
///             self.from -= 1;
///         }
///         Ok("lift-off".to_owned())
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     // Another program would be named by its path, such as `target/release/powers`.
///     let program = ForeignProgram::inspect(std::env::current_exe()?)?;
///     let cluster = program.connect(Local::new(), Options::new())?;
///
///     let function = program.functions().next().expect("it has a function").to_owned();
///     let call = program.call(&cluster, &function, &json!([2, 10]))?;
///     assert_eq!(call.get()?, json!(1024));
///     assert!(program.check(&function, &json!(["two", 10])).is_err());
///
///     let kind = program.jobs().next().expect("it has a job").to_owned();
///     let options = JobOptions::new("countdown");
///     let job = program.submit(&cluster, &kind, &json!({ "from": 10 }), options)?;
///     let result = job.wait_timeout(Duration::from_secs(60)).expect("it is short");
///     assert_eq!(result?, json!("lift-off"));
///     println!("{:?}", job.handle().status());
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ForeignProgram {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    description: Description,
    build: Arc<Build>,
    fingerprint: Fingerprint,
    link: Arc<Link>,
    child: heist_sync::Mutex<Child>,
    next_request: AtomicU64,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut child = self.child.lock();
        // It may have ended already, which is what is wanted.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl ForeignProgram {
    /// Lists the functions and jobs of the program at `path`. Costs the start of two processes, one
    /// of which stays. [`ForeignProgram`] has an example.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started or does not call `init`.
    pub fn inspect(path: impl AsRef<Path>) -> Result<Self, ClusterError> {
        let path = path.as_ref();
        let failed = |what: &str| {
            let path = path.display();
            ClusterError::from(ClusterErrorKind::Program(format!(
                "could not use {path} as a program of remote functions: {what}"
            )))
        };
        let path = path
            .canonicalize()
            .map_err(|error| failed(&error.to_string()))?;
        let output = Command::new(&path)
            .env(WORKER_VARIABLE, DESCRIBE)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| failed(&error.to_string()))?;
        let description: Description = serde_json::from_slice(&output.stdout).map_err(|_| {
            failed("it does not say what it has; it must call heist_cluster::init() first in main")
        })?;
        let build = Arc::new(description.build.clone());
        let (link, child) = converse(&path).map_err(|error| failed(&error.to_string()))?;
        let shared = Shared {
            path,
            description,
            fingerprint: build.fingerprint(),
            build,
            link,
            child: heist_sync::Mutex::new(child),
            next_request: AtomicU64::new(1),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The names of its remote functions.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.shared
            .description
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Described::Function { name, .. } => Some(name.as_str()),
                Described::Job { .. } => None,
            })
    }

    /// The names of its types of jobs.
    pub fn jobs(&self) -> impl Iterator<Item = &str> {
        self.shared
            .description
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Described::Job { name, .. } => Some(name.as_str()),
                Described::Function { .. } => None,
            })
    }

    /// Whether the function or the type of jobs `name` can take `value`: its argument, the list
    /// of its arguments, or its state.
    ///
    /// # Errors
    ///
    /// Fails if the value does not fit, or there is nothing of this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, ForeignProgram};
    /// use serde_json::json;
    ///
    /// #[remote]
    /// fn power(base: u64, exponent: u32) -> u64 {
    ///     base.pow(exponent)
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let program = ForeignProgram::inspect(std::env::current_exe()?)?;
    ///     let name = program.functions().next().expect("it has a function");
    ///     program.check(name, &json!([2, 10]))?;
    ///     for wrong in [json!([2]), json!("two"), json!([2, -1])] {
    ///         assert!(program.check(name, &wrong).is_err());
    ///     }
    ///     assert!(program.check("none", &json!([2, 10])).is_err());
    ///     Ok(())
    /// }
    /// ```
    pub fn check(&self, name: &str, value: &Value) -> Result<(), ClusterError> {
        self.bytes_of(name, value).map(drop)
    }

    /// Connects to a backend whose workers run this program; [`ForeignProgram`] has an example.
    ///
    /// # Errors
    ///
    /// As [`Cluster::connect_with`].
    pub fn connect(
        &self,
        backend: impl BackendOptions,
        mut options: Options,
    ) -> Result<Cluster, ClusterError> {
        let program = Program {
            fingerprint: self.shared.fingerprint,
            build: Arc::clone(&self.shared.build),
            libraries: self.shared.description.libraries.clone(),
            limits: Cluster::limits()?,
            executable: Some(self.shared.path.clone()),
            logs: options.logs(),
        };
        Cluster::connect_program(backend, program, options)
    }

    /// Calls the function `name` with its argument, or the list of its arguments; waits as
    /// [`Cluster::call`] does. [`ForeignProgram`] has an example.
    ///
    /// # Errors
    ///
    /// Fails if there is no such function, or it cannot take `args`.
    pub fn call(
        &self,
        cluster: &Cluster,
        name: &str,
        args: &Value,
    ) -> Result<JsonCall, ClusterError> {
        self.call_as(&cluster.anywhere(), name, args)
    }

    /// [`call`](Self::call) as `calls` say: where, with which resources, for how long.
    ///
    /// # Errors
    ///
    /// As `call`, and if there can be no such resource.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use heist_cluster::{Cluster, ClusterError, ForeignProgram};
    /// fn power(program: &ForeignProgram, cluster: &Cluster) -> Result<(), ClusterError> {
    ///     let calls = cluster.on("n1").memory(4 << 30).resource("gpu", 1).retries(0);
    ///     let call = program.call_as(&calls, "powers::power", &serde_json::json!([2, 10]))?;
    ///     println!("{:?}", call.get());
    ///     Ok(())
    /// }
    /// ```
    pub fn call_as(
        &self,
        calls: &Calls<'_>,
        name: &str,
        args: &Value,
    ) -> Result<JsonCall, ClusterError> {
        let entries = &self.shared.description.entries;
        let defaults = entries.iter().find_map(|entry| match entry {
            Described::Function {
                name: known,
                options,
            } if known == name => Some(options),
            _ => None,
        });
        let defaults = defaults.ok_or_else(|| unknown("function", name, self.functions()))?;
        let args = (self.bytes_of(name, args)?, Vec::new());
        let what = calls.what_of(name, defaults, args);
        let what = what.map_err(ClusterErrorKind::Program)?;
        Ok(JsonCall {
            program: self.clone(),
            name: name.to_owned(),
            future: RemoteFuture::new(Call::begin_in_turn(calls.shared, what, None)),
        })
    }

    /// Submits a job of the type `kind`, from the state `state`; [`ForeignProgram`] has an example.
    ///
    /// # Errors
    ///
    /// Fails if there is no such type, or it has no such state; otherwise as [`Cluster::submit`].
    pub fn submit(
        &self,
        cluster: &Cluster,
        kind: &str,
        state: &Value,
        options: JobOptions,
    ) -> Result<JsonJob, ClusterError> {
        let version = self.version(kind)?;
        let state = self.bytes_of(kind, state)?;
        let id = options.id.clone();
        let number = cluster.submit_bytes(kind, version, (state, Vec::new()), options)?;
        Ok(self.handle(
            kind,
            JobHandle::new(Arc::clone(cluster.shared()), number, id),
        ))
    }

    /// Resumes a job of a lost driver, as [`Cluster::resume`] does, which has an example.
    ///
    /// # Errors
    ///
    /// Fails if this program has no such job, or one of another version.
    pub fn resume(&self, cluster: &Cluster, job: &UnfinishedJob) -> Result<JsonJob, ClusterError> {
        let found = &job.found.description;
        let version = self.version(&found.kind)?;
        if version != found.version {
            let message = format!(
                "job {} was begun with version {} of `{}`, and this program has version {version}",
                found.options.id, found.version, found.kind
            );
            return Err(ClusterErrorKind::Job(message).into());
        }
        let (number, id) = (found.job, found.options.id.clone());
        cluster.shared().driver()?.resume(job.found.clone())?;
        Ok(self.handle(
            &found.kind,
            JobHandle::new(Arc::clone(cluster.shared()), number, id),
        ))
    }

    /// The result of the last job of this name in the cluster's store, as
    /// [`Cluster::stored_result`] returns it, which has an example.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or this program has no such job.
    pub fn stored_result(
        &self,
        cluster: &Cluster,
        id: &JobId,
    ) -> Result<Option<Result<Value, RemoteError>>, ClusterError> {
        let Some((found, result)) = cluster.stored_bytes(id)? else {
            return Ok(None);
        };
        Ok(Some(
            result.and_then(|bytes| self.json_of(&found.kind, bytes)),
        ))
    }

    fn handle(&self, kind: &str, handle: JobHandle<()>) -> JsonJob {
        JsonJob {
            program: self.clone(),
            kind: kind.to_owned(),
            handle,
        }
    }

    fn version(&self, kind: &str) -> Result<u32, ClusterError> {
        let version = self
            .shared
            .description
            .entries
            .iter()
            .find_map(|entry| match entry {
                Described::Job { name, version } if name == kind => Some(*version),
                _ => None,
            });
        version.ok_or_else(|| unknown("job", kind, self.jobs()))
    }

    fn bytes_of(&self, name: &str, value: &Value) -> Result<Vec<u8>, ClusterError> {
        let ask = Ask::FromJson {
            name: name.to_owned(),
        };
        let bytes = self.ask(ask, value.to_string().into_bytes());
        bytes.map_err(|error| ClusterErrorKind::Program(error.to_string()).into())
    }

    fn json_of(&self, name: &str, bytes: Vec<u8>) -> Result<Value, RemoteError> {
        let json = self.ask(
            Ask::ToJson {
                name: name.to_owned(),
            },
            bytes,
        )?;
        serde_json::from_slice(&json).map_err(|error| RemoteError::malformed(error.to_string()))
    }

    /// Has the process beside us do something.
    fn ask(&self, ask: Ask, payload: Vec<u8>) -> Result<Vec<u8>, RemoteError> {
        // Only uniqueness matters.
        let id = self.shared.next_request.fetch_add(1, Ordering::Relaxed);
        let fingerprint = self.shared.fingerprint;
        let request = Request::frame(id, fingerprint, ask, payload);
        let (sender, receiver) = mpsc::channel();
        // A caller that has stopped waiting needs no answer.
        self.shared.link.send(
            id,
            request,
            Box::new(move |answer| sender.send(answer).unwrap_or_default()),
        );
        let frame = receiver.recv_timeout(PATIENCE).map_err(|_| {
            let path = self.shared.path.display();
            RemoteError::malformed(format!("{path} took too long to read or write a value"))
        })??;
        match frame.understand::<Answer>() {
            Ok(Answer {
                outcome: Outcome::Done,
                ..
            }) => Ok(frame.payload),
            Ok(Answer {
                outcome: Outcome::Refused(refusal),
                ..
            }) => Err(RemoteError::Refused(refusal)),
            other => Err(RemoteError::malformed(format!(
                "unexpected answer: {other:?}"
            ))),
        }
    }
}

/// Starts a process of a program, to talk to.
fn converse(path: &Path) -> io::Result<(Arc<Link>, Child)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(path)
        .env(WORKER_VARIABLE, "socket")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::from(io::stderr()))
        .spawn()?;
    let name = path.file_name().unwrap_or(OsStr::new("the program"));
    let name = name.to_string_lossy().into_owned();
    let (poller, limits) = (Poller::start()?, Limits::default());
    let (input, output) = directions(ours);
    Ok((
        Link::open(&poller, name, input, output, limits, drop)?,
        child,
    ))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> ClusterError {
    let known: Vec<_> = known.collect();
    let known = match known.as_slice() {
        [] => "it has none".to_owned(),
        known => format!("it has {}", known.join(", ")),
    };
    ClusterErrorKind::Program(format!("the program has no {what} `{name}`; {known}")).into()
}

/// A call of another program's function; [`ForeignProgram`] has an example.
#[derive(Debug)]
pub struct JsonCall {
    program: ForeignProgram,
    name: String,
    future: RemoteFuture<()>,
}

impl JsonCall {
    /// Waits for the result.
    ///
    /// # Errors
    ///
    /// See [`RemoteError`].
    pub fn get(self) -> Result<Value, RemoteError> {
        let bytes = self.future.get_bytes()?;
        self.program.json_of(&self.name, bytes)
    }

    /// True once there is a result; [`RemoteFuture`] has an example.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.future.is_done()
    }

    /// Kills the call, as [`RemoteFuture::kill`] does; [`RemoteFuture`] has an example.
    pub fn kill(&self) {
        self.future.kill();
    }
}

/// A job of another program; [`ForeignProgram`] has an example.
#[derive(Debug)]
pub struct JsonJob {
    program: ForeignProgram,
    kind: String,
    handle: JobHandle<()>,
}

impl JsonJob {
    /// The job, for all but its result.
    #[must_use]
    pub fn handle(&self) -> &JobHandle<()> {
        &self.handle
    }

    /// Waits for the result for at most `patience`; `None` if there is none by then. The result is
    /// given once.
    #[must_use]
    pub fn wait_timeout(&self, patience: Duration) -> Option<Result<Value, RemoteError>> {
        let result = self.handle.wait_bytes(patience)?;
        Some(result.and_then(|bytes| self.program.json_of(&self.kind, bytes)))
    }
}
