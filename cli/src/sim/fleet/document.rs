//! The comparison of rules as a JSON document.

use std::collections::BTreeMap;
use std::io::Write;

use heist_sim::fleet::{Score, SECOND};

use super::compared::Compared;
use super::skips::{Skip, Skips};
use crate::sim::json::as_json;

#[derive(serde::Serialize)]
struct Document<'a> {
    /// Every figure is one of a model.
    model: bool,
    fleets: Vec<Fleet<'a>>,
}

#[derive(serde::Serialize)]
struct Fleet<'a> {
    source: &'a str,
    notes: &'a [String],
    nodes: usize,
    jobs: usize,
    tasks: usize,
    runs: u64,
    period_s: f64,
    rules: Vec<Rule<'a>>,
    bound: Bound,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Trace<'a>>,
}

#[derive(serde::Serialize)]
struct Rule<'a> {
    rule: &'a str,
    p50: f64,
    p99: f64,
    slo_missed: f64,
    delay_s: f64,
    spread: f64,
    used: f64,
    moves: u64,
    moves_per_job_hour: f64,
    returns: u64,
    failed_moves: u64,
    overshoots: u64,
    moved_gib: f64,
    pause_s: f64,
    jobs: u64,
    unfinished: u64,
    censored: u64,
    unplaced: u64,
    events: u64,
}

#[derive(serde::Serialize)]
struct Bound {
    delay_s: f64,
    work_cpu_s: f64,
    end_s: f64,
}

#[derive(serde::Serialize)]
struct Trace<'a> {
    rows: u64,
    is_cut: bool,
    skipped: BTreeMap<&'a str, &'a Skip>,
    changed: BTreeMap<&'a str, &'a Skip>,
}

/// Writes all fleets.
pub(super) fn write(fleets: &[Compared], out: &mut impl Write) -> anyhow::Result<()> {
    let document = Document {
        model: true,
        fleets: fleets.iter().map(fleet).collect(),
    };
    let text = serde_json::to_string_pretty(&document)?;
    for line in text.lines() {
        writeln!(out, "{}", as_json(line))?;
    }
    Ok(())
}

fn fleet(compared: &Compared) -> Fleet<'_> {
    let rules = compared.rules.iter().map(|(name, score)| rule(name, score));
    let bound = &compared.bound;
    Fleet {
        source: &compared.title,
        notes: &compared.notes,
        nodes: compared.nodes,
        jobs: compared.jobs,
        tasks: compared.tasks,
        runs: compared.runs,
        period_s: compared.period_s,
        rules: rules.collect(),
        bound: Bound {
            delay_s: bound.delay_s,
            work_cpu_s: bound.work_cpu_s,
            end_s: bound.end_ns as f64 / SECOND as f64,
        },
        trace: compared.trace.as_ref().map(|trace| Trace {
            rows: trace.rows,
            is_cut: trace.is_cut,
            skipped: by_reason(&trace.skipped),
            changed: by_reason(&trace.changed),
        }),
    }
}

fn by_reason(skips: &Skips) -> BTreeMap<&str, &Skip> {
    let reasons = skips.iter().map(|(reason, skip)| (reason.as_str(), skip));
    reasons.collect()
}

fn rule<'a>(name: &'a str, score: &Score) -> Rule<'a> {
    Rule {
        rule: name,
        p50: score.p50,
        p99: score.p99,
        slo_missed: score.slo_missed,
        delay_s: score.delay_s,
        spread: score.spread,
        used: score.used,
        moves: score.moves,
        moves_per_job_hour: score.moves_per_job_hour,
        returns: score.returns,
        failed_moves: score.failed_moves,
        overshoots: score.overshoots,
        moved_gib: score.moved_gib,
        pause_s: score.pause_s,
        jobs: score.jobs,
        unfinished: score.unfinished,
        censored: score.censored,
        unplaced: score.unplaced,
        events: score.events,
    }
}
