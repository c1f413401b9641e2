//! Jobs on Slurm: batch jobs that speak through files, and the thread that watches them.
//!
//! README.md beside this file has the protocol.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_sync::Mutex;

use super::batch::{self, Row};
use super::calls::Calls;
use super::command::is_rejection;
use super::folder::{Attempt, JobFolder, Kind, Name, Start};
use super::site::Site;
use crate::engine::{EngineError, JobEvent, JobEvents, StartSpec};
use crate::planner::NodeId;
use crate::wire::{Answer, Frame, Outcome};
use crate::worker::{JobOutcome, Reading};

/// How often files are looked at while a job runs.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often Slurm is asked while a job is between two nodes, and otherwise.
const ASK_EVERY_CHANGING: Duration = Duration::from_millis(250);
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How often calls are looked after while no job runs.
const TICK: Duration = Duration::from_millis(500);
/// How long a job waits for the node that somebody wishes for, but does not insist on.
const WISH_PATIENCE: Duration = Duration::from_secs(5);
/// How long Slurm may take to put away an attempt that has paused.
const HOLD_PATIENCE: Duration = Duration::from_secs(30);
/// How long after the end of a batch job its last file may come.
const FILE_PATIENCE: Duration = Duration::from_secs(3);
/// How long a batch job that nobody claims is kept.
const UNCLAIMED_MAX: Duration = Duration::from_secs(10);
/// A reading that has not changed for so long says nothing any more.
const READING_MAX: Duration = Duration::from_secs(10);

/// What the driver wants of the watcher.
pub(super) enum Message {
    Start(StartSpec, JobEvents),
    Pause(u64, u32),
    Snapshot(u64, u32),
    Stop(u64, u32),
}

/// What others know of the jobs.
#[derive(Debug, Default)]
pub(super) struct Board {
    readings: Mutex<HashMap<u64, Usage>>,
    /// Held while a job is submitted, so that none is forgotten.
    own: Mutex<Own>,
}

/// What ends with the connection.
#[derive(Debug, Default)]
struct Own {
    is_closed: bool,
    slurm_jobs: BTreeSet<u64>,
    /// Of jobs that are over.
    folders: Vec<PathBuf>,
}

impl Board {
    /// What the jobs' processes have used, with where they are.
    pub(super) fn usage(&self) -> Vec<(NodeId, Result<Reading, EngineError>)> {
        let readings = self.readings.lock();
        let usage = readings.values().map(|usage| {
            let reading = match usage.since.elapsed() > READING_MAX {
                true => Err(EngineError::lost(format!(
                    "a job on {} has not said for {} s what it uses",
                    usage.node,
                    READING_MAX.as_secs()
                ))),
                false => Ok(usage.reading.clone()),
            };
            (usage.node.clone(), reading)
        });
        usage.collect()
    }

    /// Gives up all jobs, and removes what is left of those that are over.
    pub(super) fn close(&self) {
        let mut own = self.own.lock();
        own.is_closed = true;
        let slurm_jobs: Vec<_> = std::mem::take(&mut own.slurm_jobs).into_iter().collect();
        let folders = std::mem::take(&mut own.folders);
        drop(own);
        if !slurm_jobs.is_empty() {
            // Nobody is left to be told if this fails.
            let _ = batch::cancel(&slurm_jobs);
        }
        for folder in folders {
            // What stays is in nobody's way.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// What a job's process has used, where, and since when that is known.
#[derive(Debug)]
struct Usage {
    node: NodeId,
    reading: Reading,
    since: Instant,
}

/// Watches all jobs of a connection, on a thread of its own.
pub(super) struct Watcher {
    site: Arc<Site>,
    calls: Arc<Calls>,
    board: Arc<Board>,
    jobs: HashMap<u64, Tracked>,
}

/// A job that this connection has begun, and that is not over.
struct Tracked {
    folder: JobFolder,
    /// Slurm's number, while Slurm may know it.
    slurm_job: Option<u64>,
    /// The youngest attempt that is known.
    attempt: Attempt,
    first_submission: u32,
    phase: Phase,
    /// Since when it waits for the node of a wish.
    wishing: Option<Instant>,
    /// Since when Slurm says that it is over, while its last file is missing.
    gone: Option<Instant>,
}

enum Phase {
    /// It is to begin, once Slurm has put away what was there before.
    Starting(StartSpec, JobEvents, Instant),
    /// An attempt is queued or runs, and the driver knows.
    Claimed(Claim),
    /// The driver knows that the last attempt has ended, and may claim the next one.
    Unclaimed(Instant),
}

/// What the driver knows of an attempt.
struct Claim {
    epoch: u32,
    events: JobEvents,
    node: Option<NodeId>,
    /// The number of the last checkpoint that it was given.
    checkpoint: u64,
}

impl Claim {
    fn tell(&self, event: JobEvent) {
        (self.events)(self.epoch, event);
    }
}

impl Watcher {
    pub(super) fn new(site: Arc<Site>, calls: Arc<Calls>, board: Arc<Board>) -> Self {
        let jobs = HashMap::new();
        Self {
            site,
            calls,
            board,
            jobs,
        }
    }

    /// Watches until the connection ends.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        let mut asked_at = None::<Instant>;
        let mut ticked_at = Instant::now();
        loop {
            let patience = if self.jobs.is_empty() {
                TICK
            } else {
                LOOK_EVERY
            };
            match messages.recv_timeout(patience) {
                Ok(message) => {
                    self.take(message);
                    // What it changes is looked at soon.
                    asked_at = None;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if ticked_at.elapsed() >= TICK {
                self.calls.tick();
                ticked_at = Instant::now();
            }
            let is_changing = self.jobs.values().any(Tracked::is_changing);
            let every = if is_changing {
                ASK_EVERY_CHANGING
            } else {
                ASK_EVERY
            };
            let rows = if asked_at.is_none_or(|at| at.elapsed() >= every) {
                asked_at = Some(Instant::now());
                self.rows()
            } else {
                None
            };
            self.look(rows.as_ref());
        }
    }

    /// What Slurm says of all jobs; none if it cannot be asked now.
    fn rows(&self) -> Option<HashMap<u64, Row>> {
        let ids: Vec<_> = self.jobs.values().filter_map(|job| job.slurm_job).collect();
        // Nothing is known until it answers again, and nothing is decided.
        batch::rows(&ids).ok()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Start(spec, events) => {
                let (job, epoch) = (spec.job, spec.epoch);
                let told = Arc::clone(&events);
                let event = match self.start(spec, events) {
                    Ok(None) => return,
                    Ok(Some((outcome, payload))) => JobEvent::Ended { outcome, payload },
                    Err(error) => JobEvent::Lost(error),
                };
                self.jobs.remove(&job);
                told(epoch, event);
            }
            Message::Pause(job, epoch) => self.want(Kind::PauseWanted, job, epoch),
            Message::Snapshot(job, epoch) => self.want(Kind::SnapshotWanted, job, epoch),
            Message::Stop(job, epoch) => self.stop(job, epoch),
        }
    }

    /// Prepares the folder of a job, and says how the job ended if it has.
    fn start(
        &mut self,
        spec: StartSpec,
        events: JobEvents,
    ) -> Result<Option<(JobOutcome, Vec<u8>)>, EngineError> {
        let name = format!("{:016x}", spec.job);
        let folder = JobFolder::new(self.site.jobs().join(name));
        let failed = |what: &str, error: io::Error| {
            let folder = folder.path().display();
            EngineError::impossible(format!("could not {what} {folder}: {error}"))
        };
        let before = folder.start().map_err(|error| failed("read", error))?;
        let next = before
            .as_ref()
            .map_or(1, |start| start.attempt.submission + 1);
        let before = before.filter(|start| spec.epoch > 0 && start.kind == spec.kind);
        let goes_on = before
            .as_ref()
            .is_some_and(|start| start.fingerprint == self.site.fingerprint);
        let known = self.jobs.remove(&spec.job).map(|job| job.slurm_job);
        let mut tracked = Tracked {
            folder: folder.clone(),
            slurm_job: known.unwrap_or(before.as_ref().and_then(|start| start.slurm_job)),
            attempt: Attempt {
                submission: next - 1,
                restarts: 0,
            },
            first_submission: match &before {
                Some(start) if goes_on => start.first_submission,
                _ => next,
            },
            phase: Phase::Starting(spec.clone(), events, Instant::now()),
            wishing: None,
            gone: None,
        };
        if !goes_on {
            tracked.cancel(&self.board);
        }
        // Another build goes on from the states of this one, but knows no results of it.
        let state = match &before {
            Some(start) => folder.newest_state(start.first_submission),
            None => folder.clear().map(|()| None),
        };
        let state = state.map_err(|error| failed("prepare", error))?;
        if goes_on {
            if let Some(ended) = tracked.ended().map_err(|error| failed("list", error))? {
                tracked.cancel(&self.board);
                self.board.own.lock().folders.push(folder.path().to_owned());
                return Ok(Some(ended));
            }
        }
        if !goes_on || state.is_none() {
            let outcome = Outcome::Snapshot { progress: 0.0 };
            let state = state.unwrap_or_else(|| spec.state.to_vec());
            let first = Attempt {
                submission: tracked.first_submission,
                restarts: 0,
            };
            folder
                .write(
                    Name::checkpoint(first, 0),
                    &Frame::new(&Answer { id: 0, outcome }, state),
                )
                .map_err(|error| failed("write to", error))?;
        }
        self.jobs.insert(spec.job, tracked);
        Ok(None)
    }

    /// Leaves word for an attempt, and wakes it.
    fn want(&self, what: Kind, job: u64, epoch: u32) {
        let Some(tracked) = self.jobs.get(&job) else {
            return;
        };
        if let (Phase::Claimed(claim), Some(slurm_job)) = (&tracked.phase, tracked.slurm_job) {
            if claim.epoch == epoch {
                let wish = Name::new(what, tracked.attempt);
                // If this fails, the driver asks again; without the signal the attempt looks
                // a little later.
                if tracked.folder.show(wish, &Frame::default()).is_ok() {
                    let _ = batch::wake(slurm_job);
                }
            }
        }
    }

    fn stop(&mut self, job: u64, epoch: u32) {
        let Some(tracked) = self.jobs.get_mut(&job) else {
            return;
        };
        let is_meant = match &tracked.phase {
            Phase::Starting(spec, ..) => spec.epoch <= epoch,
            Phase::Claimed(claim) => claim.epoch <= epoch,
            // Slurm may have begun the next attempt, for which the driver may ask.
            Phase::Unclaimed(_) => false,
        };
        if is_meant {
            tracked.cancel(&self.board);
            tracked.phase = Phase::Unclaimed(Instant::now());
            self.board.readings.lock().remove(&job);
        }
    }

    fn look(&mut self, rows: Option<&HashMap<u64, Row>>) {
        let mut over = Vec::new();
        for (job, tracked) in &mut self.jobs {
            let row = rows.map(|rows| tracked.slurm_job.and_then(|id| rows.get(&id)));
            let is_over = match &tracked.phase {
                Phase::Starting(..) => {
                    row.is_some_and(|row| tracked.begin(&self.site, &self.board, row))
                }
                Phase::Claimed(_) => tracked.follow(&self.board, *job, row),
                Phase::Unclaimed(since) if since.elapsed() >= UNCLAIMED_MAX => {
                    tracked.cancel(&self.board);
                    true
                }
                Phase::Unclaimed(_) => false,
            };
            if !matches!(tracked.phase, Phase::Claimed(_)) || is_over {
                self.board.readings.lock().remove(job);
            }
            if is_over {
                over.push(*job);
            }
        }
        for job in over {
            self.jobs.remove(&job);
        }
    }
}

impl Tracked {
    fn is_changing(&self) -> bool {
        match &self.phase {
            Phase::Starting(..) => true,
            Phase::Claimed(claim) => claim.node.is_none(),
            Phase::Unclaimed(_) => false,
        }
    }

    /// The result, if an attempt has left one; why one did not run at all is none.
    fn ended(&self) -> io::Result<Option<(JobOutcome, Vec<u8>)>> {
        let mut names = self.folder.names()?.into_iter();
        Ok(names.find_map(|name| {
            let is_own = name.attempt.submission >= self.first_submission;
            let over = (is_own && name.kind == Kind::Over).then(|| self.folder.answer(name));
            match over {
                Some(Ok((
                    Answer {
                        outcome: Outcome::Job(outcome),
                        ..
                    },
                    payload,
                ))) => Some((outcome, payload)),
                _ => None,
            }
        }))
    }

    /// Has Slurm give up whatever it has of this job.
    fn cancel(&mut self, board: &Board) {
        if let Some(slurm_job) = self.slurm_job.take() {
            // If it is over already, that is what is wanted.
            let _ = batch::cancel(&[slurm_job]);
            board.own.lock().slurm_jobs.remove(&slurm_job);
        }
    }

    /// Begins an attempt as soon as that can be done; true if it never can.
    fn begin(&mut self, site: &Site, board: &Board, row: Option<&Row>) -> bool {
        let Phase::Starting(spec, events, since) = &self.phase else {
            return false;
        };
        let (spec, events, since) = (spec.clone(), Arc::clone(events), *since);
        let live = row.filter(|row| row.is_live());
        let begun = match (live, self.slurm_job) {
            (Some(row), Some(slurm_job)) => {
                let attempt = Attempt {
                    submission: self.attempt.submission,
                    restarts: row.restarts,
                };
                let said = |kind| self.folder.has(Name::new(kind, attempt));
                let is_ending = row.is_ending() || said(Kind::Paused) || said(Kind::Over);
                if row.is_held() {
                    self.release(site, slurm_job, attempt, &spec)
                } else if !is_ending {
                    self.adopt(site, slurm_job, attempt, &spec, row)
                } else if since.elapsed() < HOLD_PATIENCE {
                    // Slurm is about to put it away.
                    return false;
                } else {
                    self.cancel(board);
                    self.submit(site, board, &spec)
                }
            }
            _ => {
                self.cancel(board);
                self.submit(site, board, &spec)
            }
        };
        match begun {
            Ok(()) => {
                let is_wish = spec.placement.node.is_some() && !spec.placement.is_pinned;
                self.wishing = is_wish.then(Instant::now);
                self.gone = None;
                if let Some(slurm_job) = self.slurm_job {
                    board.own.lock().slurm_jobs.insert(slurm_job);
                }
                let (epoch, node) = (spec.epoch, None);
                self.phase = Phase::Claimed(Claim {
                    epoch,
                    events,
                    node,
                    checkpoint: 0,
                });
                false
            }
            Err(error) => {
                self.cancel(board);
                events(spec.epoch, JobEvent::Lost(error));
                true
            }
        }
    }

    /// Says what attempt is meant from now on; older ones end when they see it.
    fn write_start(
        &self,
        site: &Site,
        spec: &StartSpec,
        attempt: Attempt,
    ) -> Result<(), EngineError> {
        let start = Start {
            job: spec.job,
            kind: spec.kind.clone(),
            fingerprint: site.fingerprint,
            attempt,
            epoch: spec.epoch,
            threads: spec.threads,
            checkpoint_every_ms: spec.checkpoint_every_ms,
            slurm_job: self.slurm_job,
            first_submission: self.first_submission,
        };
        self.folder.write_start(&start).map_err(|error| {
            let folder = self.folder.path().display();
            EngineError::impossible(format!("could not write to {folder}: {error}"))
        })
    }

    /// Slurm holds the job since its last attempt paused: it may go on elsewhere.
    fn release(
        &mut self,
        site: &Site,
        slurm_job: u64,
        attempt: Attempt,
        spec: &StartSpec,
    ) -> Result<(), EngineError> {
        let others = site.others(&spec.placement)?;
        self.write_start(site, spec, attempt)?;
        batch::exclude(slurm_job, &others)
            .and_then(|()| batch::release(slurm_job))
            .map_err(EngineError::lost)?;
        self.attempt = attempt;
        Ok(())
    }

    /// Slurm has begun the next attempt by itself, or is about to: it is the one that counts.
    fn adopt(
        &mut self,
        site: &Site,
        slurm_job: u64,
        attempt: Attempt,
        spec: &StartSpec,
        row: &Row,
    ) -> Result<(), EngineError> {
        let others = site.others(&spec.placement)?;
        self.write_start(site, spec, attempt)?;
        if row.is_pending() {
            // It may begin at this moment, and then it is too late for that.
            let _ = batch::exclude(slurm_job, &others);
        }
        self.attempt = attempt;
        Ok(())
    }

    fn submit(&mut self, site: &Site, board: &Board, spec: &StartSpec) -> Result<(), EngineError> {
        let others = site.others(&spec.placement)?;
        let attempt = Attempt {
            submission: self.attempt.submission + 1,
            restarts: 0,
        };
        self.write_start(site, spec, attempt)?;
        let mut own = board.own.lock();
        if own.is_closed {
            return Err(EngineError::lost("the cluster is closed"));
        }
        let submitted = batch::submit(site, &self.folder, attempt, spec, &others);
        let slurm_job = submitted.map_err(|error| match is_rejection(&error) {
            true => EngineError::impossible(error),
            false => EngineError::lost(error),
        })?;
        own.slurm_jobs.insert(slurm_job);
        drop(own);
        self.attempt = attempt;
        self.slurm_job = Some(slurm_job);
        self.write_start(site, spec, attempt)
    }

    /// Tells the driver what has become of the attempt; true if the job is over. The row, if
    /// Slurm was asked, is older than the files that are looked at now.
    fn follow(&mut self, board: &Board, job: u64, row: Option<Option<&Row>>) -> bool {
        let Phase::Claimed(claim) = &mut self.phase else {
            return false;
        };
        // Whatever cannot be read now will be, the next time.
        let names = self.folder.names().unwrap_or_default();
        let attempt = self.attempt;
        let names: Vec<_> = names
            .into_iter()
            .filter(|name| name.attempt == attempt)
            .collect();
        let find = |kind| names.iter().copied().find(|name| name.kind == kind);
        if let (None, Some(name)) = (&claim.node, find(Kind::Running)) {
            if let Ok(Ok(node)) = self
                .folder
                .read(name)
                .map(|frame| frame.understand::<String>())
            {
                let node = NodeId::from(node);
                claim.node = Some(node.clone());
                claim.tell(JobEvent::Running { node });
            }
        }
        let checkpoints = names.iter().filter(|name| name.kind == Kind::Checkpoint);
        let newest = checkpoints.max_by_key(|name| name.number);
        if let Some(name) = newest.filter(|name| name.number > claim.checkpoint) {
            if let Ok((answer, state)) = self.folder.answer(*name) {
                claim.checkpoint = name.number;
                if let Outcome::Snapshot { progress } = answer.outcome {
                    claim.tell(JobEvent::Snapshot { progress, state });
                }
            }
        }
        if let (Some(node), Some(name)) = (&claim.node, find(Kind::Usage)) {
            if let Ok((answer, _)) = self.folder.answer(name) {
                if let Outcome::Usage(reading) = answer.outcome {
                    note(board, job, node, reading);
                }
            }
        }
        for kind in [Kind::Over, Kind::Paused] {
            let Some((answer, payload)) = find(kind).and_then(|name| self.folder.answer(name).ok())
            else {
                continue;
            };
            claim.tell(match answer.outcome {
                Outcome::Job(outcome) => JobEvent::Ended { outcome, payload },
                Outcome::Refused(refusal) => JobEvent::Refused(refusal),
                other => JobEvent::Lost(EngineError::lost(format!(
                    "the attempt ended with {other:?}"
                ))),
            });
            self.phase = Phase::Unclaimed(Instant::now());
            if kind == Kind::Over {
                let mut own = board.own.lock();
                own.folders.push(self.folder.path().to_owned());
                self.slurm_job
                    .map(|slurm_job| own.slurm_jobs.remove(&slurm_job));
            }
            return kind == Kind::Over;
        }
        if let Some(row) = row {
            self.compare(board, row);
        }
        false
    }

    /// Draws conclusions from what Slurm says of an attempt that has not said its last word.
    fn compare(&mut self, board: &Board, row: Option<&Row>) {
        let Phase::Claimed(claim) = &self.phase else {
            return;
        };
        let place = claim
            .node
            .as_ref()
            .map_or_else(|| "its node".to_owned(), NodeId::to_string);
        let lost = match row {
            Some(row) if row.is_live() && row.restarts > self.attempt.restarts => Some(format!(
                "{place} is gone; Slurm has put the job back into its queue"
            )),
            Some(row) if row.is_live() => {
                let is_late = |since: Instant| since.elapsed() >= WISH_PATIENCE;
                if row.is_pending() && self.wishing.is_some_and(is_late) {
                    // Somewhere is better than nowhere. If it fails, it is tried again.
                    let cleared = self
                        .slurm_job
                        .map(|slurm_job| batch::exclude(slurm_job, &[]));
                    if cleared.is_some_and(|cleared| cleared.is_ok()) {
                        self.wishing = None;
                    }
                }
                self.gone = None;
                None
            }
            _ => {
                let since = *self.gone.get_or_insert_with(Instant::now);
                let state = row.map_or("unknown to Slurm", |row| row.state.as_str());
                let log = self.folder.path().join(batch::LOG);
                (since.elapsed() >= FILE_PATIENCE).then(|| {
                    let log = log.display();
                    format!("its process on {place} is gone, the job is {state}; see {log}")
                })
            }
        };
        if let Some(message) = lost {
            claim.tell(JobEvent::Lost(EngineError::node_died(message)));
            if row.is_none_or(|row| !row.is_live()) {
                self.cancel(board);
            }
            self.phase = Phase::Unclaimed(Instant::now());
        }
    }
}

/// Notes what a job's process has used.
fn note(board: &Board, job: u64, node: &NodeId, reading: Reading) {
    let mut readings = board.readings.lock();
    let known = readings.get(&job);
    if known.is_none_or(|known| known.reading.at_ms != reading.at_ms || known.node != *node) {
        let usage = Usage {
            node: node.clone(),
            reading,
            since: Instant::now(),
        };
        readings.insert(job, usage);
    }
}
