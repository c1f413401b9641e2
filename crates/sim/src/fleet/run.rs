//! One run of a fleet under a rule, event by event.

use super::bound::{best_starts, weight};
use super::rule::Rule;
use super::setup::{Setup, SECOND};
use super::state::{Event, Place, World};
use super::view::View;

/// The jobs of a fleet in the order in which they arrive, and the tasks that hold some back.
struct Arrivals {
    order: Vec<u32>,
    next: usize,
    /// Of each task: its jobs, how many of them are left, for how many tasks it waits, and which
    /// wait for it.
    jobs_of: Vec<Vec<u32>>,
    left: Vec<usize>,
    waits: Vec<usize>,
    next_of: Vec<Vec<u32>>,
}

impl Arrivals {
    fn new(setup: &Setup) -> Self {
        let mut order: Vec<u32> = (0..setup.jobs.len() as u32).collect();
        order.sort_by_key(|&job| setup.jobs[job as usize].arrives_ns);
        let mut jobs_of = vec![Vec::new(); setup.tasks.len()];
        for (job, facts) in (0..).zip(&setup.jobs) {
            if let Some(task) = facts.task {
                jobs_of[task as usize].push(job);
            }
        }
        let mut next_of = vec![Vec::new(); setup.tasks.len()];
        for (at, task) in (0..).zip(&setup.tasks) {
            for &before in &task.after {
                next_of[before as usize].push(at);
            }
        }
        Self {
            order,
            next: 0,
            left: jobs_of.iter().map(Vec::len).collect(),
            jobs_of,
            waits: setup.tasks.iter().map(|task| task.after.len()).collect(),
            next_of,
        }
    }

    /// The jobs that arrive now, and when the next ones do.
    fn due(&mut self, setup: &Setup, now_ns: u64) -> (Vec<u32>, Option<u64>) {
        let time = |job: &u32| setup.jobs[*job as usize].arrives_ns;
        let rest = &self.order[self.next..];
        let due = rest.iter().take_while(|job| time(job) <= now_ns).count();
        let jobs = rest[..due].to_vec();
        self.next += due;
        (jobs, self.order.get(self.next).map(time))
    }

    fn is_held(&self, setup: &Setup, job: u32) -> bool {
        let task = setup.jobs[job as usize].task;
        task.is_some_and(|task| self.waits[task as usize] > 0)
    }

    /// A job of a task has ended; returns the jobs that waited for that.
    fn freed_by(&mut self, task: u32) -> Vec<u32> {
        let mut freed = Vec::new();
        self.left[task as usize] -= 1;
        let mut over = Vec::new();
        if self.left[task as usize] == 0 {
            over.push(task);
        }
        while let Some(task) = over.pop() {
            for next in self.next_of[task as usize].clone() {
                self.waits[next as usize] -= 1;
                if self.waits[next as usize] == 0 {
                    freed.extend(&self.jobs_of[next as usize]);
                    // One without jobs is over at once.
                    if self.left[next as usize] == 0 {
                        over.push(next);
                    }
                }
            }
        }
        freed
    }
}

/// Runs a fleet under a rule. The same seed gives the same outcome.
///
/// # Panics
///
/// Panics if a job names a node or a task that is not there, or a task waits for one.
///
/// # Cost
///
/// Each event costs the logarithm of the jobs on a node; each measurement and each decision of a
/// rule the nodes and the jobs that run.
#[must_use]
pub fn simulate(setup: &Setup, rule: &mut dyn Rule, seed: u64) -> super::outcome::Run {
    let best = best_starts(setup);
    let mut world = World::new(setup, &best, seed);
    let mut arrivals = Arrivals::new(setup);
    // Tasks without jobs hold nobody back.
    for task in 0..setup.tasks.len() {
        if arrivals.left[task] == 0 && arrivals.waits[task] == 0 {
            arrivals.left[task] = 1;
            arrivals.freed_by(task as u32);
        }
    }
    world.at(0, Event::Arrives);
    world.at(0, Event::Measures);
    world.at(0, Event::Decides);
    let swings = setup.jobs.iter().any(|job| job.swing_ns.is_some());
    if setup.wobble > 0.0 || swings {
        world.at(0, Event::Wobbles);
    }
    for (facts, node) in setup.nodes.iter().zip(0..) {
        for time_ns in facts.changes() {
            world.at(time_ns, Event::Changes(node));
        }
    }
    while world.left > 0 {
        let Some(event) = world.next() else { break };
        handle(&mut world, &mut arrivals, rule, event);
    }
    finish(world)
}

fn handle(world: &mut World<'_>, arrivals: &mut Arrivals, rule: &mut dyn Rule, event: Event) {
    let setup = world.setup;
    match event {
        Event::Changes(node) => {
            for job in world.changes(node) {
                rule.failed(world.now_ns, job);
            }
        }
        Event::Ends(node) => {
            // Another look may have come before, and left this one over.
            if world.nodes[node as usize].due_ns == world.now_ns {
                world.nodes[node as usize].due_ns = u64::MAX;
                end(world, arrivals, node);
            }
        }
        Event::Lands => {
            for job in world.lands() {
                rule.ended(world.now_ns, job);
            }
        }
        Event::Leaves { job, epoch } => world.leaves(job, epoch),
        Event::Wobbles => {
            world.wobble();
            let next = world.now_ns.saturating_add(setup.wobble_ns.max(1));
            world.at(next, Event::Wobbles);
        }
        Event::Arrives => {
            let (jobs, next) = arrivals.due(setup, world.now_ns);
            for job in jobs {
                if !arrivals.is_held(setup, job) {
                    arrive(world, arrivals, job);
                }
            }
            if let Some(next) = next {
                world.at(next, Event::Arrives);
            }
        }
        Event::Restarts(job) => world.settle(job, None),
        Event::Samples => world.deliver(),
        Event::Measures => {
            world.measure();
            let next = world
                .now_ns
                .saturating_add(setup.measuring.period_ns.max(1));
            world.at(next, Event::Measures);
        }
        Event::Decides => decide(world, rule),
    }
}

/// A job that nothing holds back looks for its node.
fn arrive(world: &mut World<'_>, arrivals: &mut Arrivals, job: u32) {
    let mut jobs = vec![job];
    while let Some(job) = jobs.pop() {
        let facts = world.job(job);
        if facts.arrives_ns > world.now_ns || world.live[job as usize].place != Place::Absent {
            continue;
        }
        if world.setup.can_place(facts) {
            world.settle(job, facts.node);
            continue;
        }
        world.live[job as usize].place = Place::Done;
        world.left -= 1;
        world.run.unplaced += 1;
        if let Some(task) = facts.task {
            jobs.extend(arrivals.freed_by(task));
        }
    }
}

/// The jobs of a node that have ended leave it.
fn end(world: &mut World<'_>, arrivals: &mut Arrivals, node: u32) {
    world.advance(node);
    loop {
        let live = &world.live;
        let is_live = |job: u32, epoch: u32| live[job as usize].epoch == epoch;
        let Some(job) = world.nodes[node as usize].ended(is_live) else {
            break;
        };
        world.cease(job, node);
        world.release(job, node);
        world.live[job as usize].place = Place::Done;
        world.left -= 1;
        record(world, job);
        world.serve_queue(node);
        if let Some(task) = world.job(job).task {
            for freed in arrivals.freed_by(task) {
                arrive(world, arrivals, freed);
            }
        }
    }
    world.expect_end(node);
}

/// Books the end of a job, or that it has not come.
fn record(world: &mut World<'_>, job: u32) {
    let facts = world.job(job);
    let took_ns = world
        .now_ns
        .saturating_sub(world.live[job as usize].best_ns);
    let slowdown = (took_ns as f64 / facts.duration_ns as f64).max(1.0);
    world.run.slowdowns.push(slowdown);
    world.run.slo_misses += u64::from(slowdown > world.setup.slo);
    world.run.censored += u64::from(facts.is_censored);
    let late_ns = took_ns.saturating_sub(facts.duration_ns);
    world.delay += weight(world.setup, facts) * late_ns as f64 / SECOND as f64;
}

fn decide(world: &mut World<'_>, rule: &mut dyn Rule) {
    let setup = world.setup;
    let next = world.now_ns.saturating_add(setup.decision_ns.max(1));
    world.at(next, Event::Decides);
    if world.running == 0 && world.flying.is_empty() {
        return;
    }
    world.run.decisions += 1;
    let up = world.nodes.iter().filter(|node| node.is_up);
    let (mut hottest, mut coldest) = (0.0_f64, f64::INFINITY);
    for level in up.map(super::node::NodeState::level) {
        hottest = hottest.max(level);
        coldest = coldest.min(level);
    }
    world.run.spread += (hottest - coldest).max(0.0);
    for node in 0..world.nodes.len() as u32 {
        world.advance(node);
    }
    let order = rule.decide(&View { world });
    if let Some(order) = order.filter(|order| world.accepts(order)) {
        world.depart(&order);
        rule.started(world.now_ns, order.job);
    }
}

fn finish(mut world: World<'_>) -> super::outcome::Run {
    for job in 0..world.live.len() as u32 {
        if world.live[job as usize].place != Place::Done {
            world.run.unfinished += 1;
            record(&mut world, job);
        }
    }
    let mut run = std::mem::take(&mut world.run);
    let setup = world.setup;
    let fits = setup.jobs.iter().filter(|job| setup.can_place(job));
    let work: f64 = fits.map(|job| weight(setup, job)).sum();
    run.delay_s = if work > 0.0 { world.delay / work } else { 0.0 };
    run.spread /= run.decisions.max(1) as f64;
    run.end_ns = world.now_ns;
    let mut all = 0_u128;
    for (state, facts) in world.nodes.iter_mut().zip(&setup.nodes) {
        state.advance(world.now_ns);
        run.given += state.delivered;
        let parts = u128::from(state.progress) * u128::from(facts.background);
        run.got += parts / u128::from(super::node::PART);
        all += u128::from(facts.strength()) * u128::from(world.now_ns);
    }
    run.used = run.given as f64 / all.max(1) as f64;
    run
}
