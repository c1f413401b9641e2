//! Alibaba's trace of 2018: `batch_task.csv` and `machine_meta.csv`.
//!
//! The columns are those of `cluster-trace-v2018/schema.txt` and `trace_2018.md` in the repository
//! `alibaba/clusterdata`; the files have no heads. A time of 0 means before or after the trace, and
//! normalised sizes of -1 and 101 are bad values.

use std::collections::{HashMap, HashSet};

use heist_run::usage::Usage;

use super::bounded::Lines;
use super::skips::Fault;
use super::table::{each_row, Row};
use super::trace::{number, time, Entry, Machine, Trace, CPUS_MAX};

const TASK: [&str; 9] = [
    "task_name",
    "instance_num",
    "job_name",
    "task_type",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
];
const MACHINE: [&str; 7] = [
    "machine_id",
    "time_stamp",
    "failure_domain_1",
    "failure_domain_2",
    "cpu_num",
    "mem_size",
    "status",
];
/// The memory of the largest machine, which the trace calls 100; it does not tell.
const MEMORY_GIB: f64 = 512.0;
/// The most machines that are kept.
const MACHINES_MAX: usize = 1_000_000;

/// Reads the tasks, of which each instance is a job.
pub(super) fn read_jobs(lines: &mut Lines, trace: &mut Trace) -> Result<(), Usage> {
    each_row(lines, &TASK, trace, add_task)
}

fn add_task(row: &Row<'_>, trace: &mut Trace) -> Result<(), Fault> {
    let (cell, place) = (|column| row.cell(column), row.place);
    let start_s = time("start_time", cell(5))?;
    let instances = number("instance_num", cell(1), 1.0..=1e9, "a number from 1 to 1e9")?;
    let cpus = number(
        "plan_cpu",
        cell(7),
        1e-3..=CPUS_MAX * 100.0,
        "hundredths of a core, above 0",
    )?;
    let is_bad = |size: f64| !(0.0..=100.0).contains(&size);
    let memory: Option<f64> = cell(8).parse().ok().filter(|size| !is_bad(*size));
    let end_s = match cell(6) {
        "" | "0" => None,
        end => Some(time("end_time", end)?),
    };
    if end_s.is_some_and(|end_s| end_s < start_s) {
        return Err(Fault::new(
            "end_time",
            cell(6),
            "start_time or later, or 0 if unknown",
        ));
    }
    if start_s == 0.0 {
        trace
            .changed
            .add(place, "start_time is 0: it began before the trace");
    }
    if !trace.wants(place, start_s, end_s) {
        return Ok(());
    }
    if memory.is_none() {
        trace
            .changed
            .add(place, "plan_mem is none from 0 to 100: it counts as 0");
    }
    let task = trace.tasks.add(cell(2), cell(0));
    let room = trace.window.limit - trace.entries.len() as u64;
    let count = (instances as u64).min(room);
    if (count as f64) < instances {
        trace
            .changed
            .add(place, "the limit of jobs leaves some of its instances out");
    }
    let entry = Entry {
        start_s,
        end_s,
        is_censored: false,
        cpus: cpus / 100.0,
        used_cpus: None,
        memory_gib: memory.unwrap_or(0.0) / 100.0 * MEMORY_GIB,
        priority: 3,
        task: Some(task),
        machine: None,
    };
    trace.entries.extend((0..count).map(|_| entry.clone()));
    Ok(())
}

/// Reads the machines; of several rows of one the first counts.
pub(super) fn read_machines(lines: &mut Lines, trace: &mut Trace) -> Result<(), Usage> {
    let (mut known, mut racks) = (HashSet::new(), HashMap::new());
    each_row(lines, &MACHINE, trace, |row, trace| {
        let id = row.cell(0);
        if known.contains(id) {
            return Ok(());
        }
        if known.len() >= MACHINES_MAX {
            let reason = "there are more than a million machines";
            trace.skipped.add(row.place, reason);
            return Ok(());
        }
        let accepted = "a number of cores, from 1";
        let cpus = number("cpu_num", row.cell(4), 1.0..=CPUS_MAX, accepted)?;
        let memory: Option<f64> = row.cell(5).parse().ok();
        let memory = memory.filter(|size| *size > 0.0 && *size <= 100.0);
        if memory.is_none() {
            let reason = "mem_size is none from 0 to 100: it counts as 100";
            trace.changed.add(row.place, reason);
        }
        known.insert(id.to_owned());
        let rack = racks.len() as u32;
        trace.machines.push(Machine {
            id: known.len() as i64,
            cpus,
            memory_gib: memory.unwrap_or(100.0) / 100.0 * MEMORY_GIB,
            rack: *racks.entry(row.cell(2).to_owned()).or_insert(rack),
            down: Vec::new(),
        });
        Ok(())
    })
}
