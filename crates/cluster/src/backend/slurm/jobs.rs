//! Jobs on Slurm: batch jobs that speak through files, and the thread that watches them.
//!
//! README.md beside this file has the protocol.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{self, Row};
use super::calls::{Calls, TICK};
use super::site::Site;
use super::tracked::Tracked;
use super::watched::Watched;
use crate::backend::{JobEvent, JobEvents, StartSpec};
use crate::protocol::job_folder::Kind;

/// How often files are looked at while a job runs.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often Slurm is asked while a job is between two nodes, and otherwise.
const ASK_EVERY_CHANGING: Duration = Duration::from_millis(250);
const ASK_EVERY: Duration = Duration::from_secs(1);

/// A request of the driver to the watcher.
pub(super) enum Message {
    Start(Box<StartSpec>, JobEvents),
    Pause(u64, u32),
    Snapshot(u64, u32),
    Stop(u64, u32),
}

/// Watches all jobs of a connection, on a thread of its own.
pub(super) struct Watcher {
    site: Arc<Site>,
    calls: Arc<Calls>,
    watched: Arc<Watched>,
    jobs: HashMap<u64, Tracked>,
}

impl Watcher {
    pub(super) fn new(site: Arc<Site>, calls: Arc<Calls>, watched: Arc<Watched>) -> Self {
        let jobs = HashMap::new();
        Self {
            site,
            calls,
            watched,
            jobs,
        }
    }

    /// Watches until the connection ends.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        let mut asked_at = None::<Instant>;
        let mut ticked_at = Instant::now();
        let mut looked_at = Instant::now();
        loop {
            let patience = match asked_at {
                // A fresh request may be met at once.
                None => Duration::ZERO,
                Some(_) if self.jobs.is_empty() => TICK,
                Some(_) => LOOK_EVERY,
            };
            match messages.recv_timeout(patience) {
                Ok(message) => {
                    self.take(message);
                    asked_at = None;
                    // Otherwise those who ask again and again would see nothing done.
                    if looked_at.elapsed() < LOOK_EVERY {
                        continue;
                    }
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
            looked_at = Instant::now();
        }
    }

    /// Slurm's account of all jobs; none if it cannot be asked now.
    fn rows(&self) -> Option<HashMap<u64, Row>> {
        let ids: Vec<_> = self.jobs.values().filter_map(|job| job.slurm_job).collect();
        // Nothing is known until it answers again, and nothing is decided.
        batch::rows(&ids).ok()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Start(spec, events) => self.start(spec, events),
            Message::Pause(job, epoch) => self.want(Kind::PauseWanted, job, epoch),
            Message::Snapshot(job, epoch) => self.want(Kind::SnapshotWanted, job, epoch),
            Message::Stop(job, epoch) => {
                if let Some(tracked) = self.jobs.get_mut(&job) {
                    tracked.stop(&self.watched, epoch);
                }
            }
        }
    }

    fn start(&mut self, spec: Box<StartSpec>, events: JobEvents) {
        let (job, epoch) = (spec.job, spec.epoch);
        if let Some(error) = self.site.lacks(&spec.cpus, &spec.placement.needs) {
            return events(epoch, JobEvent::Lost(error));
        }
        let known = self.jobs.remove(&job);
        let told = Arc::clone(&events);
        match Tracked::prepare(&self.site, &self.watched, known, spec, events) {
            Ok(tracked) => self.jobs.extend(tracked.map(|tracked| (job, tracked))),
            Err(error) => told(epoch, JobEvent::Lost(error)),
        }
    }

    fn want(&self, what: Kind, job: u64, epoch: u32) {
        if let Some(tracked) = self.jobs.get(&job) {
            tracked.want(what, epoch);
        }
    }

    fn look(&mut self, rows: Option<&HashMap<u64, Row>>) {
        let Self {
            site,
            watched,
            jobs,
            ..
        } = self;
        jobs.retain(|job, tracked| {
            let is_over = tracked.look(site, watched, *job, rows);
            if is_over || !tracked.is_claimed() {
                watched.forget(*job);
            }
            !is_over
        });
    }
}
