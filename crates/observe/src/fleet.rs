//! A page about a run on many machines: their use, the jobs on them, and the moves of jobs between
//! them.
//!
//! A program fills a [`Fleet`], and [`html`] draws it. Times are milliseconds from the beginning
//! of the run.

use serde_json::{json, Value};

use crate::page::{page, text, DRAWN};

mod run;
mod tables;

pub use run::{
    Attempt, AttemptEnd, Checkpoint, Decision, Expected, Fleet, Job, Machine, Move, Moved, Stretch,
    Usage,
};

const STYLE: &str = include_str!("fleet/page.css");
const SCRIPT: &str = include_str!("fleet/page.js");

/// The page that shows a run.
///
/// All texts are escaped, so that they may come from outside.
///
/// # Panics
///
/// Panics if an attempt or a move names a machine or a job that does not exist.
///
/// # Examples
///
/// ```
/// use heist_observe::fleet::{html, Fleet, Machine};
///
/// let machine = Machine { name: "<n1>".into(), ..Machine::default() };
/// let page = html("a & b", &Fleet { machines: vec![machine], ..Fleet::default() });
/// assert!(page.contains("<title>a &amp; b</title>"));
/// assert!(!page.contains("<n1>"));
/// ```
#[must_use]
pub fn html(title: &str, fleet: &Fleet) -> String {
    let mut body = tables::figures(&fleet.facts);
    body.push_str(DRAWN);
    for note in &fleet.notes {
        body.push_str(&format!("<p class=\"note\">{}</p>\n", text(note)));
    }
    body.push_str(&tables::moves(fleet));
    body.push_str(&tables::jobs(fleet));
    body.push_str(&tables::decisions(&fleet.decisions));
    page(title, STYLE, &body, &data(fleet), SCRIPT)
}

/// The input of the script.
fn data(fleet: &Fleet) -> Value {
    let machines = fleet.machines.iter().map(machine_data);
    let jobs = fleet.jobs.iter().map(|job| {
        let attempts = job.attempts.iter();
        json!({
            "name": job.name,
            "note": job.note,
            "outcome": job.outcome,
            "attempts": attempts.map(|attempt| attempt_data(fleet, attempt)).collect::<Vec<_>>(),
        })
    });
    let moves = fleet.moves.iter().map(move_data);
    json!({
        "wall_ms": fleet.wall_ms,
        "machines": machines.collect::<Vec<_>>(),
        "jobs": jobs.collect::<Vec<_>>(),
        "moves": moves.collect::<Vec<_>>(),
        "undriven": fleet.undriven.iter().map(stretch_data).collect::<Vec<_>>(),
    })
}

fn stretch_data(stretch: &Stretch) -> Value {
    json!([stretch.begin_ms, stretch.end_ms])
}

fn machine_data(machine: &Machine) -> Value {
    let usage = &machine.usage;
    json!({
        "name": machine.name,
        "note": machine.note,
        "begin": usage.iter().map(|usage| usage.stretch.begin_ms).collect::<Vec<_>>(),
        "end": usage.iter().map(|usage| usage.stretch.end_ms).collect::<Vec<_>>(),
        "share": usage.iter().map(|usage| usage.share).collect::<Vec<_>>(),
        "why": usage.iter().map(|usage| usage.note.as_str()).collect::<Vec<_>>(),
        "absent": machine.absent.iter().map(stretch_data).collect::<Vec<_>>(),
    })
}

fn attempt_data(fleet: &Fleet, attempt: &Attempt) -> Value {
    assert!(
        attempt.machine < fleet.machines.len(),
        "the fleet has no machine {}",
        attempt.machine
    );
    let checkpoints = attempt.checkpoints.iter();
    json!({
        "machine": attempt.machine,
        "epoch": attempt.epoch,
        "begin": attempt.stretch.begin_ms,
        "end": attempt.stretch.end_ms,
        "why": match attempt.end {
            AttemptEnd::Done => "done",
            AttemptEnd::Failed => "failed",
            AttemptEnd::Moved => "moved",
            AttemptEnd::Lost => "lost",
            AttemptEnd::Open => "open",
        },
        "note": attempt.note,
        "checkpoints": checkpoints
            .map(|kept| json!([kept.at_ms, kept.progress, kept.bytes]))
            .collect::<Vec<_>>(),
    })
}

fn move_data(moved: &Move) -> Value {
    let (came, failure) = match &moved.outcome {
        Some(Ok(came)) => (Some(came), None),
        Some(Err(failure)) => (None, Some(failure)),
        None => (None, None),
    };
    json!({
        "job": moved.job,
        "from": moved.from,
        "to": moved.to,
        "began": moved.began_ms,
        "expected": moved.expected.map(|expected| json!({
            "benefit": expected.benefit_cpu_s,
            "cost": expected.cost_cpu_s,
            "standstill": expected.standstill_ms,
        })),
        "came": came.map(|came| json!({
            "pausing": came.pausing_ms,
            "standstill": came.standstill_ms,
            "bytes": came.bytes,
        })),
        "failure": failure,
    })
}

#[cfg(test)]
mod tests;
