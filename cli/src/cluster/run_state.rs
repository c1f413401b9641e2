//! The state of a run, folded from its events, with its history if a page needs it.

use std::collections::{BTreeMap, VecDeque};

use heist_cluster::event::{CallCounts, ClusterEvent, EventKind, JobUsage, NodeUsage};
use heist_cluster::planner::{JobId, Mobility, NodeId, Priority};
use heist_observe::fleet::{AttemptEnd, Moved};

use super::history::History;

/// How many moves and decisions are remembered.
const REMEMBERED: usize = 20;

/// The state of a run.
#[derive(Debug, Default)]
pub(super) struct RunState {
    pub(super) backend: String,
    /// The driver's process.
    pub(super) pid: u32,
    /// When the first event was written, in milliseconds since 1970, and the last one.
    pub(super) began_ms: u64,
    pub(super) last_ms: u64,
    /// True once the driver has left.
    pub(super) is_over: bool,
    pub(super) nodes: BTreeMap<NodeId, Node>,
    /// In the order of their submission.
    pub(super) jobs: Vec<Job>,
    pub(super) calls: CallCounts,
    /// Of the drivers before this one.
    pub(super) calls_before: CallCounts,
    /// The last moves, the newest last.
    pub(super) moves: VecDeque<Remembered>,
    /// The last decisions, the newest last.
    pub(super) decisions: VecDeque<Remembered>,
    /// The history, if wanted.
    history: Option<History>,
}

/// A machine.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) cpus: f64,
    /// The share of its processors in use, above 1 if work waits, or why it is not known.
    pub(super) utilisation: Option<Result<f64, String>>,
    /// When that was measured, in milliseconds since 1970.
    pub(super) measured_ms: u64,
    pub(super) is_gone: bool,
}

/// A job.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: JobId,
    pub(super) priority: Priority,
    pub(super) mobility: Mobility,
    /// Processors that are reserved for it.
    pub(super) cpus: f64,
    pub(super) phase: Phase,
    /// Where it runs, or ran last.
    pub(super) node: Option<NodeId>,
    pub(super) epoch: u32,
    /// From when on it runs there, in milliseconds since 1970.
    pub(super) since_ms: u64,
    /// From 0 to 1.
    pub(super) progress: f64,
    /// The first progress of this attempt that was measured, and when.
    pub(super) first_progress: Option<(u64, f64)>,
    /// Processors that are busy with it, if that is known.
    pub(super) used_cpus: Option<f64>,
    /// When that was measured, in milliseconds since 1970.
    pub(super) measured_ms: u64,
    pub(super) state_bytes: u64,
    pub(super) moves: u32,
    pub(super) losses: u32,
}

/// The phase of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It begins, or waits for room.
    Waiting,
    Running,
    Moving {
        to: NodeId,
    },
    Done,
    /// There will be no result, for this reason.
    Failed(String),
}

impl Phase {
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Failed(_))
    }
}

/// A recent event, in words.
#[derive(Debug)]
pub(super) struct Remembered {
    /// In milliseconds since 1970.
    pub(super) at_ms: u64,
    pub(super) text: String,
    /// Its reasons.
    pub(super) reasons: Vec<String>,
}

impl RunState {
    /// A state that keeps its history.
    pub(super) fn with_history() -> Self {
        Self {
            history: Some(History::default()),
            ..Self::default()
        }
    }

    /// The history, if it was kept.
    pub(super) fn take_history(&mut self) -> History {
        self.history.take().unwrap_or_default()
    }

    /// True between the arrival of a driver and its end.
    pub(super) fn is_driven(&self) -> bool {
        self.pid != 0 && !self.is_over
    }

    fn past(&mut self, tell: impl FnOnce(&mut History)) {
        if let Some(history) = &mut self.history {
            tell(history);
        }
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, event: &ClusterEvent) {
        let at_ms = event.at_ms;
        if self.began_ms == 0 {
            self.began_ms = at_ms;
        }
        self.last_ms = at_ms;
        let since_ms = at_ms.saturating_sub(self.began_ms);
        let mut before_ms = 0;
        self.past(|past| {
            before_ms = past.now_ms;
            past.now_ms = since_ms.max(before_ms);
        });
        match &event.what {
            EventKind::Connected { backend, pid } => self.connected(before_ms, backend, *pid),
            EventKind::Usage { nodes, jobs, calls } => {
                nodes.iter().for_each(|usage| self.node_used(at_ms, usage));
                jobs.iter().for_each(|usage| self.job_used(at_ms, usage));
                self.calls = *calls;
            }
            EventKind::Decided { decision } => {
                self.past(|past| past.decided(decision));
                let text = decision.outcome.to_string();
                let reasons = decision.reasons.iter().map(ToString::to_string);
                remember(&mut self.decisions, at_ms, text, reasons.collect());
            }
            EventKind::Node {
                node,
                is_alive,
                cpus,
            } => {
                self.past(|past| past.node(node, *is_alive, *cpus));
                let node = self.nodes.entry(node.clone()).or_default();
                node.is_gone = !is_alive;
                node.cpus = *cpus;
                node.utilisation = None;
            }
            EventKind::Ended => {
                self.is_over = true;
                self.past(|past| past.end_all(AttemptEnd::Open, "the driver ended"));
            }
            what => self.take_of_job(at_ms, what),
        }
    }

    /// Takes an event of a job that stays where it is.
    fn take_of_job(&mut self, at_ms: u64, what: &EventKind) {
        match what {
            EventKind::Running { job, epoch, node } => {
                self.past(|past| past.running(job, *epoch, node));
                self.change(job, |job| {
                    job.phase = Phase::Running;
                    job.epoch = *epoch;
                    job.node = Some(node.clone());
                    job.since_ms = at_ms;
                    job.first_progress = None;
                    job.used_cpus = None;
                });
            }
            EventKind::Checkpoint {
                job,
                epoch,
                progress,
                bytes,
            } => {
                self.past(|past| past.checkpoint(job, *epoch, *progress, *bytes));
                self.change(job, |job| {
                    job.progress = *progress;
                    job.state_bytes = *bytes;
                });
            }
            EventKind::Lost {
                job, why, progress, ..
            } => {
                self.past(|past| past.end(job, AttemptEnd::Lost, why));
                self.change(job, |job| {
                    job.phase = Phase::Waiting;
                    job.node = None;
                    job.progress = *progress;
                    job.losses += 1;
                    job.used_cpus = None;
                });
            }
            EventKind::Finished { job, error, .. } => {
                self.past(|past| past.finished(job, error.as_deref()));
                self.change(job, |job| match error {
                    None => {
                        job.phase = Phase::Done;
                        job.progress = 1.0;
                    }
                    Some(error) => job.phase = Phase::Failed(error.clone()),
                });
            }
            EventKind::Submitted { .. } => self.take_submission(at_ms, what),
            _ => self.take_of_move(at_ms, what),
        }
    }

    /// Takes an event of a move.
    fn take_of_move(&mut self, at_ms: u64, what: &EventKind) {
        match what {
            EventKind::MoveBegan {
                job,
                from,
                to,
                expected,
            } => {
                self.past(|past| past.move_began(job, from.as_ref(), to, expected.as_ref()));
                self.change(job, |job| job.phase = Phase::Moving { to: to.clone() });
            }
            EventKind::MoveEnded {
                job,
                to,
                pausing_ms,
                standstill_ms,
                bytes,
                ..
            } => {
                let moved = Moved {
                    pausing_ms: *pausing_ms,
                    standstill_ms: *standstill_ms,
                    bytes: *bytes,
                };
                self.past(|past| past.move_ended(job, to, moved));
                self.change(job, |job| job.moves += 1);
                remember(&mut self.moves, at_ms, what.to_string(), Vec::new());
            }
            EventKind::MoveFailed { job, why } => {
                self.past(|past| past.move_failed(job, why));
                self.change(job, |job| {
                    if matches!(job.phase, Phase::Moving { .. }) {
                        job.phase = Phase::Running;
                    }
                });
                remember(&mut self.moves, at_ms, what.to_string(), Vec::new());
            }
            // Late answers change nothing, and events of later versions are ignored.
            _ => {}
        }
    }

    fn take_submission(&mut self, at_ms: u64, what: &EventKind) {
        let EventKind::Submitted {
            job,
            kind,
            priority,
            mobility,
            cpus,
            ..
        } = what
        else {
            return;
        };
        let note = format!("{kind}, {priority}, {mobility}");
        self.past(|past| past.submitted(job, &note, *cpus));
        let job = Job {
            id: job.clone(),
            priority: *priority,
            mobility: *mobility,
            cpus: *cpus,
            phase: Phase::Waiting,
            node: None,
            epoch: 0,
            since_ms: at_ms,
            progress: 0.0,
            first_progress: None,
            used_cpus: None,
            measured_ms: 0,
            state_bytes: 0,
            moves: 0,
            losses: 0,
        };
        match self.jobs.iter_mut().find(|known| known.id == job.id) {
            // Another driver goes on with it.
            Some(known) => {
                let progress = known.progress;
                *known = Job { progress, ..job };
            }
            None => self.jobs.push(job),
        }
    }

    fn connected(&mut self, before_ms: u64, backend: &str, pid: u32) {
        let is_first_lost = self.is_driven();
        self.past(|past| past.connected(before_ms, pid, is_first_lost));
        backend.clone_into(&mut self.backend);
        self.pid = pid;
        self.is_over = false;
        // The observations of an earlier driver are void.
        self.nodes.clear();
        let calls = std::mem::take(&mut self.calls);
        self.calls_before.done += calls.done;
        self.calls_before.lost += calls.lost;
        for job in &mut self.jobs {
            if !job.phase.is_over() {
                job.phase = Phase::Waiting;
                job.node = None;
                job.used_cpus = None;
            }
        }
    }

    fn node_used(&mut self, at_ms: u64, usage: &NodeUsage) {
        self.past(|past| past.node_used(usage));
        let node = self.nodes.entry(usage.node.clone()).or_default();
        node.cpus = usage.cpus;
        node.measured_ms = at_ms;
        let unknown = || Err(usage.unknown.clone().unwrap_or_default());
        node.utilisation = Some(usage.utilisation.map_or_else(unknown, Ok));
    }

    fn job_used(&mut self, at_ms: u64, usage: &JobUsage) {
        self.past(|past| past.job_used(usage));
        self.change(&usage.job, |job| {
            if job.phase.is_over() {
                return;
            }
            job.progress = usage.progress;
            job.used_cpus = usage.cpus;
            job.measured_ms = at_ms;
            job.first_progress.get_or_insert((at_ms, usage.progress));
        });
    }

    fn change(&mut self, id: &JobId, change: impl FnOnce(&mut Job)) {
        if let Some(job) = self.jobs.iter_mut().find(|job| job.id == *id) {
            change(job);
        }
    }
}

fn remember(list: &mut VecDeque<Remembered>, at_ms: u64, text: String, reasons: Vec<String>) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(Remembered {
        at_ms,
        text,
        reasons,
    });
}
