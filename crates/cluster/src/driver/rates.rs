//! The rates that the planner reads, computed from counters.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::messages::View;
use crate::backend::Node;
use crate::error::BackendError;
use crate::event::{JobUsage, NodeUsage};
use crate::planner::{JobSample, Mobility, NodeId, NodeSample, Resources};
use crate::protocol::reading::Reading;

/// Two readings closer together than this give no useful rate.
const APART_MIN: Duration = Duration::from_millis(200);

/// The last readings, and the first progress seen of each attempt.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    nodes: BTreeMap<NodeId, Reading>,
    /// The first progress seen of each attempt: its time and amount.
    progress: HashMap<(u64, u32), (Duration, f64)>,
}

/// Rates between the last two readings.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) nodes: Vec<NodeSample>,
    pub(crate) jobs: Vec<JobSample>,
    pub(crate) node_usage: Vec<NodeUsage>,
    pub(crate) job_usage: Vec<JobUsage>,
}

/// The answers of the machines.
pub(crate) type Readings = Vec<(NodeId, Result<Reading, BackendError>)>;

impl Rates {
    /// Takes the readings that arrived at `now`.
    pub(crate) fn take(
        &mut self,
        now: Duration,
        nodes: &[Node],
        readings: &Readings,
        views: &[View],
    ) -> Measured {
        let mut measured = Measured::default();
        let open: HashSet<_> = views.iter().map(|view| (view.job, view.epoch)).collect();
        self.progress.retain(|attempt, _| open.contains(attempt));
        let job_rates = self.take_nodes(now, nodes, readings, &mut measured);
        self.take_jobs(now, views, &job_rates, &mut measured);
        measured
    }

    /// Notes the use of each node. Returns the rates of the jobs.
    fn take_nodes(
        &mut self,
        now: Duration,
        nodes: &[Node],
        readings: &Readings,
        measured: &mut Measured,
    ) -> JobRates {
        let mut machines = HashMap::<_, u32>::new();
        for (_, reading) in readings {
            let machine = reading.iter().map(|reading| reading.machine.as_str());
            machine.for_each(|machine| *machines.entry(machine).or_default() += 1);
        }
        let readings: HashMap<_, _> = readings.iter().map(|(id, reading)| (id, reading)).collect();
        let mut job_rates = JobRates::new();
        let mut fresh = BTreeMap::new();
        for node in nodes.iter().filter(|node| node.is_alive) {
            let rate = match readings.get(&node.id).copied() {
                None => Err("the backend did not say".to_owned()),
                Some(Err(error)) => Err(error.to_string()),
                Some(Ok(reading)) => {
                    fresh.insert(node.id.clone(), reading.clone());
                    let machine = reading.machine.as_str();
                    let is_alone = !machine.is_empty() && machines.get(machine) == Some(&1);
                    match self.nodes.get(&node.id) {
                        None => Err("it was measured once so far".to_owned()),
                        Some(before) => busy(before, reading, is_alone).map(|cpus| {
                            // Jobs that wait for a processor count: a node can be asked for more
                            // than it has.
                            let waiting = jobs_between(before, reading, &mut job_rates);
                            (cpus + waiting) / node.cpus.max(f64::MIN_POSITIVE)
                        }),
                    }
                }
            };
            measured.node_usage.push(NodeUsage {
                node: node.id.clone(),
                cpus: node.cpus,
                utilisation: rate.as_ref().ok().copied(),
                unknown: rate.as_ref().err().cloned(),
            });
            if let Ok(utilisation) = rate {
                let mut capacity = Resources::cpus(node.cpus);
                capacity.memory_bytes = node.memory_bytes;
                measured
                    .nodes
                    .push(NodeSample::new(node.id.clone(), now, capacity, utilisation));
            }
        }
        self.nodes = fresh;
        job_rates
    }

    /// Notes the use of each job that runs.
    fn take_jobs(
        &mut self,
        now: Duration,
        views: &[View],
        job_rates: &JobRates,
        measured: &mut Measured,
    ) {
        for view in views.iter().filter(|view| !view.is_over) {
            let Some(node) = view.node.clone() else {
                continue;
            };
            let found = job_rates.get(&(view.job, view.epoch)).copied();
            let progress = found.map_or(view.progress, |rate| rate.progress);
            measured.job_usage.push(JobUsage {
                job: view.options.id.clone(),
                node: node.clone(),
                cpus: found.map(|rate| rate.cpus),
                progress,
            });
            let mut demand = Resources::cpus(view.options.cpus);
            demand.memory_bytes = view.options.memory_bytes;
            let mut sample = JobSample::new(view.options.id.clone(), node, now, demand);
            sample.used_cpus = found.map(|rate| rate.cpus);
            sample.priority = view.options.priority;
            sample.mobility = match view.options.resources.is_empty() {
                true => view.options.mobility,
                // Where else there is one the planner does not know.
                false => Mobility::Pinned,
            };
            sample.state_bytes = view.state_bytes;
            sample.running_for = Some(now.saturating_sub(view.since));
            // The progress of a checkpoint is older than the moment.
            let attempt = (view.job, view.epoch);
            sample.remaining = found.and_then(|rate| self.remaining(now, attempt, rate.progress));
            measured.jobs.push(sample);
        }
    }

    /// The time that a job has still to run, if its progress continues as before.
    fn remaining(&mut self, now: Duration, attempt: (u64, u32), progress: f64) -> Option<Duration> {
        let (since, first) = *self.progress.entry(attempt).or_insert((now, progress));
        let (passed, done) = (now.saturating_sub(since), progress - first);
        let is_known = done > 0.0 && passed >= Duration::from_secs(1);
        let left = is_known.then(|| passed.as_secs_f64() * (1.0 - progress) / done);
        left.and_then(|left| Duration::try_from_secs_f64(left).ok())
    }
}

/// The processors that were busy between two readings of a node.
fn busy(before: &Reading, after: &Reading, is_alone: bool) -> Result<f64, String> {
    let apart_ms = after.at_ms.saturating_sub(before.at_ms);
    if Duration::from_millis(apart_ms) < APART_MIN {
        return Err("the clock of the machine stood still or went back".to_owned());
    }
    let used_ms = if is_alone && after.machine_busy_ms > 0 {
        // Other programs may work there as well, and count.
        after.machine_busy_ms.saturating_sub(before.machine_busy_ms)
    } else if after.family_cpu_ms.is_empty() {
        if before.pid != after.pid {
            return Err("its worker was replaced".to_owned());
        }
        after.process_cpu_ms.saturating_sub(before.process_cpu_ms)
    } else {
        let before: HashMap<_, _> = before.family_cpu_ms.iter().copied().collect();
        let used = after.family_cpu_ms.iter();
        used.map(|(pid, cpu_ms)| cpu_ms.saturating_sub(before.get(pid).copied().unwrap_or(0)))
            .sum()
    };
    Ok(used_ms as f64 / apart_ms as f64)
}

/// The rate of a job between two readings.
#[derive(Clone, Copy, Debug)]
struct JobRate {
    /// The processors that it had.
    cpus: f64,
    progress: f64,
}

/// Rates by job and attempt.
type JobRates = HashMap<(u64, u32), JobRate>;

/// Collects the rate of each job. Returns the processors that the jobs would have used in addition
/// to those that they had.
fn jobs_between(before: &Reading, after: &Reading, found: &mut JobRates) -> f64 {
    let apart_ms = after.at_ms.saturating_sub(before.at_ms).max(1) as f64;
    let mut all = 0.0;
    let earlier = before.jobs.iter();
    let earlier: HashMap<_, _> = earlier.map(|job| ((job.job, job.epoch), job)).collect();
    for job in &after.jobs {
        if let Some(earlier) = earlier.get(&(job.job, job.epoch)) {
            let waiting = job.waited_ms.saturating_sub(earlier.waited_ms) as f64 / apart_ms;
            all += waiting;
            let rate = JobRate {
                cpus: job.cpu_ms.saturating_sub(earlier.cpu_ms) as f64 / apart_ms,
                progress: job.progress,
            };
            found.insert((job.job, job.epoch), rate);
        }
    }
    all
}

#[cfg(test)]
#[path = "rates/tests.rs"]
mod tests;
