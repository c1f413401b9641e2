//! Azure's VM traces V1 and V2: `vmtable.csv`.
//!
//! The columns follow `AzurePublicDatasetV1.md` and `AzurePublicDatasetV2.md` in the repository
//! `Azure/AzurePublicDataset`, and the notebooks beside them. The file has no heads. V1 has numbers
//! of cores and GB of memory, V2 buckets, of which the last, such as `>24`, has no upper end.

use heist_run::usage::Usage;

use super::bounded::Lines;
use super::skips::Fault;
use super::table::{each_row, Row};
use super::trace::{number, time, Entry, Trace, CPUS_MAX};

const VM: [&str; 11] = [
    "vmid",
    "subscriptionid",
    "deploymentid",
    "vmcreated",
    "vmdeleted",
    "maxcpu",
    "avgcpu",
    "p95maxcpu",
    "vmcategory",
    "vmcorecountbucket",
    "vmmemorybucket",
];
/// VMs that were deleted then or later were alive at the end of the 30 days.
const END_S: f64 = 30.0 * 86_400.0 - 300.0;

/// Reads the VMs, of which each is a job.
pub(super) fn read_jobs(lines: &mut Lines, trace: &mut Trace) -> Result<(), Usage> {
    each_row(lines, &VM, trace, |row, trace| {
        let entry = vm(row, trace)?;
        trace.push_if_wanted(row.place, entry);
        Ok(())
    })
}

fn vm(row: &Row<'_>, trace: &mut Trace) -> Result<Entry, Fault> {
    let (cell, place) = (|column| row.cell(column), row.place);
    let start_s = time("vmcreated", cell(3))?;
    let end_s = match cell(4) {
        "" => None,
        end => Some(time("vmdeleted", end)?),
    };
    if end_s.is_some_and(|end_s| end_s < start_s) {
        return Err(Fault::new("vmdeleted", cell(4), "vmcreated or later"));
    }
    let cores = bucket("vmcorecount", cell(9), place, trace)?;
    let memory_gib = bucket("vmmemory", cell(10), place, trace)?;
    let average: Option<f64> = cell(6).parse().ok();
    let average = average.filter(|share| (0.0..=100.0).contains(share));
    if average.is_none() {
        trace
            .changed
            .add(place, "avgcpu is none from 0 to 100: the use is drawn");
    }
    if start_s == 0.0 {
        trace.changed.add(
            place,
            "vmcreated is 0: it began before the trace, or with it",
        );
    }
    let priority = match cell(8) {
        "Interactive" => 1,
        "Delay-insensitive" => 3,
        _ => 2,
    };
    Ok(Entry {
        start_s,
        end_s,
        is_censored: end_s.is_some_and(|end_s| end_s >= END_S),
        cpus: cores,
        // An idle machine uses something.
        used_cpus: average.map(|share| (cores * share / 100.0).max(0.001)),
        memory_gib,
        priority,
        task: None,
        machine: None,
    })
}

/// A number, or the bucket above one, which counts as the next power of two.
fn bucket(field: &'static str, cell: &str, place: &str, trace: &mut Trace) -> Result<f64, Fault> {
    let accepted = "a number above 0, or a bucket such as >24";
    let Some(above) = cell.strip_prefix('>') else {
        return number(field, cell, 1e-3..=CPUS_MAX, accepted);
    };
    let above = number(field, above.trim(), 1.0..=65_536.0, accepted)?;
    let next = (above as u64 + 1).next_power_of_two();
    let reason = format!("{field} is a bucket without an end, above {above}: it counts as {next}");
    trace.changed.add(place, &reason);
    Ok(next as f64)
}
