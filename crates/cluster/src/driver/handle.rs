//! The handle of the driver of jobs: requests to its thread, and the views that it shows.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write as _};
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_sync::thread::{self, JoinHandle};
use heist_sync::Mutex;

use super::journal::Journal;
use super::machine::Machine;
use super::messages::{Checkpoint, Input, Submission, View};
use super::rates::Rates;
use super::reactor::{measure, Message, Reactor};
use super::rebalancer::Rebalancer;
use super::results::{Results, Shown};
use super::store::{Description, JobResult, Store, Unfinished};
use crate::backend::Backend;
use crate::driver::options::Options;
use crate::error::{ClusterErrorKind, RemoteError};
use crate::event::{CallCounts, EPOCHS_OF_DRIVER};
use crate::planner::{Config, JobId, Planner};
use crate::protocol::cpus::Cpus;
use crate::protocol::object_id::ObjectId;
use crate::remote::job_options::JobOptions;

/// The driver of jobs, as other threads hold it.
pub(crate) struct Driver {
    sender: Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Usage is measured until it is dropped.
    _measuring: Sender<()>,
    store: Option<Arc<Store>>,
    results: Arc<Results>,
}

impl Driver {
    pub(crate) fn start(
        backend: &Arc<dyn Backend>,
        options: Options,
        counts: impl Fn() -> CallCounts + Send + 'static,
    ) -> Result<Self, ClusterErrorKind> {
        let Options {
            store,
            events,
            events_bytes_max,
            listener,
            rebalance,
            sample_every,
            ..
        } = options;
        let complain = |message: String| {
            let _ = writeln!(io::stderr(), "heist-cluster: {message}");
        };
        let store = store.map(|folder| Store::open(&folder, complain));
        let store = store.transpose()?.map(Arc::new);
        let journal = events
            .map(|folder| Journal::open(&folder, events_bytes_max))
            .transpose()?;
        let results = Arc::new(Results::default());
        let (sender, receiver) = mpsc::channel();
        let rebalancer = rebalance.map(|config| rebalancer(config, sender.clone()));
        let rebalancer = rebalancer.transpose()?;
        let reactor = Reactor {
            backend: Arc::clone(backend),
            sender: sender.clone(),
            began: Instant::now(),
            machine: Machine::default(),
            store: store.clone(),
            journal,
            listener,
            rebalancer,
            rates: Rates::default(),
            moving: HashMap::new(),
            said: None,
            nodes: HashSet::new(),
            results: Arc::clone(&results),
            counts: Box::new(counts),
        };
        let thread = thread::Builder::new()
            .name("heist-cluster-jobs".to_owned())
            .spawn(move || reactor.run(&receiver))
            .map_err(no_thread)?;
        let every = sample_every.unwrap_or(Duration::from_secs(1));
        let (measuring, stop) = mpsc::channel();
        measure(Arc::downgrade(backend), sender.clone(), every, stop).map_err(no_thread)?;
        Ok(Self {
            sender,
            thread: Mutex::new(Some(thread)),
            _measuring: measuring,
            store,
            results,
        })
    }

    /// Submits a job.
    pub(crate) fn submit(
        &self,
        description: Description,
        (state, objects): (Vec<u8>, Vec<ObjectId>),
    ) -> Result<(), ClusterErrorKind> {
        let cpus = cpus(&description)?;
        self.reserve(&description.options.id)?;
        let checkpoint = Checkpoint {
            epoch: 0,
            progress: 0.0,
            state: Arc::new(state),
        };
        if let Some(store) = &self.store {
            if let Err(error) = store.add(&description, &checkpoint) {
                let mut shown = self.results.state.lock();
                shown.names.remove(&description.options.id);
                return Err(error);
            }
        }
        self.begin(description, checkpoint, objects, cpus, (0, None));
        Ok(())
    }

    /// Resumes a job that another driver began.
    pub(crate) fn resume(&self, unfinished: Unfinished) -> Result<(), ClusterErrorKind> {
        let cpus = cpus(&unfinished.description)?;
        self.reserve(&unfinished.description.options.id)?;
        let Unfinished {
            description,
            checkpoint,
            age_ms,
        } = unfinished;
        // Every attempt that the lost driver began since is older than this.
        let epoch = checkpoint.epoch.saturating_add(EPOCHS_OF_DRIVER);
        let epoch = epoch.checked_next_multiple_of(EPOCHS_OF_DRIVER);
        let epoch = epoch.unwrap_or(u32::MAX);
        let since = (epoch, Some(age_ms));
        self.begin(description, checkpoint, Vec::new(), cpus, since);
        Ok(())
    }

    fn reserve(&self, id: &JobId) -> Result<(), ClusterErrorKind> {
        if self.results.state.lock().names.insert(id.clone()) {
            return Ok(());
        }
        Err(ClusterErrorKind::Job(format!(
            "a job {id} is open; names of jobs are unique"
        )))
    }

    fn begin(
        &self,
        description: Description,
        checkpoint: Checkpoint,
        objects: Vec<ObjectId>,
        cpus: Cpus,
        (epoch, resumed_after_ms): (u32, Option<u64>),
    ) {
        let Description {
            job, kind, options, ..
        } = description;
        self.results.state.lock().ours.insert(job);
        let submission = Submission {
            job,
            kind,
            options,
            cpus,
            checkpoint,
            objects,
            epoch,
            resumed_after_ms,
        };
        self.tell(Input::Submit(Box::new(submission)));
    }

    pub(crate) fn unfinished(&self) -> Result<Vec<Unfinished>, ClusterErrorKind> {
        let Some(store) = &self.store else {
            return Ok(Vec::new());
        };
        let mut found = store.unfinished()?;
        let shown = self.results.state.lock();
        found.retain(|unfinished| !shown.ours.contains(&unfinished.description.job));
        Ok(found)
    }

    /// The end of the job of this name, according to the store.
    pub(crate) fn stored(
        &self,
        id: &JobId,
    ) -> Result<Option<(Description, JobResult)>, ClusterErrorKind> {
        self.store
            .as_ref()
            .map_or(Ok(None), |store| store.result(id))
    }

    pub(crate) fn tell(&self, input: Input) {
        // The thread outlives this handle.
        let _ = self.sender.send(Message::Input(input));
    }

    /// Takes the result of a job, if there is one within `patience`.
    pub(crate) fn result(&self, job: u64, patience: Duration) -> Option<JobResult> {
        self.wait(patience, |shown| {
            let closed = shown.is_closed.then_some(Err(RemoteError::Cancelled));
            let given = || Some(Err(RemoteError::given_already("the job")));
            match shown.results.get_mut(&job) {
                None => closed,
                Some(result) => result.take().or_else(given),
            }
        })
    }

    /// The reason why the result of a job that is over is missing from the store, if it should be
    /// there.
    pub(crate) fn not_stored(&self, job: u64) -> Option<String> {
        self.results.state.lock().not_stored.get(&job).cloned()
    }

    /// Gives up all jobs, and waits until the thread has ended.
    pub(crate) fn end(&self) {
        let _ = self.sender.send(Message::End);
        if let Some(thread) = self.thread.lock().take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }

    /// Waits until `look` finds something.
    fn wait<T>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&mut Shown) -> Option<T>,
    ) -> Option<T> {
        let began = Instant::now();
        let mut shown = self.results.state.lock();
        loop {
            if let Some(found) = look(&mut shown) {
                return Some(found);
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() || shown.is_closed {
                return None;
            }
            shown = self.results.changed.wait_timeout(shown, left);
        }
    }

    /// Waits until `is_so` is true of a job, for `patience` at most, and returns the job's view.
    pub(crate) fn view_when(
        &self,
        job: u64,
        patience: Duration,
        is_so: impl Fn(&View) -> bool,
    ) -> Option<View> {
        self.wait(patience, |shown| {
            shown.views.get(&job).filter(|view| is_so(view)).cloned()
        })
    }

    pub(crate) fn view(&self, job: u64) -> Option<View> {
        self.results.state.lock().views.get(&job).cloned()
    }
}

/// The settings of the rebalancer.
fn rebalancer(config: Config, sender: Sender<Message>) -> Result<Rebalancer, ClusterErrorKind> {
    let planner = Planner::new(config).map_err(|error| {
        ClusterErrorKind::Store(format!("the rebalancer cannot work like this: {error}"))
    })?;
    let tell = move |answer| {
        // The reactor may be gone, and then nobody minds.
        let _ = sender.send(Message::Decided(answer));
    };
    Rebalancer::start(planner, tell).map_err(no_thread)
}

fn no_thread(error: io::Error) -> ClusterErrorKind {
    ClusterErrorKind::Store(format!("could not start a thread: {error}"))
}

/// The processors that a job reserves.
fn cpus(description: &Description) -> Result<Cpus, ClusterErrorKind> {
    let JobOptions { id, cpus, .. } = &description.options;
    Cpus::try_from(*cpus)
        .map_err(|error| ClusterErrorKind::Job(format!("what job {id} wants: {error}")))
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.end();
    }
}
