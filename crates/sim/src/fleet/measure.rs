//! Measurements of a simulated fleet: lost, late and smoothed.

use super::draw::Draw;
use super::state::{Event, Round, World};

/// Purposes of random numbers.
const LOSS: u64 = 2;
const FORECAST: u64 = 3;

impl World<'_> {
    /// Measures all nodes; the samples arrive later.
    pub(super) fn measure(&mut self) {
        let measuring = &self.setup.measuring;
        let mut round = Round {
            arrives_ns: self.now_ns.saturating_add(measuring.delay_ns),
            at_ns: self.now_ns,
            nodes: Vec::with_capacity(self.nodes.len()),
            jobs: Vec::with_capacity(self.running),
        };
        for (state, node) in self.nodes.iter().zip(0_u32..) {
            let lost = || Draw::of(self.seed, LOSS, node.into(), self.now_ns);
            if !state.is_up || (measuring.loss > 0.0 && lost().is(measuring.loss)) {
                continue;
            }
            let facts = &self.setup.nodes[node as usize];
            // CPUs are counted in those of the node, as it is now.
            let rate = state.share() * facts.cpus as f64 / state.power as f64;
            for &job in &state.jobs {
                round
                    .jobs
                    .push((job, self.live[job as usize].demand as f64 * rate));
            }
            let mut level = state.level();
            if measuring.is_capped {
                level = level.min(1.0);
            }
            round.nodes.push((node, level));
        }
        let arrives_ns = round.arrives_ns;
        self.rounds.push_back(round);
        if arrives_ns > self.now_ns {
            self.at(arrives_ns, Event::Samples);
        } else {
            self.deliver();
        }
    }

    /// Takes in the samples that have arrived.
    pub(super) fn deliver(&mut self) {
        let weight = self.setup.measuring.weight;
        let mean = |old: Option<(u64, f64)>, new: f64| {
            old.map_or(new, |(_, old)| old + weight * (new - old))
        };
        while self
            .rounds
            .front()
            .is_some_and(|round| round.arrives_ns <= self.now_ns)
        {
            let Some(round) = self.rounds.pop_front() else {
                return;
            };
            for (node, level) in round.nodes {
                let seen = &mut self.seen[node as usize];
                *seen = Some((round.at_ns, mean(*seen, level)));
            }
            for (job, used) in round.jobs {
                let seen = &mut self.live[job as usize].used;
                *seen = Some((round.at_ns, mean(*seen, used)));
            }
        }
    }

    /// By which factor a job is wrong about the time that is left: up to a third.
    pub(super) fn forecast(&self, job: u32) -> f64 {
        Draw::of(self.seed, FORECAST, job.into(), 0).real(0.75, 4.0 / 3.0)
    }
}
