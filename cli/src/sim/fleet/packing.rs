//! Azure Traces for Packing 2020: the tables `vm` and `vmType`, exported as CSV.
//!
//! The columns are those of `AzureTracesForPacking2020.md` in the repository
//! `Azure/AzurePublicDataset`: times in days, sizes in shares of a machine. A start before 0 is
//! that of a VM which was there already, and an end that is NULL was not seen within 90 days.

use std::collections::HashMap;

use heist_run::usage::Usage;

use super::bounded::{cells, Columns, Lines};
use super::skips::Fault;
use super::trace::{number, Entry, Format, Trace};

const VM: [&str; 6] = [
    "vmId",
    "tenantId",
    "vmTypeId",
    "priority",
    "starttime",
    "endtime",
];
const TYPE: [&str; 8] = [
    "id",
    "vmTypeId",
    "machineId",
    "core",
    "memory",
    "hdd",
    "ssd",
    "nic",
];
const DAY_S: f64 = 86_400.0;
/// Ends beyond this day are not known.
const DAYS_MAX: f64 = 90.0;
/// The most types that are kept.
const TYPES_MAX: usize = 1_000_000;

/// The sizes of types of VMs, as shares of CPUs and memory of the machine of the lowest number.
#[derive(Debug, Default)]
pub(super) struct Types(HashMap<String, (u64, f64, f64)>);

/// Reads the types.
pub(super) fn read_types(lines: &mut Lines, trace: &mut Trace) -> Result<Types, Usage> {
    let mut columns = Columns::new(&TYPE);
    let mut types = HashMap::new();
    loop {
        let place = lines.place_of_next();
        let Some(line) = lines.next()? else {
            return Ok(Types(types));
        };
        let Some(row) = cells(line) else {
            trace.rows += 1;
            trace.skipped.add(&place, "the row is no UTF-8");
            continue;
        };
        if columns.takes_heads(&row) {
            continue;
        }
        trace.rows += 1;
        let cell = |column: usize| columns.cell(&row, column);
        let share = |field, column| {
            number(
                field,
                cell(column),
                1e-9..=1.0,
                "a share of a machine, above 0, up to 1",
            )
        };
        let machine: u64 = cell(2).parse().unwrap_or(u64::MAX);
        match (share("core", 3), share("memory", 4)) {
            (Ok(core), Ok(memory)) if types.len() < TYPES_MAX => {
                let entry = types.entry(cell(1).to_owned());
                let known = entry.or_insert((machine, core, memory));
                if machine < known.0 {
                    *known = (machine, core, memory);
                }
            }
            (Ok(_), Ok(_)) => trace
                .skipped
                .add(&place, "there are more than a million types"),
            (Err(fault), _) | (_, Err(fault)) => trace.skipped.fault(&place, &fault),
        }
    }
}

/// Reads the VMs, of which each is a job.
pub(super) fn read_jobs(lines: &mut Lines, types: &Types, trace: &mut Trace) -> Result<(), Usage> {
    let mut columns = Columns::new(&VM);
    while !trace.is_full() {
        let place = lines.place_of_next();
        let Some(line) = lines.next()? else {
            return Ok(());
        };
        let Some(row) = cells(line) else {
            trace.rows += 1;
            trace.skipped.add(&place, "the row is no UTF-8");
            continue;
        };
        if columns.takes_heads(&row) {
            continue;
        }
        trace.rows += 1;
        match vm(&columns, &row, types, &place, trace) {
            Ok(entry) if trace.wants(&place, entry.start_s, entry.end_s) => {
                trace.entries.push(entry);
            }
            Ok(_) => (),
            Err(fault) => trace.skipped.fault(&place, &fault),
        }
    }
    trace.is_cut = true;
    Ok(())
}

fn vm(
    columns: &Columns,
    row: &[&str],
    types: &Types,
    place: &str,
    trace: &mut Trace,
) -> Result<Entry, Fault> {
    let cell = |column: usize| columns.cell(row, column);
    let accepted = "a number of days, from -400 to 400";
    let start = number("starttime", cell(4), -400.0..=400.0, accepted)?;
    let end = match cell(5) {
        "" => None,
        null if null.eq_ignore_ascii_case("null") => None,
        end => Some(number("endtime", end, -400.0..=400.0, accepted)?),
    };
    if end.is_some_and(|end| end < start.max(0.0)) {
        return Err(Fault::new(
            "endtime",
            cell(5),
            "starttime or later, and 0 or later",
        ));
    }
    let found = types.0.get(cell(2));
    let (_, core, memory) =
        *found.ok_or_else(|| Fault::new("vmTypeId", cell(2), "a type of the table vmType"))?;
    if start < 0.0 {
        trace
            .changed
            .add(place, "starttime is before 0: the rest of its time counts");
    }
    let (cpus, gib) = Format::Packing.machine();
    Ok(Entry {
        start_s: start.max(0.0) * DAY_S,
        end_s: Some(end.unwrap_or(DAYS_MAX.max(start)) * DAY_S),
        is_censored: end.is_none_or(|end| end >= DAYS_MAX),
        cpus: core * cpus,
        used_cpus: None,
        memory_gib: memory * gib,
        priority: if cell(3) == "0" { 1 } else { 3 },
        task: None,
        machine: None,
    })
}
