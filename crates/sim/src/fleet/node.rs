//! A node whose jobs share its CPUs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::link::clamped;

/// The parts of a nanosecond in which progress is counted. There is room for nine years.
pub(super) const PART: u64 = 64;

/// A node as it is. All its jobs are slowed down alike, so that one number, the progress of a job
/// that was always there, says how far each has come since it began.
#[derive(Debug)]
pub(super) struct NodeState {
    /// Millionths of a usual CPU that it has.
    pub(super) power: u64,
    /// Those that its jobs, its background and its moves want.
    pub(super) demand: u64,
    pub(super) is_up: bool,
    /// Memory of its jobs, and of those that leave or arrive.
    pub(super) memory_bytes: u64,
    /// Estimates of the jobs that are here, or arrive.
    pub(super) reserved: u64,
    /// The jobs that run here.
    pub(super) jobs: Vec<u32>,
    /// Millionths of a CPU times nanoseconds that were used.
    pub(super) delivered: u128,
    /// When the next look at it is due.
    pub(super) due_ns: u64,
    pub(super) progress: u64,
    at_ns: u64,
    ends: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl NodeState {
    pub(super) fn new(power: u64, background: u64, is_up: bool) -> Self {
        Self {
            power,
            demand: background,
            is_up,
            memory_bytes: 0,
            reserved: 0,
            jobs: Vec::new(),
            delivered: 0,
            due_ns: u64::MAX,
            progress: 0,
            at_ns: 0,
            ends: BinaryHeap::new(),
        }
    }

    /// The share of what they want that its jobs get.
    pub(super) fn share(&self) -> f64 {
        (self.power as f64 / self.demand.max(1) as f64).min(1.0)
    }

    /// Its utilisation, above 1 if jobs wait.
    pub(super) fn level(&self) -> f64 {
        self.demand as f64 / self.power as f64
    }

    /// Goes on to a time, at the rate of before.
    pub(super) fn advance(&mut self, now_ns: u64) {
        let passed = now_ns - self.at_ns;
        if passed == 0 {
            return;
        }
        self.at_ns = now_ns;
        if !self.is_up {
            return;
        }
        let used = self.demand.min(self.power);
        self.delivered += u128::from(used) * u128::from(passed);
        self.progress += if self.demand <= self.power {
            passed * PART
        } else {
            let parts = u128::from(passed) * u128::from(PART);
            clamped(parts * u128::from(self.power) / u128::from(self.demand))
        };
    }

    /// A job begins that has so many parts to go; returns the progress at which it ends.
    pub(super) fn begin(&mut self, job: u32, epoch: u32, parts: u64) -> u64 {
        let end = self.progress.saturating_add(parts);
        self.ends.push(Reverse((end, job, epoch)));
        self.jobs.push(job);
        end
    }

    /// The parts that a job still has to go which ends there.
    pub(super) fn left(&self, end: u64) -> u64 {
        end.saturating_sub(self.progress)
    }

    /// The next job that has ended by now.
    pub(super) fn ended(&mut self, is_live: impl Fn(u32, u32) -> bool) -> Option<u32> {
        while let Some(&Reverse((end, job, epoch))) = self.ends.peek() {
            let is_live = is_live(job, epoch);
            if is_live && end > self.progress {
                return None;
            }
            self.ends.pop();
            if is_live {
                return Some(job);
            }
        }
        None
    }

    /// When the first of its jobs ends if nothing changes before.
    pub(super) fn next_ns(&mut self, is_live: impl Fn(u32, u32) -> bool) -> Option<u64> {
        if !self.is_up {
            return None;
        }
        while let Some(&Reverse((end, job, epoch))) = self.ends.peek() {
            if is_live(job, epoch) {
                let left = self.left(end);
                let wait = if self.demand <= self.power {
                    left.div_ceil(PART)
                } else {
                    let wanted = u128::from(left) * u128::from(self.demand);
                    clamped(wanted.div_ceil(u128::from(self.power) * u128::from(PART)))
                };
                return Some(self.at_ns.saturating_add(wait));
            }
            self.ends.pop();
        }
        None
    }
}
