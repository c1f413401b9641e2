//! One job on Slurm, and what is concluded from its files and from what Slurm says.
//!
//! README.md beside this file has the protocol.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::batch::{self, Begin, Row};
use super::heartbeat::Heartbeat;
use super::log::JobLog;
use super::site::Site;
use super::watched::Watched;
use crate::backend::{JobEvent, JobEvents, StartSpec};
use crate::error::BackendError;
use crate::planner::NodeId;
use crate::protocol::job_folder::{Attempt, JobFolder, Kind, Name};
use crate::protocol::{Frame, Outcome};

/// How long a job waits for the node that somebody wishes for, but does not insist on.
const WISH_PATIENCE: Duration = Duration::from_secs(5);
/// How long after the end of a batch job its last file may come.
const FILE_PATIENCE: Duration = Duration::from_secs(3);
/// How long a batch job that nobody claims is kept.
const UNCLAIMED_MAX: Duration = Duration::from_secs(10);

/// A job that this connection has begun, and that is not over.
pub(super) struct Tracked {
    pub(super) folder: JobFolder,
    /// Slurm's number, while Slurm may know it.
    pub(super) slurm_job: Option<u64>,
    /// The youngest attempt that is known.
    pub(super) attempt: Attempt,
    pub(super) first_submission: u32,
    /// Where it ran last.
    pub(super) node: Option<NodeId>,
    pub(super) phase: Phase,
    /// Since when it waits for the node of a wish.
    pub(super) wishing: Option<Instant>,
    /// Since when Slurm says that it is over, while its last file is missing.
    pub(super) gone: Option<Instant>,
    pub(super) heartbeat: Heartbeat,
    pub(super) log: JobLog,
}

pub(super) enum Phase {
    /// It is to begin, once Slurm has put away what was there before.
    Starting(Box<StartSpec>, JobEvents, Instant),
    /// An attempt is queued or runs, and the driver knows.
    Claimed(Claim),
    /// The driver knows that the last attempt has ended, and may claim the next one.
    Unclaimed(Instant),
}

/// The driver's knowledge of an attempt.
pub(super) struct Claim {
    pub(super) epoch: u32,
    pub(super) events: JobEvents,
    pub(super) node: Option<NodeId>,
    /// The number of the last checkpoint that it was given.
    pub(super) checkpoint: u64,
}

impl Claim {
    fn tell(&self, event: JobEvent) {
        (self.events)(self.epoch, event);
    }
}

impl Tracked {
    /// Leaves word for the attempt of this epoch, and wakes it.
    pub(super) fn want(&self, what: Kind, epoch: u32) {
        let (Phase::Claimed(claim), Some(slurm_job)) = (&self.phase, self.slurm_job) else {
            return;
        };
        if claim.epoch == epoch {
            let wish = Name::new(what, self.attempt);
            // If this fails, the driver asks again; without the signal the attempt looks a
            // little later. It has been woken for a wish that is there.
            if !self.folder.has(wish) && self.folder.show(wish, &Frame::default()).is_ok() {
                let _ = batch::wake(slurm_job);
            }
        }
    }

    /// Gives up the attempt of this epoch, if there is none later.
    pub(super) fn stop(&mut self, watched: &Watched, epoch: u32) {
        let is_meant = match &self.phase {
            Phase::Starting(spec, ..) => spec.epoch <= epoch,
            Phase::Claimed(claim) => claim.epoch <= epoch,
            // Slurm may have begun the next attempt, for which the driver may ask.
            Phase::Unclaimed(_) => false,
        };
        if is_meant {
            self.cancel(watched);
            self.phase = Phase::Unclaimed(Instant::now());
        }
    }

    /// Does what is due; true if there is nothing more to do. The rows, if Slurm was asked,
    /// are older than the files that are looked at now.
    pub(super) fn look(
        &mut self,
        site: &Site,
        watched: &Watched,
        job: u64,
        rows: Option<&HashMap<u64, Row>>,
    ) -> bool {
        let row = rows.map(|rows| self.slurm_job.and_then(|id| rows.get(&id)));
        match &self.phase {
            Phase::Starting(..) => row.is_some_and(|row| self.begin(site, watched, row)),
            Phase::Claimed(_) => self.follow(site, watched, job, row),
            Phase::Unclaimed(since) if since.elapsed() >= UNCLAIMED_MAX => {
                self.cancel(watched);
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

    /// Has Slurm give up whatever it has of this job.
    pub(super) fn cancel(&mut self, watched: &Watched) {
        if let Some(slurm_job) = self.slurm_job.take() {
            // If it is over already, that is what is wanted.
            let _ = batch::cancel(&[slurm_job]);
            watched.remove(slurm_job);
        }
    }

    /// Tells the driver what has become of the attempt; true if the job is over. The row, if
    /// Slurm was asked, is older than the files that are looked at now.
    fn follow(
        &mut self,
        site: &Site,
        watched: &Watched,
        job: u64,
        row: Option<Option<&Row>>,
    ) -> bool {
        if !matches!(self.phase, Phase::Claimed(_)) {
            return false;
        }
        // A folder that cannot be read now will be, the next time.
        let names = self.folder.names().unwrap_or_default();
        let attempt = self.attempt;
        let names: Vec<_> = names
            .into_iter()
            .filter(|name| name.attempt == attempt)
            .collect();
        self.pass_on(watched, job, &names);
        let is_over = names.iter().any(|name| name.kind == Kind::Over);
        if let (Phase::Claimed(claim), Some(node)) = (&self.phase, &self.node) {
            self.log.pass_on(&site.logs, node, claim.epoch, is_over);
        }
        let find = |kind| names.iter().copied().find(|name| name.kind == kind);
        for kind in [Kind::Over, Kind::Paused] {
            let Some((answer, payload)) = find(kind).and_then(|name| self.folder.answer(name).ok())
            else {
                continue;
            };
            let Phase::Claimed(claim) = &mut self.phase else {
                return false;
            };
            claim.tell(match answer.outcome {
                Outcome::Job(outcome) => JobEvent::Ended { outcome, payload },
                Outcome::Refused(refusal) => {
                    JobEvent::Refused(refusal.explained(&site.build, &payload))
                }
                other => JobEvent::Lost(BackendError::lost(format!(
                    "the attempt ended with {other:?}"
                ))),
            });
            self.phase = Phase::Unclaimed(Instant::now());
            if kind == Kind::Over {
                watched.over(self.folder.path());
                if let Some(slurm_job) = self.slurm_job {
                    watched.remove(slurm_job);
                }
            }
            return kind == Kind::Over;
        }
        if let Some(row) = row {
            self.compare(site, watched, row);
        }
        false
    }

    /// Tells the driver where the attempt runs and its newest checkpoint, and notes its usage.
    fn pass_on(&mut self, watched: &Watched, job: u64, names: &[Name]) {
        let Phase::Claimed(claim) = &mut self.phase else {
            return;
        };
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
                    watched.note(job, node, reading);
                }
            }
        }
    }

    /// Draws conclusions from what Slurm says of an attempt that has not said its last word.
    fn compare(&mut self, site: &Site, watched: &Watched, row: Option<&Row>) {
        let Phase::Claimed(claim) = &self.phase else {
            return;
        };
        let place = claim
            .node
            .as_ref()
            .map_or_else(|| "its node".to_owned(), NodeId::to_string);
        let mut is_silent = false;
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
                let (folder, patience) = (&self.folder, site.silence);
                is_silent = self.heartbeat.is_lost(folder, self.attempt, row, patience);
                is_silent.then(|| format!("its process on {place} was silent for {patience:?}"))
            }
            _ => {
                let since = *self.gone.get_or_insert_with(Instant::now);
                let state = row.map_or("unknown to Slurm", |row| row.state.as_str());
                let log = self.folder.path().join(batch::LOG);
                (since.elapsed() >= FILE_PATIENCE).then(|| {
                    let see = match log.exists() {
                        true => "see",
                        false => "if the nodes do not share that folder, name another one: no",
                    };
                    let log = log.display();
                    format!("its process on {place} is gone, the job is {state}; {see} {log}")
                })
            }
        };
        if let Some(message) = lost {
            claim.tell(JobEvent::Lost(BackendError::node_died(message)));
            // A silent one is not adopted. Slurm wakes a stopped process, and kills it at once.
            if is_silent || row.is_none_or(|row| !row.is_live()) {
                self.cancel(watched);
            }
            self.phase = Phase::Unclaimed(Instant::now());
        }
    }
}
