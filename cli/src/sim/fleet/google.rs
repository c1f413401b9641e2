//! Google's traces of 2019 (v3): instance events and machine events.
//!
//! The fields are those of `clusterdata_trace_format_v3.proto` in the repository
//! `google/cluster-data`. Lines are JSON as `BigQuery` exports it, where whole numbers are texts,
//! or rows of CSV whose heads are the names of the fields. A time of 0 is before the trace, the
//! largest number after it; machine 0 is none, and -1 a dedicated one.

use std::collections::HashMap;

use heist_run::usage::Usage;
use serde_json::Value;

use super::bounded::{cells, Columns, Lines};
use super::skips::Fault;
use super::trace::{number, Entry, Format, Machine, Trace, SECONDS_MAX};

const FIELDS: [&str; 11] = [
    "time",
    "type",
    "collection_id",
    "instance_index",
    "machine_id",
    "priority",
    "collection_type",
    "cpus",
    "memory",
    "alloc_collection_id",
    "switch_id",
];
/// The field of a path through the document, or of a head.
const PATHS: [(&str, &str); 4] = [
    ("resource_request", "cpus"),
    ("resource_request", "memory"),
    ("capacity", "cpus"),
    ("capacity", "memory"),
];
const TIME: usize = 0;
const TYPE: usize = 1;
const COLLECTION: usize = 2;
const INSTANCE: usize = 3;
const MACHINE: usize = 4;
const PRIORITY: usize = 5;
const COLLECTION_TYPE: usize = 6;
const CPUS: usize = 7;
const MEMORY: usize = 8;
const SWITCH: usize = 10;

/// The names of events, in the order of their numbers.
const EVENTS: [&str; 11] = [
    "SUBMIT",
    "QUEUE",
    "ENABLE",
    "SCHEDULE",
    "EVICT",
    "FAIL",
    "FINISH",
    "KILL",
    "LOST",
    "UPDATE_PENDING",
    "UPDATE_RUNNING",
];
const MACHINE_EVENTS: [&str; 4] = ["UNKNOWN", "ADD", "REMOVE", "UPDATE"];
/// The most machines that are kept.
const MACHINES_MAX: usize = 1_000_000;

/// One event, as texts in the order of [`FIELDS`].
type Row = [String; FIELDS.len()];

/// Reads a row of either form; `None` for one that is heads, or that is counted as skipped.
fn row(line: &[u8], columns: &mut Columns, place: &str, trace: &mut Trace) -> Option<Row> {
    if line.first() == Some(&b'{') {
        trace.rows += 1;
        let Ok(document) = serde_json::from_slice::<Value>(line) else {
            trace.skipped.add(place, "the line is no JSON document");
            return None;
        };
        return Some(std::array::from_fn(|field| {
            of_document(&document, FIELDS[field])
        }));
    }
    let Some(cells) = cells(line) else {
        trace.rows += 1;
        trace.skipped.add(place, "the row is no UTF-8");
        return None;
    };
    // Heads may be paths; of a path the last name tells the field.
    let heads: Vec<&str> = cells.iter().map(|head| head_of(head)).collect();
    if columns.takes_heads(&heads) {
        return None;
    }
    trace.rows += 1;
    Some(std::array::from_fn(|field| {
        columns.cell(&cells, field).to_owned()
    }))
}

/// The field that a head means.
fn head_of(head: &str) -> &str {
    let path = PATHS.iter().find(|(outer, inner)| {
        let rest = head.strip_prefix(outer);
        rest.and_then(|rest| rest.strip_prefix(['.', '_'])) == Some(inner)
    });
    path.map_or(head, |(_, inner)| inner)
}

/// A field of a document as a text; empty if it is not there.
fn of_document(document: &Value, field: &str) -> String {
    let nested = || {
        let mut outer = PATHS.iter().filter(|(_, inner)| *inner == field);
        outer.find_map(|(outer, inner)| document.get(outer)?.get(inner))
    };
    match document.get(field).or_else(nested) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The number of an event, which may be written as its name.
fn event(row: &Row, names: &[&str], accepted: &'static str) -> Result<usize, Fault> {
    let cell = row[TYPE].as_str();
    let named = names.iter().position(|name| *name == cell);
    let numbered = || cell.parse().ok().filter(|number| *number < names.len());
    // A message without the field means the first.
    let event = named.or_else(numbered).or(cell.is_empty().then_some(0));
    event.ok_or_else(|| Fault::new("type", cell, accepted))
}

/// A time in seconds; `None` if it is after the trace.
fn time(row: &Row) -> Result<Option<f64>, Fault> {
    let cell = row[TIME].as_str();
    // Microseconds; a missing one is 0, the default of the format.
    let micros: u64 = match cell {
        "" => 0,
        cell => {
            let read = cell.parse().ok();
            read.ok_or_else(|| Fault::new("time", cell, "a whole number of microseconds"))?
        }
    };
    let seconds = micros as f64 / 1e6;
    Ok((seconds <= SECONDS_MAX).then_some(seconds))
}

fn id(field: &'static str, cell: &str) -> Result<i64, Fault> {
    cell.parse()
        .map_err(|_| Fault::new(field, cell, "a whole number"))
}

/// Priorities are in tiers: production and monitoring, of which nothing moves below an emergency,
/// then mid, batch, and free.
fn priority(cell: &str) -> u8 {
    match cell.parse::<i64>() {
        Ok(360..) => 0,
        Ok(120..) => 1,
        Ok(116..) => 2,
        Ok(100..) => 3,
        _ => 4,
    }
}

/// Reads the events of instances: a job is an instance from when it is scheduled until it ends.
pub(super) fn read_jobs(lines: &mut Lines, trace: &mut Trace) -> Result<(), Usage> {
    let mut columns = Columns::new(&FIELDS);
    let mut open: HashMap<(i64, i64), (Entry, String)> = HashMap::new();
    loop {
        let place = lines.place_of_next();
        let Some(line) = lines.next()? else { break };
        let Some(row) = row(line, &mut columns, &place, trace) else {
            continue;
        };
        if let Err(fault) = add_event(&row, &place, trace, &mut open) {
            trace.skipped.fault(&place, &fault);
        }
        if trace.is_cut && open.is_empty() {
            break;
        }
    }
    // In the order of their starts, since the map has none.
    let mut left: Vec<_> = open.into_iter().collect();
    left.sort_by(|(a, (x, _)), (b, (y, _))| x.start_s.total_cmp(&y.start_s).then(a.cmp(b)));
    for (_, (entry, place)) in left {
        if trace.wants(&place, entry.start_s, None) {
            trace.entries.push(entry);
        }
    }
    Ok(())
}

fn add_event(
    row: &Row,
    place: &str,
    trace: &mut Trace,
    open: &mut HashMap<(i64, i64), (Entry, String)>,
) -> Result<(), Fault> {
    let kind = event(
        row,
        &EVENTS,
        "an event from SUBMIT (0) to UPDATE_RUNNING (10)",
    )?;
    let now_s = time(row)?;
    trace.last_s = trace.last_s.max(now_s.unwrap_or(0.0));
    let instance = || {
        Ok((
            id("collection_id", &row[COLLECTION])?,
            index(&row[INSTANCE])?,
        ))
    };
    match kind {
        3 => {
            if matches!(row[COLLECTION_TYPE].as_str(), "1" | "ALLOC_SET") {
                trace.skipped.add(place, "it is an alloc, not a task");
                return Ok(());
            }
            let Some(start_s) = now_s else {
                trace.skipped.add(place, "its time is after the trace");
                return Ok(());
            };
            begin(row, instance()?, start_s, place, trace, open)?;
        }
        4..=8 => {
            let Some((mut entry, begun)) = open.remove(&instance()?) else {
                trace
                    .skipped
                    .add(place, "it ends an instance of which no start is known");
                return Ok(());
            };
            let end_s = now_s.filter(|end_s| *end_s >= entry.start_s);
            if now_s.is_some() && end_s.is_none() {
                let reason = "it ends an instance before its start: its end is not known";
                trace.changed.add(place, reason);
            }
            entry.end_s = end_s;
            if trace.wants(&begun, entry.start_s, end_s) {
                trace.entries.push(entry);
            }
        }
        10 => {
            if let Some((entry, _)) = open.get_mut(&instance()?) {
                if let Ok(cpus) = cpus(row) {
                    entry.cpus = cpus;
                }
            }
        }
        _ => (),
    }
    Ok(())
}

/// An instance begins to run.
fn begin(
    row: &Row,
    instance: (i64, i64),
    start_s: f64,
    place: &str,
    trace: &mut Trace,
    open: &mut HashMap<(i64, i64), (Entry, String)>,
) -> Result<(), Fault> {
    let entry = scheduled(row, start_s, place, trace)?;
    if start_s >= trace.window.end_s() {
        trace.wants(place, start_s, None);
        return Ok(());
    }
    let jobs = (trace.entries.len() + open.len()) as u64;
    if jobs >= trace.window.limit {
        trace.is_cut = true;
        trace.skipped.add(place, "the limit of jobs leaves it out");
        return Ok(());
    }
    let Some((mut before, begun)) = open.insert(instance, (entry, place.to_owned())) else {
        return Ok(());
    };
    trace
        .changed
        .add(place, "it starts an instance that runs: that ends here");
    before.end_s = Some(start_s.max(before.start_s));
    if trace.wants(&begun, before.start_s, before.end_s) {
        trace.entries.push(before);
    }
    Ok(())
}

/// The place of an instance among those of its collection; a missing one is 0.
fn index(cell: &str) -> Result<i64, Fault> {
    match cell {
        "" => Ok(0),
        cell => id("instance_index", cell),
    }
}

fn cpus(row: &Row) -> Result<f64, Fault> {
    let accepted = "a share of a machine, above 0, up to 1";
    let share = number("resource_request.cpus", &row[CPUS], 1e-9..=1.0, accepted)?;
    Ok(share * Format::Google.machine().0)
}

fn scheduled(row: &Row, start_s: f64, place: &str, trace: &mut Trace) -> Result<Entry, Fault> {
    let cpus = cpus(row)?;
    let memory: Option<f64> = row[MEMORY].parse().ok();
    let memory = memory.filter(|share| (0.0..=1.0).contains(share));
    if memory.is_none() {
        let reason = "resource_request.memory is none from 0 to 1: it counts as 0";
        trace.changed.add(place, reason);
    }
    if start_s == 0.0 {
        trace
            .changed
            .add(place, "time is 0: it began before the trace");
    }
    let machine = row[MACHINE].parse().ok();
    if machine == Some(-1) {
        trace
            .changed
            .add(place, "machine_id is -1, a dedicated one: it goes to any");
    }
    Ok(Entry {
        start_s,
        end_s: None,
        is_censored: false,
        cpus,
        used_cpus: None,
        memory_gib: memory.unwrap_or(0.0) * Format::Google.machine().1,
        priority: priority(&row[PRIORITY]),
        task: None,
        machine: machine.filter(|id| *id > 0),
    })
}

/// Reads the events of machines.
pub(super) fn read_machines(lines: &mut Lines, trace: &mut Trace) -> Result<(), Usage> {
    let mut columns = Columns::new(&FIELDS);
    let mut places: HashMap<i64, usize> = HashMap::new();
    let mut racks: HashMap<String, u32> = HashMap::new();
    loop {
        let place = lines.place_of_next();
        let Some(line) = lines.next()? else {
            return Ok(());
        };
        let Some(row) = row(line, &mut columns, &place, trace) else {
            continue;
        };
        if let Err(fault) = add_machine(&row, &place, trace, &mut places, &mut racks) {
            trace.skipped.fault(&place, &fault);
        }
    }
}

fn add_machine(
    row: &Row,
    place: &str,
    trace: &mut Trace,
    places: &mut HashMap<i64, usize>,
    racks: &mut HashMap<String, u32>,
) -> Result<(), Fault> {
    let kind = event(row, &MACHINE_EVENTS, "an event from ADD (1) to UPDATE (3)")?;
    let now_s = time(row)?.unwrap_or(SECONDS_MAX);
    let id = id("machine_id", &row[MACHINE])?;
    let known = places.get(&id).copied();
    match (kind, known) {
        (1 | 2, Some(at)) => {
            let down = &mut trace.machines[at].down;
            let gone = down.last_mut().filter(|(_, to)| *to >= SECONDS_MAX);
            match (kind, gone) {
                (2, None) => down.push((now_s, SECONDS_MAX)),
                (1, Some(last)) => last.1 = now_s.max(last.0),
                (2, _) => trace
                    .skipped
                    .add(place, "it removes a machine that is gone"),
                _ => trace.skipped.add(place, "it adds a machine that is there"),
            }
        }
        (2, None) => trace
            .skipped
            .add(place, "it removes a machine of which no start is known"),
        (3, Some(_)) => trace
            .changed
            .add(place, "it changes a machine: the first size counts"),
        (1 | 3, None) if trace.machines.len() < MACHINES_MAX => {
            let accepted = "a share of a machine, above 0, up to 1";
            let share = |field, cell: &str| number(field, cell, 1e-9..=1.0, accepted);
            let (cpus, gib) = Format::Google.machine();
            let next = racks.len() as u32;
            let machine = Machine {
                id,
                cpus: share("capacity.cpus", &row[CPUS])? * cpus,
                memory_gib: share("capacity.memory", &row[MEMORY])? * gib,
                rack: *racks.entry(row[SWITCH].clone()).or_insert(next),
                // One that is added later was not there before.
                down: (now_s > 0.0).then_some((0.0, now_s)).into_iter().collect(),
            };
            places.insert(id, trace.machines.len());
            trace.machines.push(machine);
        }
        (1 | 3, None) => trace
            .skipped
            .add(place, "there are more than a million machines"),
        _ => (),
    }
    Ok(())
}
