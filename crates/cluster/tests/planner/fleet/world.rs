//! The simulated fleet: processor sharing on each node, delayed and lossy measurements,
//! moves that pause, transfer and start cold.

use super::policy::{Kind, Order};
use super::setup::{JobView, Run, Setup, View};

#[derive(Clone, Debug, PartialEq)]
enum State {
    Absent,
    Running,
    Flying {
        to: usize,
        pause: f64,
        bytes: f64,
    },
    /// The node died; it starts somewhere else at this tick.
    Lost {
        until: u32,
    },
    Done,
}

struct Live {
    state: State,
    node: usize,
    progress: f64,
    /// Ticks that it still runs at half speed.
    cold: f64,
    been: Vec<usize>,
    used: Option<(u32, f64)>,
}

struct Measured {
    tick: u32,
    node: usize,
    utilisation: f64,
    used: Vec<(usize, f64)>,
}

struct World<'a> {
    setup: &'a Setup,
    seed: u64,
    live: Vec<Live>,
    nodes: Vec<Option<(u32, f64)>>,
    under_way: Vec<Measured>,
    run: Run,
}

/// How long a job waits for its restart after its node died.
const RESTART_TICKS: u32 = 10;
/// How many ticks lie between two checkpoints.
const CHECKPOINT_TICKS: f64 = 10.0;

/// Runs the fleet under this policy.
pub(crate) fn run(setup: &Setup, kind: Kind, seed: u64) -> Run {
    let live = setup.jobs.iter().map(|job| Live {
        state: State::Absent,
        node: job.node,
        progress: 0.0,
        cold: 0.0,
        been: vec![job.node],
        used: None,
    });
    let mut world = World {
        setup,
        seed,
        live: live.collect(),
        nodes: vec![None; setup.nodes.len()],
        under_way: Vec::new(),
        run: Run::default(),
    };
    let mut policy = kind.policy(setup, seed);
    let mut ticks = 0;
    let is_done = |live: &Live| live.state == State::Done;
    while ticks < setup.ticks && !world.live.iter().all(is_done) {
        let tick = ticks;
        ticks += 1;
        world.arrive(tick);
        for job in world.fail(tick) {
            policy.failed(tick, job);
        }
        world.compute(tick);
        for job in world.transfer() {
            policy.ended(tick, job);
        }
        world.deliver(tick);
        let order = policy.decide(&world.view(tick));
        if let Some(order) = order.filter(|order| world.accepts(order, tick)) {
            world.start(&order, tick);
            policy.started(tick, order.job);
            // A move that takes no time is over at once.
            if world.setup.pause == 0.0 {
                for job in world.transfer() {
                    policy.ended(tick, job);
                }
            }
        }
    }
    world.finish(ticks)
}

impl World<'_> {
    fn is_up(&self, node: usize, tick: u32) -> bool {
        let down = &self.setup.nodes[node].down;
        !down.iter().any(|range| range.contains(&tick))
    }

    fn random(&self, what: u64, which: usize, tick: u32) -> fastrand::Rng {
        let key = (what << 56) ^ ((which as u64) << 32) ^ u64::from(tick);
        fastrand::Rng::with_seed(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ key)
    }

    /// The job's demand without noise, in CPUs of speed 1.
    fn wish(&self, job: usize, tick: u32) -> f64 {
        let job = &self.setup.jobs[job];
        match job.swing {
            Some(period) if tick % period >= period / 2 => job.cpus * 0.1,
            _ => job.cpus,
        }
    }

    /// The CPUs of speed 1 that the node really has.
    fn strength(&self, node: usize, tick: u32) -> f64 {
        let node = &self.setup.nodes[node];
        let throttle = match node.throttled {
            Some((from, share)) if tick >= from => share,
            _ => 1.0,
        };
        node.cpus * node.speed * throttle
    }

    fn running(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let is_there = move |live: &Live| live.state == State::Running && live.node == node;
        let all = self.live.iter().enumerate();
        all.filter(move |(_, live)| is_there(live))
            .map(|(job, _)| job)
    }

    /// The true level of a node, with what is on its way there.
    fn level(&self, node: usize, tick: u32) -> f64 {
        let arriving = self
            .live
            .iter()
            .enumerate()
            .filter(|(_, live)| matches!(live.state, State::Flying { to, .. } if to == node));
        let jobs = self.running(node).chain(arriving.map(|(job, _)| job));
        let wishes: f64 = jobs.map(|job| self.wish(job, tick)).sum();
        (wishes + self.setup.nodes[node].background) / self.strength(node, tick)
    }

    fn arrive(&mut self, tick: u32) {
        for job in 0..self.live.len() {
            let arrived =
                self.live[job].state == State::Absent && self.setup.jobs[job].arrives <= tick;
            let restarts = matches!(self.live[job].state, State::Lost { until } if until <= tick);
            if restarts || (arrived && !self.is_up(self.live[job].node, tick)) {
                self.live[job].node = self.replica(self.live[job].node, tick);
            }
            if restarts || arrived {
                self.live[job].state = State::Running;
            }
        }
    }

    /// Where the checkpoints of a node's jobs lie: on the next node that lives.
    fn replica(&self, node: usize, tick: u32) -> usize {
        let all = self.setup.nodes.len();
        let mut next = (1..all).map(|step| (node + step) % all);
        next.find(|&node| self.is_up(node, tick))
            .expect("some node is up")
    }

    /// Takes the jobs of dead nodes away; says whose moves failed with that.
    fn fail(&mut self, tick: u32) -> Vec<usize> {
        let mut failed = Vec::new();
        for job in 0..self.live.len() {
            let (node, to) = match self.live[job].state {
                State::Running => (self.live[job].node, None),
                State::Flying { to, .. } => (self.live[job].node, Some(to)),
                _ => continue,
            };
            let is_hit = !self.is_up(node, tick) || to.is_some_and(|to| !self.is_up(to, tick));
            if is_hit {
                failed.extend(to.map(|_| job));
                let live = &mut self.live[job];
                live.state = State::Lost {
                    until: tick + RESTART_TICKS,
                };
                live.progress = (live.progress / CHECKPOINT_TICKS).floor() * CHECKPOINT_TICKS;
                live.used = None;
            }
        }
        failed
    }

    /// One tick of work, and its measurement.
    fn compute(&mut self, tick: u32) {
        let (mut hottest, mut coldest) = (0.0_f64, f64::INFINITY);
        for node in 0..self.setup.nodes.len() {
            if !self.is_up(node, tick) {
                continue;
            }
            let strength = self.strength(node, tick);
            let wish = |job: usize| {
                let noise = self.setup.noise * (2.0 * self.random(1, job, tick).f64() - 1.0);
                (job, self.wish(job, tick) * (1.0 + noise))
            };
            let wishes: Vec<(usize, f64)> = self.running(node).map(wish).collect();
            let all = wishes.iter().map(|(_, wish)| wish).sum::<f64>()
                + self.setup.nodes[node].background;
            let level = all / strength;
            hottest = hottest.max(level);
            coldest = coldest.min(level);
            let share = (1.0 / level).min(1.0);
            let cpus = self.setup.nodes[node].cpus;
            let is_sampled = tick.is_multiple_of(self.setup.sample_period)
                && self.random(2, node, tick).f64() >= self.setup.sample_loss;
            if is_sampled {
                // CPUs are counted in those of the node, as it is now.
                let used = |&(job, wish): &(usize, f64)| (job, wish * share * cpus / strength);
                self.under_way.push(Measured {
                    tick,
                    node,
                    utilisation: level.min(self.setup.utilisation_max),
                    used: wishes.iter().map(used).collect(),
                });
            }
            for (job, _) in wishes {
                let before = self.live[job].progress;
                self.live[job].advance(share);
                let done = self.live[job].progress - before;
                let left = self.setup.jobs[job].duration - before;
                if done >= left {
                    self.live[job].state = State::Done;
                    self.record(job, f64::from(tick) + left / done);
                }
            }
        }
        self.run.spread += (hottest - coldest).max(0.0);
    }

    fn record(&mut self, job: usize, end: f64) {
        let facts = &self.setup.jobs[job];
        let slowdown = (end - f64::from(facts.arrives)) / facts.duration;
        self.run.slowdowns.push(slowdown.max(1.0));
    }

    /// One tick of all transfers; says who arrived.
    fn transfer(&mut self) -> Vec<usize> {
        let flying = |live: &&Live| matches!(live.state, State::Flying { .. });
        let sharing = self.live.iter().filter(flying).count();
        let part = self.setup.bandwidth / sharing.max(1) as f64;
        let mut arrived = Vec::new();
        for (job, live) in self.live.iter_mut().enumerate() {
            let State::Flying { to, pause, bytes } = &mut live.state else {
                continue;
            };
            let waited = pause.min(1.0);
            *pause -= waited;
            *bytes -= part * (1.0 - waited);
            if *pause <= 0.0 && *bytes <= 0.0 {
                live.node = *to;
                live.been.push(*to);
                live.state = State::Running;
                live.cold = 2.0 * self.setup.cold_start;
                arrived.push(job);
            } else {
                self.run.paused_ticks += 1;
            }
        }
        arrived
    }

    fn deliver(&mut self, tick: u32) {
        let due = |measured: &Measured| measured.tick + self.setup.sample_delay <= tick;
        let (due, later) = std::mem::take(&mut self.under_way)
            .into_iter()
            .partition(due);
        self.under_way = later;
        let due: Vec<Measured> = due;
        for measured in due {
            self.nodes[measured.node] = Some((measured.tick, measured.utilisation));
            for (job, used) in measured.used {
                self.live[job].used = Some((measured.tick, used));
            }
        }
    }

    fn view(&self, tick: u32) -> View<'_> {
        let mut jobs = Vec::new();
        for (job, live) in self.live.iter().enumerate() {
            let is_in_flight = matches!(live.state, State::Flying { .. });
            if is_in_flight || live.state == State::Running {
                jobs.push(JobView {
                    job,
                    node: live.node,
                    is_in_flight,
                    used: live.used,
                    progress: self.progress(job),
                });
            }
        }
        View {
            tick,
            setup: self.setup,
            nodes: self.nodes.clone(),
            jobs,
        }
    }

    /// The progress that the job reports, which is up to a third wrong.
    fn progress(&self, job: usize) -> (f64, f64) {
        let error = 0.75 + self.random(3, job, 0).f64() * (4.0 / 3.0 - 0.75);
        let left = self.setup.jobs[job].duration - self.live[job].progress;
        (self.live[job].progress, left.max(0.0) * error)
    }

    /// Whether the backend can do it: the target lives and has the memory.
    fn accepts(&self, order: &Order, tick: u32) -> bool {
        let live = &self.live[order.job];
        let holds = |live: &Live| match live.state {
            State::Running => live.node == order.to,
            State::Flying { to, .. } => live.node == order.to || to == order.to,
            _ => false,
        };
        let there = self.live.iter().zip(&self.setup.jobs);
        let held: u64 = there
            .filter(|(live, _)| holds(live))
            .map(|(_, job)| job.memory_bytes)
            .sum();
        live.state == State::Running
            && live.node != order.to
            && self.is_up(order.to, tick)
            && held + self.setup.jobs[order.job].memory_bytes
                <= self.setup.nodes[order.to].memory_bytes
    }

    fn start(&mut self, order: &Order, tick: u32) {
        let facts = &self.setup.jobs[order.job];
        let live = &mut self.live[order.job];
        let from = live.node;
        self.run.moves += 1;
        self.run.returns += usize::from(live.been.contains(&order.to));
        self.run.bytes += facts.state_bytes;
        live.state = State::Flying {
            to: order.to,
            pause: self.setup.pause,
            bytes: facts.state_bytes as f64,
        };
        let share = self.wish(order.job, tick) / self.strength(from, tick);
        let after = self.level(from, tick);
        let end = self.level(order.to, tick);
        self.run.above_before += usize::from(end > after + share + 1e-9);
        self.run.above_after += usize::from(end > after + 1e-9);
    }

    fn finish(mut self, ticks: u32) -> Run {
        for job in 0..self.live.len() {
            if self.live[job].state != State::Done {
                self.run.censored += 1;
                self.record(job, ticks.into());
            }
        }
        self.run.spread /= f64::from(ticks);
        self.run
    }
}

impl Live {
    fn advance(&mut self, share: f64) {
        let half = self.cold.min(1.0);
        self.cold -= half;
        self.progress += share * (1.0 - half / 2.0);
    }
}
