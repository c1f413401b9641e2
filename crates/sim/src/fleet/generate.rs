//! A generator of fleets: arrivals with bursts, durations with a long tail, jobs that are DAGs, and
//! estimates that are wrong, all from one seed.

use heist_cluster::planner::{Mobility, Priority};

use super::dag::{name, Dropped, Tasks};
use super::draw::Draw;
use super::setup::{Job, Node, Setup, CPU, GIB, MIB, SECOND};

/// The parameters of the generator.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Nodes of 32 CPUs and 128 GiB, sixteen in a rack; every fourth is a quarter faster.
    pub nodes: u32,
    /// How many jobs there are.
    pub jobs: u64,
    /// The share of all CPUs that the jobs want in the mean.
    pub load: f64,
    /// The rate of arrivals swings by this share around its mean, once in an hour.
    pub swing: f64,
    /// The share of arrivals that come in bursts, of which each lasts for ten seconds.
    pub bursts: f64,
    /// The median of durations, in seconds.
    pub median_s: f64,
    /// The deviation of their logarithm.
    pub deviation: f64,
    /// The share of durations in the Pareto tail, which begins at five medians.
    pub tail: f64,
    /// The exponent of the tail.
    pub exponent: f64,
    /// The longest duration, in seconds; the end of a longer one is not known.
    pub longest_s: f64,
    /// The share of jobs with a DAG of tasks.
    pub dags: f64,
    /// The deviation of the logarithm of the factor by which estimates are wrong.
    pub error: f64,
    /// The share of jobs that must not move.
    pub pinned: f64,
    /// The share of jobs whose data is in one rack.
    pub homes: f64,
}

impl Default for Mix {
    fn default() -> Self {
        Self {
            nodes: 64,
            jobs: 10_000,
            load: 0.6,
            swing: 0.5,
            bursts: 0.1,
            median_s: 120.0,
            deviation: 1.0,
            tail: 0.05,
            exponent: 1.3,
            longest_s: 7200.0,
            dags: 0.3,
            error: 0.5,
            pinned: 0.1,
            homes: 0.0,
        }
    }
}

/// CPUs of a job, and how often there is one, in hundredths.
const SIZES: [(f64, u64); 6] = [
    (0.25, 20),
    (0.5, 25),
    (1.0, 30),
    (2.0, 15),
    (4.0, 8),
    (8.0, 2),
];

/// The nodes of a rack.
const RACK: u32 = 16;
/// The seconds of the swing of arrivals.
const SWING_S: f64 = 3600.0;
/// The seconds of a burst.
const BURST_S: f64 = 10.0;

/// A fleet that was made up.
#[derive(Debug)]
pub struct Generated {
    /// The fleet.
    pub setup: Setup,
    /// The seconds in which jobs arrive.
    pub span_s: f64,
    /// Dependencies of tasks.
    pub dependencies: u64,
    /// Dependencies that were not kept: the tasks were cut by the number of jobs.
    pub dropped: Dropped,
}

impl Mix {
    /// Makes the fleet of a seed.
    #[must_use]
    pub fn generate(&self, seed: u64) -> Generated {
        let mut draw = Draw::new(seed);
        let mut tasks = Tasks::default();
        let mut jobs = Vec::new();
        let mut groups = Vec::new();
        while (jobs.len() as u64) < self.jobs {
            groups.push(jobs.len());
            self.group(groups.len(), &mut draw, &mut tasks, &mut jobs);
        }
        jobs.truncate(usize::try_from(self.jobs).unwrap_or(usize::MAX));
        let nodes: Vec<Node> = (0..self.nodes).map(node).collect();
        let strength: f64 = nodes.iter().map(|node| node.strength() as f64).sum();
        let work = jobs
            .iter()
            .map(|job| job.cpus as f64 * job.duration_ns as f64);
        let work: f64 = work.sum();
        let span_s = work / (strength * self.load) / SECOND as f64;
        let times = self.arrivals(groups.len(), span_s, &mut draw);
        let ends = groups.iter().skip(1).copied().chain([jobs.len()]);
        for ((&first, end), time_s) in groups.iter().zip(ends).zip(times) {
            for job in &mut jobs[first.min(end)..end] {
                job.arrives_ns = (time_s * SECOND as f64) as u64;
            }
        }
        let (tied, dropped) = tasks.tied();
        let mut setup = Setup::new(nodes);
        setup.jobs = jobs;
        let dependencies = tied.iter().map(|task| task.after.len() as u64).sum();
        setup.tasks = tied;
        Generated {
            setup,
            span_s,
            dependencies,
            dropped,
        }
    }

    /// The jobs that one arrival brings: one, or the instances of the tasks of a DAG.
    fn group(&self, number: usize, draw: &mut Draw, tasks: &mut Tasks, jobs: &mut Vec<Job>) {
        if !draw.is(self.dags) {
            jobs.push(self.job(draw));
            return;
        }
        let owner = format!("j_{number}");
        let count = 2 + draw.below(7) as u32;
        for task in 1..=count {
            let after: Vec<u32> = (1..task)
                .filter(|_| draw.is(1.0 / f64::from(task)))
                .collect();
            let kind = if after.is_empty() { 'M' } else { 'R' };
            let place = tasks.add(&owner, &name(kind, task, &after));
            let like = self.job(draw);
            for _ in 0..=draw.below(3) {
                let mut job = like.clone();
                job.task = Some(place);
                jobs.push(job);
            }
        }
    }

    fn job(&self, draw: &mut Draw) -> Job {
        let least = self.median_s * 5.0;
        let seconds = if draw.is(self.tail) {
            draw.pareto(least, self.exponent)
        } else {
            draw.lognormal(self.median_s, self.deviation)
        };
        let cut = seconds.clamp(1.0, self.longest_s);
        let estimate = (size(draw) * CPU as f64) as u64;
        let error = draw.lognormal(1.0, self.error).clamp(0.25, 4.0);
        let cpus = ((estimate as f64 * error) as u64).max(1);
        let mut job = Job::new(0, (cut * SECOND as f64) as u64, cpus);
        job.estimate = estimate;
        job.is_censored = seconds > self.longest_s;
        let memory = draw.real(0.5, 3.0) * estimate as f64 / CPU as f64;
        job.memory_bytes = (memory * GIB as f64) as u64;
        job.state_bytes = (job.memory_bytes / 8).max(MIB);
        job.priority = Priority(if draw.is(0.1) { 1 } else { 3 });
        if draw.is(self.pinned) {
            job.mobility = Mobility::Pinned;
        }
        if draw.is(self.homes) {
            let racks = self.nodes.div_ceil(RACK).max(1);
            job.home = Some(draw.below(racks as usize) as u32);
        }
        job
    }

    /// So many times of arrival in order: a Poisson process whose rate swings, thinned out of a
    /// faster one, and bursts.
    fn arrivals(&self, count: usize, span_s: f64, draw: &mut Draw) -> Vec<f64> {
        let bursts = self.bursts.clamp(0.0, 1.0);
        let in_bursts = (count as f64 * bursts) as usize;
        let steady = count - in_bursts;
        let swing = self.swing.clamp(0.0, 1.0);
        let fastest = steady as f64 / span_s.max(1e-9) * (1.0 + swing);
        let mut times = Vec::with_capacity(count);
        let mut time = 0.0;
        while times.len() < steady {
            time += draw.exponential(1.0 / fastest);
            let turn = std::f64::consts::TAU * time / SWING_S;
            if draw.is((1.0 + swing * turn.sin()) / (1.0 + swing)) {
                times.push(time);
            }
        }
        let mut left = in_bursts;
        while left > 0 {
            let begin = draw.real(0.0, span_s);
            let size = left.min(5 + draw.below(46));
            times.extend((0..size).map(|_| begin + draw.real(0.0, BURST_S)));
            left -= size;
        }
        times.sort_unstable_by(f64::total_cmp);
        times
    }
}

fn node(at: u32) -> Node {
    let mut node = Node::new(32 * CPU, 128 * GIB);
    node.speed = if at % 4 == 3 { 1250 } else { 1000 };
    node.rack = at / RACK;
    node
}

fn size(draw: &mut Draw) -> f64 {
    let all: u64 = SIZES.iter().map(|(_, weight)| weight).sum();
    let mut at = draw.below(all as usize) as u64;
    for (cpus, weight) in SIZES {
        if at < weight {
            return cpus;
        }
        at -= weight;
    }
    SIZES[0].0
}
