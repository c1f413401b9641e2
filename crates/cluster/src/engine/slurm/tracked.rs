//! One job on Slurm: how an attempt begins, and what is concluded from files and from Slurm.
//!
//! README.md beside this file has the protocol.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{self, Begin, Row};
use super::board::Board;
use super::command::is_rejection;
use super::folder::{Attempt, JobFolder, Kind, Name, Start};
use super::site::Site;
use crate::engine::{EngineError, JobEvent, JobEvents, StartSpec};
use crate::planner::NodeId;
use crate::wire::{Answer, Frame, Outcome};
use crate::worker::JobOutcome;

/// How long a job waits for the node that somebody wishes for, but does not insist on.
const WISH_PATIENCE: Duration = Duration::from_secs(5);
/// How long Slurm may take to put away an attempt that has ended.
const HOLD_PATIENCE: Duration = Duration::from_secs(30);
/// How long after the end of a batch job its last file may come.
const FILE_PATIENCE: Duration = Duration::from_secs(3);
/// How long a batch job that nobody claims is kept.
const UNCLAIMED_MAX: Duration = Duration::from_secs(10);

/// A job that this connection has begun, and that is not over.
pub(super) struct Tracked {
    folder: JobFolder,
    /// Slurm's number, while Slurm may know it.
    pub(super) slurm_job: Option<u64>,
    /// The youngest attempt that is known.
    attempt: Attempt,
    first_submission: u32,
    /// Where it ran last.
    node: Option<NodeId>,
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

impl Tracked {
    /// What is to be begun, in its folder. None if the job has ended already; `events` is told.
    pub(super) fn prepare(
        site: &Site,
        board: &Board,
        known: Option<Self>,
        spec: StartSpec,
        events: JobEvents,
    ) -> Result<Option<Self>, EngineError> {
        let name = format!("{:016x}", spec.job);
        let folder = JobFolder::new(site.jobs().join(name));
        let failed = |what: &str, error: io::Error| {
            let folder = folder.path().display();
            EngineError::impossible(format!("could not {what} {folder}: {error}"))
        };
        let before = folder.start().map_err(|error| failed("read", error))?;
        let submission = before.as_ref().map_or(0, |start| start.attempt.submission);
        let noted = before.as_ref().and_then(|start| start.slurm_job);
        // With the first epoch another job begins, whatever lies here.
        let before = before.filter(|start| spec.epoch > 0 && start.kind == spec.kind);
        let goes_on = before
            .as_ref()
            .is_some_and(|start| start.fingerprint == site.fingerprint);
        let mut tracked = Self {
            folder: folder.clone(),
            slurm_job: known.as_ref().map_or(noted, |known| known.slurm_job),
            node: known.and_then(|known| known.node),
            attempt: Attempt {
                submission,
                restarts: 0,
            },
            first_submission: match &before {
                Some(start) if goes_on => start.first_submission,
                _ => submission + 1,
            },
            phase: Phase::Starting(spec, events, Instant::now()),
            wishing: None,
            gone: None,
        };
        if !goes_on {
            tracked.cancel(board);
        }
        // Another build goes on from the states of this one, but knows no results of it.
        let state = match &before {
            Some(start) => folder.newest_state(start.first_submission),
            None => folder.clear().map(|()| None),
        };
        let state = state.map_err(|error| failed("prepare", error))?;
        let Phase::Starting(spec, events, _) = &tracked.phase else {
            return Ok(Some(tracked));
        };
        if goes_on {
            let ended = tracked.ended().map_err(|error| failed("list", error))?;
            if let Some((outcome, payload)) = ended {
                board.over(folder.path());
                events(spec.epoch, JobEvent::Ended { outcome, payload });
                tracked.cancel(board);
                return Ok(None);
            }
        }
        if !goes_on || state.is_none() {
            let outcome = Outcome::Snapshot { progress: 0.0 };
            let state = state.unwrap_or_else(|| spec.state.to_vec());
            let first = Attempt {
                submission: tracked.first_submission,
                restarts: 0,
            };
            let frame = Frame::new(&Answer { id: 0, outcome }, state);
            folder
                .write(Name::checkpoint(first, 0), &frame)
                .map_err(|error| failed("write to", error))?;
        }
        Ok(Some(tracked))
    }

    /// Leaves word for the attempt of this epoch, and wakes it.
    pub(super) fn want(&self, what: Kind, epoch: u32) {
        let (Phase::Claimed(claim), Some(slurm_job)) = (&self.phase, self.slurm_job) else {
            return;
        };
        if claim.epoch == epoch {
            let wish = Name::new(what, self.attempt);
            // If this fails, the driver asks again; without the signal the attempt looks a
            // little later.
            if self.folder.show(wish, &Frame::default()).is_ok() {
                let _ = batch::wake(slurm_job);
            }
        }
    }

    /// Gives up the attempt of this epoch, if there is none later.
    pub(super) fn stop(&mut self, board: &Board, epoch: u32) {
        let is_meant = match &self.phase {
            Phase::Starting(spec, ..) => spec.epoch <= epoch,
            Phase::Claimed(claim) => claim.epoch <= epoch,
            // Slurm may have begun the next attempt, for which the driver may ask.
            Phase::Unclaimed(_) => false,
        };
        if is_meant {
            self.cancel(board);
            self.phase = Phase::Unclaimed(Instant::now());
        }
    }

    /// Does what is due; true if there is nothing more to do. The rows, if Slurm was asked,
    /// are older than the files that are looked at now.
    pub(super) fn look(
        &mut self,
        site: &Site,
        board: &Board,
        job: u64,
        rows: Option<&HashMap<u64, Row>>,
    ) -> bool {
        let row = rows.map(|rows| self.slurm_job.and_then(|id| rows.get(&id)));
        match &self.phase {
            Phase::Starting(..) => row.is_some_and(|row| self.begin(site, board, row)),
            Phase::Claimed(_) => self.follow(board, job, row),
            Phase::Unclaimed(since) if since.elapsed() >= UNCLAIMED_MAX => {
                self.cancel(board);
                true
            }
            Phase::Unclaimed(_) => false,
        }
    }

    /// Whether an attempt is queued or runs.
    pub(super) fn is_claimed(&self) -> bool {
        matches!(self.phase, Phase::Claimed(_))
    }

    /// Whether it is between two nodes, or in Slurm's queue.
    pub(super) fn is_changing(&self) -> bool {
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
            board.remove(slurm_job);
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
                    board.add(slurm_job);
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
        let leaves = |node: &NodeId| others.contains(&node.to_string());
        let begin = match self.node.as_ref().is_some_and(leaves) {
            true => Begin::Now,
            false => Begin::Soon,
        };
        batch::exclude(slurm_job, &others, begin)
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
            let _ = batch::exclude(slurm_job, &others, Begin::Soon);
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
        let submitted = board.add_new(|| batch::submit(site, &self.folder, attempt, spec, &others));
        let slurm_job = match submitted {
            Some(Ok(slurm_job)) => slurm_job,
            Some(Err(error)) if is_rejection(&error) => return Err(EngineError::impossible(error)),
            Some(Err(error)) => return Err(EngineError::lost(error)),
            None => return Err(EngineError::lost("the cluster is closed")),
        };
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
                self.node = Some(node.clone());
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
                    board.note(job, node, reading);
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
                board.over(self.folder.path());
                if let Some(slurm_job) = self.slurm_job {
                    board.remove(slurm_job);
                }
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
                        .map(|slurm_job| batch::exclude(slurm_job, &[], Begin::Now));
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
