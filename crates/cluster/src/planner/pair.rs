//! A job and its best target, and which of several such pairs is chosen.

use super::candidate::Candidate;
use super::decision::Move;
use super::id::NodeId;
use super::node_state::NodeState;
use super::ns;
use super::reason::Reason;

/// A candidate and the best of the targets that take it.
pub(super) struct Pair<'a> {
    pub(super) candidate: Candidate<'a>,
    pub(super) to: &'a NodeId,
    pub(super) to_level: f64,
    pub(super) to_level_after: f64,
}

impl Pair<'_> {
    /// The index of the pair that gains most: what is not protected before what is, the colder
    /// end among equals, then the first by name.
    pub(super) fn best(pairs: &[Self]) -> Option<usize> {
        let is_protected = |pair: &Pair<'_>| pair.candidate.placed.sample.priority.is_protected();
        let order = |a: &Pair<'_>, b: &Pair<'_>| {
            is_protected(a)
                .cmp(&is_protected(b))
                .then(
                    b.candidate
                        .gain_cpu_s()
                        .total_cmp(&a.candidate.gain_cpu_s()),
                )
                .then(a.to_level_after.total_cmp(&b.to_level_after))
        };
        let indexed = pairs.iter().enumerate();
        indexed
            .min_by(|(_, a), (_, b)| order(a, b))
            .map(|(index, _)| index)
    }

    /// Why a pair was not chosen though it could be.
    pub(super) fn outdone(&self, node: &NodeId, best: &Self) -> Reason {
        let sample = self.candidate.placed.sample;
        let by = best.candidate.placed.sample;
        if sample.priority.is_protected() && !by.priority.is_protected() {
            return Reason::Spared {
                job: sample.job.clone(),
                node: node.clone(),
                priority: sample.priority,
                instead: by.job.clone(),
            };
        }
        Reason::Outdone {
            job: sample.job.clone(),
            node: node.clone(),
            gain_cpu_s: self.candidate.gain_cpu_s(),
            by: by.job.clone(),
            by_gain_cpu_s: best.candidate.gain_cpu_s(),
        }
    }

    /// The pair as the move that is proposed.
    pub(super) fn into_move(self, source: &NodeState<'_>) -> Move {
        let candidate = self.candidate;
        Move {
            job: candidate.placed.sample.job.clone(),
            from: source.node.clone(),
            to: self.to.clone(),
            reserved: candidate.reserved,
            from_level: source.level_without,
            from_level_after: candidate.from_level_after,
            to_level: self.to_level,
            to_level_after: self.to_level_after,
            benefit_cpu_s: candidate.benefit_cpu_s,
            cost_cpu_s: candidate.cost_cpu_s,
            downtime_ns: ns::of(candidate.downtime),
        }
    }
}
