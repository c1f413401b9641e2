//! The input of a simulated fleet, a policy's view of it, and the outcome.

use std::ops::Range;

use heist_cluster::planner::{Mobility, Priority};

/// One node. Its jobs share its CPUs in proportion to what they want.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) cpus: f64,
    pub(crate) memory_bytes: u64,
    pub(crate) speed: f64,
    /// Load that is no job, in CPUs of speed 1.
    pub(crate) background: f64,
    /// From this tick on the node runs at this share of its speed, and does not tell.
    pub(crate) throttled: Option<(u32, f64)>,
    /// When it is gone.
    pub(crate) down: Vec<Range<u32>>,
}

/// One job, which runs for `duration` ticks where it gets all that it wants.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) node: usize,
    pub(crate) arrives: u32,
    pub(crate) duration: f64,
    /// Its real demand and its declared one, in CPUs of speed 1.
    pub(crate) cpus: f64,
    pub(crate) estimate: f64,
    /// In every second half of this many ticks it wants only a tenth.
    pub(crate) swing: Option<u32>,
    pub(crate) priority: Priority,
    pub(crate) mobility: Mobility,
    pub(crate) state_bytes: u64,
    pub(crate) memory_bytes: u64,
}

/// A fleet, its jobs, and how well it is measured.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) nodes: Vec<Node>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) ticks: u32,
    /// By how much wishes vary from tick to tick.
    pub(crate) noise: f64,
    /// The most that a measured utilisation can be: 1 where who waits is not counted.
    pub(crate) utilisation_max: f64,
    pub(crate) sample_period: u32,
    pub(crate) sample_delay: u32,
    pub(crate) sample_loss: f64,
    pub(crate) pause: f64,
    pub(crate) cold_start: f64,
    pub(crate) bandwidth: f64,
}

/// The outcome of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// One for each job: its time in the fleet over its duration.
    pub(crate) slowdowns: Vec<f64>,
    /// Jobs that were not done when time was up; their slowdown is the least it can be.
    pub(crate) censored: usize,
    pub(crate) moves: usize,
    /// Moves to a node where the job had been before.
    pub(crate) returns: usize,
    /// Moves of which the target truly ended above the level that the job came from.
    pub(crate) above_before: usize,
    /// Moves of which the target truly ended above the level that the source was left at.
    pub(crate) above_after: usize,
    pub(crate) bytes: u64,
    pub(crate) paused_ticks: u64,
    /// The mean difference between the hottest and the coldest node.
    pub(crate) spread: f64,
}

/// A policy's view of the fleet.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) tick: u32,
    pub(crate) setup: &'a Setup,
    /// The newest measurement of each node: its tick and its utilisation.
    pub(crate) nodes: Vec<Option<(u32, f64)>>,
    pub(crate) jobs: Vec<JobView>,
}

#[derive(Clone, Debug)]
pub(crate) struct JobView {
    pub(crate) job: usize,
    pub(crate) node: usize,
    pub(crate) is_in_flight: bool,
    /// The newest measurement: its tick and the CPUs of the node.
    pub(crate) used: Option<(u32, f64)>,
    /// How many ticks the job says that it has done, and has left.
    pub(crate) progress: (f64, f64),
}
