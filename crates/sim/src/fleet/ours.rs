//! Heist's planner as a rule of a simulated fleet: it is told the samples, and no more.

use std::time::Duration;

use heist_cluster::planner::{
    Config, JobId, JobSample, Move, NodeId, NodeSample, Outcome, Planner, Resources,
};

use super::rule::{Order, Rule};
use super::setup::{Setup, CPU};
use super::view::{JobView, View};

/// The planner of `heist-cluster`, with its own settings but for what follows from the fleet.
#[derive(Debug)]
pub struct Ours {
    planner: Planner,
    nodes: Vec<NodeId>,
    /// Names are made when a job is first seen.
    jobs: Vec<Option<JobId>>,
    proposed: Option<Move>,
}

impl Ours {
    /// The planner for this fleet: with its defaults, the true price of moves, and samples that
    /// count for three periods and the delay at least.
    ///
    /// # Panics
    ///
    /// Panics if the fleet's bandwidth is beyond 10^18 bytes a second.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let mut config = Config::default();
        config.bandwidth_bytes_per_s = setup.moving.bandwidth.max(1) as f64;
        config.pause = Duration::from_nanos(setup.moving.pause_ns);
        config.cold_start = Duration::from_nanos(setup.moving.cold_start_ns);
        let measuring = &setup.measuring;
        let age = measuring.period_ns.saturating_mul(3);
        let age = Duration::from_nanos(age.saturating_add(measuring.delay_ns));
        config.stale_after = config.stale_after.max(age);
        Self::with(setup, config)
    }

    /// The planner with other settings.
    ///
    /// # Panics
    ///
    /// Panics if a setting is outside of its range.
    #[must_use]
    pub fn with(setup: &Setup, config: Config) -> Self {
        let name = |node| NodeId::from(format!("n{node:07}"));
        Self {
            planner: Planner::new(config).expect("the settings are in range"),
            nodes: (0..setup.nodes.len()).map(name).collect(),
            jobs: vec![None; setup.jobs.len()],
            proposed: None,
        }
    }

    /// The move of the last decision, if it was one.
    #[must_use]
    pub fn proposed(&self) -> Option<&Move> {
        self.proposed.as_ref()
    }

    fn name(&mut self, job: u32) -> JobId {
        let name = self.jobs[job as usize].get_or_insert_with(|| format!("j{job:09}").into());
        name.clone()
    }

    fn node_sample(&self, view: &View<'_>, node: u32) -> Option<NodeSample> {
        let (at_ns, level) = view.level(node)?;
        let facts = &view.setup().nodes[node as usize];
        let capacity = Resources {
            memory_bytes: facts.memory_bytes,
            ..Resources::cpus(cpus(facts.cpus as f64))
        };
        let name = self.nodes[node as usize].clone();
        let mut sample = NodeSample::new(name, Duration::from_nanos(at_ns), capacity, level);
        sample.speed = facts.speed as f64 / 1000.0;
        Some(sample)
    }

    fn job_sample(&mut self, view: &View<'_>, seen: &JobView) -> JobSample {
        let facts = view.facts(seen.job);
        let demand = Resources {
            memory_bytes: facts.memory_bytes,
            ..Resources::cpus(cpus(facts.estimate as f64))
        };
        let at_ns = seen.used.map_or(view.now_ns(), |(at_ns, _)| at_ns);
        let node = self.nodes[seen.node as usize].clone();
        let at = Duration::from_nanos(at_ns);
        let mut sample = JobSample::new(self.name(seen.job), node, at, demand);
        sample.used_cpus = seen.used.map(|(_, used)| cpus(used));
        sample.priority = facts.priority;
        sample.mobility = facts.mobility;
        sample.state_bytes = facts.state_bytes;
        sample.running_for = Some(Duration::from_nanos(seen.done_ns));
        sample.remaining = Some(Duration::from_nanos(seen.left_ns));
        sample
    }
}

fn cpus(millionths: f64) -> f64 {
    millionths / CPU as f64
}

/// The number in a name that was made here.
fn number(name: &str) -> Option<u32> {
    name.get(1..)?.parse().ok()
}

impl Rule for Ours {
    fn decide(&mut self, view: &View<'_>) -> Option<Order> {
        let all = 0..self.nodes.len() as u32;
        let nodes: Vec<_> = all
            .filter_map(|node| self.node_sample(view, node))
            .collect();
        // The planner sorts them by name, which costs little if they are in order.
        let mut seen: Vec<JobView> = view.jobs().collect();
        seen.sort_unstable_by_key(|seen| seen.job);
        let jobs: Vec<_> = seen
            .iter()
            .map(|seen| self.job_sample(view, seen))
            .collect();
        let now = Duration::from_nanos(view.now_ns());
        self.proposed = None;
        let Outcome::Move(chosen) = self.planner.decide(now, &nodes, &jobs).outcome else {
            return None;
        };
        let (job, to) = (number(chosen.job.as_str())?, number(chosen.to.as_str())?);
        self.proposed = Some(chosen);
        Some(Order { job, to })
    }

    fn started(&mut self, now_ns: u64, _job: u32) {
        if let Some(chosen) = self.proposed.take() {
            let told = self
                .planner
                .move_started(Duration::from_nanos(now_ns), &chosen);
            debug_assert!(told.is_ok(), "the planner moves no job twice: {told:?}");
        }
    }

    fn ended(&mut self, now_ns: u64, job: u32) {
        let name = self.name(job);
        let told = self.planner.move_ended(Duration::from_nanos(now_ns), &name);
        debug_assert!(told.is_ok(), "it was told of the move: {told:?}");
    }

    fn failed(&mut self, now_ns: u64, job: u32) {
        let name = self.name(job);
        let told = self
            .planner
            .move_failed(Duration::from_nanos(now_ns), &name);
        debug_assert!(told.is_ok(), "it was told of the move: {told:?}");
    }
}
