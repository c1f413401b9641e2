//! Which calls wait for which workers, and which workers there are.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_core::Priority;

use super::batch::Placed;
use super::command::is_rejection;
use super::held_up::Wait;
use super::process::{Process, Srun};
use crate::backend::silence::{Pulse, Silence, LOOKS};
use crate::backend::turns::Turns;
use crate::backend::{CallSpec, Needs, Node, Reply};
use crate::planner::NodeId;

/// How many workers of a kind may fail to start, one after the other, before what waits for
/// them is given up.
const FAILURES_MAX: u32 = 8;

/// By how much the pause after such a failure grows.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// All of them.
#[derive(Default)]
pub(super) struct Pools {
    pub(super) pools: HashMap<Kind, Pool>,
    pub(super) turns: Turns,
    pub(super) workers: HashMap<u64, Worker>,
    /// Replies that wait for a worker's answer, by the number of the call.
    pub(super) replies: HashMap<u64, Reply>,
    pub(super) next_worker: u64,
    /// How often it was looked for what time has made due.
    pub(super) ticks: u128,
    pub(super) is_closed: bool,
}

/// Calls that the same workers can answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) cpus: u32,
    pub(super) needs: Needs,
    pub(super) node: Option<NodeId>,
    /// There or nowhere.
    pub(super) is_pinned: bool,
    /// A worker answers calls of any.
    pub(super) priority: Priority,
}

impl Kind {
    /// Whether the same resources are wanted.
    fn has_as_much(&self, other: &Self) -> bool {
        (self.cpus, &self.needs) == (other.cpus, &other.needs)
    }
}

#[derive(Default)]
pub(super) struct Pool {
    pub(super) waiting: VecDeque<(CallSpec, Reply)>,
    /// How many starts in a row went wrong. Of several at the same time, one counts.
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
    pub(super) wait: Wait,
    /// How often in a row the node of calls that are bound to it was seen dead.
    deaths: u32,
    /// Until when it is taken for dead.
    dead_until: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) kind: Kind,
    /// The failures of its pool when it was started.
    pub(super) failures: u32,
    /// None while it is being run.
    pub(super) srun: Option<Arc<Srun>>,
    /// None while Slurm has it in its queue.
    pub(super) process: Option<Process>,
    pub(super) silence: Silence,
    pub(super) phase: Phase,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// It has not answered yet.
    Starting,
    Idle(Instant),
    /// With this call.
    Busy(u64),
    /// It was told to end.
    Ending,
}

impl Worker {
    /// Its process, if it answers calls.
    pub(super) fn ready(&self) -> Option<&Process> {
        let is_ready = matches!(self.phase, Phase::Idle(_) | Phase::Busy(_));
        self.process.as_ref().filter(|_| is_ready)
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle(_))
    }

    /// Whether it can answer calls of this kind.
    fn serves(&self, kind: &Kind) -> bool {
        let is_there = |process: &Process| match &kind.node {
            None => true,
            Some(node) => *node == process.node,
        };
        self.kind.has_as_much(kind) && self.ready().is_some_and(is_there)
    }

    /// Its process, if it has nothing to do and can answer calls of this kind.
    fn idle_for(&self, kind: &Kind) -> Option<&Process> {
        self.ready().filter(|_| self.is_idle() && self.serves(kind))
    }
}

/// Calls that are held up: their kind, and whether their worker would be beyond the limit.
#[derive(Clone, Debug)]
struct HeldUp {
    kind: Kind,
    is_beyond: bool,
}

impl HeldUp {
    /// Whether a worker is in the way: it answers other calls, where theirs could be.
    fn has_rival(&self, worker: &Worker) -> bool {
        let node = worker.process.as_ref().map(|process| &process.node);
        node.is_some_and(|node| self.wants(node)) && !worker.serves(&self.kind)
    }

    /// Whether a worker of another kind would be in the way.
    fn has_rival_of(&self, kind: &Kind) -> bool {
        let wanted = self.kind.node.as_ref();
        let is_there = wanted.is_none() || wanted == kind.node.as_ref();
        let serves = kind.has_as_much(&self.kind) && is_there;
        kind.node.as_ref().is_none_or(|node| self.wants(node)) && !serves
    }

    fn wants(&self, node: &NodeId) -> bool {
        let wanted = self.kind.node.as_ref();
        self.is_beyond || wanted.is_none_or(|wanted| wanted == node)
    }
}

/// Gives a worker no call any more, and returns its process, which is to end.
pub(super) fn end(worker: &mut Worker) -> Option<Process> {
    worker.phase = Phase::Ending;
    worker.process.clone()
}

impl Pools {
    /// A call and a worker for it, which is busy from now on.
    pub(super) fn next(&mut self) -> Option<(u64, Process, CallSpec)> {
        let held_up = self.held_up();
        let may = |kind: &Kind, worker: &Worker| {
            let mut others = held_up.iter().filter(|other| other.kind != *kind);
            !others.any(|other| other.has_rival(worker))
        };
        let Self {
            pools,
            turns,
            workers,
            replies,
            ..
        } = self;
        let begun = turns.order().into_iter().find_map(|priority| {
            let mut pools = waiting(pools, priority);
            pools.find_map(|(kind, pool)| {
                let mut workers = workers.iter_mut().filter(|(_, worker)| may(kind, worker));
                let found = workers
                    .find_map(|(id, worker)| Some((*id, worker.idle_for(kind)?.clone(), worker)));
                let (id, process, worker) = found?;
                let (call, reply) = pool.waiting.pop_front()?;
                worker.phase = Phase::Busy(call.id);
                replies.insert(call.id, reply);
                pool.wait = Wait::default();
                Some((priority, (id, process, call)))
            })
        });
        let (priority, begun) = begun?;
        let now = Instant::now();
        let worker = workers.get(&begun.0);
        for (kind, pool) in pools.iter_mut() {
            let held_up = HeldUp {
                kind: kind.clone(),
                is_beyond: pool.wait.is_beyond,
            };
            let is_passed = worker.is_some_and(|worker| held_up.has_rival(worker));
            if !pool.waiting.is_empty() && is_passed {
                pool.wait.pass(now);
            }
        }
        let waits = |other| {
            let mut pools = pools.iter();
            pools.any(|(kind, pool)| kind.priority == other && !pool.waiting.is_empty())
        };
        turns.begun(priority, waits);
        Some(begun)
    }

    /// The calls for which others make room.
    fn held_up(&self) -> Vec<HeldUp> {
        let now = Instant::now();
        let over = self.pools.iter().filter(|(kind, pool)| {
            let is_over = !pool.waiting.is_empty() && pool.wait.is_over(now);
            is_over && !self.serves(kind)
        });
        over.map(|(kind, pool)| HeldUp {
            kind: kind.clone(),
            is_beyond: pool.wait.is_beyond,
        })
        .collect()
    }

    /// Ends the time for which others make room where that does no good.
    pub(super) fn look_at_held_up(&mut self) {
        for held_up in self.held_up() {
            let mut workers = self.workers.values();
            let has_rivals = workers.any(|worker| held_up.has_rival(worker));
            if let Some(pool) = self.pools.get_mut(&held_up.kind) {
                pool.wait.look(has_rivals, Instant::now());
            }
        }
    }

    /// Whether calls wait for a worker that only one node can have.
    pub(super) fn are_bound(&self) -> bool {
        let mut pools = self.pools.iter();
        pools.any(|(kind, pool)| kind.is_pinned && !pool.waiting.is_empty() && !self.serves(kind))
    }

    fn serves(&self, kind: &Kind) -> bool {
        self.workers.values().any(|worker| worker.serves(kind))
    }

    /// Whether calls of this kind are bound to a node that was given up a moment ago.
    pub(super) fn is_dead(&self, kind: &Kind) -> bool {
        let until = self.pools.get(kind).and_then(|pool| pool.dead_until);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Looks whether the nodes live to which calls are bound. Returns those whose node was dead at
    /// so many looks in a row, and the starts of workers for them.
    pub(super) fn look_at_bound(
        &mut self,
        nodes: &[Node],
        patience: Duration,
    ) -> (Vec<(NodeId, Reply)>, Vec<Arc<Srun>>) {
        let Self { pools, workers, .. } = self;
        let (mut given_up, mut starts) = (Vec::new(), Vec::new());
        for (kind, pool) in pools.iter_mut().filter(|(kind, _)| kind.is_pinned) {
            let Some(bound) = &kind.node else { continue };
            // One that is not known may be of another partition.
            let is_dead = nodes.iter().any(|node| node.id == *bound && !node.is_alive);
            let is_served = workers.values().any(|worker| worker.serves(kind));
            if pool.waiting.is_empty() || !is_dead || is_served {
                pool.deaths = 0;
                continue;
            }
            pool.deaths += 1;
            if pool.deaths < LOOKS {
                continue;
            }
            pool.deaths = 0;
            pool.dead_until = Some(Instant::now() + patience);
            let waiting = pool.waiting.drain(..);
            given_up.extend(waiting.map(|(_, reply)| (bound.clone(), reply)));
            let of_kind = workers.values().filter(|worker| worker.kind == *kind);
            starts.extend(of_kind.filter_map(|worker| worker.srun.clone()));
        }
        (given_up, starts)
    }

    fn cpus(&self) -> u32 {
        let cpus = self.workers.values().map(|worker| worker.kind.cpus);
        cpus.fold(0, u32::saturating_add)
    }

    /// Notes workers that are to be started: one for each call that waits, if there is room.
    pub(super) fn starts(&mut self, cpus_max: u32) -> Vec<(u64, Kind)> {
        let mut starts = Vec::new();
        let mut beyond = Vec::new();
        let mut cpus = self.cpus();
        let held_up = self.held_up();
        let order = self.turns.order().into_iter();
        let of = |priority| {
            let mut kinds: Vec<_> = self
                .pools
                .iter()
                .filter(|(kind, _)| kind.priority == priority)
                .collect();
            let is_held_up = |kind: &Kind| held_up.iter().any(|other| other.kind == *kind);
            kinds.sort_by_key(|(kind, _)| !is_held_up(kind));
            kinds
        };
        for (kind, pool) in order.flat_map(of) {
            if held_up.iter().any(|other| other.has_rival_of(kind)) {
                continue;
            }
            let is_starting =
                |worker: &&Worker| matches!(worker.phase, Phase::Starting) && worker.kind == *kind;
            let starting = self.workers.values().filter(is_starting).count();
            let wanted = match (pool.failures, pool.retry_at) {
                (0, _) => pool.waiting.len(),
                (_, Some(at)) if Instant::now() < at => 0,
                // One finds out whether it is better now.
                _ => pool.waiting.len().min(1),
            };
            for at in starting..wanted {
                // Slurm itself refuses what needs more than there is.
                if cpus > 0 && cpus.saturating_add(kind.cpus) > cpus_max {
                    beyond.extend((at == 0).then(|| kind.clone()));
                    break;
                }
                cpus = cpus.saturating_add(kind.cpus);
                starts.push((kind.clone(), pool.failures));
            }
        }
        for (kind, pool) in &mut self.pools {
            pool.wait.is_beyond = beyond.contains(kind);
        }
        let note = |(kind, failures): (Kind, u32)| {
            let id = self.next_worker;
            self.next_worker += 1;
            let worker = Worker {
                kind: kind.clone(),
                failures,
                srun: None,
                process: None,
                silence: Silence::default(),
                phase: Phase::Starting,
            };
            self.workers.insert(id, worker);
            (id, kind)
        };
        starts.into_iter().map(note).collect()
    }

    /// The workers that have not said yet where they are, and the reason why they need not wait any
    /// longer, if Slurm has not had them in its queue for as long as a worker may be silent.
    pub(super) fn overdue(
        &mut self,
        placed: &HashMap<u64, Placed>,
        patience: Duration,
    ) -> Vec<(u64, Arc<Srun>, String)> {
        let begun = self.workers.iter_mut().filter_map(|(id, worker)| {
            let srun = worker.srun.as_ref().filter(|_| worker.process.is_none())?;
            Some((id, &mut worker.silence, srun))
        });
        let overdue = begun.filter_map(|(id, silence, srun)| {
            let what = match placed.get(id) {
                Some(placed) if placed.waits() => {
                    *silence = Silence::default();
                    return None;
                }
                Some(placed) => placed.to_string(),
                None => "Slurm knows nothing of it".to_owned(),
            };
            let is_overdue = silence.look(0) == Pulse::Lost;
            let why = format!("it was silent for {patience:?}; {what}");
            is_overdue.then(|| (*id, Arc::clone(srun), why))
        });
        overdue.collect()
    }

    /// Notes a failed start, and says which calls are given up because of it.
    pub(super) fn start_failed(&mut self, worker: &Worker, said: &str) -> Vec<(CallSpec, Reply)> {
        let kind = &worker.kind;
        let has_others = self.workers.values().any(|other| {
            let process = other.ready();
            let node = kind.node.as_ref();
            other.kind.has_as_much(kind)
                && process.is_some_and(|process| node.is_none_or(|node| *node == process.node))
        });
        let Some(pool) = self.pools.get_mut(kind) else {
            return Vec::new();
        };
        if kind.node.is_some() && !kind.is_pinned {
            // It was only a wish.
            let waiting = std::mem::take(&mut pool.waiting);
            let anywhere = Kind {
                node: None,
                ..kind.clone()
            };
            self.pools
                .entry(anywhere)
                .or_default()
                .waiting
                .extend(waiting);
            return Vec::new();
        }
        pool.failures = pool.failures.max(worker.failures + 1);
        pool.retry_at = Some(Instant::now() + RETRY_AFTER * pool.failures);
        let is_hopeless = is_rejection(said) || pool.failures >= FAILURES_MAX;
        if !is_hopeless || has_others {
            return Vec::new();
        }
        (pool.failures, pool.retry_at) = (0, None);
        pool.waiting.drain(..).collect()
    }
}

/// The pools of this priority in which calls wait.
fn waiting(
    pools: &mut HashMap<Kind, Pool>,
    priority: Priority,
) -> impl Iterator<Item = (&Kind, &mut Pool)> {
    let is_meant = move |(kind, pool): &(&Kind, &mut Pool)| {
        kind.priority == priority && !pool.waiting.is_empty()
    };
    pools.iter_mut().filter(is_meant)
}
