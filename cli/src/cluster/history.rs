//! The history of a run, gathered for its page: the past that [`RunState`](super::run_state) tells.

use std::collections::HashMap;

use heist_cluster::event::{JobUsage, NodeUsage};
use heist_cluster::planner::{self, JobId, NodeId};
use heist_observe::fleet::{
    Attempt, AttemptEnd, Checkpoint, Decision, Expected, Fleet, Job, Machine, Move, Moved, Stretch,
    Usage,
};

/// The history so far.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) fleet: Fleet,
    /// The time of the newest event, from the beginning of the run.
    pub(super) now_ms: u64,
    machines: HashMap<NodeId, usize>,
    jobs: HashMap<JobId, usize>,
    /// When a machine was lost.
    pub(super) gone: HashMap<usize, u64>,
    /// When a machine was measured last.
    measured: HashMap<usize, u64>,
}

impl History {
    /// Notes that a driver came now. The one before has left, or was lost after its last event, at
    /// `before_ms`.
    pub(super) fn connected(&mut self, before_ms: u64, pid: u32, is_first_lost: bool) {
        if is_first_lost {
            let now_ms = std::mem::replace(&mut self.now_ms, before_ms);
            self.end_all(AttemptEnd::Lost, "the driver was lost");
            self.now_ms = now_ms;
        }
        if before_ms < self.now_ms {
            self.fleet.undriven.push(Stretch {
                begin_ms: before_ms,
                end_ms: self.now_ms,
            });
            self.fleet.notes.push(format!(
                "At {:.1} s process {pid} went on with the run.",
                self.now_ms as f64 / 1e3
            ));
        }
        self.measured.clear();
    }

    pub(super) fn decided(&mut self, decision: &planner::Decision) {
        let reasons = decision.reasons.iter().map(ToString::to_string);
        self.fleet.decisions.push(Decision {
            at_ms: self.now_ms,
            what: decision.outcome.to_string(),
            reasons: reasons.collect(),
            is_move: matches!(decision.outcome, planner::Outcome::Move(_)),
        });
    }

    pub(super) fn node(&mut self, node: &NodeId, is_alive: bool, cpus: f64) {
        let at = self.machine(node);
        self.fleet.machines[at].note = processors(cpus);
        match is_alive {
            true => self.back(at),
            false => {
                self.gone.insert(at, self.now_ms);
            }
        }
    }

    pub(super) fn submitted(&mut self, job: &JobId, note: &str, cpus: f64) {
        let at = self.job(job);
        self.fleet.jobs[at].note = format!("{note}, {}", processors(cpus));
    }

    pub(super) fn checkpoint(&mut self, job: &JobId, epoch: u32, progress: f64, bytes: u64) {
        let (at, at_ms) = (self.job(job), self.now_ms);
        let attempts = self.fleet.jobs[at].attempts.iter_mut();
        if let Some(attempt) = attempts.rev().find(|attempt| attempt.epoch == epoch) {
            attempt.checkpoints.push(Checkpoint {
                at_ms,
                progress,
                bytes,
            });
        }
    }

    pub(super) fn finished(&mut self, job: &JobId, error: Option<&str>) {
        let end = match error {
            None => AttemptEnd::Done,
            Some(_) => AttemptEnd::Failed,
        };
        self.end(job, end, error.unwrap_or_default());
        let at_s = self.now_ms as f64 / 1e3;
        let at = self.job(job);
        let job = &mut self.fleet.jobs[at];
        job.is_failed = error.is_some();
        job.outcome = match error {
            None => format!("done at {at_s:.1} s"),
            Some(error) => error.to_owned(),
        };
    }

    pub(super) fn move_began(
        &mut self,
        job: &JobId,
        from: Option<&NodeId>,
        to: &NodeId,
        expected: Option<&planner::Move>,
    ) {
        let began = Move {
            job: self.job(job),
            from: from.map(|from| self.machine(from)),
            to: self.machine(to),
            began_ms: self.now_ms,
            expected: expected.map(|expected| Expected {
                benefit_cpu_s: expected.benefit_cpu_s,
                cost_cpu_s: expected.cost_cpu_s,
                standstill_ms: expected.downtime_ns / 1_000_000,
            }),
            outcome: None,
        };
        self.fleet.moves.push(began);
    }

    pub(super) fn move_ended(&mut self, job: &JobId, to: &NodeId, moved: Moved) {
        let to = self.machine(to);
        if let Some(open) = self.open_move(job) {
            open.to = to;
            let paused_ms = open.began_ms + moved.pausing_ms;
            open.outcome = Some(Ok(moved));
            self.moved(job, paused_ms);
        }
    }

    pub(super) fn move_failed(&mut self, job: &JobId, why: &str) {
        if let Some(open) = self.open_move(job) {
            open.outcome = Some(Err(why.to_owned()));
        }
    }

    /// Ends what runs.
    pub(super) fn end_all(&mut self, end: AttemptEnd, why: &str) {
        let open = self.fleet.jobs.iter_mut().filter_map(open_attempt);
        for attempt in open {
            attempt.end = end;
            attempt.stretch.end_ms = self.now_ms;
            why.clone_into(&mut attempt.note);
        }
    }

    pub(super) fn running(&mut self, job: &JobId, epoch: u32, node: &NodeId) {
        let (at, machine, now_ms) = (self.job(job), self.machine(node), self.now_ms);
        let attempts = &mut self.fleet.jobs[at].attempts;
        attempts.push(Attempt {
            machine,
            epoch,
            stretch: Stretch {
                begin_ms: now_ms,
                end_ms: OPEN,
            },
            end: AttemptEnd::Open,
            note: String::new(),
            checkpoints: Vec::new(),
        });
    }

    /// The attempt before the newest one ended at a safe point.
    fn moved(&mut self, job: &JobId, paused_ms: u64) {
        let at = self.job(job);
        let open = self.fleet.jobs[at].attempts.iter_mut().rev();
        // The move ends when the new attempt runs, whichever of the two is told first.
        let mut open = open.filter(|attempt| attempt.stretch.end_ms == OPEN);
        let old = open.find(|attempt| attempt.stretch.begin_ms <= paused_ms);
        if let Some(attempt) = old {
            attempt.end = AttemptEnd::Moved;
            attempt.stretch.end_ms = paused_ms.max(attempt.stretch.begin_ms);
        }
    }

    pub(super) fn end(&mut self, job: &JobId, end: AttemptEnd, note: &str) {
        let (at, now_ms) = (self.job(job), self.now_ms);
        if let Some(attempt) = open_attempt(&mut self.fleet.jobs[at]) {
            attempt.end = end;
            attempt.stretch.end_ms = now_ms;
            note.clone_into(&mut attempt.note);
        }
    }

    fn open_move(&mut self, job: &JobId) -> Option<&mut Move> {
        let job = self.job(job);
        let moves = self.fleet.moves.iter_mut().rev();
        let mut own = moves.filter(|moved| moved.job == job && moved.outcome.is_none());
        own.next()
    }

    pub(super) fn node_used(&mut self, usage: &NodeUsage) {
        let at = self.machine(&usage.node);
        self.back(at);
        let since_ms = self.measured.insert(at, self.now_ms);
        let machine = &mut self.fleet.machines[at];
        machine.note = processors(usage.cpus);
        // The first measurement of a driver says nothing about the time before it.
        if let Some(begin_ms) = since_ms {
            machine.usage.push(Usage {
                stretch: Stretch {
                    begin_ms,
                    end_ms: self.now_ms,
                },
                share: usage.utilisation,
                note: usage.unknown.clone().unwrap_or_default(),
            });
        }
    }

    pub(super) fn job_used(&mut self, usage: &JobUsage) {
        let at = self.job(&usage.job);
        self.fleet.jobs[at].outcome = format!("{:.0} % done", usage.progress * 100.0);
    }

    /// A lost machine is back.
    pub(super) fn back(&mut self, machine: usize) {
        if let Some(begin_ms) = self.gone.remove(&machine) {
            self.fleet.machines[machine].absent.push(Stretch {
                begin_ms,
                end_ms: self.now_ms,
            });
        }
    }

    fn machine(&mut self, node: &NodeId) -> usize {
        let machines = &mut self.fleet.machines;
        *self.machines.entry(node.clone()).or_insert_with(|| {
            machines.push(Machine {
                name: node.to_string(),
                ..Machine::default()
            });
            machines.len() - 1
        })
    }

    fn job(&mut self, id: &JobId) -> usize {
        let jobs = &mut self.fleet.jobs;
        *self.jobs.entry(id.clone()).or_insert_with(|| {
            jobs.push(Job {
                name: id.to_string(),
                ..Job::default()
            });
            jobs.len() - 1
        })
    }
}

/// The end of an attempt that has none yet.
const OPEN: u64 = u64::MAX;

pub(super) fn open_attempt(job: &mut Job) -> Option<&mut Attempt> {
    let mut attempts = job.attempts.iter_mut().rev();
    attempts.find(|attempt| attempt.stretch.end_ms == OPEN)
}

fn processors(count: f64) -> String {
    let plural = if count == 1.0 { "" } else { "s" };
    format!("{count} CPU{plural}")
}
