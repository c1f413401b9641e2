//! How long the planner takes for large fleets, and how much memory: `cargo run --release
//! -p heist-cluster --example planner-speed`.

use std::io::Write as _;
use std::time::{Duration, Instant};

use heist_cluster::planner::{Config, JobSample, NodeSample, Outcome, Planner, Resources};

/// A fleet by its numbers.
struct Shape {
    name: &'static str,
    nodes: u32,
    jobs: u32,
    /// Every so-manieth node is hot.
    hot_every: u32,
    /// All jobs are on the hot nodes, and none of them fits anywhere.
    is_hopeless: bool,
}

const SHAPES: [Shape; 5] = [
    Shape {
        name: "a tenth is hot",
        nodes: 10_000,
        jobs: 1_000_000,
        hot_every: 10,
        is_hopeless: false,
    },
    Shape {
        name: "none is hot",
        nodes: 10_000,
        jobs: 1_000_000,
        hot_every: u32::MAX,
        is_hopeless: false,
    },
    Shape {
        name: "nothing fits",
        nodes: 10_000,
        jobs: 1_000_000,
        hot_every: 10,
        is_hopeless: true,
    },
    Shape {
        name: "one is hot",
        nodes: 20_001,
        jobs: 20_000,
        hot_every: 20_001,
        is_hopeless: false,
    },
    Shape {
        name: "one is hot, nothing fits",
        nodes: 20_001,
        jobs: 20_000,
        hot_every: 20_001,
        is_hopeless: true,
    },
];

impl Shape {
    fn nodes(&self, at: Duration) -> Vec<NodeSample> {
        let node = |index: u32| {
            let is_hot = index.is_multiple_of(self.hot_every) && self.hot_every < u32::MAX;
            let level = if is_hot {
                1.0
            } else {
                0.3 + f64::from(index) / 1e6
            };
            let capacity = Resources {
                memory_bytes: 64 << 30,
                ..Resources::cpus(64.0)
            };
            let mut sample = NodeSample::new(format!("node-{index:06}"), at, capacity, level);
            // Not all nodes are of a kind.
            sample.speed = 1.0 + f64::from(index % 7) / 10.0;
            sample
        };
        (0..self.nodes).map(node).collect()
    }

    fn jobs(&self, at: Duration) -> Vec<JobSample> {
        let job = |index: u32| {
            let node = if self.is_hopeless || self.hot_every == self.nodes {
                // 0 alone, or all that are hot.
                index.wrapping_mul(self.hot_every) % (self.nodes / self.hot_every * self.hot_every)
            } else {
                index % self.nodes
            };
            let cpus = 0.4 + f64::from(index % 13) / 100.0;
            let mut demand = Resources::cpus(cpus);
            demand.memory_bytes = if self.is_hopeless { 65 << 30 } else { 1 << 20 };
            let name = format!("job-{index:07}");
            let mut job = JobSample::new(name, format!("node-{node:06}"), at, demand);
            job.used_cpus = Some(cpus);
            job.running_for = Some(Duration::from_secs(600));
            job
        };
        (0..self.jobs).map(job).collect()
    }
}

/// The most memory that this process ever had, in MiB, where the system tells it.
fn peak_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    for shape in SHAPES {
        let mut planner = Planner::new(Config::default())?;
        let mut slowest = Duration::ZERO;
        let mut last = None;
        for second in 1..=4 {
            let now = Duration::from_secs(second);
            let (nodes, jobs) = (shape.nodes(now), shape.jobs(now));
            let began = Instant::now();
            let decision = planner.decide(now, &nodes, &jobs);
            slowest = slowest.max(began.elapsed());
            last = Some(decision);
        }
        let decision = last.ok_or("nothing was decided")?;
        let moves = usize::from(matches!(decision.outcome, Outcome::Move(_)));
        writeln!(
            out,
            "{:<26} {:>6} nodes {:>7} jobs: {:>7.3} s at most, {moves} moves, {} reasons; {} MiB \
             at most so far",
            shape.name,
            shape.nodes,
            shape.jobs,
            slowest.as_secs_f64(),
            decision.reasons.len(),
            peak_mib()
        )?;
    }
    Ok(())
}
