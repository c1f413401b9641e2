//! The planner as a policy of the simulated fleet, and the simpler rules beside it.

use std::time::Duration;

use heist_cluster::planner::{
    Config, JobId, JobSample, Mobility, Move, NodeSample, Outcome, Planner, Resources,
};

use super::setup::{JobView, Setup, View};

/// A move that a policy wants.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) job: usize,
    pub(crate) to: usize,
}

pub(crate) trait Policy {
    fn decide(&mut self, view: &View<'_>) -> Option<Order>;
    fn started(&mut self, _tick: u32, _job: usize) {}
    fn ended(&mut self, _tick: u32, _job: usize) {}
    fn failed(&mut self, _tick: u32, _job: usize) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Never,
    /// The rule that is often taught: hottest to coldest, cheapest job, by estimates.
    Source,
    /// Each hot node pushes its cheapest job to the coldest node.
    Push,
    /// The coldest node, if idle, pulls the largest job from the hottest.
    Pull,
    Random,
    Planner,
    /// The planner, but a node is hot only above the mean and two deviations.
    Deviation,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Never,
        Self::Source,
        Self::Push,
        Self::Pull,
        Self::Random,
        Self::Planner,
        Self::Deviation,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Source => "source",
            Self::Push => "push",
            Self::Pull => "pull",
            Self::Random => "random",
            Self::Planner => "PLANNER",
            Self::Deviation => "mean+MAD",
        }
    }

    pub(crate) fn policy(self, setup: &Setup, seed: u64) -> Box<dyn Policy> {
        match self {
            Self::Never => Box::new(Rule(|_| None)),
            Self::Source => Box::new(Rule(source)),
            Self::Push => Box::new(Rule(push)),
            Self::Pull => Box::new(Rule(pull)),
            Self::Random => Box::new(Random(fastrand::Rng::with_seed(seed))),
            Self::Planner => Box::new(Planned::new(setup, false)),
            Self::Deviation => Box::new(Planned::new(setup, true)),
        }
    }
}

/// A rule without memory.
struct Rule(fn(&View<'_>) -> Option<Order>);

impl Policy for Rule {
    fn decide(&mut self, view: &View<'_>) -> Option<Order> {
        (self.0)(view)
    }
}

/// The nodes that were ever measured, with their last utilisation, the coldest first.
fn by_level(view: &View<'_>) -> Vec<(usize, f64)> {
    let measured = view.nodes.iter().enumerate();
    let mut levels: Vec<(usize, f64)> = measured
        .filter_map(|(node, seen)| seen.map(|(_, level)| (node, level)))
        .collect();
    levels.sort_by(|a, b| a.1.total_cmp(&b.1));
    levels
}

/// The jobs of a node that may be moved.
fn movable<'v>(view: &'v View<'_>, node: usize) -> impl Iterator<Item = &'v JobView> + 'v {
    view.jobs.iter().filter(move |seen| {
        let job = &view.setup.jobs[seen.job];
        let is_free = job.mobility == Mobility::Movable && !job.priority.is_protected();
        seen.node == node && !seen.is_in_flight && is_free
    })
}

fn cheapest(view: &View<'_>, node: usize) -> Option<usize> {
    let jobs = movable(view, node).map(|seen| seen.job);
    jobs.min_by_key(|&job| view.setup.jobs[job].state_bytes)
}

fn source(view: &View<'_>) -> Option<Order> {
    let levels = by_level(view);
    let (&(to, coldest), &(from, hottest)) = (levels.first()?, levels.last()?);
    if hottest - coldest < 0.3 {
        return None;
    }
    let job = cheapest(view, from)?;
    let size = view.setup.jobs[job].estimate / view.setup.nodes[from].cpus;
    (coldest + size <= hottest - size).then_some(Order { job, to })
}

fn push(view: &View<'_>) -> Option<Order> {
    let levels = by_level(view);
    let &(to, coldest) = levels.first()?;
    let is_hot = |&&(_, level): &&(usize, f64)| level > 0.8 && coldest < 0.8;
    let hot = levels.iter().filter(is_hot);
    // The first by number, as each would act for itself.
    let mut hot: Vec<usize> = hot.map(|&(node, _)| node).collect();
    hot.sort_unstable();
    let job = hot.into_iter().find_map(|node| cheapest(view, node))?;
    Some(Order { job, to })
}

fn pull(view: &View<'_>) -> Option<Order> {
    let levels = by_level(view);
    let (&(to, coldest), &(from, hottest)) = (levels.first()?, levels.last()?);
    if coldest > 0.5 || hottest < 0.8 {
        return None;
    }
    let estimate = |job: &usize| view.setup.jobs[*job].estimate;
    let jobs = movable(view, from).map(|seen| seen.job);
    let job = jobs.max_by(|a, b| estimate(a).total_cmp(&estimate(b)))?;
    Some(Order { job, to })
}

/// Once in ten ticks any job goes anywhere.
struct Random(fastrand::Rng);

impl Policy for Random {
    fn decide(&mut self, view: &View<'_>) -> Option<Order> {
        let nodes = view.setup.nodes.len();
        let (from, to) = (self.0.usize(..nodes), self.0.usize(..nodes));
        let jobs: Vec<usize> = movable(view, from).map(|seen| seen.job).collect();
        if self.0.u32(..10) > 0 || jobs.is_empty() {
            return None;
        }
        let job = jobs[self.0.usize(..jobs.len())];
        Some(Order { job, to })
    }
}

/// The planner, told what the view shows.
struct Planned {
    planner: Planner,
    proposed: Option<Move>,
    needs_deviation: bool,
}

impl Planned {
    fn new(setup: &Setup, needs_deviation: bool) -> Self {
        let mut config = Config::default();
        config.bandwidth_bytes_per_s = setup.bandwidth;
        // A move takes whole ticks, half of one more than it needs in the mean.
        config.pause = Duration::from_secs_f64(setup.pause + 0.5);
        config.cold_start = Duration::from_secs_f64(setup.cold_start);
        Self {
            planner: Planner::new(config).expect("the settings are in range"),
            proposed: None,
            needs_deviation,
        }
    }
}

fn time(tick: u32) -> Duration {
    Duration::from_secs(tick.into())
}

fn id(job: usize) -> JobId {
    JobId::from(format!("j{job}"))
}

impl Policy for Planned {
    fn decide(&mut self, view: &View<'_>) -> Option<Order> {
        let sample = |(node, seen): (usize, &Option<(u32, f64)>)| {
            let (at, level) = (*seen)?;
            let facts = &view.setup.nodes[node];
            let capacity = Resources {
                memory_bytes: facts.memory_bytes,
                ..Resources::cpus(facts.cpus)
            };
            let mut sample = NodeSample::new(format!("n{node}"), time(at), capacity, level);
            sample.speed = facts.speed;
            Some(sample)
        };
        let nodes: Vec<_> = view.nodes.iter().enumerate().filter_map(sample).collect();
        let job = |seen: &JobView| {
            let facts = &view.setup.jobs[seen.job];
            let demand = Resources {
                memory_bytes: facts.memory_bytes,
                ..Resources::cpus(facts.estimate)
            };
            let at = seen.used.map_or(view.tick, |(at, _)| at);
            let node = format!("n{}", seen.node);
            let mut sample = JobSample::new(id(seen.job), node, time(at), demand);
            sample.used_cpus = seen.used.map(|(_, cpus)| cpus);
            sample.priority = facts.priority;
            sample.mobility = facts.mobility;
            sample.state_bytes = facts.state_bytes;
            let (done, left) = seen.progress;
            sample.running_for = Some(Duration::from_secs_f64(done));
            sample.remaining = Some(Duration::from_secs_f64(left));
            sample
        };
        let jobs: Vec<_> = view.jobs.iter().map(job).collect();
        let decision = self.planner.decide(time(view.tick), &nodes, &jobs);
        let Outcome::Move(chosen) = decision.outcome else {
            return None;
        };
        if self.needs_deviation && !deviates(view, &chosen) {
            return None;
        }
        assert!(
            chosen.to_level_after <= chosen.from_level_after,
            "a target ends above the level that the source is left at: {chosen}"
        );
        let number = |name: &str| name[1..].parse().expect("a letter and a number");
        let order = Order {
            job: number(chosen.job.as_str()),
            to: number(chosen.to.as_str()),
        };
        self.proposed = Some(chosen);
        Some(order)
    }

    fn started(&mut self, tick: u32, _job: usize) {
        let chosen = self.proposed.take().expect("it was proposed");
        let told = self.planner.move_started(time(tick), &chosen);
        told.expect("the job was not in flight");
    }

    fn ended(&mut self, tick: u32, job: usize) {
        // The measurements of this tick are from before the job came.
        let told = self.planner.move_ended(time(tick + 1), &id(job));
        told.expect("the job was in flight");
    }

    fn failed(&mut self, tick: u32, job: usize) {
        let told = self.planner.move_failed(time(tick), &id(job));
        told.expect("the job was in flight");
    }
}

/// Whether the source is above the mean of the fleet and two median deviations.
fn deviates(view: &View<'_>, chosen: &Move) -> bool {
    let levels: Vec<f64> = by_level(view).into_iter().map(|(_, level)| level).collect();
    let median = |sorted: &[f64]| sorted[sorted.len() / 2];
    let mean = levels.iter().sum::<f64>() / levels.len() as f64;
    let centre = median(&levels);
    let mut deviations: Vec<f64> = levels.iter().map(|level| (level - centre).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    chosen.from_level > mean + 2.0 * median(&deviations)
}
