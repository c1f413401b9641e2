//! The driver's record of one job: the phases of an attempt, and the transitions between them.

use std::sync::Arc;
use std::time::Duration;

use super::messages::{Action, Checkpoint, View};
use crate::backend::{Placement, StartSpec};
use crate::error::{BackendError, RemoteError};
use crate::event::EventKind;
use crate::planner::{Mobility, NodeId};
use crate::protocol::backoff::Backoff;
use crate::protocol::cpus::Cpus;
use crate::protocol::object_id::ObjectId;
use crate::protocol::JobOutcome;
use crate::remote::job_options::JobOptions;

/// The time in which a moved job must run again, or it goes back.
pub(super) const LOADING_MAX: Duration = Duration::from_secs(15);

/// The time after which a job that has reached no safe point is asked again to pause.
pub(super) const PAUSING_MAX: Duration = Duration::from_secs(5);

/// The time after which an unanswered request for the state is repeated.
const SNAPSHOT_MAX: Duration = Duration::from_secs(60);

/// The number of workers that a job may end, with no checkpoint in between, before it is given up.
const OWN_DOINGS_MAX: u32 = 2;

#[derive(Debug)]
pub(super) struct Record {
    pub(super) kind: String,
    pub(super) options: JobOptions,
    pub(super) cpus: Cpus,
    /// The shared data that the first state refers to.
    pub(super) objects: Vec<ObjectId>,
    pub(super) epoch: u32,
    pub(super) first_epoch: u32,
    pub(super) phase: Phase,
    /// The time since which it is in this phase.
    pub(super) since: Duration,
    pub(super) checkpoint: Checkpoint,
    /// The time at which it was submitted to this driver, or resumed by it.
    pub(super) began: Duration,
    /// The time at which the last state was taken or asked for.
    pub(super) snapshot_at: Duration,
    /// True once an event has said that the state cannot be had.
    pub(super) is_unsent: bool,
    /// True while a request for the state is under way.
    pub(super) is_snapshot_asked: bool,
    pub(super) losses: u32,
    /// The attempts since the last checkpoint that ended their workers.
    pub(super) own_doings: u32,
    pub(super) moves: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// The backend has it, and it does not run yet.
    Starting {
        step: Option<Step>,
    },
    Running {
        node: NodeId,
    },
    /// It has been asked to pause, and runs until it does.
    Pausing {
        node: NodeId,
        to: NodeId,
        asked: Duration,
    },
    /// The last attempt was lost, and the next one begins then.
    Resting {
        until: Duration,
    },
    Over,
}

/// A move between its pause and its end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) asked: Duration,
    pub(super) paused: Duration,
    /// It goes back, because the target did not load it in time.
    pub(super) is_return: bool,
}

impl Record {
    pub(super) fn enter(&mut self, now: Duration, phase: Phase) {
        self.phase = phase;
        self.since = now;
    }

    /// Begins the attempt of the present epoch.
    pub(super) fn start(
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
                needs: options.needs(),
                ..Placement::default()
            },
            checkpoint_every_ms: options.checkpoint_every_ms,
            objects: self.objects.clone(),
            trace: options.trace,
        }));
        self.is_snapshot_asked = false;
        self.enter(now, Phase::Starting { step });
    }

    pub(super) fn runs(
        &mut self,
        now: Duration,
        job: u64,
        node: NodeId,
        actions: &mut Vec<Action>,
    ) {
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

    pub(super) fn keep(
        &mut self,
        job: u64,
        progress: f64,
        state: Vec<u8>,
        actions: &mut Vec<Action>,
    ) {
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
        self.own_doings = 0;
        self.is_unsent = false;
    }

    /// Notes that the state cannot be had: the job stays where it is, and one event says so.
    pub(super) fn unsent(&mut self, now: Duration, job: u64, why: &str, actions: &mut Vec<Action>) {
        self.is_snapshot_asked = false;
        self.snapshot_at = now;
        if let Phase::Pausing { node, .. } = &self.phase {
            let node = node.clone();
            self.give_up_move(job, why, actions);
            self.enter(now, Phase::Running { node });
        } else if !self.is_unsent {
            self.is_unsent = true;
            actions.push(Action::Say(EventKind::NoCheckpoint {
                job: self.options.id.clone(),
                why: why.to_owned(),
            }));
        }
    }

    pub(super) fn ended(
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
                    // The driver has not asked for it, but a backend may pause jobs on its own.
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
                // The driver has the state; the job need not wait for the disk.
                self.start(now, job, node, step, actions);
                actions.append(&mut keeping);
            }
        }
    }

    pub(super) fn lost(
        &mut self,
        now: Duration,
        job: u64,
        error: BackendError,
        actions: &mut Vec<Action>,
    ) {
        self.losses += 1;
        self.own_doings += u32::from(error.is_own_doing());
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
        let is_too_much =
            self.losses > self.options.losses_max || self.own_doings >= OWN_DOINGS_MAX;
        if !error.is_passing() || is_too_much {
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
        let backoff = self.options.backoff_ms.map(Backoff::from_ms);
        match backoff.map(|backoff| backoff.pause(self.losses, job)) {
            None => self.restart(now, job, actions),
            Some(pause) => self.enter(now, Phase::Resting { until: now + pause }),
        }
    }

    /// Begins an attempt after one that was lost.
    fn restart(&mut self, now: Duration, job: u64, actions: &mut Vec<Action>) {
        let is_pinned = self.options.mobility == Mobility::Pinned;
        let node = self.options.node.clone().filter(|_| is_pinned);
        self.start(now, job, node, None, actions);
    }

    /// Notes that a job on the move, if it is one, does not arrive at its target.
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

    pub(super) fn finish(
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
        // No further attempt begins from it.
        self.checkpoint.state = Arc::default();
        self.enter(now, Phase::Over);
    }

    /// The deadline of the job, if it has passed.
    pub(super) fn passed(&self, now: Duration) -> Option<RemoteError> {
        let within = Duration::from_millis(self.options.within_ms?);
        let has_passed = now.saturating_sub(self.began) >= within;
        has_passed.then_some(RemoteError::TimedOut { within })
    }

    /// Asks for the state now, if it runs and has not been asked.
    pub(super) fn ask_for_state(&mut self, now: Duration, job: u64, actions: &mut Vec<Action>) {
        if matches!(self.phase, Phase::Running { .. }) && !self.is_snapshot_asked {
            self.is_snapshot_asked = true;
            self.snapshot_at = now;
            let epoch = self.epoch;
            actions.push(Action::Snapshot { job, epoch });
        }
    }

    pub(super) fn tick(&mut self, now: Duration, job: u64, actions: &mut Vec<Action>) {
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
                        // Neither end takes it; any node may.
                        let why = format!("neither {} nor {} ran it in time", step.to, step.from);
                        self.give_up_move(job, &why, actions);
                        self.start(now, job, None, None, actions);
                    }
                }
            }
            Phase::Resting { until } if now >= *until => self.restart(now, job, actions),
            Phase::Pausing { .. } if now.saturating_sub(self.since) >= PAUSING_MAX => {
                self.since = now;
                actions.push(Action::Pause { job, epoch });
            }
            _ => {}
        }
    }

    pub(super) fn view(&self, job: u64) -> View {
        let node = match &self.phase {
            Phase::Running { node } | Phase::Pausing { node, .. } => Some(node.clone()),
            Phase::Starting { .. } | Phase::Resting { .. } | Phase::Over => None,
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
