//! How an attempt at a job begins: what is kept of what was there, and who runs it.
//!
//! README.md beside this file has the protocol.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{self, Begin, Row};
use super::command::is_rejection;
use super::heartbeat::Heartbeat;
use super::log::JobLog;
use super::site::Site;
use super::tracked::{Claim, Phase, Tracked};
use super::watched::Watched;
use crate::backend::{JobEvent, JobEvents, StartSpec};
use crate::error::BackendError;
use crate::planner::NodeId;
use crate::protocol::job_folder::{Attempt, JobFolder, Kind, Name, Start};
use crate::protocol::JobOutcome;
use crate::protocol::{Answer, Frame, Outcome};

/// How long Slurm may take to put away an attempt that has ended.
const HOLD_PATIENCE: Duration = Duration::from_secs(30);

impl Tracked {
    /// Prepares an attempt in its folder. None if the job has ended already; `events` is told.
    pub(super) fn prepare(
        site: &Site,
        watched: &Watched,
        known: Option<Self>,
        spec: Box<StartSpec>,
        events: JobEvents,
    ) -> Result<Option<Self>, BackendError> {
        let folder = JobFolder::new(site.jobs.join(format!("{:016x}", spec.job)));
        let attempt = |submission| Attempt {
            submission,
            restarts: 0,
        };
        let failed = |what: &str, error: io::Error| {
            let folder = folder.path().display();
            BackendError::impossible(format!("could not {what} {folder}: {error}"))
        };
        let before = folder.start().map_err(|error| failed("read", error))?;
        let submission = before.as_ref().map_or(0, |start| start.attempt.submission);
        let noted = before.as_ref().and_then(|start| start.slurm_job);
        // With the first epoch another job begins, whatever lies here.
        let before = before.filter(|start| spec.epoch > 0 && start.kind == spec.kind);
        let same = before.as_ref();
        let same = same.filter(|start| start.fingerprint == site.fingerprint);
        let goes_on = same.is_some();
        let (slurm_job, node, log) = match known {
            Some(known) => (known.slurm_job, known.node, known.log),
            None => (noted, None, JobLog::new(&folder, &spec)),
        };
        let mut tracked = Self {
            folder: folder.clone(),
            slurm_job,
            node,
            log,
            attempt: attempt(submission),
            first_submission: same.map_or(submission + 1, |start| start.first_submission),
            phase: Phase::Starting(spec, events, Instant::now()),
            wishing: None,
            gone: None,
            heartbeat: Heartbeat::new(),
        };
        if !goes_on {
            tracked.cancel(watched);
        }
        let unprepared = |error| failed("prepare", error);
        let state = state_of(&folder, before.as_ref()).map_err(unprepared)?;
        let listed = |error| failed("list", error);
        if goes_on && tracked.has_ended(watched).map_err(listed)? {
            return Ok(None);
        }
        let Phase::Starting(spec, ..) = &tracked.phase else {
            return Ok(Some(tracked));
        };
        if !goes_on || state.is_none() {
            let state = state.unwrap_or_else(|| spec.state.to_vec());
            let name = Name::checkpoint(attempt(tracked.first_submission), 0);
            let failed = |error| failed("write to", error);
            folder.write(name, &first(state)).map_err(failed)?;
        }
        Ok(Some(tracked))
    }

    /// True if the job has ended in its folder before it was started; the driver is told then.
    fn has_ended(&mut self, watched: &Watched) -> io::Result<bool> {
        let Some((outcome, payload)) = self.ended()? else {
            return Ok(false);
        };
        watched.over(self.folder.path());
        if let Phase::Starting(spec, events, _) = &self.phase {
            events(spec.epoch, JobEvent::Ended { outcome, payload });
        }
        self.cancel(watched);
        Ok(true)
    }

    /// Begins an attempt as soon as that can be done; true if it never can.
    pub(super) fn begin(&mut self, site: &Site, watched: &Watched, row: Option<&Row>) -> bool {
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
                    self.cancel(watched);
                    self.submit(site, watched, &spec)
                }
            }
            _ => {
                self.cancel(watched);
                self.submit(site, watched, &spec)
            }
        };
        match begun {
            Ok(()) => {
                let is_wish = spec.placement.node.is_some() && !spec.placement.is_pinned;
                self.wishing = is_wish.then(Instant::now);
                self.gone = None;
                self.heartbeat = Heartbeat::new();
                if let Some(slurm_job) = self.slurm_job {
                    watched.add(slurm_job);
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
                self.cancel(watched);
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
    ) -> Result<(), BackendError> {
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
            trace: spec.trace,
        };
        self.folder.write_start(&start).map_err(|error| {
            let folder = self.folder.path().display();
            BackendError::impossible(format!("could not write to {folder}: {error}"))
        })
    }

    /// Slurm holds the job since its last attempt paused: it may go on elsewhere.
    fn release(
        &mut self,
        site: &Site,
        slurm_job: u64,
        attempt: Attempt,
        spec: &StartSpec,
    ) -> Result<(), BackendError> {
        let others = site.others(&spec.placement)?;
        self.write_start(site, spec, attempt)?;
        let leaves = |node: &NodeId| others.contains(&node.to_string());
        let begin = match self.node.as_ref().is_some_and(leaves) {
            true => Begin::Now,
            false => Begin::Soon,
        };
        batch::exclude(slurm_job, &others, begin)
            .and_then(|()| batch::release(slurm_job))
            .map_err(BackendError::lost)?;
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
    ) -> Result<(), BackendError> {
        let others = site.others(&spec.placement)?;
        self.write_start(site, spec, attempt)?;
        if row.is_pending() {
            // It may begin at this moment, and then it is too late for that.
            let _ = batch::exclude(slurm_job, &others, Begin::Soon);
        }
        self.attempt = attempt;
        Ok(())
    }

    fn submit(
        &mut self,
        site: &Site,
        watched: &Watched,
        spec: &StartSpec,
    ) -> Result<(), BackendError> {
        let others = site.others(&spec.placement)?;
        let attempt = Attempt {
            submission: self.attempt.submission + 1,
            restarts: 0,
        };
        self.write_start(site, spec, attempt)?;
        let submitted =
            watched.add_new(|| batch::submit(site, &self.folder, attempt, spec, &others));
        let slurm_job = match submitted {
            Some(Ok(slurm_job)) => slurm_job,
            Some(Err(error)) if is_rejection(&error) => {
                return Err(BackendError::impossible(error))
            }
            Some(Err(error)) => return Err(BackendError::lost(error)),
            None => return Err(BackendError::lost("the cluster is closed")),
        };
        self.attempt = attempt;
        self.slurm_job = Some(slurm_job);
        self.write_start(site, spec, attempt)
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
}

/// The frame of a state with which a job begins.
fn first(state: Vec<u8>) -> Frame {
    let outcome = Outcome::Snapshot { progress: 0.0 };
    Frame::new(&Answer { id: 0, outcome }, state)
}

/// The state that earlier attempts at this job have left; files of others are removed. Another
/// build goes on from the states of this one, but knows no results of it.
fn state_of(folder: &JobFolder, before: Option<&Start>) -> io::Result<Option<Vec<u8>>> {
    match before {
        Some(start) => folder.newest_state(start.first_submission),
        None => folder.clear().map(|()| None),
    }
}
