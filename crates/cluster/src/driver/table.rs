//! The state machine of all jobs: events and wishes in, actions out; no clock, no I/O.
//!
//! Each attempt at a job has an epoch. Only what the attempt of the present epoch says
//! counts; whatever ends an attempt, for good or bad, raises the epoch before another one
//! begins. So a result is accepted once, and a late attempt changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Cpus, JobEvent, Placement, StartSpec};
use crate::error::RemoteError;
use crate::event::EventKind;
use crate::job::JobOptions;
use crate::planner::{Mobility, Move, NodeId};
use crate::worker::JobOutcome;

/// How long a moved job may take to run again before it goes back.
const LOADING_MAX: Duration = Duration::from_secs(15);

/// How long a job may take to its next safe point before it is asked again to pause.
const PAUSING_MAX: Duration = Duration::from_secs(5);

/// How long an answer to a request for the state is waited for before it is asked again.
const SNAPSHOT_MAX: Duration = Duration::from_secs(60);

/// A state from which an attempt can begin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checkpoint {
    /// Of the attempt that wrote it.
    pub(crate) epoch: u32,
    /// How much of the job is done, from 0 to 1.
    pub(crate) progress: f64,
    pub(crate) state: Arc<Vec<u8>>,
}

/// A job to be run.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) job: u64,
    pub(crate) kind: String,
    pub(crate) options: JobOptions,
    /// As the options say, in the form in which they are counted.
    pub(crate) cpus: Cpus,
    pub(crate) checkpoint: Checkpoint,
    /// The first epoch to use.
    pub(crate) epoch: u32,
    pub(crate) resumed_after_ms: Option<u64>,
}

/// What the table is told.
#[derive(Debug)]
pub(crate) enum Input {
    Submit(Submission),
    /// Something became of an attempt.
    Event {
        job: u64,
        epoch: u32,
        event: JobEvent,
    },
    /// Somebody wants a job elsewhere.
    Move {
        job: u64,
        to: NodeId,
        expected: Option<Move>,
    },
    /// Nobody wants the result.
    Cancel {
        job: u64,
    },
    /// Time has passed.
    Tick,
}

/// What is to be done, in this order.
#[derive(Debug)]
pub(crate) enum Action {
    Start(StartSpec),
    Pause {
        job: u64,
        epoch: u32,
    },
    Snapshot {
        job: u64,
        epoch: u32,
    },
    Stop {
        job: u64,
        epoch: u32,
    },
    /// Bring a state to safety.
    Keep {
        job: u64,
        checkpoint: Checkpoint,
    },
    /// Tell whoever waits.
    Finish {
        job: u64,
        result: Result<Vec<u8>, RemoteError>,
    },
    /// Tell the planner that a move is over.
    MoveOver {
        job: u64,
        has_moved: bool,
    },
    Say(EventKind),
}

/// Where a job stands, for people and for the planner.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) job: u64,
    pub(crate) epoch: u32,
    pub(crate) options: JobOptions,
    /// Where it runs, if it does.
    pub(crate) node: Option<NodeId>,
    /// Since when, or since when it does not.
    pub(crate) since: Duration,
    pub(crate) is_moving: bool,
    pub(crate) is_over: bool,
    pub(crate) moves: u32,
    pub(crate) losses: u32,
    pub(crate) progress: f64,
    pub(crate) state_bytes: u64,
}

/// All jobs of a driver.
#[derive(Debug, Default)]
pub(crate) struct Table {
    jobs: BTreeMap<u64, Record>,
}

#[derive(Debug)]
struct Record {
    kind: String,
    options: JobOptions,
    cpus: Cpus,
    epoch: u32,
    first_epoch: u32,
    phase: Phase,
    /// Since when it is in this phase.
    since: Duration,
    checkpoint: Checkpoint,
    /// When the last state was taken or asked for.
    snapshot_at: Duration,
    /// A request for the state is under way.
    is_snapshot_asked: bool,
    losses: u32,
    moves: u32,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// The backend has it, and it does not run yet.
    Starting {
        step: Option<Step>,
    },
    Running {
        node: NodeId,
    },
    /// It is to pause, and runs until then.
    Pausing {
        node: NodeId,
        to: NodeId,
        asked: Duration,
    },
    Over,
}

/// A move between its pause and its end.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    from: NodeId,
    to: NodeId,
    asked: Duration,
    paused: Duration,
    /// It goes back, because the target did not load it in time.
    is_return: bool,
}

impl Table {
    /// Takes what it is told at `now`, and says what is to be done.
    pub(crate) fn step(&mut self, now: Duration, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Submit(submission) => self.submit(now, submission, &mut actions),
            Input::Event { job, epoch, event } => self.event(now, job, epoch, event, &mut actions),
            Input::Move { job, to, expected } => {
                self.begin_move(now, job, to, expected, &mut actions);
            }
            Input::Cancel { job } => {
                if let Some(record) = self.open(job) {
                    actions.push(Action::Stop {
                        job,
                        epoch: record.epoch,
                    });
                    record.finish(now, job, Err(RemoteError::Cancelled), &mut actions);
                }
            }
            Input::Tick => {
                for (job, record) in &mut self.jobs {
                    record.tick(now, *job, &mut actions);
                }
            }
        }
        actions
    }

    pub(crate) fn views(&self) -> impl Iterator<Item = View> + '_ {
        self.jobs.iter().map(|(job, record)| record.view(*job))
    }

    fn open(&mut self, job: u64) -> Option<&mut Record> {
        self.jobs
            .get_mut(&job)
            .filter(|record| record.phase != Phase::Over)
    }

    fn submit(&mut self, now: Duration, submission: Submission, actions: &mut Vec<Action>) {
        let Submission {
            job,
            kind,
            options,
            cpus,
            checkpoint,
            epoch,
            resumed_after_ms,
        } = submission;
        actions.push(Action::Say(EventKind::Submitted {
            job: options.id.clone(),
            kind: kind.clone(),
            priority: options.priority,
            mobility: options.mobility,
            cpus: options.cpus,
            resumed_after_ms,
        }));
        let mut record = Record {
            kind,
            epoch,
            first_epoch: epoch,
            phase: Phase::Starting { step: None },
            since: now,
            checkpoint,
            snapshot_at: now,
            is_snapshot_asked: false,
            losses: 0,
            moves: 0,
            options,
            cpus,
        };
        let node = record.options.node.clone();
        record.start(now, job, node, None, actions);
        self.jobs.insert(job, record);
    }

    fn event(
        &mut self,
        now: Duration,
        job: u64,
        epoch: u32,
        event: JobEvent,
        actions: &mut Vec<Action>,
    ) {
        let Some(record) = self.jobs.get_mut(&job) else {
            return;
        };
        if epoch == record.epoch && record.phase == Phase::Over {
            return;
        }
        if epoch != record.epoch {
            actions.push(Action::Say(EventKind::Late {
                job: record.options.id.clone(),
                epoch,
                current: record.epoch,
            }));
            if matches!(event, JobEvent::Running { .. }) {
                actions.push(Action::Stop { job, epoch });
            }
            return;
        }
        match event {
            JobEvent::Running { node } => record.runs(now, job, node, actions),
            JobEvent::Snapshot { progress, state } => {
                record.is_snapshot_asked = false;
                record.snapshot_at = now;
                record.keep(job, progress, state, actions);
            }
            JobEvent::Ended { outcome, payload } => {
                record.ended(now, job, outcome, payload, actions);
            }
            JobEvent::Refused(refusal) => {
                record.finish(now, job, Err(RemoteError::Refused(refusal)), actions);
            }
            JobEvent::Lost(error) => record.lost(now, job, error, actions),
        }
    }

    fn begin_move(
        &mut self,
        now: Duration,
        job: u64,
        to: NodeId,
        expected: Option<Move>,
        actions: &mut Vec<Action>,
    ) {
        let Some(record) = self.open(job) else {
            return actions.push(Action::MoveOver {
                job,
                has_moved: false,
            });
        };
        let id = record.options.id.clone();
        let why = match &record.phase {
            Phase::Running { node } if *node == to => format!("it runs on {to} already"),
            Phase::Running { node } => {
                let from = node.clone();
                actions.push(Action::Say(EventKind::MoveBegan {
                    job: id,
                    from: Some(from.clone()),
                    to: to.clone(),
                    expected,
                }));
                actions.push(Action::Pause {
                    job,
                    epoch: record.epoch,
                });
                record.enter(
                    now,
                    Phase::Pausing {
                        node: from,
                        to,
                        asked: now,
                    },
                );
                return;
            }
            _ => "it does not run at the moment".to_owned(),
        };
        actions.push(Action::Say(EventKind::MoveFailed { job: id, why }));
        actions.push(Action::MoveOver {
            job,
            has_moved: false,
        });
    }
}

impl Record {
    fn enter(&mut self, now: Duration, phase: Phase) {
        self.phase = phase;
        self.since = now;
    }

    /// Begins the attempt of the present epoch.
    fn start(
        &mut self,
        now: Duration,
        job: u64,
        node: Option<NodeId>,
        step: Option<Step>,
        actions: &mut Vec<Action>,
    ) {
        let options = &self.options;
        actions.push(Action::Start(StartSpec {
            job,
            epoch: self.epoch,
            kind: self.kind.clone(),
            name: options.id.to_string(),
            state: Arc::clone(&self.checkpoint.state),
            cpus: self.cpus,
            threads: options.threads_or_cpus(),
            placement: Placement {
                node,
                is_pinned: options.mobility == Mobility::Pinned,
                near: Vec::new(),
            },
            checkpoint_every_ms: options.checkpoint_every_ms,
        }));
        self.is_snapshot_asked = false;
        self.enter(now, Phase::Starting { step });
    }

    fn runs(&mut self, now: Duration, job: u64, node: NodeId, actions: &mut Vec<Action>) {
        let Phase::Starting { step } = &self.phase else {
            return;
        };
        let id = &self.options.id;
        actions.push(Action::Say(EventKind::Running {
            job: id.clone(),
            epoch: self.epoch,
            node: node.clone(),
        }));
        if let Some(step) = step.clone() {
            let has_moved = node != step.from;
            self.moves += u32::from(has_moved);
            actions.push(Action::Say(match has_moved {
                true => EventKind::MoveEnded {
                    job: id.clone(),
                    from: Some(step.from),
                    to: node.clone(),
                    pausing_ms: millis(step.paused.saturating_sub(step.asked)),
                    standstill_ms: millis(now.saturating_sub(step.paused)),
                    bytes: self.checkpoint.state.len() as u64,
                },
                false => EventKind::MoveFailed {
                    job: id.clone(),
                    why: format!("it runs on {node} again; {} did not load it", step.to),
                },
            }));
            actions.push(Action::MoveOver { job, has_moved });
        }
        self.snapshot_at = now;
        self.enter(now, Phase::Running { node });
    }

    fn keep(&mut self, job: u64, progress: f64, state: Vec<u8>, actions: &mut Vec<Action>) {
        let checkpoint = Checkpoint {
            epoch: self.epoch,
            progress,
            state: Arc::new(state),
        };
        actions.push(Action::Say(EventKind::Checkpoint {
            job: self.options.id.clone(),
            epoch: self.epoch,
            progress,
            bytes: checkpoint.state.len() as u64,
        }));
        actions.push(Action::Keep {
            job,
            checkpoint: checkpoint.clone(),
        });
        self.checkpoint = checkpoint;
    }

    fn ended(
        &mut self,
        now: Duration,
        job: u64,
        outcome: JobOutcome,
        payload: Vec<u8>,
        actions: &mut Vec<Action>,
    ) {
        match outcome {
            JobOutcome::Finished => self.finish(now, job, Ok(payload), actions),
            JobOutcome::Failed(message) => {
                self.finish(now, job, Err(RemoteError::Failed(message)), actions);
            }
            JobOutcome::Paused { progress } => {
                let (from, to, asked) = match &self.phase {
                    Phase::Pausing { node, to, asked } => {
                        (Some(node.clone()), Some(to.clone()), *asked)
                    }
                    // Nobody asked for it here; the backend may have its reasons.
                    Phase::Running { node } => (Some(node.clone()), None, now),
                    _ => (None, None, now),
                };
                let step = from.zip(to.clone()).map(|(from, to)| Step {
                    from,
                    to,
                    asked,
                    paused: now,
                    is_return: false,
                });
                let mut keeping = Vec::new();
                self.keep(job, progress, payload, &mut keeping);
                self.epoch += 1;
                let node = to.or_else(|| self.options.node.clone());
                // The state is in our hands; the job need not wait for the disk.
                self.start(now, job, node, step, actions);
                actions.append(&mut keeping);
            }
        }
    }

    fn lost(
        &mut self,
        now: Duration,
        job: u64,
        error: crate::backend::BackendError,
        actions: &mut Vec<Action>,
    ) {
        self.losses += 1;
        actions.push(Action::Say(EventKind::Lost {
            job: self.options.id.clone(),
            epoch: self.epoch,
            why: error.to_string(),
            progress: self.checkpoint.progress,
        }));
        actions.push(Action::Stop {
            job,
            epoch: self.epoch,
        });
        if !error.is_passing() || self.losses > self.options.losses_max {
            let attempts = self.epoch - self.first_epoch + 1;
            return self.finish(
                now,
                job,
                Err(RemoteError::Backend { error, attempts }),
                actions,
            );
        }
        self.give_up_move(job, "the attempt was lost", actions);
        self.epoch += 1;
        let node = self
            .options
            .node
            .clone()
            .filter(|_| self.options.mobility == Mobility::Pinned);
        self.start(now, job, node, None, actions);
    }

    /// If the job is on its way, it does not arrive where it should.
    fn give_up_move(&self, job: u64, why: &str, actions: &mut Vec<Action>) {
        let is_moving = matches!(
            self.phase,
            Phase::Pausing { .. } | Phase::Starting { step: Some(_) }
        );
        if is_moving {
            let why = why.to_owned();
            let job_id = self.options.id.clone();
            actions.push(Action::Say(EventKind::MoveFailed { job: job_id, why }));
            actions.push(Action::MoveOver {
                job,
                has_moved: false,
            });
        }
    }

    fn finish(
        &mut self,
        now: Duration,
        job: u64,
        result: Result<Vec<u8>, RemoteError>,
        actions: &mut Vec<Action>,
    ) {
        self.give_up_move(job, "the job is over", actions);
        actions.push(Action::Say(EventKind::Finished {
            job: self.options.id.clone(),
            error: result.as_ref().err().map(ToString::to_string),
            attempts: self.epoch - self.first_epoch + 1,
            moves: self.moves,
        }));
        actions.push(Action::Finish { job, result });
        // Nobody goes on from it.
        self.checkpoint.state = Arc::default();
        self.enter(now, Phase::Over);
    }

    fn tick(&mut self, now: Duration, job: u64, actions: &mut Vec<Action>) {
        let every = Duration::from_millis(self.options.checkpoint_every_ms);
        let epoch = self.epoch;
        match &self.phase {
            Phase::Running { .. } => {
                let since = now.saturating_sub(self.snapshot_at);
                let is_due = match self.is_snapshot_asked {
                    true => since >= SNAPSHOT_MAX.max(every),
                    false => since >= every,
                };
                if is_due {
                    self.is_snapshot_asked = true;
                    self.snapshot_at = now;
                    actions.push(Action::Snapshot { job, epoch });
                }
            }
            Phase::Starting { step: Some(step) }
                if now.saturating_sub(self.since) >= LOADING_MAX =>
            {
                let step = step.clone();
                actions.push(Action::Stop { job, epoch });
                self.epoch += 1;
                match step.is_return {
                    false => {
                        let node = Some(step.from.clone());
                        let step = Step {
                            is_return: true,
                            ..step
                        };
                        self.start(now, job, node, Some(step), actions);
                    }
                    true => {
                        // Neither end takes it; anybody may.
                        let why = format!("neither {} nor {} ran it in time", step.to, step.from);
                        self.give_up_move(job, &why, actions);
                        self.start(now, job, None, None, actions);
                    }
                }
            }
            Phase::Pausing { .. } if now.saturating_sub(self.since) >= PAUSING_MAX => {
                self.since = now;
                actions.push(Action::Pause { job, epoch });
            }
            _ => {}
        }
    }

    fn view(&self, job: u64) -> View {
        let node = match &self.phase {
            Phase::Running { node } | Phase::Pausing { node, .. } => Some(node.clone()),
            Phase::Starting { .. } | Phase::Over => None,
        };
        View {
            job,
            epoch: self.epoch,
            options: self.options.clone(),
            node,
            since: self.since,
            is_moving: matches!(
                self.phase,
                Phase::Pausing { .. } | Phase::Starting { step: Some(_) }
            ),
            is_over: self.phase == Phase::Over,
            moves: self.moves,
            losses: self.losses,
            progress: self.checkpoint.progress,
            state_bytes: self.checkpoint.state.len() as u64,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "table/tests.rs"]
mod tests;
