//! The thread that runs the state machine of jobs and the rebalancer.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use heist_sync::thread;

use super::journal::Journal;
use super::machine::Machine;
use super::messages::{Action, Input, View};
use super::rates::{Measured, Rates, Readings};
use super::rebalancer::{Answer, Rebalancer};
use super::results::Results;
use super::store::{JobResult, Store};
use crate::backend::{Backend, Node};
use crate::driver::options::Listener;
use crate::error::RemoteError;
use crate::event::{CallCounts, ClusterEvent, EventKind};
use crate::planner::{JobId, NodeId, Outcome};

/// The interval at which the state machine is told the time.
const TICK: Duration = Duration::from_millis(50);

/// A message to the reactor's thread.
pub(super) enum Message {
    Input(Input),
    Readings(Vec<Node>, Readings),
    /// `None` if the planner has panicked.
    Decided(Option<Box<Answer>>),
    End,
}

/// Measures usage every `period`, until the sender of `stop` is dropped.
pub(super) fn measure(
    backend: Weak<dyn Backend>,
    sender: Sender<Message>,
    period: Duration,
    stop: Receiver<()>,
) -> io::Result<()> {
    let measuring = move || loop {
        let began = Instant::now();
        let Some(backend) = backend.upgrade() else {
            return;
        };
        // Without nodes there is nothing to report; the next round may have some.
        let nodes = backend.nodes().unwrap_or_default();
        let readings = backend.usage();
        drop(backend);
        if sender.send(Message::Readings(nodes, readings)).is_err() {
            return;
        }
        let rest = period.saturating_sub(began.elapsed());
        if stop.recv_timeout(rest) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    };
    thread::Builder::new()
        .name("heist-cluster-usage".to_owned())
        .spawn(measuring)?;
    Ok(())
}

/// Feeds the state machine of jobs, and carries out its actions.
pub(super) struct Reactor {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) sender: Sender<Message>,
    pub(super) began: Instant,
    pub(super) machine: Machine,
    pub(super) store: Option<Arc<Store>>,
    pub(super) journal: Option<Journal>,
    pub(super) listener: Option<Listener>,
    pub(super) rebalancer: Option<Rebalancer>,
    pub(super) rates: Rates,
    /// Jobs that move by the planner's decision.
    pub(super) moving: HashMap<u64, JobId>,
    /// The last decision that was written down.
    pub(super) said: Option<String>,
    /// The nodes at the last look.
    pub(super) nodes: HashSet<NodeId>,
    pub(super) results: Arc<Results>,
    pub(super) counts: Box<dyn Fn() -> CallCounts + Send>,
}

/// Tells all waiters that nothing will change any more, even when the thread panics.
struct Closing(Arc<Results>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Reactor {
    pub(super) fn run(mut self, receiver: &Receiver<Message>) {
        let _closing = Closing(Arc::clone(&self.results));
        self.say(EventKind::Connected {
            backend: self.backend.name().to_owned(),
            pid: std::process::id(),
        });
        let mut tick_at = Instant::now() + TICK;
        loop {
            // However much there is to read: some waits depend on time alone.
            if Instant::now() >= tick_at {
                self.step(Input::Tick);
                tick_at = Instant::now() + TICK;
            }
            let left = tick_at.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(left) {
                Ok(Message::Input(input)) => self.step(input),
                Ok(Message::Readings(nodes, readings)) => self.measured(&nodes, &readings),
                Ok(Message::Decided(answer)) => self.decided(answer),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let open: Vec<_> = self.machine.open().collect();
        for View { job, epoch, .. } in open {
            self.backend.stop(job, epoch);
        }
        // Write the number of calls, even of a run that was too short for a measurement.
        self.say(EventKind::Usage {
            nodes: Vec::new(),
            jobs: Vec::new(),
            calls: (self.counts)(),
        });
        self.say(EventKind::Ended);
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn step(&mut self, input: Input) {
        let is_tick = matches!(input, Input::Tick);
        let (actions, changed) = self.machine.step(self.now(), input);
        if is_tick && actions.is_empty() {
            return;
        }
        // Causes before consequences, and results last, so that a thread that learns of a result
        // finds the rest.
        let mut results = Vec::new();
        for action in actions {
            match action {
                Action::Start(start) => {
                    let (sender, job) = (self.sender.clone(), start.job);
                    let events = Arc::new(move |epoch, event| {
                        // The reactor may be gone; then the message has no reader.
                        let _ = sender.send(Message::Input(Input::Event { job, epoch, event }));
                    });
                    self.backend.start(start, events);
                }
                Action::Pause { job, epoch } => self.backend.pause(job, epoch),
                Action::Snapshot { job, epoch } => self.backend.snapshot(job, epoch),
                Action::Stop { job, epoch } => self.backend.stop(job, epoch),
                Action::Kill { job } => self.backend.kill(job),
                Action::Keep { job, checkpoint } => {
                    if let Some(store) = &self.store {
                        store.keep(job, checkpoint);
                    }
                }
                Action::Finish { job, result } => {
                    results.push((job, result));
                }
                Action::MoveOver { job, has_moved } => self.move_over(job, has_moved),
                Action::Say(what) => self.say(what),
            }
        }
        self.results.show(changed);
        for (job, result) in results {
            match &self.store {
                None => self.results.finish(job, result, Ok(())),
                Some(_) if is_open(&result) => {
                    let why = "the backend is gone; the job is open, and can be resumed";
                    self.results.finish(job, result, Err(why.to_owned()));
                }
                Some(store) => {
                    let results = Arc::clone(&self.results);
                    store.close(job, result, move |result, stored| {
                        results.finish(job, result, stored);
                    });
                }
            }
        }
    }

    fn move_over(&mut self, job: u64, has_moved: bool) {
        let now = self.now();
        if let (Some(id), Some(rebalancer)) = (self.moving.remove(&job), &mut self.rebalancer) {
            rebalancer.move_over(now, id, has_moved);
        }
    }

    fn measured(&mut self, nodes: &[Node], readings: &Readings) {
        let now = self.now();
        for node in nodes {
            let was_there = self.nodes.contains(&node.id);
            if node.is_alive != was_there {
                match node.is_alive {
                    true => self.nodes.insert(node.id.clone()),
                    false => self.nodes.remove(&node.id),
                };
                self.say(EventKind::Node {
                    node: node.id.clone(),
                    is_alive: node.is_alive,
                    cpus: node.cpus,
                });
            }
        }
        let views: Vec<_> = self.machine.open().collect();
        let Measured {
            nodes,
            jobs,
            node_usage,
            job_usage,
        } = self.rates.take(now, nodes, readings, &views);
        self.say(EventKind::Usage {
            nodes: node_usage,
            jobs: job_usage,
            calls: (self.counts)(),
        });
        if let Some(rebalancer) = &mut self.rebalancer {
            rebalancer.ask(now, nodes, jobs);
        }
    }

    fn decided(&mut self, answer: Option<Box<Answer>>) {
        let Some(answer) = answer else {
            self.rebalancer = None;
            // The panic has been printed.
            let _ = writeln!(
                io::stderr(),
                "heist-cluster: the planner panicked; jobs stay where they are from now on"
            );
            return;
        };
        let now = self.now();
        let Some(rebalancer) = &mut self.rebalancer else {
            return;
        };
        let (planner, decision) = rebalancer.take(*answer);
        let started = match &decision.outcome {
            Outcome::Stay => None,
            Outcome::Move(chosen) => {
                // Much may have happened while it decided.
                let could_move = |view: &View| {
                    view.options.id == chosen.job
                        && view.node.as_ref() == Some(&chosen.from)
                        && !view.is_moving
                };
                let view = self.machine.open().find(could_move);
                let view = view.filter(|_| planner.move_started(now, chosen).is_ok());
                let Some(view) = view else {
                    return;
                };
                Some((view.job, chosen.clone()))
            }
        };
        let happening = EventKind::Decided { decision };
        // Figures change with every sample; the same decision without a move is no news.
        let kind = outline(&happening.to_string());
        if started.is_some() || self.said.as_ref() != Some(&kind) {
            self.said = Some(kind);
            self.say(happening);
        }
        if let Some((job, chosen)) = started {
            self.moving.insert(job, chosen.job.clone());
            let to = chosen.to.clone();
            let expected = Some(chosen);
            self.step(Input::Move { job, to, expected });
        }
    }

    fn say(&mut self, what: EventKind) {
        let event = ClusterEvent::new(what);
        if let Some(journal) = &mut self.journal {
            journal.write(&event);
        }
        let Some(listener) = &mut self.listener else {
            return;
        };
        // The listener is the program's code, and its panic must not end jobs. The panic has been
        // printed.
        if panic::catch_unwind(AssertUnwindSafe(|| listener(&event))).is_err() {
            self.listener = None;
            let _ = writeln!(
                io::stderr(),
                "heist-cluster: the listener panicked at the event \"{}\", and is told no more",
                event.what
            );
        }
    }
}

/// True if the job has not ended, but only lost its backend: another driver may resume it.
fn is_open(result: &JobResult) -> bool {
    matches!(result, Err(RemoteError::Backend { error, .. }) if error.is_setup())
}

/// A sentence without its figures.
fn outline(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_ascii_digit()).collect()
}
