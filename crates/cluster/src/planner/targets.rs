//! The nodes that could take a job from a hot one, so that the best for a job is found at once.

use std::collections::BTreeMap;

use super::candidate::Candidate;
use super::node_state::NodeState;

/// Targets, in kinds of equally strong nodes.
pub(super) struct Targets<'s, 'a> {
    pub(super) coldest_first: Vec<&'s NodeState<'a>>,
    kinds: Vec<Kind<'s, 'a>>,
}

/// Nodes of one strength: of those that have room for a job, the coldest ends coldest with it.
struct Kind<'s, 'a> {
    coldest_first: Vec<&'s NodeState<'a>>,
    /// The most memory that any of them has to spare.
    free_memory_bytes: u64,
}

impl<'s, 'a> Targets<'s, 'a> {
    pub(super) fn new(coldest_first: Vec<&'s NodeState<'a>>) -> Self {
        let mut kinds = BTreeMap::<u64, Kind<'s, 'a>>::new();
        for &target in &coldest_first {
            // Any order will do, so that of the bits does.
            let kind = kinds.entry(target.strength().to_bits()).or_insert(Kind {
                coldest_first: Vec::new(),
                free_memory_bytes: 0,
            });
            kind.coldest_first.push(target);
            kind.free_memory_bytes = kind.free_memory_bytes.max(target.free_memory_bytes());
        }
        let mut kinds: Vec<_> = kinds.into_values().collect();
        // Stable: among equals the weaker comes first.
        kinds.sort_by(|a, b| a.coldest().total_cmp(&b.coldest()));
        Self {
            coldest_first,
            kinds,
        }
    }

    /// The target that ends coldest with the job: below the first of the limits, not above the
    /// second, and with room for it. Among equals it is the one that is coldest without the job,
    /// then the first by name.
    pub(super) fn coldest_for(
        &self,
        candidate: &Candidate<'_>,
        (below, at_most): (f64, f64),
    ) -> Option<&'s NodeState<'a>> {
        let reserved = &candidate.reserved;
        let mut best: Option<(&NodeState<'a>, f64)> = None;
        for kind in &self.kinds {
            // Each ends above where it begins.
            if best.is_some_and(|(_, coldest)| kind.coldest() >= coldest) {
                break;
            }
            if reserved.memory_bytes > kind.free_memory_bytes {
                continue;
            }
            for &target in &kind.coldest_first {
                let after = target.level_with + target.share(reserved.cpus);
                let is_refused = after >= below || after > at_most;
                if is_refused || best.is_some_and(|(_, coldest)| after >= coldest) {
                    // And so it is with all that are warmer.
                    break;
                }
                if target.shortage(candidate.placed.sample, reserved).is_none() {
                    best = Some((target, after));
                    break;
                }
            }
        }
        best.map(|(target, _)| target)
    }
}

impl Kind<'_, '_> {
    /// The level of the coldest.
    fn coldest(&self) -> f64 {
        let coldest = self.coldest_first.first();
        coldest.map_or(f64::INFINITY, |target| target.level_with)
    }
}
