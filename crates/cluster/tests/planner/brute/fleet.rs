//! A small random fleet with its truth: what each job wants, whatever is measured of it.

use std::time::Duration;

use heist_cluster::planner::{JobSample, Mobility, NodeSample, Priority, Resources};

/// How much a measurement is off at most, where it is noisy.
const NOISE: f64 = 0.25;

/// The least that a job is said to need, as a share of what it wants.
const ASKED_MIN: f64 = 0.75;

/// How the levels of nodes are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The CPUs in use, as the system counts them.
    Capped,
    /// And what waits for them.
    Uncapped,
    /// In use, and each job now wants more and now less.
    NoisyCapped,
    /// And what waits, with the same noise.
    NoisyUncapped,
}

impl Measure {
    fn noise(self) -> f64 {
        match self {
            Self::Capped | Self::Uncapped => 0.0,
            Self::NoisyCapped | Self::NoisyUncapped => NOISE,
        }
    }

    fn is_capped(self) -> bool {
        matches!(self, Self::Capped | Self::NoisyCapped)
    }
}

pub(super) struct Node {
    pub(super) cpus: f64,
    pub(super) speed: f64,
    /// 0 if nobody knows.
    pub(super) memory_bytes: u64,
    /// CPUs of speed 1 that are used by what is no job.
    pub(super) background: f64,
}

impl Node {
    pub(super) fn strength(&self) -> f64 {
        self.cpus * self.speed
    }
}

pub(super) struct Job {
    /// CPUs of speed 1 that it would use if it had a machine for itself.
    pub(super) wants: f64,
    pub(super) estimate: f64,
    pub(super) memory_bytes: u64,
    pub(super) state_bytes: u64,
    pub(super) mobility: Mobility,
    pub(super) priority: Priority,
    pub(super) running_for: Duration,
    pub(super) remaining: Option<Duration>,
    /// Where it is, or is leaving.
    pub(super) node: usize,
    /// Where it goes, and in how many seconds it is there.
    pub(super) flight: Option<(usize, u32)>,
    pub(super) been: Vec<usize>,
}

pub(super) struct Fleet {
    pub(super) nodes: Vec<Node>,
    pub(super) jobs: Vec<Job>,
    measure: Measure,
    random: fastrand::Rng,
}

/// A number between these.
fn between(random: &mut fastrand::Rng, least: f64, most: f64) -> f64 {
    least + random.f64() * (most - least)
}

impl Fleet {
    pub(super) fn new(seed: u64, measure: Measure) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let random = &mut random;
        let count = random.usize(2..=5);
        let nodes = (0..count).map(|_| node(random)).collect::<Vec<_>>();
        let jobs = (0..random.usize(1..=8)).map(|_| job(random, &nodes));
        Self {
            jobs: jobs.collect(),
            nodes,
            measure,
            random: random.fork(),
        }
    }

    /// CPUs of speed 1 that the node would use, with what is on its way there.
    pub(super) fn load(&self, node: usize) -> f64 {
        let is_there = |job: &&Job| job.flight.map_or(job.node, |(to, _)| to) == node;
        let jobs = self.jobs.iter().filter(is_there).map(|job| job.wants);
        jobs.sum::<f64>() + self.nodes[node].background
    }

    /// The same as a share of the node.
    pub(super) fn level(&self, node: usize) -> f64 {
        self.load(node) / self.nodes[node].strength()
    }

    /// Memory of the jobs that are there, on their way there or leaving.
    pub(super) fn memory_bytes(&self, node: usize) -> u64 {
        let goes_there = |job: &Job| job.flight.is_some_and(|(to, _)| to == node);
        let jobs = self.jobs.iter();
        jobs.filter(|job| job.node == node || goes_there(job))
            .map(|job| job.memory_bytes)
            .sum()
    }

    /// By which factor the two ends of this move may differ from what can be known of them: by the
    /// noise at both; and by what jobs were said to need, where that is too little and the use of
    /// a full node says no more.
    pub(super) fn doubt(&self, job: usize, to: usize) -> f64 {
        let noise = self.measure.noise();
        let arrives = |other: &Job| other.flight.is_some_and(|(there, _)| there == to);
        let mut moving = self.jobs.iter().enumerate();
        let is_underrated = self.measure.is_capped()
            && moving.any(|(index, other)| {
                (index == job || arrives(other)) && other.estimate < other.wants
            });
        let asked = if is_underrated { ASKED_MIN } else { 1.0 };
        (1.0 + noise) / (1.0 - noise) / asked
    }

    /// Measures nodes and jobs, a second later.
    pub(super) fn measured(&mut self, now: Duration) -> (Vec<NodeSample>, Vec<JobSample>) {
        let noise = self.measure.noise();
        let wishes: Vec<f64> = (self.jobs.iter())
            .map(|job| job.wants * between(&mut self.random, 1.0 - noise, 1.0 + noise))
            .collect();
        let mut nodes = Vec::new();
        let mut shares = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let runs = |(job, _): &(&Job, &f64)| job.node == index && job.flight.is_none();
            let running = self.jobs.iter().zip(&wishes).filter(runs);
            let wanted: f64 = running.map(|(_, wish)| wish).sum();
            let level = (wanted + node.background) / node.strength();
            shares.push(1.0 / level.max(1.0));
            let said = match self.measure.is_capped() {
                true => level.min(1.0),
                false => level,
            };
            let capacity = Resources {
                memory_bytes: node.memory_bytes,
                ..Resources::cpus(node.cpus)
            };
            let mut sample = NodeSample::new(format!("n{index}"), now, capacity, said);
            sample.speed = node.speed;
            nodes.push(sample);
        }
        let sample = |(index, job): (usize, &Job)| {
            let demand = Resources {
                memory_bytes: job.memory_bytes,
                ..Resources::cpus(job.estimate)
            };
            let home = format!("n{}", job.node);
            let mut sample = JobSample::new(format!("j{index}"), home, now, demand);
            let used = wishes[index] * shares[job.node] / self.nodes[job.node].speed;
            sample.used_cpus = job.flight.is_none().then_some(used);
            sample.state_bytes = job.state_bytes;
            sample.mobility = job.mobility;
            sample.priority = job.priority;
            sample.running_for = Some(job.running_for + now);
            sample.remaining = job.remaining.map(|left| left.saturating_sub(now));
            sample
        };
        (nodes, self.jobs.iter().enumerate().map(sample).collect())
    }

    /// A second of all flights. Returns the jobs that arrived.
    pub(super) fn fly(&mut self) -> Vec<usize> {
        let mut arrived = Vec::new();
        for (index, job) in self.jobs.iter_mut().enumerate() {
            match &mut job.flight {
                Some((to, 0)) => {
                    job.node = *to;
                    job.been.push(*to);
                    job.flight = None;
                    arrived.push(index);
                }
                Some((_, left)) => *left -= 1,
                None => {}
            }
        }
        arrived
    }
}

fn node(random: &mut fastrand::Rng) -> Node {
    let cpus = [2.0, 4.0, 8.0, 16.0][random.usize(..4)];
    let is_equal = random.u32(..3) > 0;
    let speed = if is_equal {
        1.0
    } else {
        between(random, 0.5, 2.0)
    };
    Node {
        cpus,
        speed,
        memory_bytes: [0, 32 << 30, 64 << 30][random.usize(..3)],
        background: cpus * speed * between(random, 0.0, 0.2),
    }
}

/// A job on some node, most often the first, that wants up to seven tenths of it.
fn job(random: &mut fastrand::Rng, nodes: &[Node]) -> Job {
    let node = if random.bool() {
        0
    } else {
        random.usize(..nodes.len())
    };
    let wants = nodes[node].strength() * between(random, 0.03, 0.7);
    let is_free = random.u32(..5) > 0;
    let bound = [
        Mobility::Pinned,
        Mobility::Ordered,
        Mobility::WarmState,
        Mobility::LatencyCritical,
    ];
    // Many ask for more than they need, and some for less.
    let asked = [
        1.0,
        between(random, ASKED_MIN, 1.25),
        between(random, 1.0, 2.0),
    ];
    Job {
        wants,
        estimate: wants * asked[random.usize(..3)],
        memory_bytes: random.u64(..12) << 30,
        state_bytes: random.u64(..64 << 20),
        mobility: if is_free {
            Mobility::Movable
        } else {
            bound[random.usize(..4)]
        },
        priority: Priority([1, 2, 2, 2, 3][random.usize(..5)]),
        running_for: Duration::from_secs(random.u64(..3600)),
        remaining: random
            .bool()
            .then(|| Duration::from_secs(random.u64(10..7200))),
        node,
        flight: None,
        been: vec![node],
    }
}
