//! Azure Traces for Packing 2020: the tables `vm` and `vmType`, exported as CSV.
//!
//! The columns are those of `AzureTracesForPacking2020.md` in the repository
//! `Azure/AzurePublicDataset`: times in days, sizes in shares of a machine. A start before 0 is
//! that of a VM which was there already, and an end that is NULL was not seen within 90 days.

use std::collections::HashMap;

use heist_run::usage::Usage;

use super::bounded::Lines;
use super::skips::Fault;
use super::table::{each_row, Row};
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
    let mut types = HashMap::new();
    each_row(lines, &TYPE, trace, |row, trace| {
        let share = |field, column| {
            let accepted = "a share of a machine, above 0, up to 1";
            number(field, row.cell(column), 1e-9..=1.0, accepted)
        };
        let machine: u64 = row.cell(2).parse().unwrap_or(u64::MAX);
        let (core, memory) = (share("core", 3)?, share("memory", 4)?);
        if types.len() >= TYPES_MAX {
            let reason = "there are more than a million types";
            trace.skipped.add(row.place, reason);
            return Ok(());
        }
        let entry = types.entry(row.cell(1).to_owned());
        let known = entry.or_insert((machine, core, memory));
        if machine < known.0 {
            *known = (machine, core, memory);
        }
        Ok(())
    })?;
    Ok(Types(types))
}

/// Reads the VMs, of which each is a job.
pub(super) fn read_jobs(lines: &mut Lines, types: &Types, trace: &mut Trace) -> Result<(), Usage> {
    each_row(lines, &VM, trace, |row, trace| {
        let entry = vm(row, types, trace)?;
        trace.push_if_wanted(row.place, entry);
        Ok(())
    })
}

fn vm(row: &Row<'_>, types: &Types, trace: &mut Trace) -> Result<Entry, Fault> {
    let (cell, place) = (|column| row.cell(column), row.place);
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
