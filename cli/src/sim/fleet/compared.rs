//! One fleet under all rules, as it is shown.

use heist_sim::fleet::{Bound, Score};

use super::trace::Trace;

/// One fleet under all rules.
pub(super) struct Compared {
    pub(super) title: String,
    /// Where the fleet comes from, in lines.
    pub(super) notes: Vec<String>,
    pub(super) nodes: usize,
    pub(super) jobs: usize,
    pub(super) tasks: usize,
    pub(super) runs: u64,
    pub(super) period_s: f64,
    pub(super) rules: Vec<(String, Score)>,
    /// The mean of the bounds of all runs.
    pub(super) bound: Bound,
    pub(super) trace: Option<Trace>,
}
