//! The thread that runs the table of jobs and the rebalancer.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use heist_sync::thread::{self, JoinHandle};
use heist_sync::{Condvar, Mutex};

use super::rates::{Rates, Readings};
use super::store::{Description, JobResult, Journal, Store, Unfinished};
use super::table::{Action, Checkpoint, Input, Submission, Table, View};
use crate::engine::{Engine, Node};
use crate::error::ClusterErrorKind;
use crate::event::{CallCounts, ClusterEvent, Happening};
use crate::planner::{Config, JobId, NodeId, Outcome, Planner};

/// How often the table looks at the time.
const TICK: Duration = Duration::from_millis(50);

/// How the driver treats jobs and what it writes down.
///
/// # Examples
///
/// ```no_run
/// use heist_cluster::{planner, Cluster, Local, Options};
///
/// let options = Options::new().store("jobs").rebalance(planner::Config::default());
/// let cluster = Cluster::connect_with(Local::new().nodes(3), options)?;
/// # Ok::<(), heist_cluster::ClusterError>(())
/// ```
#[derive(Default)]
pub struct Options {
    store: Option<PathBuf>,
    events: Option<PathBuf>,
    listener: Option<Listener>,
    rebalance: Option<Config>,
    sample_every: Option<Duration>,
}

/// Is told of each event.
type Listener = Box<dyn FnMut(&ClusterEvent) + Send>;

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("store", &self.store)
            .field("events", &self.events)
            .field("rebalance", &self.rebalance)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Jobs live as long as the driver, nothing is written down, and nobody moves them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps jobs and their checkpoints in `folder`, so that another driver can go on with
    /// them if this one is lost.
    #[must_use]
    pub fn store(mut self, folder: impl Into<PathBuf>) -> Self {
        self.store = Some(folder.into());
        self
    }

    /// Writes what happens to the file `events.jsonl` in `folder`.
    #[must_use]
    pub fn events(mut self, folder: impl Into<PathBuf>) -> Self {
        self.events = Some(folder.into());
        self
    }

    /// Tells `listener` what happens, on a thread of the cluster.
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(&ClusterEvent) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Moves jobs when that pays.
    #[must_use]
    pub fn rebalance(mut self, config: Config) -> Self {
        self.rebalance = Some(config);
        self
    }

    /// How often usage is measured: every second, unless this says otherwise.
    #[must_use]
    pub fn sample_every(mut self, period: Duration) -> Self {
        self.sample_every = Some(period.max(Duration::from_millis(250)));
        self
    }

    /// True if something is to be done before there is a job.
    pub(crate) fn wants_driver(&self) -> bool {
        self.store.is_some()
            || self.events.is_some()
            || self.listener.is_some()
            || self.rebalance.is_some()
    }
}

/// The driver of jobs, from outside of its thread.
pub(crate) struct Driver {
    sender: Sender<Message>,
    thread: Option<JoinHandle<()>>,
    /// Usage is measured until it is dropped.
    _measuring: Sender<()>,
    store: Option<Arc<Store>>,
    board: Arc<Board>,
}

/// What the reactor's thread shows to others.
#[derive(Debug, Default)]
struct Board {
    state: Mutex<Shown>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Shown {
    views: BTreeMap<u64, View>,
    results: HashMap<u64, JobResult>,
    /// The names of jobs that are not over.
    names: HashSet<JobId>,
    /// The numbers of all jobs that this driver was given.
    ours: HashSet<u64>,
    /// Nothing will change any more.
    is_closed: bool,
}

impl Board {
    /// Tells whoever waits for a job.
    fn finish(&self, job: u64, result: JobResult) {
        let mut shown = self.state.lock();
        if let Some(view) = shown.views.get(&job) {
            let id = view.options.id.clone();
            shown.names.remove(&id);
        }
        shown.results.insert(job, result);
        drop(shown);
        self.changed.notify_all();
    }
}

enum Message {
    Input(Input),
    Readings(Vec<Node>, Readings),
    End,
}

impl Driver {
    pub(crate) fn start(
        engine: &Arc<dyn Engine>,
        options: Options,
        counts: impl Fn() -> CallCounts + Send + 'static,
    ) -> Result<Self, ClusterErrorKind> {
        let Options {
            store,
            events,
            listener,
            rebalance,
            sample_every,
        } = options;
        let complain = |message: String| {
            let _ = io::Write::write_fmt(
                &mut io::stderr(),
                format_args!("heist-cluster: {message}\n"),
            );
        };
        let store = store
            .map(|folder| Store::open(&folder, complain))
            .transpose()?;
        let store = store.map(Arc::new);
        let journal = events.map(|folder| Journal::open(&folder)).transpose()?;
        let planner = rebalance.map(Planner::new).transpose();
        let planner = planner.map_err(|error| {
            ClusterErrorKind::Store(format!("the rebalancer cannot work like this: {error}"))
        })?;
        let board = Arc::new(Board::default());
        let (sender, receiver) = mpsc::channel();
        let reactor = Reactor {
            engine: Arc::clone(engine),
            sender: sender.clone(),
            began: Instant::now(),
            table: Table::default(),
            store: store.clone(),
            journal,
            listener,
            planner,
            rates: Rates::default(),
            moving: HashMap::new(),
            said: None,
            nodes: HashSet::new(),
            board: Arc::clone(&board),
            counts: Box::new(counts),
        };
        let failed = |error: io::Error| {
            ClusterErrorKind::Store(format!("could not start a thread: {error}"))
        };
        let thread = thread::Builder::new()
            .name("heist-cluster-jobs".to_owned())
            .spawn(move || reactor.run(&receiver))
            .map_err(failed)?;
        let every = sample_every.unwrap_or(Duration::from_secs(1));
        let (measuring, stop) = mpsc::channel();
        measure(Arc::downgrade(engine), sender.clone(), every, stop).map_err(failed)?;
        Ok(Self {
            sender,
            thread: Some(thread),
            _measuring: measuring,
            store,
            board,
        })
    }

    /// Submits a job.
    pub(crate) fn submit(
        &self,
        description: Description,
        state: Vec<u8>,
    ) -> Result<(), ClusterErrorKind> {
        self.reserve(&description.options.id)?;
        let checkpoint = Checkpoint {
            epoch: 0,
            progress: 0.0,
            state: Arc::new(state),
        };
        if let Some(store) = &self.store {
            if let Err(error) = store.add(&description, &checkpoint) {
                self.board
                    .state
                    .lock()
                    .names
                    .remove(&description.options.id);
                return Err(error);
            }
        }
        self.begin(description, checkpoint, 0, None);
        Ok(())
    }

    /// Goes on with a job that another driver began.
    pub(crate) fn resume(&self, unfinished: Unfinished) -> Result<(), ClusterErrorKind> {
        self.reserve(&unfinished.description.options.id)?;
        let Unfinished {
            description,
            checkpoint,
            age_ms,
        } = unfinished;
        // Whatever the lost driver began since is older than this.
        let epoch = checkpoint.epoch.saturating_add(RESUMED_EPOCHS);
        self.begin(description, checkpoint, epoch, Some(age_ms));
        Ok(())
    }

    fn reserve(&self, id: &JobId) -> Result<(), ClusterErrorKind> {
        if self.board.state.lock().names.insert(id.clone()) {
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
        epoch: u32,
        resumed_after_ms: Option<u64>,
    ) {
        let Description {
            job, kind, options, ..
        } = description;
        self.board.state.lock().ours.insert(job);
        self.tell(Input::Submit(Submission {
            job,
            kind,
            options,
            checkpoint,
            epoch,
            resumed_after_ms,
        }));
    }

    pub(crate) fn unfinished(&self) -> Result<Vec<Unfinished>, ClusterErrorKind> {
        let Some(store) = &self.store else {
            return Ok(Vec::new());
        };
        let mut found = store.unfinished()?;
        let shown = self.board.state.lock();
        found.retain(|unfinished| !shown.ours.contains(&unfinished.description.job));
        Ok(found)
    }

    /// How the job of this name ended, according to the store.
    pub(crate) fn stored(
        &self,
        id: &JobId,
    ) -> Result<Option<(Description, JobResult)>, ClusterErrorKind> {
        self.store
            .as_ref()
            .map_or(Ok(None), |store| store.result(id))
    }

    pub(crate) fn tell(&self, input: Input) {
        // It ends only with us.
        let _ = self.sender.send(Message::Input(input));
    }

    /// The result of a job, if there is one within `patience`. It is given once.
    pub(crate) fn result(&self, job: u64, patience: Duration) -> Option<JobResult> {
        self.wait(patience, |shown| shown.results.remove(&job))
    }

    /// Waits until `look` finds something.
    fn wait<T>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&mut Shown) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + patience;
        let mut shown = self.board.state.lock();
        loop {
            if let Some(found) = look(&mut shown) {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || shown.is_closed {
                return None;
            }
            shown = self.board.changed.wait_timeout(shown, left);
        }
    }

    /// Waits until a job is as `is_so` says, for `patience` at most, and says how it is then.
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
        self.board.state.lock().views.get(&job).cloned()
    }
}

/// How many epochs a lost driver may have used after its last checkpoint was written.
const RESUMED_EPOCHS: u32 = 1000;

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.sender.send(Message::End);
        if let Some(thread) = self.thread.take() {
            // A panic there has been shown.
            let _ = thread.join();
        }
    }
}

/// Measures usage every `period`, until somebody hangs up `stop`.
fn measure(
    engine: Weak<dyn Engine>,
    sender: Sender<Message>,
    period: Duration,
    stop: Receiver<()>,
) -> io::Result<()> {
    let measuring = move || loop {
        let began = Instant::now();
        let Some(engine) = engine.upgrade() else {
            return;
        };
        // Without nodes there is nothing to say; the next round may know more.
        let nodes = engine.nodes().unwrap_or_default();
        let readings = engine.usage();
        drop(engine);
        if sender.send(Message::Readings(nodes, readings)).is_err() {
            return;
        }
        let rest = period.saturating_sub(began.elapsed());
        if stop.recv_timeout(rest) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    };
    thread::Builder::new()
        .name("heist-cluster-usage".to_owned())
        .spawn(measuring)?;
    Ok(())
}

struct Reactor {
    engine: Arc<dyn Engine>,
    sender: Sender<Message>,
    began: Instant,
    table: Table,
    store: Option<Arc<Store>>,
    journal: Option<Journal>,
    listener: Option<Listener>,
    planner: Option<Planner>,
    rates: Rates,
    /// Jobs that move because the planner wanted it.
    moving: HashMap<u64, JobId>,
    /// The last decision that was written down.
    said: Option<String>,
    /// Nodes that were there.
    nodes: HashSet<NodeId>,
    board: Arc<Board>,
    counts: Box<dyn Fn() -> CallCounts + Send>,
}

impl Reactor {
    fn run(mut self, receiver: &Receiver<Message>) {
        self.say(Happening::Connected {
            engine: self.engine.name().to_owned(),
            pid: std::process::id(),
        });
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(Message::Input(input)) => self.step(input),
                Ok(Message::Readings(nodes, readings)) => self.measured(&nodes, readings),
                Err(RecvTimeoutError::Timeout) => self.step(Input::Tick),
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let open: Vec<_> = self.table.views().filter(|view| !view.is_over).collect();
        for View { job, epoch, .. } in open {
            self.engine.stop(job, epoch);
        }
        self.say(Happening::Ended);
        self.board.state.lock().is_closed = true;
        self.board.changed.notify_all();
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn step(&mut self, input: Input) {
        let is_tick = matches!(input, Input::Tick);
        let actions = self.table.step(self.now(), input);
        if is_tick && actions.is_empty() {
            return;
        }
        // First what has happened, then what follows from it: results last, so that whoever
        // learns of one finds the rest.
        let mut results = Vec::new();
        for action in actions {
            match action {
                Action::Start(start) => {
                    let (sender, job) = (self.sender.clone(), start.job);
                    let events = Arc::new(move |epoch, event| {
                        // The reactor may be gone, and then nobody minds.
                        let _ = sender.send(Message::Input(Input::Event { job, epoch, event }));
                    });
                    self.engine.start(start, events);
                }
                Action::Pause { job, epoch } => self.engine.pause(job, epoch),
                Action::Snapshot { job, epoch } => self.engine.snapshot(job, epoch),
                Action::Stop { job, epoch } => self.engine.stop(job, epoch),
                Action::Keep { job, checkpoint } => {
                    if let Some(store) = &self.store {
                        store.keep(job, checkpoint);
                    }
                }
                Action::Finish { job, result } => {
                    results.push((job, result));
                }
                Action::MoveOver { job, has_moved } => self.move_over(job, has_moved),
                Action::Say(what) => self.say(what),
            }
        }
        let mut shown = self.board.state.lock();
        shown.views = self.table.views().map(|view| (view.job, view)).collect();
        drop(shown);
        self.board.changed.notify_all();
        for (job, result) in results {
            match &self.store {
                None => self.board.finish(job, result),
                Some(store) => {
                    let board = Arc::clone(&self.board);
                    store.close(job, result, move |result| board.finish(job, result));
                }
            }
        }
    }

    fn move_over(&mut self, job: u64, has_moved: bool) {
        let now = self.now();
        if let (Some(id), Some(planner)) = (self.moving.remove(&job), &mut self.planner) {
            let told = match has_moved {
                true => planner.move_ended(now, &id),
                false => planner.move_failed(now, &id),
            };
            debug_assert!(told.is_ok(), "{told:?}");
        }
    }

    fn measured(&mut self, nodes: &[Node], readings: Readings) {
        let now = self.now();
        for node in nodes {
            let was_there = self.nodes.contains(&node.id);
            if node.is_alive != was_there {
                match node.is_alive {
                    true => self.nodes.insert(node.id.clone()),
                    false => self.nodes.remove(&node.id),
                };
                self.say(Happening::Node {
                    node: node.id.clone(),
                    is_alive: node.is_alive,
                    cpus: node.cpus,
                });
            }
        }
        let views: Vec<_> = self.table.views().collect();
        let measured = self.rates.take(now, nodes, readings, &views);
        self.say(Happening::Usage {
            nodes: measured.node_usage,
            jobs: measured.job_usage,
            calls: (self.counts)(),
        });
        let Some(planner) = &mut self.planner else {
            return;
        };
        let decision = planner.decide(now, &measured.nodes, &measured.jobs);
        let chosen = match &decision.outcome {
            Outcome::Move(chosen) => Some(chosen.clone()),
            Outcome::Stay => None,
        };
        let started = chosen.filter(|chosen| planner.move_started(now, chosen).is_ok());
        let happening = Happening::Decided { decision };
        // Figures change with every sample; what is said again without a move is no news.
        let kind = outline(&happening.to_string());
        if started.is_some() || self.said.as_ref() != Some(&kind) {
            self.said = Some(kind);
            self.say(happening);
        }
        if let Some(chosen) = started {
            let view = views.iter().find(|view| view.options.id == chosen.job);
            if let Some(view) = view {
                self.moving.insert(view.job, chosen.job.clone());
                let to = chosen.to.clone();
                let expected = Some(chosen);
                self.step(Input::Move {
                    job: view.job,
                    to,
                    expected,
                });
            }
        }
    }

    fn say(&mut self, what: Happening) {
        let event = ClusterEvent::new(what);
        if let Some(journal) = &mut self.journal {
            if let Err(error) = journal.write(&event) {
                let _ = io::Write::write_fmt(
                    &mut io::stderr(),
                    format_args!(
                        "heist-cluster: could not write an event, no more are written: {error}\n"
                    ),
                );
                self.journal = None;
            }
        }
        if let Some(listener) = &mut self.listener {
            listener(&event);
        }
    }
}

/// A sentence without its figures.
fn outline(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_ascii_digit()).collect()
}
