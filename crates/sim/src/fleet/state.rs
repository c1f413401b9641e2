//! The simulated fleet as it is: jobs and where they are, and the events to come.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use super::draw::Draw;
use super::link::Link;
use super::node::{NodeState, PART};
use super::outcome::Run;
use super::setup::{scaled, Job, Setup};

/// The purpose of random numbers.
const WOBBLE: u64 = 1;

/// A moment at which something is to be done. Of equal times the first kind comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A node's throttle changes, or it dies or comes back.
    Changes(u32),
    /// A job of this node may have ended: none does before.
    Ends(u32),
    /// A transfer may have ended: none does before.
    Lands,
    /// A job that moves has stopped, and its state is sent.
    Leaves { job: u32, epoch: u32 },
    /// The demand of all jobs changes.
    Wobbles,
    /// The next jobs arrive.
    Arrives,
    /// A job whose node has died starts again.
    Restarts(u32),
    /// Samples that were taken arrive.
    Samples,
    /// The nodes are measured.
    Measures,
    /// The rule decides.
    Decides,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It has not arrived, or waits for other tasks.
    Absent,
    /// No node has room for it.
    Waiting,
    Running(u32),
    Flying {
        from: u32,
        to: u32,
        since_ns: u64,
        is_sent: bool,
    },
    /// Its node has died.
    Lost,
    Done,
}

#[derive(Debug)]
pub(super) struct Live {
    pub(super) place: Place,
    /// Raised when it begins or ceases to run or to move, so that older events are void.
    pub(super) epoch: u32,
    /// The parts that it has to go, while it does not run.
    pub(super) left: u64,
    /// The progress of its node at which it ends, while it runs.
    pub(super) end: u64,
    /// Its place among its node's jobs.
    pub(super) slot: u32,
    pub(super) demand: u64,
    pub(super) began_ns: u64,
    /// When it could have begun at best.
    pub(super) best_ns: u64,
    /// The nodes on which it has run.
    pub(super) been: Vec<u32>,
    /// The progress of both ends when its move began.
    pub(super) packed: [u64; 2],
    /// Its newest measurement that arrived: when, and how many millionths of its node's CPUs.
    pub(super) used: Option<(u64, f64)>,
}

/// The measurements of one round, on their way.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) arrives_ns: u64,
    pub(super) at_ns: u64,
    pub(super) nodes: Vec<(u32, f64)>,
    pub(super) jobs: Vec<(u32, f64)>,
}

#[derive(Debug)]
pub(super) struct World<'a> {
    pub(super) setup: &'a Setup,
    pub(super) seed: u64,
    pub(super) now_ns: u64,
    pub(super) nodes: Vec<NodeState>,
    pub(super) live: Vec<Live>,
    pub(super) link: Link,
    /// When the next look at the link is due.
    pub(super) link_due_ns: u64,
    pub(super) flying: Vec<u32>,
    pub(super) waiting: VecDeque<u32>,
    /// The nodes that are up, the one with the least reserved first.
    pub(super) roomiest: BTreeSet<(u64, u32)>,
    /// The newest measurement of each node that arrived.
    pub(super) seen: Vec<Option<(u64, f64)>>,
    pub(super) rounds: VecDeque<Round>,
    pub(super) left: usize,
    pub(super) running: usize,
    pub(super) delay: f64,
    pub(super) run: Run,
    events: BinaryHeap<Reverse<(u64, Event)>>,
}

impl<'a> World<'a> {
    pub(super) fn new(setup: &'a Setup, best_ns: &[u64], seed: u64) -> Self {
        let live = setup.jobs.iter().zip(best_ns).map(|(job, &best_ns)| Live {
            place: Place::Absent,
            epoch: 0,
            left: job.duration_ns.saturating_mul(PART),
            end: 0,
            slot: 0,
            demand: 0,
            began_ns: 0,
            best_ns,
            been: Vec::new(),
            packed: [0; 2],
            used: None,
        });
        let node = |node: &super::setup::Node| {
            NodeState::new(node.strength_at(0), node.background, node.is_up(0))
        };
        let nodes: Vec<_> = setup.nodes.iter().map(node).collect();
        let up = nodes.iter().zip(0..).filter(|(node, _)| node.is_up);
        Self {
            setup,
            seed,
            now_ns: 0,
            live: live.collect(),
            link: Link::new(setup.moving.bandwidth),
            link_due_ns: u64::MAX,
            flying: Vec::new(),
            waiting: VecDeque::new(),
            roomiest: up.map(|(_, at)| (0, at)).collect(),
            seen: vec![None; nodes.len()],
            nodes,
            rounds: VecDeque::new(),
            left: setup.jobs.len(),
            running: 0,
            delay: 0.0,
            run: Run::default(),
            events: BinaryHeap::new(),
        }
    }

    pub(super) fn at(&mut self, time_ns: u64, event: Event) {
        self.events.push(Reverse((time_ns, event)));
    }

    /// The next event, if it comes before time is up.
    pub(super) fn next(&mut self) -> Option<Event> {
        let Reverse((time_ns, event)) = self.events.pop()?;
        debug_assert!(time_ns >= self.now_ns, "time runs backwards");
        if time_ns >= self.setup.until_ns {
            return None;
        }
        self.now_ns = time_ns;
        self.run.events += 1;
        Some(event)
    }

    pub(super) fn job(&self, job: u32) -> &'a Job {
        &self.setup.jobs[job as usize]
    }

    pub(super) fn advance(&mut self, node: u32) {
        self.nodes[node as usize].advance(self.now_ns);
    }

    /// Something has changed on a node, so that its next end comes at another time. If that is
    /// later than was expected, the next look at it finds nothing, and expects the later time.
    pub(super) fn expect_end(&mut self, node: u32) {
        let live = &self.live;
        let state = &mut self.nodes[node as usize];
        let next = state.next_ns(|job, epoch| live[job as usize].epoch == epoch);
        if let Some(time_ns) = next.filter(|next| *next < state.due_ns) {
            state.due_ns = time_ns;
            self.at(time_ns, Event::Ends(node));
        }
    }

    /// How many parts of its node's progress a job needs for one of its own, in thousandths.
    pub(super) fn stretch(&self, job: u32, node: u32) -> u64 {
        let rack = self.setup.nodes[node as usize].rack;
        let is_away = self.job(job).home.is_some_and(|home| home != rack);
        if is_away {
            self.setup.away.clamp(1, 1_000_000)
        } else {
            1000
        }
    }

    /// Sets aside what a job needs on a node, which it has not reached yet.
    pub(super) fn reserve(&mut self, job: u32, node: u32) {
        let facts = self.job(job);
        self.reserved_by(node, facts.estimate, 0);
        self.nodes[node as usize].memory_bytes += facts.memory_bytes;
    }

    pub(super) fn release(&mut self, job: u32, node: u32) {
        let facts = self.job(job);
        self.reserved_by(node, 0, facts.estimate);
        self.nodes[node as usize].memory_bytes -= facts.memory_bytes;
    }

    fn reserved_by(&mut self, node: u32, more: u64, less: u64) {
        let was = self.rank(node);
        let state = &mut self.nodes[node as usize];
        state.reserved = state.reserved.saturating_add(more).saturating_sub(less);
        let is_up = state.is_up;
        self.roomiest.remove(&was);
        if is_up {
            self.roomiest.insert(self.rank(node));
        }
    }

    /// The place of a node in the order of what is reserved.
    pub(super) fn rank(&self, node: u32) -> (u64, u32) {
        let reserved = u128::from(self.nodes[node as usize].reserved) * 1_000_000;
        let strength = self.setup.nodes[node as usize].strength();
        let share = reserved / u128::from(strength);
        (super::link::clamped(share), node)
    }

    pub(super) fn has_room(&self, job: u32, node: u32) -> bool {
        let state = &self.nodes[node as usize];
        let all = self.setup.nodes[node as usize].memory_bytes;
        let wanted = state
            .memory_bytes
            .saturating_add(self.job(job).memory_bytes);
        state.is_up && wanted <= all
    }

    /// A job begins to run where it has its room already.
    pub(super) fn begin(&mut self, job: u32, node: u32) {
        self.advance(node);
        let wish = self.wish(job);
        let parts = scaled(self.live[job as usize].left, self.stretch(job, node));
        let now_ns = self.now_ns;
        let state = &mut self.nodes[node as usize];
        state.demand += wish;
        let live = &mut self.live[job as usize];
        live.epoch += 1;
        live.slot = state.jobs.len() as u32;
        live.end = state.begin(job, live.epoch, parts);
        live.place = Place::Running(node);
        live.demand = wish;
        live.began_ns = now_ns;
        if !live.been.contains(&node) {
            live.been.push(node);
        }
        self.running += 1;
        self.expect_end(node);
    }

    /// The demand of a job at this time.
    fn wish(&self, job: u32) -> u64 {
        let wish = self.job(job).wish(self.now_ns);
        let wobble = self.setup.wobble;
        if wobble == 0.0 {
            return wish;
        }
        let tick = self.now_ns / self.setup.wobble_ns.max(1);
        let factor = 1.0 + wobble * Draw::of(self.seed, WOBBLE, job.into(), tick).real(-1.0, 1.0);
        (wish as f64 * factor) as u64
    }

    /// The demand of all jobs changes, as it does with the time.
    pub(super) fn wobble(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            self.advance(node);
            for at in 0..self.nodes[node as usize].jobs.len() {
                let job = self.nodes[node as usize].jobs[at];
                self.run.events += 1;
                self.account(job, node);
                let wish = self.wish(job);
                let live = &mut self.live[job as usize];
                let state = &mut self.nodes[node as usize];
                state.demand = state.demand - live.demand + wish;
                live.demand = wish;
            }
            if !self.nodes[node as usize].jobs.is_empty() {
                self.expect_end(node);
            }
        }
    }

    /// The parts that a job of this node still has to go, as far as the node was brought.
    pub(super) fn left(&self, job: u32, node: u32) -> u64 {
        let end = self.live[job as usize].end;
        let left = self.nodes[node as usize].left(end);
        scaled(left, 1_000_000 / self.stretch(job, node))
    }

    /// Books what a job got since its demand last changed, and goes on to now.
    fn account(&mut self, job: u32, node: u32) {
        self.advance(node);
        let stretch = self.stretch(job, node);
        let left = self.left(job, node);
        let live = &mut self.live[job as usize];
        let done = live.left.saturating_sub(left);
        let parts = u128::from(scaled(done, stretch)) * u128::from(live.demand);
        self.run.got += parts / u128::from(PART);
        live.left = left;
    }

    /// A job ceases to run; its room stays its own.
    pub(super) fn cease(&mut self, job: u32, node: u32) {
        self.account(job, node);
        let state = &mut self.nodes[node as usize];
        let live = &mut self.live[job as usize];
        live.epoch += 1;
        state.demand -= live.demand;
        self.run.job_ns += u128::from(self.now_ns - live.began_ns);
        let slot = live.slot as usize;
        state.jobs.swap_remove(slot);
        if let Some(&moved) = state.jobs.get(slot) {
            self.live[moved as usize].slot = slot as u32;
        }
        self.running -= 1;
        self.expect_end(node);
    }

    /// A job of the queue begins on a node that has become free, if the first of it fits.
    pub(super) fn serve_queue(&mut self, node: u32) {
        while let Some(&job) = self.waiting.front() {
            if !self.has_room(job, node) {
                return;
            }
            self.waiting.pop_front();
            self.reserve(job, node);
            self.begin(job, node);
        }
    }

    /// A job looks for a node and begins there, or waits for one.
    pub(super) fn settle(&mut self, job: u32, wanted: Option<u32>) {
        let wanted = wanted.filter(|&node| self.nodes[node as usize].is_up);
        let racks = &self.setup.nodes;
        let home = self.job(job).home;
        let at_home = |node: &u32| home.is_some_and(|home| racks[*node as usize].rack == home);
        let rooms = || self.roomiest.iter().map(|(_, node)| *node);
        let has_room = |node: &u32| self.has_room(job, *node);
        let node = wanted
            .or_else(|| home.and_then(|_| rooms().filter(at_home).find(has_room)))
            .or_else(|| rooms().find(has_room));
        match node {
            Some(node) => {
                self.reserve(job, node);
                self.begin(job, node);
            }
            None => {
                self.live[job as usize].place = Place::Waiting;
                self.waiting.push_back(job);
            }
        }
    }

    /// The level of a node in truth, with what is on its way there.
    pub(super) fn true_level(&self, node: u32) -> f64 {
        let arriving = self.flying.iter().filter(
            |&&job| matches!(self.live[job as usize].place, Place::Flying { to, .. } if to == node),
        );
        let arriving: u64 = arriving.map(|&job| self.wish(job)).sum();
        let state = &self.nodes[node as usize];
        (state.demand + arriving) as f64 / state.power as f64
    }
}
