//! A rule's view of a simulated fleet: measurements, estimates, reports of jobs.

use super::node::PART;
use super::setup::{Job, Setup};
use super::state::{Place, World};

/// The fleet as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(super) world: &'a World<'a>,
}

/// A job as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct JobView {
    /// Its place among [`Setup::jobs`].
    pub job: u32,
    /// Where it runs, or comes from.
    pub node: u32,
    /// Whether it is on its way.
    pub is_in_flight: bool,
    /// The newest measurement: when, and how many millionths of its node's CPUs it used.
    pub used: Option<(u64, f64)>,
    /// For how long it says that it has run, less what it stood still.
    pub done_ns: u64,
    /// For how long it believes that it will run.
    pub left_ns: u64,
}

impl<'a> View<'a> {
    /// The time.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.world.now_ns
    }

    /// The fleet's input. Rules that are honest look neither at true demands nor at mishaps.
    #[must_use]
    pub fn setup(&self) -> &'a Setup {
        self.world.setup
    }

    /// The newest measurement of a node: when, and its utilisation.
    #[must_use]
    pub fn level(&self, node: u32) -> Option<(u64, f64)> {
        self.world.seen[node as usize]
    }

    /// The nodes that were ever measured, with their utilisation, the coldest first.
    #[must_use]
    pub fn by_level(&self) -> Vec<(u32, f64)> {
        let seen = self.world.seen.iter().zip(0..);
        let mut levels: Vec<(u32, f64)> = seen
            .filter_map(|(seen, node)| seen.map(|(_, level)| (node, level)))
            .collect();
        levels.sort_by(|a, b| a.1.total_cmp(&b.1));
        levels
    }

    /// The jobs that run on a node, by their places.
    pub fn jobs_on(&self, node: u32) -> impl Iterator<Item = u32> + 'a {
        self.world.nodes[node as usize].jobs.iter().copied()
    }

    /// A job's facts as they were given.
    #[must_use]
    pub fn facts(&self, job: u32) -> &'a Job {
        self.world.job(job)
    }

    /// All jobs that run or are on their way.
    pub fn jobs(&self) -> impl Iterator<Item = JobView> + 'a {
        let world = self.world;
        let running = world.nodes.iter().flat_map(|node| node.jobs.iter());
        let all = running.chain(&world.flying);
        all.filter_map(move |&job| View { world }.job(job))
    }

    fn job(&self, job: u32) -> Option<JobView> {
        let live = &self.world.live[job as usize];
        let (node, is_in_flight, left) = match live.place {
            Place::Running(node) => {
                let left = self.world.left(job, node);
                (node, false, left)
            }
            Place::Flying { from, .. } => (from, true, live.left),
            _ => return None,
        };
        let left_ns = left / PART;
        let forecast = self.world.forecast(job);
        Some(JobView {
            job,
            node,
            is_in_flight,
            used: live.used,
            done_ns: self.facts(job).duration_ns.saturating_sub(left_ns),
            left_ns: (left_ns as f64 * forecast) as u64,
        })
    }
}
