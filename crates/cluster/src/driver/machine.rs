//! The state machine of all jobs: events and requests in, actions out; no clock, no I/O.
//!
//! Each attempt at a job has an epoch, and only reports of the present epoch count. Every end of an
//! attempt, good or bad, raises the epoch before another attempt begins. So a result is accepted
//! once, and a late attempt changes nothing.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use super::messages::{Action, Input, Submission, View};
use super::record::{Phase, Record};
use crate::backend::JobEvent;
use crate::error::RemoteError;
use crate::event::EventKind;
use crate::planner::{JobId, Move, NodeId};

/// The time between a job's deadline, at which it is asked to stop, and the kill.
const GRACE: Duration = Duration::from_secs(5);

/// All jobs of a driver.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    jobs: BTreeMap<u64, Record>,
    /// The last epoch and the name of each job that is over, for reports of late attempts.
    over: HashMap<u64, (u32, JobId)>,
    /// Jobs that were stopped at their deadlines, and when they are killed, soonest first.
    doomed: VecDeque<(Duration, u64)>,
}

impl Machine {
    /// Takes the inputs that arrived at `now`. Returns the actions, and the views of the jobs that
    /// they may have changed.
    pub(crate) fn step(&mut self, now: Duration, input: Input) -> (Vec<Action>, Vec<View>) {
        let mut actions = Vec::new();
        let mut touched = Vec::new();
        match input {
            Input::Submit(submission) => {
                touched.push(submission.job);
                self.submit(now, *submission, &mut actions);
            }
            Input::Event { job, epoch, event } => {
                touched.push(job);
                self.event(now, job, epoch, event, &mut actions);
            }
            Input::Move { job, to, expected } => {
                touched.push(job);
                self.begin_move(now, job, to, expected, &mut actions);
            }
            Input::Cancel { job } => {
                touched.push(job);
                self.give_up(now, job, RemoteError::Cancelled, &mut actions);
            }
            Input::Kill { job } => {
                touched.push(job);
                self.give_up(now, job, RemoteError::Cancelled, &mut actions);
                actions.push(Action::Kill { job });
            }
            Input::Checkpoint { job } => {
                if let Some(record) = self.jobs.get_mut(&job) {
                    record.ask_for_state(now, job, &mut actions);
                }
            }
            Input::Tick => self.tick(now, &mut touched, &mut actions),
        }
        let changed = touched.into_iter().filter_map(|job| self.settle(job));
        (actions, changed.collect())
    }

    /// The views of the jobs that are not over.
    pub(crate) fn open(&self) -> impl Iterator<Item = View> + '_ {
        self.jobs.iter().map(|(job, record)| record.view(*job))
    }

    /// The view of a job. Of one that is over, only the epoch and the name are kept.
    fn settle(&mut self, job: u64) -> Option<View> {
        let view = self.jobs.get(&job)?.view(job);
        if view.is_over {
            self.jobs.remove(&job);
            let last = (view.epoch, view.options.id.clone());
            self.over.insert(job, last);
        }
        Some(view)
    }

    fn tick(&mut self, now: Duration, touched: &mut Vec<u64>, actions: &mut Vec<Action>) {
        let mut late = Vec::new();
        for (job, record) in &mut self.jobs {
            let before = actions.len();
            match record.passed(now) {
                Some(passed) => late.push((*job, passed)),
                None => record.tick(now, *job, actions),
            }
            if actions.len() > before {
                touched.push(*job);
            }
        }
        for (job, passed) in late {
            touched.push(job);
            self.give_up(now, job, passed, actions);
            self.doomed.push_back((now + GRACE, job));
        }
        let due = self.doomed.iter().take_while(|(at, _)| *at <= now).count();
        let killed = self.doomed.drain(..due);
        actions.extend(killed.map(|(_, job)| Action::Kill { job }));
    }

    fn give_up(&mut self, now: Duration, job: u64, why: RemoteError, actions: &mut Vec<Action>) {
        if let Some(record) = self.jobs.get_mut(&job) {
            let epoch = record.epoch;
            actions.push(Action::Stop { job, epoch });
            record.finish(now, job, Err(why), actions);
        }
    }

    fn submit(&mut self, now: Duration, submission: Submission, actions: &mut Vec<Action>) {
        let Submission {
            job,
            kind,
            options,
            cpus,
            checkpoint,
            objects,
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
            began: now,
            checkpoint,
            snapshot_at: now,
            is_unsent: false,
            is_snapshot_asked: false,
            losses: 0,
            own_doings: 0,
            moves: 0,
            options,
            cpus,
            objects,
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
        let record = match self.jobs.get_mut(&job) {
            Some(record) if record.epoch == epoch => record,
            other => {
                let open = other.map(|record| (record.epoch, record.options.id.clone()));
                let Some((current, id)) = open.or_else(|| self.over.get(&job).cloned()) else {
                    return;
                };
                if epoch != current {
                    let late = EventKind::Late {
                        job: id,
                        epoch,
                        current,
                    };
                    actions.push(Action::Say(late));
                    if matches!(event, JobEvent::Running { .. }) {
                        actions.push(Action::Stop { job, epoch });
                    }
                }
                return;
            }
        };
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
        let Some(record) = self.jobs.get_mut(&job) else {
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
