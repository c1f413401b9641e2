//! The cluster: calls, shared data, chunks and jobs begin here.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::Mutex;
use serde::Serialize;

use super::calls::Calls;
use super::job_handle::{JobHandle, UnfinishedJob};
use super::object::{self, Remote};
use super::permits::Permits;
use super::remote_future::RemoteFuture;
use super::session::{reader, Counters, Logging, Session, Shared};
use crate::backend::own::{Own, Owner};
use crate::backend::{BackendOptions, Node, Program};
use crate::driver::handle::Driver;
use crate::driver::options::Options;
use crate::driver::store::{Description, JobResult};
use crate::error::{ClusterError, ClusterErrorKind, RemoteError};
use crate::planner::{JobId, NodeId};
use crate::protocol::object_id::ObjectId;
use crate::protocol::{self, Limits};
use crate::remote::function::RemoteFunction;
use crate::remote::job::RegisteredJob;
use crate::remote::job_options::JobOptions;
use crate::remote::registry::{libraries, registry};

/// Machines on which remote functions and jobs run.
///
/// Clones share one cluster, which ends when the last of them is dropped. Calls and jobs that are
/// still open are then cancelled, and say so to their waiters. A forked child of the process that
/// connected it cannot use it, and does not end it: calls and waits fail there.
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, Cluster, Local};
///
/// #[remote]
/// fn square(x: u64) -> u64 {
///     x * x
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new().nodes(2))?;
///     assert_eq!((cluster.backend(), cluster.nodes()?.len()), ("local", 2));
///     let squares: Vec<_> = (0..10).map(|x| cluster.call(square, x)).collect();
///     for (x, result) in squares.into_iter().enumerate() {
///         assert_eq!(result.get()?, (x * x) as u64);
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    shared: Arc<Shared>,
    /// Ends the cluster; only its clones hold it, and no call.
    _session: Arc<Session>,
}

impl Cluster {
    /// Connects to a backend, such as [`Local`](crate::Local).
    ///
    /// # Errors
    ///
    /// Fails if the backend cannot be started or reached, or if two remote functions or jobs of the
    /// program share a path.
    ///
    /// # Cost
    ///
    /// `Local` starts its workers, a few milliseconds each; Slurm is asked for its version and
    /// nodes; connecting the side-car to Ray takes seconds.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{Cluster, Local};
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new().nodes(2))?;
    ///     let ended = Cluster::connect(Local::new().nodes(u32::MAX)).unwrap_err();
    ///     eprintln!("{} is there; {ended}", cluster.backend());
    ///     Ok(())
    /// }
    /// ```
    pub fn connect(backend: impl BackendOptions) -> Result<Self, ClusterError> {
        Self::connect_with(backend, Options::new())
    }

    /// [`connect`](Self::connect) with a job store, events or a rebalancer; [`Options`] has an
    /// example.
    ///
    /// # Errors
    ///
    /// As `connect`; also if a file cannot be opened, another driver uses the store, or the
    /// rebalancer's settings contradict each other.
    pub fn connect_with(
        backend: impl BackendOptions,
        mut options: Options,
    ) -> Result<Self, ClusterError> {
        let registry = registry();
        if !registry.ambiguous.is_empty() {
            let names = registry.ambiguous.clone();
            return Err(ClusterErrorKind::Ambiguous(names).into());
        }
        let program = Program {
            fingerprint: registry.fingerprint(),
            build: Arc::clone(registry.build()),
            libraries: libraries(),
            limits: Self::limits()?,
            executable: None,
            logs: options.logs(),
        };
        Self::connect_program(backend, program, options)
    }

    /// How large messages may be, as the environment says.
    pub(crate) fn limits() -> Result<Limits, ClusterErrorKind> {
        Limits::from_environment().map_err(ClusterErrorKind::Program)
    }

    /// Connects to a backend for any program, not only the running one.
    pub(crate) fn connect_program(
        backend: impl BackendOptions,
        program: Program,
        options: Options,
    ) -> Result<Self, ClusterError> {
        let (fingerprint, limits) = (program.fingerprint, program.limits);
        let build = Arc::clone(&program.build);
        let logs = Logging(program.logs.clone());
        let backend = Own::wrap(backend.connect(program)?);
        let permits = Permits::new(options.calls_bytes_max);
        let counters = Arc::new(Counters::default());
        let driver = OnceLock::new();
        if options.wants_driver() {
            let started = Driver::start(&backend, options, reader(&counters))?;
            driver.get_or_init(|| started);
        }
        let shared = Shared {
            backend,
            owner: Owner::here(),
            fingerprint,
            build,
            limits,
            // Random, because hashers of the library are.
            id: RandomState::new().hash_one(std::process::id()),
            next_request: AtomicU64::new(1),
            next_object: AtomicU64::new(1),
            next_job: AtomicU64::new(1),
            counters,
            permits,
            timers: Arc::default(),
            logs,
            driver,
            starting: Mutex::new(()),
        };
        let shared = Arc::new(shared);
        Ok(Self {
            _session: Arc::new(Session(Arc::clone(&shared))),
            shared,
        })
    }

    /// The name of the backend.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.shared.backend.name()
    }

    /// The machines, including lost ones. Asks Slurm or Ray and waits for the answer.
    ///
    /// # Errors
    ///
    /// Fails if the backend does not know them.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{Cluster, Local};
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new().nodes(2).cpus(3))?;
    ///     for node in cluster.nodes()?.iter().filter(|node| node.is_alive) {
    ///         assert_eq!(node.cpus, 3.0, "{}", node.id);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn nodes(&self) -> Result<Vec<Node>, ClusterError> {
        Ok(self.shared.backend.nodes()?)
    }

    /// Calls a remote function on some machine. The backend runs a lost attempt again, up to the
    /// function's `retries`, so side effects may happen more than once; the result comes once.
    ///
    /// The function runs when there is room. While open calls hold more argument bytes than
    /// [`Options::calls_bytes_max`], this blocks until some end; [`try_call`](Calls::try_call) does
    /// not.
    ///
    /// Once workers run, a call costs a tenth of a millisecond on [`Local`](crate::Local), two
    /// milliseconds on Slurm and about ten on Ray: give it work for 50 ms or more.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local};
    ///
    /// #[remote]
    /// fn square(x: u64) -> u64 {
    ///     x * x
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let (three, four) = (cluster.call(square, 3), cluster.call(square, 4));
    ///     assert_eq!(three.get()? + four.get()?, 25);
    ///     Ok(())
    /// }
    /// ```
    pub fn call<F: RemoteFunction>(&self, function: F, args: F::Args) -> RemoteFuture<F::Out> {
        self.anywhere().call(function, args)
    }

    /// Calls on `node` if it exists and has room, else elsewhere; [`Calls`] has an example.
    pub fn on(&self, node: impl Into<NodeId>) -> Calls<'_> {
        self.anywhere().on(node)
    }

    /// Calls on `node` only; [`Calls`] has an example.
    pub fn pin(&self, node: impl Into<NodeId>) -> Calls<'_> {
        self.anywhere().pin(node)
    }

    /// Calls where `data` already is, if there is room; [`Calls`] has an example.
    pub fn near<T>(&self, data: &Remote<T>) -> Calls<'_> {
        self.anywhere().near(data)
    }

    /// Calls with a time limit; [`Calls::within`] has an example.
    pub fn within(&self, time: Duration) -> Calls<'_> {
        self.anywhere().within(time)
    }

    /// Calls wherever there is room; [`Calls::try_call`] has an example.
    pub fn anywhere(&self) -> Calls<'_> {
        Calls::anywhere(&self.shared)
    }

    /// Puts data into the cluster for calls to share. Costs one copy to the backend and one to each
    /// process that reads it; [`Remote`] has an example.
    ///
    /// # Errors
    ///
    /// Fails if serde cannot write it or the backend cannot keep it.
    pub fn put<T: Serialize>(&self, value: &T) -> Result<Remote<T>, RemoteError> {
        let bytes = protocol::encode(value).map_err(|error| {
            RemoteError::malformed(format!("the data cannot be written: {error}"))
        })?;
        // Only uniqueness matters.
        let number = self.shared.next_object.fetch_add(1, Ordering::Relaxed);
        let id = ObjectId {
            cluster: self.shared.id,
            number,
        };
        self.shared.backend.put(id, bytes)?;
        Ok(Remote::new(id, Arc::clone(&self.shared.backend)))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Submits a job, which runs wherever there is room until it has a result or gives up. If the
    /// backend loses an attempt, another starts from the last checkpoint. The state may refer to
    /// shared data that outlives the job. [`JobHandle`] has an example.
    ///
    /// Costs a message to the driver's thread; with a [store](Options::store) the first state is on
    /// disk when this returns.
    ///
    /// # Errors
    ///
    /// Fails if the options are wrong, a job of this name is open, or the state cannot be written.
    pub fn submit<J: RegisteredJob>(
        &self,
        job: J,
        options: JobOptions,
    ) -> Result<JobHandle<J::Out>, ClusterError> {
        let state = object::encode_with_objects(&job).map_err(|error| {
            ClusterErrorKind::Job(format!(
                "the state of job {} cannot be written: {error}",
                options.id
            ))
        })?;
        let id = options.id.clone();
        let number = self.submit_bytes(J::NAME, J::VERSION, state, options)?;
        Ok(JobHandle::new(Arc::clone(&self.shared), number, id))
    }

    /// Submits a job with an encoded state, and returns its number.
    pub(crate) fn submit_bytes(
        &self,
        kind: &str,
        version: u32,
        (state, objects): (Vec<u8>, Vec<ObjectId>),
        options: JobOptions,
    ) -> Result<u64, ClusterError> {
        let driver = self.shared.driver()?;
        if let Some(fault) = options.fault() {
            return Err(ClusterErrorKind::Job(fault).into());
        }
        let what = format!("the state and name of job {}", options.id);
        let admitted = self.shared.limits.admit(&what, &state);
        admitted.map_err(ClusterErrorKind::Job)?;
        // Only uniqueness matters. The cluster's part keeps jobs of different drivers apart.
        let number = self.shared.next_job.fetch_add(1, Ordering::Relaxed);
        let job = (self.shared.id << 16) ^ number;
        let kind = kind.to_owned();
        let description = Description {
            job,
            kind,
            version,
            options,
            place: 0,
        };
        driver.submit(description, (state, objects))?;
        Ok(job)
    }

    /// The unfinished jobs that a lost driver left in the store. Reads their files, states
    /// included. A damaged file is reported on stderr and set aside, and its job left out.
    /// [`resume`](Self::resume) has an example.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn unfinished(&self) -> Result<Vec<UnfinishedJob>, ClusterError> {
        let open = self.shared.driver()?.unfinished()?;
        Ok(open.into_iter().map(UnfinishedJob::new).collect())
    }

    /// The encoded outcome of the last job of this name in the store.
    pub(crate) fn stored_bytes(
        &self,
        id: &JobId,
    ) -> Result<Option<(Description, JobResult)>, ClusterError> {
        Ok(self.shared.driver()?.stored(id)?)
    }

    /// The result of the last job of this name in the store, whichever driver began it. `None` if
    /// there is no such job, it has not ended, or its result is damaged, which is reported on
    /// stderr. Reads its file.
    ///
    /// # Errors
    ///
    /// As [`resume`](Self::resume), and if the store cannot be read.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use heist_cluster::{Cluster, ClusterError, RegisteredJob};
    /// # fn look<J: RegisteredJob<Out = u64>>(cluster: &Cluster) -> Result<(), ClusterError> {
    /// match cluster.stored_result::<J>(&"sum".into())? {
    ///     Some(Ok(sum)) => println!("{sum}"),
    ///     Some(Err(error)) => println!("no sum: {error}"),
    ///     None => println!("not yet"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stored_result<J: RegisteredJob>(
        &self,
        id: &JobId,
    ) -> Result<Option<Result<J::Out, RemoteError>>, ClusterError> {
        let Some((found, result)) = self.stored_bytes(id)? else {
            return Ok(None);
        };
        check_kind::<J>(&found)?;
        Ok(Some(result.and_then(|bytes| {
            protocol::decode(&bytes).map_err(|error| {
                RemoteError::malformed(format!(
                    "the result of job {id} cannot be understood: {error}"
                ))
            })
        })))
    }

    /// Resumes a job of a lost driver from its last checkpoint.
    ///
    /// # Errors
    ///
    /// Fails if the job is not a `J`, or its state has another form.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use heist_cluster::{Cluster, ClusterError, RegisteredJob};
    /// fn resume_all<J: RegisteredJob>(cluster: &Cluster) -> Result<(), ClusterError> {
    ///     for found in cluster.unfinished()? {
    ///         println!("{} goes on from {:.0} %", found.id(), found.progress() * 100.0);
    ///         cluster.resume::<J>(&found)?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn resume<J: RegisteredJob>(
        &self,
        job: &UnfinishedJob,
    ) -> Result<JobHandle<J::Out>, ClusterError> {
        let found = &job.found.description;
        check_kind::<J>(found)?;
        let (number, id) = (found.job, found.options.id.clone());
        self.shared.driver()?.resume(job.found.clone())?;
        Ok(JobHandle::new(Arc::clone(&self.shared), number, id))
    }
}

/// Whether a job in the store is a `J`.
fn check_kind<J: RegisteredJob>(found: &Description) -> Result<(), ClusterErrorKind> {
    if (found.kind.as_str(), found.version) == (J::NAME, J::VERSION) {
        return Ok(());
    }
    Err(ClusterErrorKind::Job(format!(
        "job {} is a {} of version {}, and not a {} of version {}",
        found.options.id,
        found.kind,
        found.version,
        J::NAME,
        J::VERSION
    )))
}
