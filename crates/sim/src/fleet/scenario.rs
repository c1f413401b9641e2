//! The mishaps that the rules are put into.

use heist_cluster::planner::{Mobility, Priority};

use super::draw::Draw;
use super::setup::{Job, Node, Setup, CPU, GIB, MIB, SECOND};

/// A fleet with a mishap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Of eight nodes one has far more than it can do.
    Hotspot,
    /// Jobs were placed by estimates that are wrong by up to four times.
    Misestimate,
    /// Of eight nodes one loses most of its speed and does not tell.
    Throttled,
    /// Many jobs arrive at one node at once.
    Burst,
    /// Of eight nodes one dies and comes back, twice; its jobs start again elsewhere.
    Failing,
    /// The jobs of one node of eight swing between much and little.
    Oscillating,
    /// All are full but one of eight, and measurements are old.
    Herd,
    /// The hottest can give nothing; the second hottest could.
    Unmovable,
    /// Of two nodes one is hot.
    Pair,
    /// As `Hotspot`, in racks of four nodes, and all jobs of the hot node have their data in its
    /// rack: elsewhere they take a quarter longer, which no rule knows.
    Affinity,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Hotspot,
        Self::Misestimate,
        Self::Throttled,
        Self::Burst,
        Self::Failing,
        Self::Oscillating,
        Self::Herd,
        Self::Unmovable,
        Self::Pair,
        Self::Affinity,
    ];

    /// The fleet: so many nodes of 8 CPUs, of which every third is a quarter faster. In more than
    /// eight the same happens to each eight of them.
    ///
    /// # Panics
    ///
    /// Panics with fewer than two nodes.
    #[must_use]
    pub fn setup(self, nodes: u32, seed: u64) -> Setup {
        assert!(nodes >= 2, "a scenario needs two nodes at least");
        let mut draw = Draw::new(seed);
        let mut setup = fleet(nodes);
        for node in 0..nodes {
            self.fill(&mut setup, node, &mut draw);
        }
        if matches!(self, Self::Herd) {
            setup.measuring.period_ns = 5 * SECOND;
            setup.measuring.delay_ns = 2 * SECOND;
        }
        setup
    }

    /// Puts a node's jobs and its mishap into the fleet.
    fn fill(self, setup: &mut Setup, node: u32, draw: &mut Draw) {
        let at = node % 8;
        let first = setup.jobs.len();
        let share = match (self, at) {
            (Self::Hotspot | Self::Affinity, 0) => 1.6,
            (Self::Hotspot | Self::Affinity, _) | (Self::Oscillating | Self::Unmovable, 2..) => 0.4,
            (Self::Misestimate, _) => 0.55,
            (Self::Throttled, _) => 0.5,
            (Self::Burst, _) => 0.35,
            (Self::Failing, _) => 0.7,
            (Self::Oscillating, 0) => 1.3,
            (Self::Oscillating, _) => 0.4,
            (Self::Herd, 0) => 0.0,
            (Self::Herd, _) => 1.0,
            (Self::Unmovable, 0) => 1.1,
            (Self::Unmovable, _) => 1.4,
            (Self::Pair, _) if node.is_multiple_of(2) => 1.3,
            (Self::Pair, _) => 0.2,
        };
        fill(setup, draw, node, share);
        let jobs = &mut setup.jobs[first..];
        let facts = &mut setup.nodes[node as usize];
        match (self, at) {
            (Self::Misestimate, _) => {
                for job in jobs {
                    let error = draw.lognormal(1.0, 0.7).clamp(0.25, 4.0);
                    job.cpus = ((job.estimate as f64 * error) as u64).max(1);
                }
            }
            (Self::Throttled, 1) => facts.throttles.push((60 * SECOND, 350)),
            (Self::Burst, 1) => {
                for _ in 0..12 {
                    let mut job = job(draw, node);
                    job.arrives_ns = (50 + draw.below(10) as u64) * SECOND;
                    setup.jobs.push(job);
                }
            }
            (Self::Failing, 1) => {
                facts.down = vec![80 * SECOND..140 * SECOND, 170 * SECOND..230 * SECOND];
            }
            (Self::Oscillating, 0) => {
                jobs.iter_mut()
                    .for_each(|job| job.swing_ns = Some(16 * SECOND));
            }
            (Self::Affinity, 0) => {
                jobs.iter_mut().for_each(|job| job.home = Some(facts.rack));
            }
            (Self::Unmovable, 0) => {
                jobs.iter_mut()
                    .for_each(|job| job.mobility = Mobility::Pinned);
            }
            _ => (),
        }
    }
}

/// Two equal nodes and a job that is said to take a tenth of one and takes four; moves take no
/// time, measurements are perfect, and after 100 decisions the job has ended.
#[must_use]
pub fn thrash() -> Setup {
    let mut node = Node::new(10 * CPU, 64 * GIB);
    node.background = 4 * CPU;
    let mut setup = Setup::new(vec![node.clone(), node]);
    setup.wobble = 0.0;
    setup.measuring.delay_ns = 0;
    setup.measuring.loss = 0.0;
    setup.moving.pause_ns = 0;
    setup.moving.cold_start_ns = 0;
    let mut job = Job::new(0, 100 * SECOND, 4 * CPU);
    job.node = Some(0);
    job.estimate = CPU;
    setup.jobs.push(job);
    setup
}

fn fleet(nodes: u32) -> Setup {
    let node = |at: u32| {
        let mut node = Node::new(8 * CPU, 64 * GIB);
        node.speed = if at % 3 == 2 { 1250 } else { 1000 };
        node.rack = at / 4;
        node.background = CPU / 5;
        node
    };
    Setup::new((0..nodes).map(node).collect())
}

/// Puts jobs on a node until their estimates make up this share of it.
fn fill(setup: &mut Setup, draw: &mut Draw, node: u32, share: f64) {
    let wanted = (share * setup.nodes[node as usize].strength() as f64) as u64;
    let mut placed = 0;
    while placed < wanted {
        let mut job = job(draw, node);
        // The last one is cut to size, so that the share is met.
        job.estimate = job.estimate.min(wanted - placed + CPU / 20);
        job.cpus = job.estimate;
        placed += job.estimate;
        setup.jobs.push(job);
    }
}

/// A job of half to two CPUs that runs for half a minute to ten, mostly about one and a half; one
/// in ten is important.
fn job(draw: &mut Draw, node: u32) -> Job {
    let cpus = (draw.real(0.5, 2.0) * CPU as f64) as u64;
    let mut job = Job::new(0, duration(draw), cpus);
    job.node = Some(node);
    job.priority = Priority(if draw.is(0.1) { 1 } else { 3 });
    job.state_bytes = (16 + draw.below(496) as u64) * MIB;
    job.memory_bytes = (1 + draw.below(4) as u64) * GIB;
    job
}

/// Lognormal about 90 s, with a Pareto tail for one job in ten.
fn duration(draw: &mut Draw) -> u64 {
    let seconds = if draw.is(0.1) {
        draw.pareto(150.0, 1.1)
    } else {
        draw.lognormal(90.0, 0.6)
    };
    (seconds.clamp(30.0, 600.0) * SECOND as f64) as u64
}
