//! A recorded DAG on any number of workers, event by event, in nanoseconds.
//!
//! A program that ran with `HEIST_DAG` has left its strands and which came behind which. Here they
//! run again, on as many workers as are asked for: whoever ends a strand goes on with one that it
//! was the last to hold up, offers the others, and looks for work with victims in the runtime's own
//! order if there is none. So the questions can be put which the program itself cannot answer: how
//! fast it would be on more cores, and how fast if one of its functions were faster (the latter is
//! that of Yoga and Nagarakatte, "A fast causal profiler for task parallel programs", ESEC/FSE
//! 2017).
//!
//! The strands are as long on any number of workers as they were where they were recorded: memory
//! that is short, and locks, are not in the model.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use heist_core::policy::{Rng, Victims};
use heist_event::dag::{After, Dag};

/// The times that scheduling takes.
///
/// # Examples
///
/// ```
/// use heist_sim::replay::Costs;
///
/// let far = Costs { steal_ns: 300, ..Costs::default() };
/// assert!(far.steal_ns > far.probe_ns);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A look at a deque that is empty.
    pub probe_ns: u64,
    /// A steal.
    pub steal_ns: u64,
    /// How long an idle worker searches before it sleeps.
    pub search_ns: u64,
    /// From when there is work to when a worker runs that slept.
    pub wake_ns: u64,
}

impl Default for Costs {
    /// As measured on a virtual machine of two cores.
    fn default() -> Self {
        Self {
            probe_ns: 60,
            steal_ns: 100,
            search_ns: 50_000,
            wake_ns: 18_000,
        }
    }
}

/// The machine and its rules.
///
/// # Examples
///
/// ```
/// use heist_sim::replay::Machine;
///
/// let machine = Machine { slow: vec![(3, 0.5)], ..Machine::new(4) };
/// assert_eq!(machine.workers, 4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The number of workers.
    pub workers: usize,
    /// The times that scheduling takes.
    pub costs: Costs,
    /// Workers that have another speed, with that speed: 0.5 takes twice as long.
    pub slow: Vec<(usize, f64)>,
    /// Sites whose jobs nobody can steal, by their places in the DAG.
    pub serial: Vec<u16>,
}

impl Machine {
    /// So many equal workers.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            costs: Costs::default(),
            slow: Vec::new(),
            serial: Vec::new(),
        }
    }
}

/// How a DAG ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// From the start to the end of the last strand.
    pub ns: u64,
    /// The time that all workers were at work.
    pub busy_ns: u64,
    /// Looks at the deques of others.
    pub attempts: u64,
    /// Those that brought something.
    pub steals: u64,
    /// Workers that had to be woken, and how often.
    pub wakes: u64,
}

/// Runs the DAG. The same seed gives the same outcome. `None` if some path in it has no end, or
/// leads to a node that is not there.
///
/// # Panics
///
/// Panics without workers, and if a speed is not above zero.
///
/// # Cost
///
/// Time proportional to the nodes, with the logarithm of the workers, and to the looks; memory to
/// the nodes and the workers.
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
/// use heist_sim::replay::{replay, Machine};
///
/// let strand = |work, before| Node { work, span: work, before, ..Node::default() };
/// let nodes = vec![strand(1_000, [0; 2]), strand(90_000, [1, 0]), strand(80_000, [1, 0])];
/// let dag = Dag { nodes, ..Dag::default() };
/// let ns = |workers| replay(&dag, &Machine::new(workers), 1).map(|outcome| outcome.ns);
/// assert_eq!(ns(1), Some(171_000));
/// assert_eq!(ns(2), Some(91_000));
/// ```
#[must_use]
pub fn replay(dag: &Dag, machine: &Machine, seed: u64) -> Option<Replayed> {
    assert!(machine.workers > 0, "a DAG needs one worker at least");
    let is_positive = |&(_, speed): &(usize, f64)| speed > 0.0;
    assert!(
        machine.slow.iter().all(is_positive),
        "a worker that stands still ends nothing"
    );
    let after = dag.after()?;
    let order = dag.order()?;
    let mut waits = vec![0; dag.nodes.len() + 1];
    for at in 1..=dag.nodes.len() as u32 {
        let behind = after.of(at).iter();
        behind.for_each(|&later| waits[later as usize] += 1);
    }
    let mut run = Run {
        dag,
        machine,
        after: &after,
        workers: (0..machine.workers)
            .map(|_| Worker {
                deque: VecDeque::new(),
                idle_since: 0,
            })
            .collect(),
        speeds: speeds(machine),
        idle: (1..machine.workers).rev().collect(),
        waits,
        offered: 0,
        events: BinaryHeap::new(),
        happened: 0,
        rng: Rng::new(seed),
        outcome: Replayed::default(),
    };
    let roots = order.into_iter();
    let roots: VecDeque<u32> = roots.filter(|&at| run.waits[at as usize] == 0).collect();
    run.go_on(0, roots, 0);
    while let Some(Reverse((now, _, worker, event))) = run.events.pop() {
        match event {
            Event::Done(node) => run.done(worker, node, now),
            Event::Search => run.search(worker, now),
        }
    }
    Some(run.outcome)
}

/// The DAG if the strands of one site were so many times as fast.
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
/// use heist_sim::replay::faster;
///
/// let strand = |site, work| Node { site, work, span: work, before: [0; 2] };
/// let dag = Dag { nodes: vec![strand(0, 100), strand(1, 100)], ..Dag::default() };
/// assert_eq!(faster(&dag, 1, 4.0).work(), 125);
/// ```
#[must_use]
pub fn faster(dag: &Dag, site: u16, times: f64) -> Dag {
    let mut dag = dag.clone();
    for node in dag.nodes.iter_mut().filter(|node| node.site == site) {
        node.work = (node.work as f64 / times).round() as i64;
        node.span = ((node.span as f64 / times).round() as i64).min(node.work);
    }
    dag
}

/// How much of the longest path is in strands of each site, by its place; `None` as in [`replay`].
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
/// use heist_sim::replay::longest_path;
///
/// let strand = |site, work, before| Node { site, work, span: work, before };
/// let nodes = vec![strand(0, 5, [0; 2]), strand(1, 70, [1, 0]), strand(2, 60, [1, 0])];
/// let sites = vec![(String::new(), String::new()); 3];
/// assert_eq!(longest_path(&Dag { nodes, sites, ..Dag::default() }), Some(vec![5, 70, 0]));
/// ```
#[must_use]
pub fn longest_path(dag: &Dag) -> Option<Vec<i64>> {
    let (order, after) = (dag.order()?, dag.after()?);
    // When each node can begin at the earliest, and which one it waits for then.
    let mut begins = vec![(0, 0); dag.nodes.len() + 1];
    let mut last = (0, 0);
    for at in order {
        let end = begins[at as usize].0 + dag.nodes[at as usize - 1].span;
        last = last.max((end, at));
        for &later in after.of(at) {
            let begin = &mut begins[later as usize];
            *begin = (*begin).max((end, at));
        }
    }
    let mut of_sites = vec![0; dag.sites.len()];
    let (_, mut at) = last;
    while at != 0 {
        let node = &dag.nodes[at as usize - 1];
        if let Some(sum) = of_sites.get_mut(usize::from(node.site)) {
            *sum += node.span;
        }
        at = begins[at as usize].1;
    }
    Some(of_sites)
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The worker has run this node.
    Done(u32),
    /// It looks for work.
    Search,
}

struct Worker {
    /// The oldest at the front.
    deque: VecDeque<Offer>,
    idle_since: u64,
}

/// Nodes that came to be ready at once.
struct Offer {
    nodes: VecDeque<u32>,
    /// True if nobody else may take them.
    is_private: bool,
}

struct Run<'a> {
    dag: &'a Dag,
    machine: &'a Machine,
    after: &'a After,
    workers: Vec<Worker>,
    speeds: Vec<f64>,
    /// The workers without work, the one that had some last at the end.
    idle: Vec<usize>,
    /// How many nodes each one waits for.
    waits: Vec<u32>,
    /// The offers that can be stolen.
    offered: usize,
    /// The second number orders those of one time as they came to be.
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    happened: u64,
    rng: Rng,
    outcome: Replayed,
}

impl Run<'_> {
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
        self.outcome.busy_ns += takes;
        self.at(now + takes, worker, Event::Done(node));
    }

    fn done(&mut self, worker: usize, node: u32, now: u64) {
        self.outcome.ns = now;
        let mut ready = VecDeque::new();
        for &later in self.after.of(node) {
            let waits = &mut self.waits[later as usize];
            *waits -= 1;
            if *waits == 0 {
                ready.push_back(later);
            }
        }
        self.go_on(worker, ready, now);
    }

    /// The worker runs one of these nodes and offers the others. Without any it takes the newest
    /// of its own, or those of others.
    fn go_on(&mut self, worker: usize, mut ready: VecDeque<u32>, now: u64) {
        if ready.is_empty() {
            let Some(mut newest) = self.workers[worker].deque.pop_back() else {
                return self.search(worker, now);
            };
            self.offered -= usize::from(!newest.is_private);
            if let Some(node) = newest.nodes.pop_front() {
                self.offer(worker, newest.nodes);
                self.begin(worker, node, now);
            }
            return;
        }
        if let Some(node) = ready.pop_front() {
            let is_new = self.offer(worker, ready);
            self.begin(worker, node, now);
            if is_new {
                self.call(now);
            }
        }
    }

    /// Puts nodes into the worker's deque. True if others can take them.
    fn offer(&mut self, worker: usize, nodes: VecDeque<u32>) -> bool {
        let Some(&first) = nodes.front() else {
            return false;
        };
        let site = self.dag.nodes[first as usize - 1].site;
        let is_private = self.machine.serial.contains(&site);
        self.offered += usize::from(!is_private);
        let offer = Offer { nodes, is_private };
        self.workers[worker].deque.push_back(offer);
        !is_private
    }

    /// One of the idle workers begins to look for work, if there is one.
    fn call(&mut self, now: u64) {
        if let Some(worker) = self.idle.pop() {
            let costs = &self.machine.costs;
            let is_awake = now - self.workers[worker].idle_since <= costs.search_ns;
            self.outcome.wakes += u64::from(!is_awake);
            let takes = if is_awake {
                costs.probe_ns
            } else {
                costs.wake_ns
            };
            self.at(now + takes, worker, Event::Search);
        }
    }

    fn search(&mut self, worker: usize, now: u64) {
        let stolen = if self.offered > 0 {
            self.steal(worker)
        } else {
            None
        };
        let Some((mut nodes, looks)) = stolen else {
            self.workers[worker].idle_since = now;
            return self.idle.push(worker);
        };
        self.outcome.attempts += looks;
        self.outcome.steals += 1;
        let costs = &self.machine.costs;
        let begins = now + (looks - 1) * costs.probe_ns + costs.steal_ns;
        if let Some(node) = nodes.pop_front() {
            self.offer(worker, nodes);
            self.begin(worker, node, begins);
        }
        if self.offered > 0 {
            self.call(begins);
        }
    }

    /// Takes the oldest nodes that some victim offers, half of them if they are several, as one
    /// half of a range. Gives how many victims it looked at.
    fn steal(&mut self, thief: usize) -> Option<(VecDeque<u32>, u64)> {
        let mut looks = 0;
        for victim in Victims::new(&mut self.rng, thief, self.machine.workers) {
            looks += 1;
            let deque = &mut self.workers[victim].deque;
            let Some(place) = deque.iter().position(|offer| !offer.is_private) else {
                continue;
            };
            let offer = &mut deque[place];
            let kept = offer.nodes.len() / 2;
            let taken = offer.nodes.split_off(kept);
            if kept == 0 {
                deque.remove(place);
                self.offered -= 1;
            }
            return Some((taken, looks));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use heist_event::dag::Node;

    use super::*;

    /// A tree of joins with leaves of so much work, which differ by the numbers of a seed.
    fn tree(dag: &mut Dag, before: u32, depth: u32, rng: &mut Rng) -> u32 {
        let mut push = |work, site, before| {
            let node = Node {
                site,
                work,
                span: work,
                before,
            };
            dag.nodes.push(node);
            dag.nodes.len() as u32
        };
        if depth == 0 {
            let work = 1_000 + rng.below(40_000) as i64;
            return push(work, 1, [before, 0]);
        }
        let fork = push(20, 0, [before, 0]);
        let one = tree(dag, fork, depth - 1, rng);
        let other = tree(dag, fork, depth - 1, rng);
        dag.nodes.push(Node {
            before: [one, other],
            ..Node::default()
        });
        dag.nodes.len() as u32
    }

    fn of_depth(depth: u32) -> Dag {
        let mut dag = Dag {
            sites: vec![(String::new(), String::new()); 2],
            ..Dag::default()
        };
        tree(&mut dag, 0, depth, &mut Rng::new(7));
        dag
    }

    #[test]
    fn a_greedy_scheduler_keeps_the_bounds_of_graham_and_one_worker_takes_all_work() {
        let dag = of_depth(10);
        let (work, span) = (dag.work() as u64, dag.span().unwrap() as u64);
        for workers in [1, 2, 3, 8, 64, 4_096] {
            let machine = Machine {
                costs: Costs {
                    probe_ns: 0,
                    steal_ns: 0,
                    search_ns: u64::MAX,
                    wake_ns: 0,
                },
                ..Machine::new(workers)
            };
            let outcome = replay(&dag, &machine, 3).unwrap();
            assert_eq!(outcome.busy_ns, work);
            let p = workers as u64;
            let (least, most) = (span.max(work.div_ceil(p)), work / p + span);
            assert!(
                (least..=most).contains(&outcome.ns),
                "{workers}: {outcome:?}"
            );
        }
        assert_eq!(replay(&dag, &Machine::new(1), 1).unwrap().ns, work);
    }

    #[test]
    fn jobs_of_a_serial_site_run_one_after_the_other_and_slow_workers_take_longer() {
        let dag = of_depth(6);
        let work = dag.work() as u64;
        let serial = Machine {
            serial: vec![0, 1],
            ..Machine::new(4)
        };
        assert_eq!(replay(&dag, &serial, 1).unwrap().ns, work);
        let slow = Machine {
            slow: vec![(0, 0.5)],
            ..Machine::new(1)
        };
        let twice = replay(&dag, &slow, 1).unwrap().ns;
        assert!(twice.abs_diff(2 * work) <= dag.nodes.len() as u64);
    }

    #[test]
    fn many_pieces_at_once_are_handed_out_by_halves() {
        let piece = |before| Node {
            work: 20_000,
            span: 20_000,
            before: [before, 0],
            site: 0,
        };
        let mut nodes = vec![Node::default()];
        nodes.extend((0..1_024).map(|_| piece(1)));
        let dag = Dag {
            nodes,
            ..Dag::default()
        };
        let outcome = replay(&dag, &Machine::new(16), 1).unwrap();
        let ideal = dag.work() as u64 / 16;
        assert!(outcome.ns < ideal + ideal / 10, "{outcome:?}");
        assert!(outcome.steals < 300, "{outcome:?}");
    }

    #[test]
    fn the_longest_path_is_told_by_site_and_is_the_span() {
        let dag = of_depth(5);
        let of_sites = longest_path(&dag).unwrap();
        assert_eq!(of_sites.iter().sum::<i64>(), dag.span().unwrap());
        assert!(
            of_sites[0] <= 5 * 20 && of_sites[1] >= 1_000,
            "{of_sites:?}"
        );
    }

    #[test]
    fn a_circle_cannot_run() {
        let node = |before| Node {
            before,
            ..Node::default()
        };
        let dag = Dag {
            nodes: vec![node([2, 0]), node([1, 0])],
            ..Dag::default()
        };
        assert_eq!(replay(&dag, &Machine::new(2), 1), None);
        assert_eq!(longest_path(&dag), None);
    }
}
