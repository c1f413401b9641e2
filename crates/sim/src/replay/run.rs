//! One run of a DAG on a machine, from event to event.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use heist_core::policy::{Rng, Victims};
use heist_event::dag::{After, Dag};

use super::machine::{Costs, Machine, Replayed};
use super::members::Members;

/// More than the looks at random with which each round of a thief begins.
const LOOKS_ONE_BY_ONE: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The worker has run this node.
    Done(u32),
    /// It looks for work.
    Search,
}

/// Deques with the oldest at the front.
#[derive(Default)]
struct Worker {
    shared: VecDeque<Offer>,
    /// Those that nobody else may take.
    private: VecDeque<Offer>,
    idle_since: u64,
}

struct Offer {
    bunch: Bunch,
    /// Which of two is the newer.
    order: u64,
}

/// Nodes that came to be ready at once: mostly one.
struct Bunch {
    first: u32,
    others: VecDeque<u32>,
}

impl Bunch {
    fn of(nodes: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut nodes = nodes.into_iter();
        let first = nodes.next()?;
        let others = nodes.collect();
        Some(Self { first, others })
    }

    /// The first, and the others.
    fn part(mut self) -> (u32, Option<Self>) {
        let second = self.others.pop_front();
        let others = second.map(|first| Self { first, ..self });
        (self.first, others)
    }

    /// Takes the later half away, if there are several.
    fn halve(&mut self) -> Option<Self> {
        let kept = self.others.len().div_ceil(2);
        let mut others = self.others.split_off(kept.saturating_sub(1));
        let first = others.pop_front()?;
        Some(Self { first, others })
    }
}

/// A DAG on its way through a machine.
pub(super) struct Run<'a> {
    dag: &'a Dag,
    costs: Costs,
    /// By site: nobody can steal its jobs.
    is_serial: Vec<bool>,
    after: &'a After,
    workers: Vec<Worker>,
    speeds: Vec<f64>,
    /// The workers without work, the one that had some last at the end.
    idle: Vec<usize>,
    /// How many nodes each one waits for.
    waits: Vec<u32>,
    /// The workers of which something can be stolen.
    offering: Members,
    /// The second number orders those of one time as they came to be.
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    happened: u64,
    rng: Rng,
    outcome: Replayed,
}

impl<'a> Run<'a> {
    /// The machine before its first node. Each node waits for so many.
    pub(super) fn new(
        dag: &'a Dag,
        after: &'a After,
        waits: Vec<u32>,
        machine: &Machine,
        seed: u64,
    ) -> Self {
        let mut is_serial = vec![false; 1 << u16::BITS];
        for &site in &machine.serial {
            is_serial[usize::from(site)] = true;
        }
        Self {
            dag,
            costs: machine.costs,
            is_serial,
            after,
            workers: (0..machine.workers).map(|_| Worker::default()).collect(),
            speeds: speeds(machine),
            idle: (1..machine.workers).rev().collect(),
            waits,
            offering: Members::none_of(machine.workers),
            events: BinaryHeap::new(),
            happened: 0,
            rng: Rng::new(seed),
            outcome: Replayed::default(),
        }
    }

    /// The first worker has these nodes.
    pub(super) fn begin_with(&mut self, nodes: impl Iterator<Item = u32>) {
        self.go_on(0, Bunch::of(nodes), 0);
    }

    pub(super) fn finish(mut self) -> Replayed {
        while let Some(Reverse((now, _, worker, event))) = self.events.pop() {
            match event {
                Event::Done(node) => self.done(worker, node, now),
                Event::Search => self.search(worker, now),
            }
        }
        self.outcome
    }
    fn at(&mut self, time: u64, worker: usize, event: Event) {
        self.happened += 1;
        let order = self.happened;
        self.events.push(Reverse((time, order, worker, event)));
    }

    fn begin(&mut self, worker: usize, node: u32, now: u64) {
        let work = self.dag.nodes[node as usize - 1].work.max(0) as u64;
        let speed = self.speeds[worker];
        let takes = if speed == 1.0 {
            work
        } else {
            (work as f64 / speed).round() as u64
        };
        self.outcome.busy_ns = self.outcome.busy_ns.saturating_add(takes);
        self.at(now.saturating_add(takes), worker, Event::Done(node));
    }

    fn done(&mut self, worker: usize, node: u32, now: u64) {
        self.outcome.ns = now;
        let waits = &mut self.waits;
        let later = self.after.of(node).iter().copied();
        let ready = Bunch::of(later.filter(|&later| {
            waits[later as usize] -= 1;
            waits[later as usize] == 0
        }));
        self.go_on(worker, ready, now);
    }

    /// The worker runs one of these nodes and offers the others. Without any it takes the newest
    /// of its own, or those of others.
    fn go_on(&mut self, worker: usize, ready: Option<Bunch>, now: u64) {
        let is_new = ready.is_some();
        let Some(bunch) = ready.or_else(|| self.newest(worker)) else {
            return self.search(worker, now);
        };
        let (node, others) = bunch.part();
        let is_offered = self.offer(worker, others);
        self.begin(worker, node, now);
        if is_new && is_offered {
            self.call(now);
        }
    }

    /// The newest of the worker's own.
    fn newest(&mut self, worker: usize) -> Option<Bunch> {
        let own = &mut self.workers[worker];
        let order = |offer: Option<&Offer>| offer.map(|offer| offer.order);
        if order(own.private.back()) > order(own.shared.back()) {
            return own.private.pop_back().map(|offer| offer.bunch);
        }
        let newest = own.shared.pop_back()?;
        if own.shared.is_empty() {
            self.offering.remove(worker);
        }
        Some(newest.bunch)
    }

    /// Puts nodes into one of the worker's deques. True if others can take them.
    fn offer(&mut self, worker: usize, nodes: Option<Bunch>) -> bool {
        let Some(bunch) = nodes else {
            return false;
        };
        let site = self.dag.nodes[bunch.first as usize - 1].site;
        self.happened += 1;
        let order = self.happened;
        let offer = Offer { bunch, order };
        let own = &mut self.workers[worker];
        if self.is_serial[usize::from(site)] {
            own.private.push_back(offer);
            return false;
        }
        if own.shared.is_empty() {
            self.offering.insert(worker);
        }
        own.shared.push_back(offer);
        true
    }

    /// One of the idle workers begins to look for work, if there is one.
    fn call(&mut self, now: u64) {
        if let Some(worker) = self.idle.pop() {
            let costs = &self.costs;
            let is_awake = now - self.workers[worker].idle_since <= costs.search_ns;
            self.outcome.wakes += u64::from(!is_awake);
            let takes = if is_awake {
                costs.probe_ns
            } else {
                costs.wake_ns
            };
            self.at(now.saturating_add(takes), worker, Event::Search);
        }
    }

    fn search(&mut self, worker: usize, now: u64) {
        let Some((bunch, looks)) = self.steal(worker) else {
            self.workers[worker].idle_since = now;
            return self.idle.push(worker);
        };
        self.outcome.attempts += looks;
        self.outcome.steals += 1;
        let takes = (looks - 1).saturating_mul(self.costs.probe_ns);
        let takes = takes.saturating_add(self.costs.steal_ns);
        let begins = now.saturating_add(takes);
        let (node, others) = bunch.part();
        self.offer(worker, others);
        self.begin(worker, node, begins);
        if !self.offering.is_empty() {
            self.call(begins);
        }
    }

    /// Takes the oldest nodes that some victim offers, half of them if they are several, as one
    /// half of a range. Gives how many victims it looked at.
    fn steal(&mut self, thief: usize) -> Option<(Bunch, u64)> {
        if self.offering.is_empty() {
            return None;
        }
        let (victim, looks) = self.victim(thief)?;
        let shared = &mut self.workers[victim].shared;
        let half = shared.front_mut()?.bunch.halve();
        let taken = half.or_else(|| shared.pop_front().map(|offer| offer.bunch))?;
        if shared.is_empty() {
            self.offering.remove(victim);
        }
        Some((taken, looks))
    }

    /// The first victim that offers something, and how many looks it takes to find it.
    fn victim(&mut self, thief: usize) -> Option<(usize, u64)> {
        let workers = self.workers.len();
        let (mut looks, mut last) = (0, 0);
        for victim in Victims::new(&mut self.rng, thief, workers).take(LOOKS_ONE_BY_ONE) {
            looks += 1;
            last = victim;
            if self.offering.contains(victim) {
                return Some((victim, looks));
            }
        }
        // From there on it looks at one after the other, and never at itself.
        let victim = self.offering.next_after(last)?;
        let distance = |from: usize, to: usize| (to + workers - from) % workers;
        let passes_itself = distance(last, thief) < distance(last, victim);
        let more = distance(last, victim) - usize::from(passes_itself);
        Some((victim, looks + more as u64))
    }
}

fn speeds(machine: &Machine) -> Vec<f64> {
    let mut speeds = vec![1.0; machine.workers];
    for &(worker, speed) in &machine.slow {
        if let Some(of_worker) = speeds.get_mut(worker) {
            *of_worker = speed;
        }
    }
    speeds
}
