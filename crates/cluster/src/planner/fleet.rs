//! The choice among hot nodes, their jobs and the targets.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::candidate::{Candidate, Demand};
use super::config::Config;
use super::decision::{Decision, Move, Outcome};
use super::id::{JobId, NodeId};
use super::ledger::Ledger;
use super::node_state::{NodeState, PlacedJob};
use super::ns;
use super::pair::Pair;
use super::reason::Reason;
use super::sample::{JobSample, Mobility};
use super::targets::Targets;
use super::track::{JobTrack, NodeTrack};

/// For how many targets, from the coldest, it is said why they refuse a job.
const TARGETS_LISTED: usize = 4;
/// For how many reasons of a decision so much is said; a million jobs would need gigabytes.
const REASONS_LISTED: usize = 10_000;

/// Everything that a choice depends on.
pub(super) struct Fleet<'a> {
    pub(super) now: Duration,
    pub(super) config: &'a Config,
    pub(super) nodes: &'a BTreeMap<NodeId, NodeTrack>,
    pub(super) jobs: &'a HashMap<JobId, JobTrack>,
    pub(super) ledger: &'a Ledger,
    pub(super) placed_jobs: &'a [PlacedJob<'a>],
}

impl<'a> Fleet<'a> {
    /// One move or none; what was refused is added to `reasons`.
    pub(super) fn choose(&self, mut reasons: Vec<Reason>) -> Decision {
        let states = self.states(&mut reasons);
        if states.len() < 2 {
            reasons.push(Reason::TooFewNodes {
                known: states.len(),
            });
            return Decision::stay(reasons);
        }
        let hot = self.hot(&states, &mut reasons);
        if hot.is_empty() {
            return Decision::stay(reasons);
        }
        let moves = self.ledger.starts();
        let moves_max = self.config.fleet_moves_max;
        if moves >= moves_max as usize {
            reasons.push(Reason::FleetLimit {
                moves,
                moves_max,
                window_ns: ns::of(self.config.rate_window),
            });
            return Decision::stay(reasons);
        }
        let takers = self.takers(&states, &mut reasons);
        let mut hot = hot.into_iter();
        while let Some(source) = hot.next() {
            if let Some(chosen) = self.best_of(source, &takers, &mut reasons) {
                reasons.extend(hot.map(|state| Reason::AfterHotter {
                    node: state.node.clone(),
                    level: state.level_without,
                }));
                return Decision {
                    outcome: Outcome::Move(chosen),
                    reasons,
                };
            }
        }
        Decision::stay(reasons)
    }

    /// The known nodes, by name.
    fn states(&self, reasons: &mut Vec<Reason>) -> Vec<NodeState<'a>> {
        let mut placed_jobs: HashMap<&NodeId, Vec<&PlacedJob<'_>>> = HashMap::new();
        for placed in self.placed_jobs {
            placed_jobs.entry(&placed.node).or_default().push(placed);
        }
        let mut states = Vec::with_capacity(self.nodes.len());
        for (node, track) in self.nodes {
            let Some(sample) = &track.newest else {
                continue;
            };
            let age = self.now.saturating_sub(track.last_at);
            if age > self.config.stale_after {
                reasons.push(Reason::NodeSilent {
                    node: node.clone(),
                    age_ns: ns::of(age),
                    age_ns_max: ns::of(self.config.stale_after),
                });
                continue;
            }
            if track.samples < self.config.sustained_samples {
                reasons.push(Reason::NodeSettling {
                    node: node.clone(),
                    samples: track.samples,
                    samples_min: self.config.sustained_samples,
                });
                continue;
            }
            let placed_jobs = placed_jobs.remove(node).unwrap_or_default();
            states.push(NodeState::new(
                node,
                track,
                sample,
                placed_jobs,
                self.ledger,
            ));
        }
        states
    }

    /// The nodes that have been hot for long enough, the hottest first.
    fn hot<'s>(
        &self,
        states: &'s [NodeState<'a>],
        reasons: &mut Vec<Reason>,
    ) -> Vec<&'s NodeState<'a>> {
        let hot_level = self.config.hot_level;
        let mut hot = Vec::new();
        for state in states {
            let node = || state.node.clone();
            let level = state.track.level;
            let samples_min = state.track.patience(self.config);
            if level < hot_level {
                reasons.push(Reason::NotHot {
                    node: node(),
                    level,
                    hot_level,
                });
            } else if state.track.hot_samples < samples_min {
                reasons.push(Reason::NotSustained {
                    node: node(),
                    level,
                    samples: state.track.hot_samples,
                    samples_min,
                });
            } else if state.level_without < hot_level {
                reasons.push(Reason::Relieved {
                    node: node(),
                    level,
                    level_after: state.level_without,
                    hot_level,
                });
            } else {
                hot.push(state);
            }
        }
        // Stable: among equals the names decide.
        hot.sort_by(|a, b| b.level_without.total_cmp(&a.level_without));
        hot
    }

    /// The nodes that could take a job at all, the coldest first.
    fn takers<'s>(
        &self,
        states: &'s [NodeState<'a>],
        reasons: &mut Vec<Reason>,
    ) -> Vec<&'s NodeState<'a>> {
        let low_water = self.config.low_water;
        let mut takers = Vec::new();
        for state in states {
            let limit = self.limit(state.node);
            if state.level_with >= low_water {
                reasons.push(Reason::AboveLowWater {
                    node: state.node.clone(),
                    level: state.level_with,
                    low_water,
                });
            } else if let Some(limit) = limit {
                reasons.push(limit);
            } else {
                takers.push(state);
            }
        }
        takers.sort_by(|a, b| a.level_with.total_cmp(&b.level_with));
        takers
    }

    fn limit(&self, node: &NodeId) -> Option<Reason> {
        let moves = self.ledger.starts_at(node);
        let moves_max = self.config.node_moves_max;
        (moves >= moves_max as usize).then(|| Reason::NodeLimit {
            node: node.clone(),
            moves,
            moves_max,
            window_ns: ns::of(self.config.rate_window),
        })
    }

    /// The best move from this hot node.
    fn best_of(
        &self,
        source: &NodeState<'a>,
        takers: &[&NodeState<'a>],
        reasons: &mut Vec<Reason>,
    ) -> Option<Move> {
        if let Some(limit) = self.limit(source.node) {
            reasons.push(limit);
            return None;
        }
        if source.placed_jobs.is_empty() {
            reasons.push(Reason::NoJobs {
                node: source.node.clone(),
                level: source.level_without,
            });
            return None;
        }
        let others = || takers.iter().filter(|state| state.node != source.node);
        let is_colder =
            |state: &&&NodeState<'_>| source.level_without - state.level_with >= self.config.spread;
        let targets: Vec<&NodeState<'a>> = others().filter(is_colder).copied().collect();
        if targets.is_empty() {
            let coldest = others().next();
            reasons.push(Reason::NoneColder {
                node: source.node.clone(),
                level: source.level_without,
                spread: self.config.spread,
                coldest: coldest.map(|state| state.node.clone()),
                coldest_level: coldest.map_or(0.0, |state| state.level_with),
            });
            return None;
        }
        let targets = Targets::new(targets);
        let mut pairs = Vec::new();
        for &placed in &source.placed_jobs {
            let Some(candidate) = self.candidate(source, placed, reasons) else {
                continue;
            };
            pairs.extend(self.pair(source, candidate, &targets, reasons));
        }
        let best = Pair::best(&pairs)?;
        for (index, pair) in pairs.iter().enumerate() {
            if index != best {
                reasons.push(pair.outdone(source.node, &pairs[best]));
            }
        }
        Some(pairs.swap_remove(best).into_move(source))
    }

    /// The job, if it may move as far as its node and its past are concerned.
    fn candidate(
        &self,
        source: &NodeState<'a>,
        placed: &'a PlacedJob<'a>,
        reasons: &mut Vec<Reason>,
    ) -> Option<Candidate<'a>> {
        if !placed.is_sound {
            // The reason stands already among those of the samples.
            return None;
        }
        let sample = placed.sample;
        if let Some(reason) = self.bound(source, sample) {
            reasons.push(reason);
            return None;
        }
        let (job, node) = (sample.job.clone(), source.node.clone());
        let track = self.jobs.get(&job)?;
        let demand = Demand::of(sample, track, source, self.config);
        if demand.likely_cpus <= 0.0 {
            reasons.push(Reason::NoDemand { job, node });
            return None;
        }
        let life = track.life(self.now, sample);
        let in_flight = self.ledger.all_in_flight().count();
        let candidate = Candidate::new(placed, demand, life, source, self.config, in_flight);
        if candidate.benefit_cpu_s < self.config.payback * candidate.cost_cpu_s {
            reasons.push(Reason::NotWorthIt {
                job,
                node,
                benefit_cpu_s: candidate.benefit_cpu_s,
                cost_cpu_s: candidate.cost_cpu_s,
                payback: self.config.payback,
            });
            return None;
        }
        if candidate.loss > self.config.loss_max {
            reasons.push(Reason::LosesTooMuch {
                job,
                node,
                loss: candidate.loss,
                loss_max: self.config.loss_max,
                downtime_ns: ns::of(candidate.downtime),
            });
            return None;
        }
        Some(candidate)
    }

    /// Why the job may not move now, whatever its move would bring.
    fn bound(&self, source: &NodeState<'a>, sample: &JobSample) -> Option<Reason> {
        let job = sample.job.clone();
        let node = source.node.clone();
        if let Some(flying) = self.ledger.in_flight(&job) {
            let (from, to) = (flying.from.clone(), flying.to.clone());
            return Some(Reason::InFlight { job, from, to });
        }
        if sample.mobility != Mobility::Movable {
            let mobility = sample.mobility;
            return Some(Reason::NotMovable {
                job,
                node,
                mobility,
            });
        }
        if sample.priority.is_protected() && source.level_without < self.config.emergency {
            return Some(Reason::Protected {
                job,
                node,
                priority: sample.priority,
                level: source.level_without,
                emergency: self.config.emergency,
            });
        }
        let track = self.jobs.get(&job)?;
        if track.cool_until > self.now {
            return Some(Reason::CoolingDown {
                job,
                node,
                moves: track.moves,
                left_ns: ns::of(track.cool_until - self.now),
            });
        }
        None
    }

    /// The target that ends coldest with the job, if any takes it.
    fn pair(
        &self,
        source: &NodeState<'a>,
        candidate: Candidate<'a>,
        targets: &Targets<'_, 'a>,
        reasons: &mut Vec<Reason>,
    ) -> Option<Pair<'a>> {
        let limit = (self.config.low_water, candidate.from_level_after);
        if let Some(target) = targets.coldest_for(&candidate, limit) {
            return Some(Pair {
                to: target.node,
                to_level: target.level_with,
                to_level_after: target.level_with + target.share(candidate.reserved.cpus),
                candidate,
            });
        }
        let is_long = reasons.len() >= REASONS_LISTED;
        let listed = if is_long { 0 } else { TARGETS_LISTED };
        let first = targets.coldest_first.iter().take(listed);
        reasons.extend(first.filter_map(|target| self.refusal(source, &candidate, target)));
        let more = targets.coldest_first.len().saturating_sub(listed);
        if more > 0 {
            reasons.push(Reason::OtherTargets {
                job: candidate.placed.sample.job.clone(),
                node: source.node.clone(),
                targets: more,
            });
        }
        None
    }

    /// Why the target does not take the job.
    fn refusal(
        &self,
        source: &NodeState<'_>,
        candidate: &Candidate<'_>,
        target: &NodeState<'_>,
    ) -> Option<Reason> {
        let sample = candidate.placed.sample;
        let (job, node) = (sample.job.clone(), source.node.clone());
        let to = target.node.clone();
        let to_level_after = target.level_with + target.share(candidate.reserved.cpus);
        if to_level_after >= self.config.low_water {
            return Some(Reason::WouldPassLowWater {
                job,
                node,
                to,
                to_level_after,
                low_water: self.config.low_water,
            });
        }
        if to_level_after > candidate.from_level_after {
            return Some(Reason::WouldEndAbove {
                job,
                node,
                to,
                to_level_after,
                from_level_after: candidate.from_level_after,
            });
        }
        let (resource, needed, free) = target.shortage(sample, &candidate.reserved)?;
        Some(Reason::DoesNotFit {
            job,
            node,
            to,
            resource,
            needed,
            free,
        })
    }
}
