//! Calls on Slurm: which worker answers which, when one is started and when one goes back.
//!
//! A worker answers one call at a time, and further ones of as many processors until it has
//! had nothing to do for a while; then its allocation ends. Slurm decides where workers run.

use std::fmt;
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::{thread, Mutex};

use super::batch;
use super::guard;
use super::pools::{end, Kind, Phase, Pools, Worker};
use super::process::{self, Process};
use super::site::Site;
use crate::backend::silence::{self, Pulse, LOOKS};
use crate::backend::{CallSpec, Reply};
use crate::error::BackendError;
use crate::planner::NodeId;
use crate::protocol::reading::Reading;
use crate::protocol::{Answer, Ask, Frame, Outcome, Request};

/// How often they are looked after.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// How long all workers together have to say what they used.
const USAGE_PATIENCE: Duration = Duration::from_millis(1500);

/// How long the end of the cluster waits for the lines of calls that have ended.
const LAST_LINES_PATIENCE: Duration = Duration::from_secs(2);

/// The calls of a connection, and the workers that answer them.
pub(super) struct Calls {
    site: Arc<Site>,
    /// Processors of all workers together, if limited.
    cpus_max: Option<u32>,
    linger: Duration,
    /// Numbers of requests that are no calls, which count from below.
    next_request: AtomicU64,
    state: Mutex<Pools>,
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}

impl Calls {
    pub(super) fn new(site: Arc<Site>, cpus_max: Option<u32>, linger: Duration) -> Arc<Self> {
        Arc::new(Self {
            site,
            cpus_max,
            linger,
            next_request: AtomicU64::new(1 << 63),
            state: Mutex::default(),
        })
    }

    pub(super) fn call(self: &Arc<Self>, call: CallSpec, reply: Reply) {
        let wanted = call.placement.node.as_ref();
        if let Some(odd) = wanted.filter(|node| call.placement.is_pinned && !Site::may_have(node)) {
            return reply(Err(self.site.has_none(odd)));
        }
        let node = wanted.filter(|node| Site::may_have(node)).cloned();
        let kind = Kind {
            cpus: call.cpus.max(1),
            needs: call.placement.needs.clone(),
            is_pinned: node.is_some() && call.placement.is_pinned,
            node,
            priority: call.placement.priority,
        };
        if let Some(error) = self.site.lacks(&kind.cpus, &kind.needs) {
            return reply(Err(error));
        }
        let mut state = self.state.lock();
        if state.is_dead(&kind) {
            drop(state);
            return reply(Err(is_dead(kind.node.as_ref())));
        }
        let pool = state.pools.entry(kind).or_default();
        pool.waiting.push_back((call, reply));
        drop(state);
        self.dispatch();
    }

    pub(super) fn cancel(&self, id: u64, is_hard: bool) {
        let mut state = self.state.lock();
        let waiting = state.pools.values_mut().find_map(|pool| {
            let at = pool.waiting.iter().position(|(call, _)| call.id == id)?;
            pool.waiting.remove(at)
        });
        let mut workers = state.workers.values_mut();
        let worker = workers.find(|it| matches!(it.phase, Phase::Busy(call) if call == id));
        let process = worker.and_then(|worker| match is_hard {
            // Slurm takes its time, and no other call is to die with this one.
            true => end(worker),
            false => worker.process.clone(),
        });
        let reply = match (waiting, is_hard) {
            (Some((_, reply)), _) => Some(reply),
            (None, true) => state.replies.remove(&id),
            // It may be killed yet: it is over when its worker says so.
            (None, false) => None,
        };
        drop(state);
        if let Some(reply) = reply {
            reply(Err(BackendError::cancelled()));
        }
        match process {
            Some(process) if is_hard => {
                // If it has ended meanwhile, that is what is wanted.
                let _ = batch::cancel(&[process.slurm_job]);
            }
            // The number is that of the call, with a bit that no call has.
            Some(process) => {
                let request = self.request(id | 1 << 62, Ask::Cancel { call: id });
                process.link.send(id | 1 << 62, request, Box::new(|_| ()));
            }
            None => {}
        }
    }

    /// The use of resources by the workers, with their nodes.
    pub(super) fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        let deadline = Instant::now() + USAGE_PATIENCE;
        let processes: Vec<_> = {
            let state = self.state.lock();
            let processes = state.workers.values().filter_map(Worker::ready);
            processes.cloned().collect()
        };
        let asked: Vec<_> = processes
            .into_iter()
            .map(|process| {
                let (sender, receiver) = mpsc::channel();
                // Only uniqueness matters.
                let id = self.next_request.fetch_add(1, Ordering::Relaxed);
                process.link.send(
                    id,
                    self.request(id, Ask::Usage { with_family: false }),
                    // A caller that has stopped waiting needs no answer.
                    Box::new(move |answer| drop(sender.send(answer))),
                );
                (process.node, receiver)
            })
            .collect();
        let answers = asked.into_iter().map(|(node, receiver)| {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = receiver.recv_timeout(left).unwrap_or_else(|_| {
                Err(BackendError::lost(format!(
                    "a worker on {node} did not say in time what it used"
                )))
            });
            let reading = answer.and_then(|frame| match frame.understand::<Answer>() {
                Ok(Answer {
                    outcome: Outcome::Usage(reading),
                    ..
                }) => Ok(reading),
                other => Err(BackendError::lost(format!(
                    "a worker on {node} answered {other:?}"
                ))),
            });
            (node, reading)
        });
        answers.collect()
    }

    /// Ends the workers that have nothing to do: something else wants their room.
    pub(super) fn make_room(&self) {
        let mut state = self.state.lock();
        let idle = state.workers.values_mut().filter(|worker| worker.is_idle());
        let idle: Vec<_> = idle.filter_map(end).collect();
        drop(state);
        idle.iter().for_each(Process::close);
    }

    /// Does what time has made due: workers that are idle or silent end, and starts are tried
    /// again.
    pub(super) fn tick(self: &Arc<Self>) {
        self.site.guard.look();
        let mut state = self.state.lock();
        // No idle worker can answer a call that waits, so they are in its way.
        let has_waiting = state.pools.values().any(|pool| !pool.waiting.is_empty());
        let is_due = |since: Instant| has_waiting || since.elapsed() >= self.linger;
        let tired: Vec<_> = state
            .workers
            .values_mut()
            .filter_map(|worker| match worker.phase {
                Phase::Idle(since) if is_due(since) => end(worker),
                _ => None,
            })
            .collect();
        let every = (self.site.silence / LOOKS).as_millis() / TICK.as_millis();
        state.look_at_held_up();
        state.ticks += 1;
        let is_look = state.ticks.is_multiple_of(every.max(1));
        drop(state);
        if is_look {
            self.look();
            self.look_at_starts();
            self.look_at_bound();
        }
        tired.iter().for_each(Process::close);
        if has_waiting {
            self.dispatch();
        }
    }

    /// Ends the workers that have been silent for too long, whatever Slurm knows of their nodes,
    /// and asks the others for a sign of life.
    fn look(&self) {
        let (mut heard, mut lost) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        for worker in state.workers.values_mut() {
            let Some(process) = worker.process.clone() else {
                continue;
            };
            match worker.silence.look(process.link.signs()) {
                Pulse::Heard => heard.push(process),
                Pulse::Silent => {}
                Pulse::Lost => lost.extend(end(worker)),
            }
        }
        drop(state);
        for process in heard {
            silence::greet(&process.link, self.site.fingerprint, Box::new(|_| ()));
        }
        for process in &lost {
            process.kill(format!("it was silent for {:?}", self.site.silence));
        }
        if !lost.is_empty() {
            let slurm_jobs: Vec<_> = lost.iter().map(|process| process.slurm_job).collect();
            // If that cannot be done now, the guardian does it in the end.
            let _ = batch::cancel(&slurm_jobs);
        }
    }

    /// Ends the wait for workers that Slurm has placed and that have said nothing since: their node
    /// has died, or their `srun` was stopped.
    fn look_at_starts(&self) {
        let state = self.state.lock();
        let mut workers = state.workers.values();
        let is_due = workers.any(|worker| worker.srun.is_some() && worker.process.is_none());
        drop(state);
        if !is_due {
            return;
        }
        // Nothing is concluded if Slurm does not answer.
        let Ok(placed) = batch::placed(&self.site.name) else {
            return;
        };
        let mut state = self.state.lock();
        let ended = placed
            .iter()
            .filter(|(id, _)| !state.workers.contains_key(id));
        let ended: Vec<_> = ended.map(|(_, placed)| placed.slurm_job).collect();
        let overdue = state.overdue(&placed, self.site.silence);
        drop(state);
        if !ended.is_empty() {
            // Slurm may have missed that, and keeps their room.
            let _ = batch::cancel(&ended);
        }
        for (worker, srun, why) in &overdue {
            srun.kill(why.clone());
            if let Some(placed) = placed.get(worker) {
                // As above.
                let _ = batch::cancel(&[placed.slurm_job]);
            }
        }
    }

    /// Gives up calls that are bound to nodes that Slurm has not had for as long as a worker may be
    /// silent. It would keep their workers in its queue until the nodes come back.
    fn look_at_bound(&self) {
        if !self.state.lock().are_bound() {
            return;
        }
        // Nothing is concluded if Slurm does not answer.
        let Ok(nodes) = self.site.nodes() else {
            return;
        };
        let patience = self.site.silence;
        let (given_up, starts) = self.state.lock().look_at_bound(&nodes, patience);
        for srun in starts {
            srun.kill("its node is dead".to_owned());
        }
        for (node, reply) in given_up {
            reply(Err(is_dead(Some(&node))));
        }
    }

    /// Ends all workers; what they do is given up.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.is_closed, true) {
            return;
        }
        let waiting: Vec<_> = state.pools.drain().collect();
        let replies = std::mem::take(&mut state.replies);
        let is_idle = |worker: &Worker| matches!(worker.phase, Phase::Idle(_) | Phase::Ending);
        let has_begun = state.next_worker > 0;
        let of_idle = state.workers.values().filter(|worker| is_idle(worker));
        let idle: Vec<_> = of_idle
            .filter_map(|worker| worker.process.clone())
            .collect();
        let processes: Vec<_> = state.workers.values_mut().filter_map(end).collect();
        drop(state);
        let waiting = waiting.into_iter().flat_map(|(_, pool)| pool.waiting);
        for reply in waiting.map(|(_, reply)| reply).chain(replies.into_values()) {
            reply(Err(BackendError::cancelled()));
        }
        processes.iter().for_each(Process::close);
        // Answers and lines come by different ways, and what is ended by force says no more.
        let deadline = Instant::now() + LAST_LINES_PATIENCE;
        idle.iter().for_each(|process| process.hear_out(deadline));
        if has_begun {
            // Workers in Slurm's queue do not hear us, and it may have missed the end of others, if
            // its controller was away. No one is left to be told of a failure.
            let _ = guard::end(&self.site.name);
        }
        self.site.guard.close();
    }

    fn request(&self, id: u64, ask: Ask) -> Frame {
        Request::frame(id, self.site.fingerprint, ask, Vec::new())
    }

    /// Gives calls to workers that have nothing to do, and starts workers for others.
    fn dispatch(self: &Arc<Self>) {
        // In a scope of its own the lock is given back before the body.
        let next = || self.state.lock().next();
        while let Some((worker, process, call)) = next() {
            let this = Arc::clone(self);
            let id = call.id;
            process.speaks_for(&call.origin);
            process.link.send(
                id,
                call.request,
                Box::new(move |answer| {
                    if answer.is_ok() {
                        this.is_idle(worker);
                    }
                    let reply = this.state.lock().replies.remove(&id);
                    // Otherwise it was cancelled.
                    if let Some(reply) = reply {
                        reply(answer);
                    }
                    this.dispatch();
                }),
            );
        }
        let mut state = self.state.lock();
        let starts = state.starts(self.limit());
        drop(state);
        for (worker, kind) in starts {
            let this = Arc::clone(self);
            let launch = move || this.launch(worker, &kind);
            let spawned = thread::Builder::new()
                .name("heist-cluster-srun".to_owned())
                .spawn(launch);
            if let Err(error) = spawned {
                self.gone(worker, &format!("could not start a thread: {error}"));
            }
        }
    }

    /// How many processors workers may have: those that there are, unless the user says
    /// otherwise. Slurm would let more wait, in the way of others.
    fn limit(&self) -> u32 {
        let nodes = self.site.known_nodes();
        let alive = nodes.iter().filter(|node| node.is_alive);
        // Slurm counts whole ones.
        let cpus = alive.map(|node| node.cpus as u32);
        let cpus = cpus.fold(0, u32::saturating_add);
        self.cpus_max.unwrap_or(cpus.max(1))
    }

    /// Starts a worker, and returns when it can answer calls or has failed.
    fn launch(self: &Arc<Self>, worker: u64, kind: &Kind) {
        let mut srun = self.site.placing("srun", kind.cpus, &kind.needs);
        if let Some(node) = &kind.node {
            srun.arg(format!("--nodelist={node}"));
            if !kind.is_pinned {
                srun.arg("--immediate=1");
            }
        }
        srun.arg(format!("--comment={}", batch::comment(worker)));
        let on_begin = |srun| {
            if let Some(worker) = self.state.lock().workers.get_mut(&worker) {
                worker.srun = Some(srun);
            }
        };
        let this = Arc::downgrade(self);
        let on_close = move |said: String| {
            if let Some(this) = this.upgrade() {
                this.gone(worker, &said);
            }
        };
        let process = match process::start(&self.site, srun, on_begin, on_close) {
            Ok(process) => process,
            Err(said) => return self.gone(worker, &said),
        };
        let mut state = self.state.lock();
        if state.is_closed {
            return process.close();
        }
        // It may have ended already.
        if let Some(worker) = state.workers.get_mut(&worker) {
            worker.process = Some(process.clone());
        }
        drop(state);
        // Its first answer says that it is ours; the program may be the wrong one.
        let this = Arc::clone(self);
        let answered = move |answer: Result<Frame, BackendError>| {
            if answer.is_ok() {
                this.is_idle(worker);
                this.dispatch();
            }
        };
        silence::greet(&process.link, self.site.fingerprint, Box::new(answered));
    }

    fn is_idle(&self, worker: u64) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(worker) = state.workers.get_mut(&worker) else {
            return;
        };
        // One that was silent may answer after all.
        if matches!(worker.phase, Phase::Ending) {
            return;
        }
        if let Some(pool) = state.pools.get_mut(&worker.kind) {
            (pool.failures, pool.retry_at) = (0, None);
        }
        worker.phase = Phase::Idle(Instant::now());
    }

    /// A worker has ended, or could not be started; `said` is what srun had to say.
    fn gone(self: &Arc<Self>, worker: u64, said: &str) {
        let mut state = self.state.lock();
        let Some(worker) = state.workers.remove(&worker) else {
            return;
        };
        let given_up = match worker.phase {
            Phase::Starting if !state.is_closed => state.start_failed(&worker, said),
            _ => Vec::new(),
        };
        drop(state);
        let place = worker
            .kind
            .node
            .map_or_else(|| "any node".to_owned(), |node| node.to_string());
        for (_, reply) in given_up {
            reply(Err(BackendError::impossible(format!(
                "no worker could be started on {place}: {said}"
            ))));
        }
        self.dispatch();
    }
}

/// The error of a call that is bound to a dead node.
fn is_dead(node: Option<&NodeId>) -> BackendError {
    let node = node.map_or_else(String::new, ToString::to_string);
    BackendError::node_died(format!("{node} is gone, as Slurm says"))
}
