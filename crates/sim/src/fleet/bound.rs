//! The offline bound: what no rule can do better, though it knew everything and moved for nothing.

use super::setup::{Job, Node, Setup, CPU, SECOND};

/// A bound below all rules.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bound {
    /// The delay of a CPU-second of work in the mean, in seconds, if the fleet were one machine.
    pub delay_s: f64,
    /// The work of all jobs, in seconds of a usual CPU.
    pub work_cpu_s: f64,
    /// When the last job could end.
    pub end_ns: u64,
}

/// When each job could begin at best: when it has arrived and all jobs that it waits for have run
/// without a delay.
pub(super) fn best_starts(setup: &Setup) -> Vec<u64> {
    let mut best: Vec<u64> = setup.jobs.iter().map(|job| job.arrives_ns).collect();
    if setup.tasks.is_empty() {
        return best;
    }
    let mut jobs_of = vec![Vec::new(); setup.tasks.len()];
    for (job, facts) in setup.jobs.iter().enumerate() {
        if let Some(task) = facts.task {
            jobs_of[task as usize].push(job);
        }
    }
    let mut waits: Vec<usize> = setup.tasks.iter().map(|task| task.after.len()).collect();
    let mut next_of = vec![Vec::new(); setup.tasks.len()];
    for (at, task) in setup.tasks.iter().enumerate() {
        for &before in &task.after {
            next_of[before as usize].push(at);
        }
    }
    let is_free = |task: &usize| waits[*task] == 0;
    let mut free: Vec<usize> = (0..setup.tasks.len()).filter(is_free).collect();
    let mut ready = vec![0_u64; setup.tasks.len()];
    while let Some(task) = free.pop() {
        let mut end = ready[task];
        for &job in &jobs_of[task] {
            best[job] = best[job].max(ready[task]);
            if setup.can_place(&setup.jobs[job]) {
                end = end.max(best[job].saturating_add(setup.jobs[job].duration_ns));
            }
        }
        for &next in &next_of[task] {
            ready[next] = ready[next].max(end);
            waits[next] -= 1;
            if waits[next] == 0 {
                free.push(next);
            }
        }
    }
    best
}

/// The weight of a job's delay: the work in it that is certain.
pub(super) fn weight(setup: &Setup, job: &Job) -> f64 {
    setup.least(job) as f64 * job.duration_ns as f64
}

/// The bound of a fleet.
///
/// Until any time the jobs cannot have done more work than if each ran from its best start on, nor
/// more than they had done by an earlier time and all CPUs can do since. Work that is missing at a
/// time is a delay for as long as it is missing, and no job of a duration `d` that is delayed by
/// `w` misses more than `d` times `w` of its work over time. So the missing work over time, divided
/// by all work, is below the mean delay, in which each job counts by its work.
#[must_use]
pub fn bound(setup: &Setup) -> Bound {
    let best = best_starts(setup);
    let mut steps: Vec<(u64, i128)> = Vec::new();
    let (mut work, mut end_ns) = (0.0, 0);
    for (job, &start) in setup
        .jobs
        .iter()
        .zip(&best)
        .filter(|(job, _)| setup.can_place(job))
    {
        let end = start.saturating_add(job.duration_ns);
        steps.push((start, setup.least(job).into()));
        steps.push((end, -i128::from(setup.least(job))));
        work += weight(setup, job);
        end_ns = end_ns.max(end);
    }
    let strength = |now_ns: u64| {
        let up = setup.nodes.iter().filter(|node| node.is_up(now_ns));
        up.map(|node| i128::from(node.strength_at(now_ns)))
            .sum::<i128>()
    };
    let mut times: Vec<u64> = setup.nodes.iter().flat_map(Node::changes).collect();
    times.sort_unstable();
    steps.extend(times.iter().map(|&time| (time, 0)));
    steps.sort_unstable();
    let mut changes = times.into_iter().peekable();
    let (mut wanted, mut power, mut at) = (0_i128, strength(0), 0_u64);
    let (mut missing, mut over_time) = (0.0_f64, 0.0_f64);
    for (time, change) in steps {
        let passed = (time - at) as f64;
        (missing, over_time) = grow(missing, over_time, (wanted - power) as f64, passed);
        at = time;
        wanted += change;
        if changes.next_if(|next| *next <= time).is_some() {
            power = strength(time);
        }
    }
    if power > 0 {
        // The rest is done at full speed.
        over_time += missing * missing / (2.0 * power as f64);
        end_ns = end_ns.max(at.saturating_add((missing / power as f64) as u64));
    }
    let second = SECOND as f64;
    Bound {
        delay_s: if work > 0.0 {
            over_time / work / second
        } else {
            0.0
        },
        work_cpu_s: work / CPU as f64 / second,
        end_ns,
    }
}

/// Missing work, and its sum over time, after it has changed at this rate for so long.
fn grow(missing: f64, over_time: f64, rate: f64, passed: f64) -> (f64, f64) {
    let after = missing + rate * passed;
    if after >= 0.0 {
        return (after, over_time + (missing + after) / 2.0 * passed);
    }
    // It falls to nothing on the way.
    (0.0, over_time + missing * missing / (2.0 * -rate))
}
