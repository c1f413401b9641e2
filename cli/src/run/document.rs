//! The comparison as one JSON document, for programs.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::comparison::{Comparison, Row};
use crate::workload::{Skipped, Value};

/// Grows when a field changes its meaning or goes away; new fields may appear.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    workload: &'a str,
    input: &'a str,
    workers: usize,
    rounds: u64,
    result: serde_json::Map<String, serde_json::Value>,
    skipped: &'a [Skipped],
    strategies: Vec<Strategy>,
}

#[derive(Serialize)]
struct Strategy {
    name: &'static str,
    matches_serial: bool,
    speedup: f64,
    utilisation: f64,
    busy_share_by_worker: Vec<f64>,
    tasks: u64,
    steals: Option<u64>,
    steals_failed: Option<u64>,
    wall_median_ns: u64,
    wall_min_ns: u64,
    wall_max_ns: u64,
}

/// Prints the comparison.
pub(super) fn write(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let result = comparison.facts.iter().map(|fact| {
        let value = match &fact.value {
            Value::Number(number) => (*number).into(),
            Value::Real(real) => (*real).into(),
            Value::Text(text) => text.as_str().into(),
        };
        (fact.name.to_owned(), value)
    });
    let document = Document {
        schema_version: SCHEMA_VERSION,
        workload: comparison.workload,
        input: &comparison.input,
        workers: comparison.workers,
        rounds: comparison.rounds,
        result: result.collect(),
        skipped: &comparison.skipped,
        strategies: comparison
            .rows
            .iter()
            .map(|row| strategy(comparison, row))
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn strategy(comparison: &Comparison, row: &Row) -> Strategy {
    let median = row.median();
    Strategy {
        name: row.strategy.as_str(),
        matches_serial: row.agrees,
        speedup: comparison.speedup(row),
        utilisation: median.utilisation(),
        busy_share_by_worker: median.busy_shares().collect(),
        tasks: median.tasks,
        steals: median.steals.map(|steals| steals.taken),
        steals_failed: median.steals.map(|steals| steals.failed),
        wall_median_ns: ns(median.wall),
        wall_min_ns: ns(row.fastest().wall),
        wall_max_ns: ns(row.slowest().wall),
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
