//! The history of a run, gathered for its page.

use std::collections::HashMap;

use heist_cluster::event::{CallCounts, ClusterEvent, EventKind, JobUsage, NodeUsage};
use heist_cluster::planner::{JobId, NodeId, Outcome};
use heist_observe::fleet::{
    Attempt, AttemptEnd, Checkpoint, Decision, Expected, Fleet, Job, Machine, Move, Moved, Stretch,
    Usage,
};

/// The history so far.
#[derive(Default)]
pub(super) struct History {
    pub(super) fleet: Fleet,
    pub(super) backend: String,
    began_ms: Option<u64>,
    /// The time of the newest event, from the beginning of the run.
    pub(super) now_ms: u64,
    /// True between the arrival of a driver and its end.
    pub(super) is_driven: bool,
    machines: HashMap<NodeId, usize>,
    jobs: HashMap<JobId, usize>,
    /// From when on a machine is not there.
    pub(super) gone: HashMap<usize, u64>,
    /// When a machine was measured last.
    measured: HashMap<usize, u64>,
    pub(super) calls: CallCounts,
    /// Of the drivers before this one.
    pub(super) calls_before: CallCounts,
    /// When the first driver came, in words.
    pub(super) began: String,
}

impl History {
    /// Takes the next event.
    pub(super) fn take(&mut self, event: &ClusterEvent) {
        let began_ms = *self.began_ms.get_or_insert(event.at_ms);
        let before_ms = self.now_ms;
        self.now_ms = event.at_ms.saturating_sub(began_ms).max(before_ms);
        match &event.what {
            EventKind::Connected { backend, pid } => {
                if self.began.is_empty() {
                    self.began = local_time(event.at_ms);
                }
                self.connected(before_ms, backend, *pid);
            }
            EventKind::Usage { nodes, jobs, calls } => {
                nodes.iter().for_each(|usage| self.node_used(usage));
                jobs.iter().for_each(|usage| self.job_used(usage));
                self.calls = *calls;
            }
            EventKind::Decided { decision } => {
                let reasons = decision.reasons.iter().map(ToString::to_string);
                self.fleet.decisions.push(Decision {
                    at_ms: self.now_ms,
                    what: decision.outcome.to_string(),
                    reasons: reasons.collect(),
                    is_move: matches!(decision.outcome, Outcome::Move(_)),
                });
            }
            EventKind::Node {
                node,
                is_alive,
                cpus,
            } => {
                let at = self.machine(node);
                self.fleet.machines[at].note = processors(*cpus);
                match is_alive {
                    true => self.back(at),
                    false => {
                        self.gone.insert(at, self.now_ms);
                    }
                }
            }
            EventKind::Ended => {
                self.is_driven = false;
                self.end_all(AttemptEnd::Open, "the driver ended");
            }
            what => self.take_of_job(what),
        }
    }

    /// Takes an event of a job that stays where it is.
    fn take_of_job(&mut self, what: &EventKind) {
        match what {
            EventKind::Submitted {
                job,
                kind,
                priority,
                mobility,
                cpus,
                ..
            } => {
                let at = self.job(job);
                self.fleet.jobs[at].note =
                    format!("{kind}, {priority}, {mobility}, {}", processors(*cpus));
            }
            EventKind::Running { job, epoch, node } => self.running(job, *epoch, node),
            EventKind::Checkpoint {
                job,
                epoch,
                progress,
                bytes,
            } => {
                let checkpoint = Checkpoint {
                    at_ms: self.now_ms,
                    progress: *progress,
                    bytes: *bytes,
                };
                let at = self.job(job);
                let attempts = self.fleet.jobs[at].attempts.iter_mut();
                if let Some(attempt) = attempts.rev().find(|attempt| attempt.epoch == *epoch) {
                    attempt.checkpoints.push(checkpoint);
                }
            }
            EventKind::Lost { job, why, .. } => self.end(job, AttemptEnd::Lost, why),
            EventKind::Finished { job, error, .. } => {
                let end = match error {
                    None => AttemptEnd::Done,
                    Some(_) => AttemptEnd::Failed,
                };
                self.end(job, end, error.as_deref().unwrap_or_default());
                let at = self.job(job);
                let at_s = self.now_ms as f64 / 1e3;
                let job = &mut self.fleet.jobs[at];
                job.is_failed = error.is_some();
                job.outcome = match error {
                    None => format!("done at {at_s:.1} s"),
                    Some(error) => error.clone(),
                };
            }
            _ => self.take_of_move(what),
        }
    }

    /// Takes an event of a move.
    fn take_of_move(&mut self, what: &EventKind) {
        match what {
            EventKind::MoveBegan {
                job,
                from,
                to,
                expected,
            } => {
                let began = Move {
                    job: self.job(job),
                    from: from.as_ref().map(|from| self.machine(from)),
                    to: self.machine(to),
                    began_ms: self.now_ms,
                    expected: expected.as_ref().map(|expected| Expected {
                        benefit_cpu_s: expected.benefit_cpu_s,
                        cost_cpu_s: expected.cost_cpu_s,
                        standstill_ms: expected.downtime_ns / 1_000_000,
                    }),
                    outcome: None,
                };
                self.fleet.moves.push(began);
            }
            EventKind::MoveEnded {
                job,
                to,
                pausing_ms,
                standstill_ms,
                bytes,
                ..
            } => {
                let to = self.machine(to);
                let moved = Moved {
                    pausing_ms: *pausing_ms,
                    standstill_ms: *standstill_ms,
                    bytes: *bytes,
                };
                if let Some(open) = self.open_move(job) {
                    open.to = to;
                    open.outcome = Some(Ok(moved));
                    let paused_ms = open.began_ms + moved.pausing_ms;
                    self.moved(job, paused_ms);
                }
            }
            EventKind::MoveFailed { job, why } => {
                if let Some(open) = self.open_move(job) {
                    open.outcome = Some(Err(why.clone()));
                }
            }
            // Late answers change nothing, and events of later versions cannot be drawn.
            _ => {}
        }
    }

    fn connected(&mut self, before_ms: u64, backend: &str, pid: u32) {
        backend.clone_into(&mut self.backend);
        if self.is_driven {
            // The driver before was lost: what it last wrote is the last that is known.
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
        self.is_driven = true;
        self.measured.clear();
        let calls = std::mem::take(&mut self.calls);
        self.calls_before.done += calls.done;
        self.calls_before.lost += calls.lost;
    }

    /// Ends what runs.
    fn end_all(&mut self, end: AttemptEnd, why: &str) {
        let open = self.fleet.jobs.iter_mut().filter_map(open_attempt);
        for attempt in open {
            attempt.end = end;
            attempt.stretch.end_ms = self.now_ms;
            why.clone_into(&mut attempt.note);
        }
    }

    fn running(&mut self, job: &JobId, epoch: u32, node: &NodeId) {
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

    fn end(&mut self, job: &JobId, end: AttemptEnd, note: &str) {
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

    fn node_used(&mut self, usage: &NodeUsage) {
        let at = self.machine(&usage.node);
        self.back(at);
        let since_ms = self.measured.insert(at, self.now_ms);
        let machine = &mut self.fleet.machines[at];
        machine.note = processors(usage.cpus);
        // The first measurement after a driver has come says nothing of the time before it.
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

    fn job_used(&mut self, usage: &JobUsage) {
        let at = self.job(&usage.job);
        self.fleet.jobs[at].outcome = format!("{:.0} % done", usage.progress * 100.0);
    }

    /// A machine that was gone is there.
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

/// The time on the clocks here.
fn local_time(unix_ms: u64) -> String {
    let at = i64::try_from(unix_ms).ok();
    let at = at.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| {
        let here = at.to_zoned(jiff::tz::TimeZone::system());
        here.strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    })
}
