//! The machine: processors with a queue each, event by event.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use heist_core::policy::{Rng, Victims};

use super::{Bag, Costs, Scheme, Task};

/// How the tasks of a bag ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Balanced {
    /// From the start to the end of the last task.
    pub makespan_ns: u64,
    /// All tasks one after the other.
    pub work_ns: u64,
    /// The longest task.
    pub longest_ns: u64,
    /// How many tasks ran.
    pub tasks: u64,
    /// How often tasks changed processors.
    pub moves: u64,
    /// Looks at queues of others.
    pub looks: u64,
}

impl Balanced {
    /// The time over the least that any scheme could take: 1 is perfect.
    #[must_use]
    pub fn over_ideal(&self, processors: usize) -> f64 {
        let least = self.longest_ns.max(self.work_ns / processors as u64);
        self.makespan_ns as f64 / least.max(1) as f64
    }
}

/// Runs the tasks of a bag. The same seed gives the same outcome.
///
/// # Panics
///
/// Panics without processors, and if the tick has no period.
///
/// # Cost
///
/// Time proportional to the tasks and the looks at queues; memory to the tasks of the start.
///
/// # Examples
///
/// ```
/// use heist_sim::balance::{balance, Bag, Costs, Scheme};
///
/// let bag = Bag::Uneven { tasks: 1_000, grain_ns: 10_000 };
/// let outcome = balance(&bag, 8, Scheme::Steal, &Costs::default(), 1);
/// assert_eq!(outcome.tasks, 1_000);
/// assert!(outcome.over_ideal(8) >= 1.0);
/// ```
#[must_use]
pub fn balance(bag: &Bag, processors: usize, scheme: Scheme, costs: &Costs, seed: u64) -> Balanced {
    assert!(processors > 0, "tasks need one processor at least");
    assert!(costs.tick_ns > 0, "a tick needs a period");
    let mut machine = Machine::new(*bag, processors, scheme, *costs, seed);
    while let Some(Reverse((now_ns, _, event))) = machine.events.pop() {
        machine.handle(now_ns, event);
        if machine.left == 0 {
            break;
        }
    }
    machine.outcome
}

/// A moment at which something is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The processor has finished its task.
    Done(usize),
    /// The processor has no task, and looks for one.
    Looks(usize),
    /// The processor has come to these tasks.
    Has(usize),
    Tick,
}

struct Processor {
    queue: VecDeque<Task>,
    current: Option<Task>,
    /// The tasks that it is about to have.
    coming: VecDeque<Task>,
    /// Until then somebody takes from its queue.
    taken_until_ns: u64,
    /// Looks in a row that found nothing.
    vain: u32,
    /// Time that it owes for pushing.
    owed_ns: u64,
    is_idle: bool,
}

struct Machine {
    scheme: Scheme,
    costs: Costs,
    processors: Vec<Processor>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// Of equal times the first comes first.
    sequence: u64,
    central: VecDeque<Task>,
    central_until_ns: u64,
    left: u64,
    rng: Rng,
    outcome: Balanced,
}

impl Machine {
    fn new(bag: Bag, processors: usize, scheme: Scheme, costs: Costs, seed: u64) -> Self {
        let processor = |_| Processor {
            queue: VecDeque::new(),
            current: None,
            coming: VecDeque::new(),
            taken_until_ns: 0,
            vain: 0,
            owed_ns: 0,
            is_idle: false,
        };
        let mut machine = Self {
            scheme,
            costs,
            processors: (0..processors).map(processor).collect(),
            events: BinaryHeap::new(),
            sequence: 0,
            central: VecDeque::new(),
            central_until_ns: 0,
            left: bag.tasks(),
            rng: Rng::new(seed),
            outcome: Balanced {
                makespan_ns: 0,
                work_ns: 0,
                longest_ns: 0,
                tasks: 0,
                moves: 0,
                looks: 0,
            },
        };
        let start = bag.start(processors, &mut machine.rng);
        for (index, (place, task)) in start.into_iter().enumerate() {
            match scheme {
                Scheme::Central => machine.central.push_back(task),
                Scheme::Static => machine.processors[index % processors].queue.push_back(task),
                _ => machine.processors[place].queue.push_back(task),
            }
        }
        (0..processors).for_each(|index| machine.next(0, index));
        if matches!(
            scheme,
            Scheme::IdlePull | Scheme::PeriodicPull | Scheme::PeriodicPush
        ) {
            machine.at(costs.tick_ns, Event::Tick);
        }
        machine
    }

    fn at(&mut self, time_ns: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((time_ns, self.sequence, event)));
    }

    fn handle(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Done(index) => self.done(now_ns, index),
            Event::Looks(index) => self.look(now_ns, index),
            Event::Has(index) => {
                let processor = &mut self.processors[index];
                processor.vain = 0;
                let coming = std::mem::take(&mut processor.coming);
                processor.queue.extend(coming);
                self.next(now_ns, index);
            }
            Event::Tick => {
                for index in 0..self.processors.len() {
                    self.tick(now_ns, index);
                }
                self.at(now_ns + self.costs.tick_ns, Event::Tick);
            }
        }
    }

    fn done(&mut self, now_ns: u64, index: usize) {
        let task = self.processors[index].current.take();
        let task = task.expect("a processor finishes what it runs");
        let outcome = &mut self.outcome;
        outcome.tasks += 1;
        outcome.work_ns += task.ns;
        outcome.longest_ns = outcome.longest_ns.max(task.ns);
        outcome.makespan_ns = now_ns;
        self.left -= 1;
        for child in task.children(&mut self.rng) {
            match self.scheme {
                Scheme::Central => self.central.push_back(child),
                _ => self.processors[index].queue.push_back(child),
            }
        }
        if self.scheme == Scheme::Central && task.below > 0 {
            // Somebody who waits is told.
            for waiting in 0..self.processors.len() {
                if std::mem::take(&mut self.processors[waiting].is_idle) {
                    self.at(now_ns + self.costs.look_ns, Event::Looks(waiting));
                }
            }
        }
        self.next(now_ns, index);
    }

    /// The processor goes on with a task of its own, or looks for one.
    fn next(&mut self, now_ns: u64, index: usize) {
        let takes_newest = matches!(self.scheme, Scheme::Steal | Scheme::StealHalf);
        let processor = &mut self.processors[index];
        let own = match takes_newest {
            true => processor.queue.pop_back(),
            false => processor.queue.pop_front(),
        };
        let Some(task) = own else {
            return self.at(now_ns, Event::Looks(index));
        };
        let end_ns = now_ns + std::mem::take(&mut processor.owed_ns) + task.ns;
        processor.current = Some(task);
        processor.is_idle = false;
        self.at(end_ns, Event::Done(index));
    }

    fn look(&mut self, now_ns: u64, index: usize) {
        match self.scheme {
            Scheme::Steal | Scheme::StealHalf => self.ask_a_victim(now_ns, index),
            Scheme::IdlePull => self.pull(now_ns, index),
            Scheme::Central => self.take_from_all(now_ns, index),
            Scheme::PeriodicPull | Scheme::PeriodicPush | Scheme::Static => {
                self.processors[index].is_idle = true;
            }
        }
    }

    fn ask_a_victim(&mut self, now_ns: u64, index: usize) {
        let (costs, count) = (self.costs, self.processors.len());
        let Some(victim) = Victims::new(&mut self.rng, index, count).next() else {
            return;
        };
        self.outcome.looks += 1;
        let held = self.processors[victim].queue.len();
        if held == 0 {
            let thief = &mut self.processors[index];
            thief.vain += 1;
            // Nothing in some rounds: it rests.
            let rounds = thief.vain / (2 * count as u32);
            let rest_ns = costs.look_ns << rounds.min(20);
            return self.at(now_ns + rest_ns.min(costs.rest_max_ns), Event::Looks(index));
        }
        let many = match self.scheme {
            Scheme::StealHalf => held.div_ceil(2),
            _ => 1,
        };
        self.take(now_ns, index, victim, many);
    }

    /// The processor looks at all queues, and pulls half of the difference to the longest.
    fn pull(&mut self, now_ns: u64, index: usize) {
        let held = |processor: &Processor| processor.queue.len();
        let (busiest, most) = (0..self.processors.len())
            .map(|other| (other, held(&self.processors[other])))
            .max_by_key(|&(other, held)| (held, Reverse(other)))
            .expect("there is one processor at least");
        self.outcome.looks += self.processors.len() as u64;
        let looked_ns = now_ns + self.costs.look_ns * self.processors.len() as u64;
        if most == 0 {
            self.processors[index].is_idle = true;
        } else {
            self.take(looked_ns, index, busiest, most.div_ceil(2));
        }
    }

    /// The processor takes so many of the oldest tasks of another.
    fn take(&mut self, now_ns: u64, index: usize, from: usize, many: usize) {
        let costs = self.costs;
        let victim = &mut self.processors[from];
        let begins_ns = now_ns.max(victim.taken_until_ns);
        let has_ns = begins_ns + costs.take_ns + costs.more_ns * (many as u64 - 1);
        victim.taken_until_ns = has_ns;
        let taken = victim.queue.drain(..many).collect();
        let processor = &mut self.processors[index];
        processor.coming = taken;
        processor.is_idle = false;
        self.outcome.moves += many as u64;
        self.at(has_ns, Event::Has(index));
    }

    fn take_from_all(&mut self, now_ns: u64, index: usize) {
        let Some(task) = self.central.pop_front() else {
            self.processors[index].is_idle = true;
            return;
        };
        let has_ns = now_ns.max(self.central_until_ns) + self.costs.take_ns;
        self.central_until_ns = has_ns;
        self.processors[index].coming.push_back(task);
        self.at(has_ns, Event::Has(index));
    }

    fn tick(&mut self, now_ns: u64, index: usize) {
        match self.scheme {
            Scheme::IdlePull | Scheme::PeriodicPull if self.processors[index].is_idle => {
                self.pull(now_ns, index);
            }
            Scheme::PeriodicPush => self.push(now_ns, index),
            _ => (),
        }
    }

    /// A processor that has more than the mean pushes half of the difference to the shortest queue.
    fn push(&mut self, now_ns: u64, index: usize) {
        let count = self.processors.len();
        let all: usize = self.processors.iter().map(|it| it.queue.len()).sum();
        let own = self.processors[index].queue.len();
        if own <= all / count + 1 {
            return;
        }
        self.outcome.looks += count as u64;
        let to = (0..count).min_by_key(|&other| {
            let processor = &self.processors[other];
            processor.queue.len() + usize::from(processor.current.is_some())
        });
        let to = to.expect("there is one processor at least");
        let many = (own - self.processors[to].queue.len()) / 2;
        if many == 0 || to == index {
            return;
        }
        let costs = self.costs;
        let processor = &mut self.processors[index];
        processor.owed_ns +=
            costs.look_ns * count as u64 + costs.take_ns + costs.more_ns * (many as u64 - 1);
        let moved: Vec<_> = processor.queue.drain(..many).collect();
        self.outcome.moves += many as u64;
        self.processors[to].queue.extend(moved);
        if std::mem::take(&mut self.processors[to].is_idle) {
            self.next(now_ns + costs.take_ns, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bags(tasks: u64, grain_ns: u64) -> [Bag; 3] {
        [
            Bag::OnOne { tasks, grain_ns },
            Bag::Uneven { tasks, grain_ns },
            Bag::Growing { tasks, grain_ns },
        ]
    }

    #[test]
    fn each_task_runs_once_and_no_scheme_beats_the_bounds() {
        let costs = Costs::default();
        for bag in bags(500, 20_000) {
            let mut works = Vec::new();
            for scheme in Scheme::ALL {
                for processors in [1, 2, 3, 16] {
                    let outcome = balance(&bag, processors, scheme, &costs, 3);
                    assert_eq!(outcome.tasks, 500, "{bag:?} {scheme:?} {processors}");
                    assert!(outcome.over_ideal(processors) >= 1.0);
                    works.push(outcome.work_ns);
                }
            }
            works.dedup();
            assert_eq!(
                works.len(),
                1,
                "the same tasks whatever the scheme: {bag:?}"
            );
        }
    }

    #[test]
    fn alone_a_processor_takes_as_long_as_its_tasks() {
        for scheme in Scheme::ALL {
            for bag in bags(100, 1_000) {
                let outcome = balance(&bag, 1, scheme, &Costs::default(), 1);
                let paid = match scheme {
                    Scheme::Central => 100 * Costs::default().take_ns,
                    _ => 0,
                };
                assert_eq!(outcome.makespan_ns, outcome.work_ns + paid, "{scheme:?}");
            }
        }
    }

    /// One lock serves one at a time: with tasks that are shorter than that for all together, the
    /// lock is what takes the time.
    #[test]
    fn a_central_queue_is_as_slow_as_its_lock() {
        let bag = Bag::OnOne {
            tasks: 10_000,
            grain_ns: 1_000,
        };
        let costs = Costs::default();
        let outcome = balance(&bag, 64, Scheme::Central, &costs, 1);
        let lock_ns = 10_000 * costs.take_ns;
        let rest_ns = outcome.makespan_ns - lock_ns;
        assert!(rest_ns <= 1_000 + costs.take_ns, "{outcome:?}");
    }

    /// Dealt out beforehand, equal tasks of which each processor has as many are perfect.
    #[test]
    fn static_parts_of_equal_tasks_are_perfect() {
        let bag = Bag::OnOne {
            tasks: 6_400,
            grain_ns: 1_000,
        };
        let outcome = balance(&bag, 64, Scheme::Static, &Costs::default(), 1);
        assert_eq!(outcome.makespan_ns, 100_000);
        assert_eq!(outcome.moves, 0);
    }

    /// A thief begins when it has looked, whatever the time.
    #[test]
    fn a_processor_that_waits_for_a_tick_waits_for_its_period() {
        let bag = Bag::OnOne {
            tasks: 1_000,
            grain_ns: 10_000,
        };
        let costs = Costs::default();
        let periodic = balance(&bag, 16, Scheme::PeriodicPull, &costs, 1);
        assert!(periodic.makespan_ns > costs.tick_ns);
        let stolen = balance(&bag, 16, Scheme::StealHalf, &costs, 1);
        assert!(stolen.makespan_ns < costs.tick_ns / 4, "{stolen:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let bag = Bag::Growing {
            tasks: 5_000,
            grain_ns: 700,
        };
        let run = |seed| balance(&bag, 8, Scheme::Steal, &Costs::default(), seed);
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }
}
