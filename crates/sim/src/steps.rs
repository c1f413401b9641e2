//! The machine: workers that run units and steal, step by step.

use std::collections::VecDeque;

use heist_core::policy::{Rng, Victims};

use crate::policy::{End, Order, Policy, Source, Take, Victim};
use crate::recursion::Recursion;

/// How a computation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The number of steps to the end.
    pub steps: u64,
    /// All units of work, T1.
    pub work: u64,
    /// The units on the longest path, T∞.
    pub span: u64,
    /// The steps that workers spent on attempts to steal, their latency included.
    pub attempts: u64,
    /// The attempts that brought something.
    pub steals: u64,
    /// The most calls that had begun and not ended at any time.
    pub calls_max: u64,
}

/// Runs `recursion` on so many workers under `policy`. The same seed gives the same outcome.
///
/// # Panics
///
/// Panics without workers, without roots, and if a leaf has no unit of work.
///
/// # Cost
///
/// Time proportional to the steps of all workers; memory to the workers and the calls that are
/// under way, whatever the size of the computation.
///
/// # Examples
///
/// ```
/// use heist_sim::{simulate, Fib, Policy};
/// let run = || simulate(&Fib(20), 64, &Policy::default(), 7);
/// assert_eq!(run(), run());
/// ```
pub fn simulate<R: Recursion>(
    recursion: &R,
    workers: usize,
    policy: &Policy,
    seed: u64,
) -> Outcome {
    assert!(workers > 0, "a simulation needs one worker at least");
    let mut machine = Machine::new(recursion, workers, policy, seed);
    while machine.roots_left > 0 {
        machine.step();
    }
    machine.outcome
}

/// One piece of work that waits for nothing.
#[derive(Clone, Debug)]
enum Node<T> {
    /// A call of this frame's; of nobody's at a root.
    Call { task: T, of: Option<u32> },
    /// The code between a fork and the call of its second branch.
    Middle(u32),
    /// The code behind both branches.
    Join(u32),
}

/// A node with the length of the longest path to it.
type Ready<T> = (Node<T>, u64);

/// A fork whose join has not run.
struct Frame<T> {
    of: Option<u32>,
    second: Option<T>,
    /// The path to the end of the branch that has ended first.
    first_end: Option<u64>,
}

/// A node under way.
struct Current<T> {
    node: Node<T>,
    /// The calls that its call forks into.
    forks: Option<(T, T)>,
    left: u64,
    /// The path to its end.
    end: u64,
}

struct Worker<T> {
    deque: VecDeque<Ready<T>>,
    current: Option<Current<T>>,
    rng: Rng,
    last_victim: usize,
    /// The steps until an attempt of this worker is over.
    away: u32,
    /// The last step in which a thief succeeded here.
    stolen_from: u64,
}

struct Machine<'a, R: Recursion> {
    recursion: &'a R,
    policy: &'a Policy,
    workers: Vec<Worker<R::Task>>,
    frames: Vec<Frame<R::Task>>,
    free: Vec<u32>,
    /// The queue of all, and what comes into it after this step.
    central: VecDeque<Ready<R::Task>>,
    coming: Vec<Ready<R::Task>>,
    roots_left: u64,
    calls: u64,
    outcome: Outcome,
}

impl<'a, R: Recursion> Machine<'a, R> {
    fn new(recursion: &'a R, workers: usize, policy: &'a Policy, seed: u64) -> Self {
        let mut seeds = Rng::new(seed);
        let worker = |_| Worker {
            deque: VecDeque::new(),
            current: None,
            rng: Rng::new(seeds.next_u64()),
            last_victim: 0,
            away: 0,
            stolen_from: 0,
        };
        let mut machine = Self {
            recursion,
            policy,
            workers: (0..workers).map(worker).collect(),
            frames: Vec::new(),
            free: Vec::new(),
            central: VecDeque::new(),
            coming: Vec::new(),
            roots_left: 0,
            calls: 0,
            outcome: Outcome {
                steps: 0,
                work: 0,
                span: 0,
                attempts: 0,
                steals: 0,
                calls_max: 0,
            },
        };
        let roots = recursion.roots().map(|task| Node::Call { task, of: None });
        let roots: VecDeque<_> = roots.map(|node| (node, 0)).collect();
        assert!(!roots.is_empty(), "a simulation needs one root at least");
        machine.roots_left = roots.len() as u64;
        match policy.source {
            Source::Central => machine.central = roots,
            Source::Stealing => machine.workers[0].deque = roots,
        }
        machine.next(0);
        machine
    }

    fn step(&mut self) {
        self.outcome.steps += 1;
        for index in 0..self.workers.len() {
            if self.policy.source == Source::Central && self.workers[index].current.is_none() {
                self.next(index);
            }
            let worker = &mut self.workers[index];
            if worker.away > 0 {
                worker.away -= 1;
                self.outcome.attempts += 1;
            } else if worker.current.is_some() {
                self.unit(index);
                if self.roots_left == 0 {
                    return;
                }
            } else if self.policy.source == Source::Stealing {
                self.attempt(index);
            }
        }
        self.central.extend(self.coming.drain(..));
    }

    /// Runs one unit of what the worker has under way.
    fn unit(&mut self, index: usize) {
        self.outcome.work += 1;
        let worker = &mut self.workers[index];
        let is_over = |current: &mut Current<_>| {
            current.left -= 1;
            current.left == 0
        };
        let Some(current) = worker.current.take_if(is_over) else {
            return;
        };
        let end = current.end;
        let enabled = match (current.node, current.forks) {
            (Node::Call { of, .. }, Some((first, second))) => {
                Some(self.fork(index, of, first, second, end))
            }
            (Node::Call { of, .. }, None) => self.ended(of, end),
            (Node::Middle(frame), _) => {
                let second = self.frames[frame as usize].second.take();
                let task = second.expect("a fork goes on once");
                let of = Some(frame);
                Some((Node::Call { task, of }, end))
            }
            (Node::Join(frame), _) => {
                self.free.push(frame);
                self.ended(self.frames[frame as usize].of, end)
            }
        };
        match enabled {
            Some(node) => self.begin(index, node),
            None => self.next(index),
        }
    }

    /// A call forks: one branch can be taken by others, the other one comes next.
    fn fork(
        &mut self,
        index: usize,
        of: Option<u32>,
        task: R::Task,
        second: R::Task,
        end: u64,
    ) -> Ready<R::Task> {
        let frame = Frame {
            of,
            second: Some(second),
            first_end: None,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.frames[at as usize] = frame;
                at
            }
            None => {
                self.frames.push(frame);
                u32::try_from(self.frames.len() - 1).expect("fewer than 2^32 forks are under way")
            }
        };
        let child = (Node::Call { task, of: Some(at) }, end);
        let continuation = (Node::Middle(at), end);
        let (offered, next) = match self.policy.order {
            Order::Continuation => (continuation, child),
            Order::Child => (child, continuation),
        };
        match self.policy.source {
            Source::Stealing => self.workers[index].deque.push_back(offered),
            Source::Central => self.coming.push(offered),
        }
        next
    }

    /// A call has ended, by a path of this length: the join, if it was the second of its fork.
    fn ended(&mut self, of: Option<u32>, end: u64) -> Option<Ready<R::Task>> {
        self.calls -= 1;
        let Some(at) = of else {
            self.roots_left -= 1;
            self.outcome.span = self.outcome.span.max(end);
            return None;
        };
        match &mut self.frames[at as usize].first_end {
            Some(first) => Some((Node::Join(at), end.max(*first))),
            none => {
                *none = Some(end);
                None
            }
        }
    }

    /// The worker goes on with the next of its own, if there is one.
    fn next(&mut self, index: usize) {
        let found = match self.policy.source {
            Source::Stealing => self.workers[index].deque.pop_back(),
            Source::Central => self.central.pop_front(),
        };
        if let Some(node) = found {
            self.begin(index, node);
        }
    }

    fn begin(&mut self, index: usize, (node, path): Ready<R::Task>) {
        let mut forks = None;
        let mut left = 1;
        if let Node::Call { task, .. } = &node {
            self.calls += 1;
            self.outcome.calls_max = self.outcome.calls_max.max(self.calls);
            forks = self.recursion.fork(task);
            if forks.is_none() {
                left = self.recursion.units(task);
                assert!(left > 0, "a leaf has one unit of work at least");
            }
        }
        let end = path + left;
        self.workers[index].current = Some(Current {
            node,
            forks,
            left,
            end,
        });
    }

    /// Tries one victim.
    fn attempt(&mut self, index: usize) {
        self.outcome.attempts += 1;
        let (policy, workers) = (self.policy, self.workers.len());
        let thief = &mut self.workers[index];
        thief.away = policy.latency;
        let victim = match policy.victim {
            Victim::Uniform => Victims::new(&mut thief.rng, index, workers).next(),
            Victim::RoundRobin => {
                let next = (thief.last_victim + 1) % workers;
                thief.last_victim = if next == index {
                    (next + 1) % workers
                } else {
                    next
                };
                Some(thief.last_victim)
            }
            Victim::First => Some(usize::from(index == 0)),
        };
        let Some(victim) = victim.filter(|&victim| victim != index && victim < workers) else {
            return;
        };
        let now = self.outcome.steps;
        let victim = &mut self.workers[victim];
        if policy.one_thief && victim.stolen_from == now {
            return;
        }
        let many = match policy.take {
            Take::One => victim.deque.len().min(1),
            Take::Half => victim.deque.len().div_ceil(2),
        };
        let mut stolen: VecDeque<_> = match policy.end {
            End::Oldest => victim.deque.drain(..many).collect(),
            End::Newest => {
                let rest = victim.deque.len() - many;
                victim.deque.split_off(rest)
            }
        };
        let Some(first) = stolen.pop_front() else {
            return;
        };
        victim.stolen_from = now;
        self.outcome.steals += 1;
        if !stolen.is_empty() {
            self.workers[index].deque = stolen;
        }
        self.begin(index, first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recursion::Fib;

    /// A tree whose shape and leaves come from a seed.
    struct Irregular(u64);

    impl Recursion for Irregular {
        /// The seed of the call and its height.
        type Task = (u64, u32);

        fn roots(&self) -> impl Iterator<Item = (u64, u32)> {
            (0..1 + self.0 % 3).map(|root| (self.0 + root, 10))
        }

        fn fork(&self, &(seed, height): &(u64, u32)) -> Option<((u64, u32), (u64, u32))> {
            let mut rng = Rng::new(seed);
            let (first, second) = (rng.next_u64(), rng.next_u64());
            (height > 0 && rng.below(8) > 0).then(|| ((first, height - 1), (second, height - 1)))
        }

        fn units(&self, &(seed, _): &(u64, u32)) -> u64 {
            1 + seed % 20
        }
    }

    fn work_and_span<R: Recursion>(recursion: &R, task: &R::Task) -> (u64, u64) {
        let Some((first, second)) = recursion.fork(task) else {
            let units = recursion.units(task);
            return (units, units);
        };
        let first = work_and_span(recursion, &first);
        let second = work_and_span(recursion, &second);
        (first.0 + second.0 + 3, first.1.max(second.1 + 1) + 2)
    }

    fn policies() -> Vec<Policy> {
        let mut policies = Vec::new();
        for order in [Order::Continuation, Order::Child] {
            for source in [Source::Stealing, Source::Central] {
                for victim in [Victim::Uniform, Victim::RoundRobin, Victim::First] {
                    for (end, take) in [(End::Oldest, Take::Half), (End::Newest, Take::One)] {
                        policies.push(Policy {
                            order,
                            source,
                            victim,
                            end,
                            take,
                            one_thief: take == Take::Half,
                            latency: u32::from(end == End::Newest),
                        });
                    }
                }
            }
        }
        policies
    }

    #[test]
    fn each_unit_runs_once_under_every_policy_and_the_span_is_that_of_the_recursion() {
        for seed in 0..20 {
            let tree = Irregular(seed);
            let of_roots = tree.roots().map(|root| work_and_span(&tree, &root));
            let (work, span) = of_roots.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1.max(of.1)));
            for policy in policies() {
                for workers in [1, 2, 3, 17] {
                    let outcome = simulate(&tree, workers, &policy, seed);
                    assert_eq!((outcome.work, outcome.span), (work, span), "{policy:?}");
                    let least = span.max(work.div_ceil(workers as u64));
                    assert!(outcome.steps >= least, "{policy:?} {outcome:?}");
                }
            }
        }
    }

    #[test]
    fn a_worker_of_the_model_is_small() {
        assert!(size_of::<Worker<u64>>() <= 256);
    }

    #[test]
    #[should_panic(expected = "one worker at least")]
    fn no_workers_are_refused() {
        simulate(&Fib(1), 0, &Policy::default(), 0);
    }
}
