//! The fleets and mishaps that the policies are put into.

use heist_cluster::planner::{Mobility, Priority};

use super::setup::{Job, Node, Setup};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Scenario {
    /// One node has far more than it can do.
    Hotspot,
    /// Jobs were placed by estimates that are wrong by up to four times.
    Misestimate,
    /// One node loses most of its speed and does not tell.
    Throttled,
    /// Many jobs arrive at one node at once.
    Burst,
    /// One node dies and comes back, twice; its jobs start again on the next.
    Failing,
    /// The jobs of one node swing between much and little.
    Oscillating,
    /// All are full but one, and measurements are old.
    Herd,
    /// The hottest can give nothing; the second hottest could.
    Unmovable,
    /// There are only two nodes, and one is hot.
    Pair,
}

impl Scenario {
    pub(crate) const ALL: [Self; 9] = [
        Self::Hotspot,
        Self::Misestimate,
        Self::Throttled,
        Self::Burst,
        Self::Failing,
        Self::Oscillating,
        Self::Herd,
        Self::Unmovable,
        Self::Pair,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hotspot => "hotspot",
            Self::Misestimate => "misestimate",
            Self::Throttled => "throttled",
            Self::Burst => "burst",
            Self::Failing => "failing",
            Self::Oscillating => "oscillating",
            Self::Herd => "herd",
            Self::Unmovable => "unmovable",
            Self::Pair => "pair",
        }
    }

    pub(crate) fn setup(self, seed: u64) -> Setup {
        let mut random = fastrand::Rng::with_seed(seed);
        let random = &mut random;
        let mut setup = fleet(8);
        match self {
            Self::Hotspot => {
                fill(&mut setup, random, 0, 1.6);
                (1..8).for_each(|node| fill(&mut setup, random, node, 0.4));
            }
            Self::Misestimate => {
                (0..8).for_each(|node| fill(&mut setup, random, node, 0.55));
                for job in &mut setup.jobs {
                    job.cpus = job.estimate * error(random);
                }
            }
            Self::Throttled => {
                (0..8).for_each(|node| fill(&mut setup, random, node, 0.5));
                setup.nodes[3].throttled = Some((60, 0.35));
            }
            Self::Burst => {
                (0..8).for_each(|node| fill(&mut setup, random, node, 0.35));
                for _ in 0..12 {
                    let mut job = job(random, 1);
                    job.arrives = 50 + random.u32(..10);
                    setup.jobs.push(job);
                }
            }
            Self::Failing => {
                (0..8).for_each(|node| fill(&mut setup, random, node, 0.7));
                setup.nodes[2].down = vec![80..140, 170..230];
            }
            Self::Oscillating => {
                fill(&mut setup, random, 0, 1.3);
                for job in &mut setup.jobs {
                    job.swing = Some(16);
                }
                (1..8).for_each(|node| fill(&mut setup, random, node, 0.4));
            }
            Self::Herd => {
                (1..8).for_each(|node| fill(&mut setup, random, node, 1.0));
                setup.sample_period = 5;
                setup.sample_delay = 2;
            }
            Self::Unmovable => {
                fill(&mut setup, random, 0, 1.1);
                for job in &mut setup.jobs {
                    job.mobility = Mobility::Pinned;
                }
                fill(&mut setup, random, 1, 1.4);
                (2..8).for_each(|node| fill(&mut setup, random, node, 0.4));
            }
            Self::Pair => {
                setup.nodes.truncate(2);
                fill(&mut setup, random, 0, 1.3);
                fill(&mut setup, random, 1, 0.2);
            }
        }
        setup
    }
}

/// Two equal nodes and a job that is said to take a tenth of one and takes four; moves take
/// no time and measurements are perfect.
pub(crate) fn thrash() -> Setup {
    let mut setup = fleet(2);
    setup.ticks = 100;
    setup.noise = 0.0;
    setup.sample_delay = 0;
    setup.sample_loss = 0.0;
    setup.pause = 0.0;
    setup.cold_start = 0.0;
    for node in &mut setup.nodes {
        node.cpus = 10.0;
        node.background = 4.0;
    }
    setup.jobs.push(Job {
        node: 0,
        arrives: 0,
        duration: 1e6,
        cpus: 4.0,
        estimate: 1.0,
        swing: None,
        priority: Priority(3),
        mobility: Mobility::Movable,
        state_bytes: 0,
        memory_bytes: 0,
    });
    setup
}

/// Nodes of 8 CPUs, every third a quarter faster; measured each second, a second late, one
/// sample in twenty lost.
fn fleet(nodes: usize) -> Setup {
    let node = |index: usize| Node {
        cpus: 8.0,
        memory_bytes: 64 << 30,
        speed: if index % 3 == 2 { 1.25 } else { 1.0 },
        background: 0.2,
        throttled: None,
        down: Vec::new(),
    };
    Setup {
        nodes: (0..nodes).map(node).collect(),
        jobs: Vec::new(),
        ticks: 900,
        noise: 0.3,
        utilisation_max: f64::INFINITY,
        sample_period: 1,
        sample_delay: 1,
        sample_loss: 0.05,
        pause: 0.5,
        cold_start: 1.0,
        bandwidth: 200.0 * 1024.0 * 1024.0,
    }
}

/// Puts jobs on a node until their estimates make up this share of it.
fn fill(setup: &mut Setup, random: &mut fastrand::Rng, node: usize, share: f64) {
    let wanted = share * setup.nodes[node].cpus * setup.nodes[node].speed;
    let mut placed = 0.0;
    while placed < wanted {
        let mut job = job(random, node);
        // The last one is cut to size, so that the share is met.
        job.estimate = job.estimate.min(wanted - placed + 0.05);
        job.cpus = job.estimate;
        placed += job.estimate;
        setup.jobs.push(job);
    }
}

/// A job of half to two CPUs that runs for half a minute to ten, mostly about one and a half;
/// one in ten is important.
fn job(random: &mut fastrand::Rng, node: usize) -> Job {
    let cpus = 0.5 + 1.5 * random.f64();
    Job {
        node,
        arrives: 0,
        duration: duration(random),
        cpus,
        estimate: cpus,
        swing: None,
        priority: Priority(if random.u32(..10) == 0 { 1 } else { 3 }),
        mobility: Mobility::Movable,
        state_bytes: random.u64(16..512) << 20,
        memory_bytes: random.u64(1..5) << 30,
    }
}

/// Lognormal about 90 ticks, with a Pareto tail for one job in ten.
fn duration(random: &mut fastrand::Rng) -> f64 {
    let ticks = if random.u32(..10) == 0 {
        150.0 / (1.0 - random.f64()).powf(1.0 / 1.1)
    } else {
        90.0 * (0.6 * normal(random)).exp()
    };
    ticks.clamp(30.0, 600.0).round()
}

/// A factor of 1/4 to 4, lognormal about 1.
fn error(random: &mut fastrand::Rng) -> f64 {
    (0.7 * normal(random)).exp().clamp(0.25, 4.0)
}

/// A normal number, by Box and Muller.
fn normal(random: &mut fastrand::Rng) -> f64 {
    // 1 - f64 is never 0.
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}
