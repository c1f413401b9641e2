//! The comparisons as one JSON document, for programs.
//!
//! `book/src/json.md` describes each field, and a test compares the two.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::comparison::{Comparison, Round, Row};
use crate::machine::{self, Machine};
use crate::workload::{Skipped, Value};

/// Grows when a field changes its meaning or goes away; new fields may appear.
const SCHEMA_VERSION: u32 = 2;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    heist_version: &'static str,
    commit: Option<&'static str>,
    machine: Machine,
    workers: usize,
    comparisons: Vec<One<'a>>,
    verdict: Option<&'a str>,
}

/// One workload.
#[derive(Serialize)]
struct One<'a> {
    workload: &'a str,
    input: &'a str,
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
    rounds: Vec<RawRound>,
}

/// One measured run, as it was.
#[derive(Serialize)]
struct RawRound {
    wall_ns: u64,
    busy_by_worker_ns: Vec<u64>,
    tasks: u64,
    steals: Option<u64>,
    steals_failed: Option<u64>,
}

/// Prints the comparisons.
pub(super) fn write(
    workers: usize,
    comparisons: &[Comparison],
    verdict: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        heist_version: env!("CARGO_PKG_VERSION"),
        commit: machine::commit(),
        machine: Machine::here(),
        workers,
        comparisons: comparisons.iter().map(one).collect(),
        verdict,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn one(comparison: &Comparison) -> One<'_> {
    let result = comparison.facts.iter().map(|fact| {
        let value = match &fact.value {
            Value::Number(number) => (*number).into(),
            Value::Real(real) => (*real).into(),
            Value::Text(text) => text.as_str().into(),
        };
        (fact.name.to_owned(), value)
    });
    let strategies = comparison.rows.iter().map(|row| strategy(comparison, row));
    One {
        workload: comparison.workload,
        input: &comparison.input,
        rounds: comparison.rounds,
        result: result.collect(),
        skipped: &comparison.skipped,
        strategies: strategies.collect(),
    }
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
        rounds: row.rounds.iter().map(raw).collect(),
    }
}

fn raw(round: &Round) -> RawRound {
    RawRound {
        wall_ns: ns(round.wall),
        busy_by_worker_ns: round.busy.iter().copied().map(ns).collect(),
        tasks: round.tasks,
        steals: round.steals.map(|steals| steals.taken),
        steals_failed: round.steals.map(|steals| steals.failed),
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
