//! The fleet of a trace: its jobs on its machines, or on as many as they load.

use std::collections::HashMap;

use heist_cluster::planner::Priority;
use heist_sim::fleet::dag::Dropped;
use heist_sim::fleet::{Draw, Job, Node, Setup, CPU, GIB, MIB, SECOND};

use super::time::shown;
use super::trace::{Entry, Trace};

/// The load that a fleet has whose nodes are not named.
const LOAD: f64 = 0.6;
/// So many decisions are made in the time of a trace.
const DECISIONS: f64 = 2000.0;
/// The simulation ends after so many times the time of the trace.
const TIMES_MAX: f64 = 4.0;
/// The most nodes that are made up.
const NODES_MAX: f64 = 100_000.0;

/// A fleet, and where it comes from.
pub(super) struct Built {
    pub(super) setup: Setup,
    pub(super) notes: Vec<String>,
}

/// Makes the fleet. Demands that the trace does not tell are drawn.
pub(super) fn setup(
    trace: &mut Trace,
    nodes: Option<u64>,
    error: f64,
    period_s: Option<f64>,
    seed: u64,
) -> Built {
    let entries = std::mem::take(&mut trace.entries);
    let tasks = std::mem::take(&mut trace.tasks);
    let from_s = trace.window.from_s;
    let until_s = trace.window.end_s();
    let last_s = trace.last_s.max(from_s + 1.0);
    let mut draw = Draw::new(seed);
    let (mut drawn, mut jobs) = (0, Vec::with_capacity(entries.len()));
    for entry in &entries {
        let job = job(entry, (from_s, until_s, last_s), error, &mut draw);
        drawn += usize::from(entry.used_cpus.is_none());
        jobs.push(job);
    }
    let span_s = jobs
        .iter()
        .map(|job| job.arrives_ns + job.duration_ns)
        .max();
    let span_s = span_s.unwrap_or(SECOND) as f64 / SECOND as f64;
    let (machines, made_up) = machines(trace, &jobs, nodes, span_s);
    place(&mut jobs, &entries, trace, machines.len());
    let (tasks, dropped) = tasks.tied();
    let mut setup = Setup::new(machines);
    setup.jobs = jobs;
    setup.tasks = tasks;
    let period_s = period_s.unwrap_or((span_s / DECISIONS).ceil().max(1.0));
    let period_ns = ((period_s * SECOND as f64) as u64).max(1_000_000);
    setup.measuring.period_ns = period_ns;
    setup.decision_ns = period_ns;
    setup.wobble_ns = period_ns;
    // A fleet that is far too small for its trace would work for years.
    setup.until_ns = ((span_s * TIMES_MAX) as u64).saturating_mul(SECOND);
    let notes = notes(&setup, dropped, drawn, made_up, error, span_s);
    Built { setup, notes }
}

fn notes(
    setup: &Setup,
    dropped: Dropped,
    drawn: usize,
    made_up: bool,
    error: f64,
    span_s: f64,
) -> Vec<String> {
    let mut notes = vec![format!("the last job would end after {}", shown(span_s))];
    let censored = setup.jobs.iter().filter(|job| job.is_censored).count();
    if censored > 0 {
        notes.push(format!(
            "jobs that are censored, since the trace or the time that is simulated ends first: \
             {censored}"
        ));
    }
    if drawn > 0 {
        notes.push(format!(
            "jobs whose demand is not told, and is drawn about the estimate (sigma {error}): {drawn}"
        ));
    }
    if made_up {
        notes.push("machines are not told: all are alike".to_owned());
    }
    let Dropped { missing, circular } = dropped;
    if missing + circular > 0 {
        notes.push(format!(
            "dependencies left out: {missing} on tasks that were not read, {circular} in circles"
        ));
    }
    notes
}

/// A job; times are those of the simulation, which begins at `from`, is cut at `until`, and knows
/// nothing after `last`.
fn job(
    entry: &Entry,
    (from_s, until_s, last_s): (f64, f64, f64),
    error: f64,
    draw: &mut Draw,
) -> Job {
    let start_s = entry.start_s.max(from_s);
    let end_s = entry.end_s.unwrap_or(last_s).min(until_s);
    let ns = |seconds: f64| (seconds.max(0.0) * SECOND as f64) as u64;
    // A trace in whole seconds has jobs of none.
    let duration_s = (end_s - start_s).max(1.0);
    let estimate = ((entry.cpus * CPU as f64) as u64).max(1);
    let cpus = match entry.used_cpus {
        Some(cpus) => (cpus * CPU as f64) as u64,
        None => (estimate as f64 * draw.lognormal(1.0, error).clamp(0.25, 4.0)) as u64,
    };
    let mut job = Job::new(ns(start_s - from_s), ns(duration_s), cpus.max(1));
    job.estimate = estimate;
    job.priority = Priority(entry.priority);
    job.memory_bytes = (entry.memory_gib * GIB as f64) as u64;
    job.state_bytes = (job.memory_bytes / 8).max(MIB);
    job.task = entry.task;
    job.is_censored = entry.is_censored || entry.end_s.is_none_or(|end_s| end_s > until_s);
    job
}

/// The machines, and whether they are made up.
fn machines(trace: &Trace, jobs: &[Job], nodes: Option<u64>, span_s: f64) -> (Vec<Node>, bool) {
    let most = nodes.unwrap_or(u64::MAX);
    let count = usize::try_from(most).unwrap_or(usize::MAX);
    let from_s = trace.window.from_s;
    let ns = |seconds: f64| ((seconds - from_s).max(0.0) * SECOND as f64) as u64;
    let known = trace.machines.iter().take(count).map(|machine| {
        let cpus = (machine.cpus * CPU as f64) as u64;
        let mut node = Node::new(cpus, (machine.memory_gib * GIB as f64) as u64);
        node.rack = machine.rack;
        let down = machine.down.iter().map(|(from, to)| ns(*from)..ns(*to));
        node.down = down.filter(|range| !range.is_empty()).collect();
        node
    });
    let known: Vec<Node> = known.collect();
    if known.len() >= 2 {
        return (known, false);
    }
    let (cpus, gib) = trace.format.machine();
    let mean = |of: fn(&Job) -> f64| {
        let all = jobs.iter().map(|job| of(job) * job.duration_ns as f64);
        all.sum::<f64>() / (span_s * SECOND as f64)
    };
    let wanted_cpus = mean(|job| job.cpus as f64) / (cpus * CPU as f64);
    let wanted_memory = mean(|job| job.memory_bytes as f64) / (gib * GIB as f64);
    let wanted = (wanted_cpus.max(wanted_memory) / LOAD).ceil();
    let count = nodes.unwrap_or(wanted.clamp(2.0, NODES_MAX) as u64);
    let node = Node::new((cpus * CPU as f64) as u64, (gib * GIB as f64) as u64);
    (vec![node; usize::try_from(count).unwrap_or(2)], true)
}

/// Puts jobs on the machines on which they ran, as far as those are in the fleet.
fn place(jobs: &mut [Job], entries: &[Entry], trace: &Trace, nodes: usize) {
    let known = trace.machines.iter().take(nodes).zip(0_u32..);
    let places: HashMap<i64, u32> = known.map(|(machine, at)| (machine.id, at)).collect();
    for (job, entry) in jobs.iter_mut().zip(entries) {
        job.node = entry.machine.and_then(|id| places.get(&id).copied());
    }
}
