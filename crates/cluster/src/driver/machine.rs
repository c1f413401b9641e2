//! The state machine of all jobs: events and wishes in, actions out; no clock, no I/O.
//!
//! Each attempt at a job has an epoch. Only what the attempt of the present epoch says
//! counts; whatever ends an attempt, for good or bad, raises the epoch before another one
//! begins. So a result is accepted once, and a late attempt changes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use super::messages::{Action, Input, Submission, View};
use super::record::{Phase, Record};
use crate::backend::JobEvent;
use crate::error::RemoteError;
use crate::event::EventKind;
use crate::planner::{Move, NodeId};

/// All jobs of a driver.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    jobs: BTreeMap<u64, Record>,
}

impl Machine {
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
            is_unsent: false,
            is_snapshot_asked: false,
            losses: 0,
            own_doings: 0,
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
            JobEvent::Unsent(why) => record.unsent(now, job, &why, actions),
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

#[cfg(test)]
#[path = "machine/tests.rs"]
mod tests;
