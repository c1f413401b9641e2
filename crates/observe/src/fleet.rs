//! A page about a run on many machines: what they used, which jobs ran where, and how jobs
//! moved between them.
//!
//! A program fills a [`Fleet`] with what it knows; [`html`] draws it. Times are milliseconds
//! from the beginning of the run.

use serde_json::{json, Value};

use crate::report::{self, text};
use crate::Fact;

mod tables;

const STYLE: &str = include_str!("fleet/page.css");
const SCRIPT: &str = include_str!("fleet/page.js");

/// A run on many machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// How long it took.
    pub wall_ms: u64,
    /// Figures to print above all.
    pub facts: Vec<Fact>,
    /// The machines, in the order in which they are drawn.
    pub machines: Vec<Machine>,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Their moves.
    pub moves: Vec<Move>,
    /// What was decided about moves.
    pub decisions: Vec<Decision>,
    /// When nobody drove the run.
    pub undriven: Vec<Stretch>,
    /// What a reader should know besides, a sentence each.
    pub notes: Vec<String>,
}

/// From one time to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// When it begins.
    pub begin_ms: u64,
    /// When it ends.
    pub end_ms: u64,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// What else there is to say, such as the number of its processors.
    pub note: String,
    /// What was measured there, in order.
    pub usage: Vec<Usage>,
    /// When it was not there.
    pub absent: Vec<Stretch>,
}

/// What a machine used for a while.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// When.
    pub stretch: Stretch,
    /// The part of its processors that was in use, 1 for all of them and more if work waited
    /// for some; none if not known.
    pub share: Option<f64>,
    /// Why it is not known.
    pub note: String,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// What else there is to say, such as its type.
    pub note: String,
    /// Where it ran, in order.
    pub attempts: Vec<Attempt>,
    /// How it ended.
    pub outcome: String,
    /// True if it has no result.
    pub is_failed: bool,
}

/// A stretch that a job ran on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The machine's place in [`Fleet::machines`].
    pub machine: usize,
    /// Which attempt, as the run counts them.
    pub epoch: u32,
    /// When.
    pub stretch: Stretch,
    /// Why it ended.
    pub end: AttemptEnd,
    /// What else there is to say of its end.
    pub note: String,
    /// When its state was brought to safety.
    pub checkpoints: Vec<Checkpoint>,
}

/// Why an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The job was done.
    Done,
    /// The job gave up.
    Failed,
    /// The job moved.
    Moved,
    /// The attempt was lost.
    Lost,
    /// The run ended first.
    Open,
}

/// A state that was brought to safety.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// When.
    pub at_ms: u64,
    /// How much of the job was done, from 0 to 1.
    pub progress: f64,
    /// How large it was.
    pub bytes: u64,
}

/// A job's way from one machine to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Move {
    /// The job's place in [`Fleet::jobs`].
    pub job: usize,
    /// The machine that it left, if that is known.
    pub from: Option<usize>,
    /// The machine that it was to go to, or went to.
    pub to: usize,
    /// When it was asked to pause.
    pub began_ms: u64,
    /// What was expected, if the move was the run's own idea.
    pub expected: Option<Expected>,
    /// How it went; none if the run ended first.
    pub outcome: Option<Result<Moved, String>>,
}

/// What a move was expected to bring.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// In CPU-seconds.
    pub benefit_cpu_s: f64,
    /// In CPU-seconds.
    pub cost_cpu_s: f64,
    /// How long the job would do nothing.
    pub standstill_ms: u64,
}

/// How a move went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// From the request to the safe point. The job worked on meanwhile.
    pub pausing_ms: u64,
    /// From the safe point to running again.
    pub standstill_ms: u64,
    /// Of the state.
    pub bytes: u64,
}

/// What was decided about moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at_ms: u64,
    /// In a sentence.
    pub what: String,
    /// Why nothing else, a sentence each.
    pub reasons: Vec<String>,
    /// True if a job was to move.
    pub is_move: bool,
}

/// The page that shows a run.
///
/// Names, notes and figures may come from outside: they are escaped.
///
/// # Panics
///
/// If an attempt or a move names a machine or a job that there is not.
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
    body.push_str(report::DRAWN);
    for note in &fleet.notes {
        body.push_str(&format!("<p class=\"note\">{}</p>\n", text(note)));
    }
    body.push_str(&tables::moves(fleet));
    body.push_str(&tables::jobs(fleet));
    body.push_str(&tables::decisions(&fleet.decisions));
    let style = format!("{}{STYLE}", report::STYLE);
    report::page(title, &style, &body, &data(fleet), SCRIPT)
}

/// What the script draws.
fn data(fleet: &Fleet) -> Value {
    let stretch = |stretch: &Stretch| json!([stretch.begin_ms, stretch.end_ms]);
    let machines = fleet.machines.iter().map(|machine| {
        let usage = &machine.usage;
        json!({
            "name": machine.name,
            "note": machine.note,
            "begin": usage.iter().map(|usage| usage.stretch.begin_ms).collect::<Vec<_>>(),
            "end": usage.iter().map(|usage| usage.stretch.end_ms).collect::<Vec<_>>(),
            "share": usage.iter().map(|usage| usage.share).collect::<Vec<_>>(),
            "why": usage.iter().map(|usage| usage.note.as_str()).collect::<Vec<_>>(),
            "absent": machine.absent.iter().map(stretch).collect::<Vec<_>>(),
        })
    });
    let jobs = fleet.jobs.iter().map(|job| {
        let attempts = job.attempts.iter().map(|attempt| {
            assert!(attempt.machine < fleet.machines.len(), "no such machine");
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
        });
        json!({
            "name": job.name,
            "note": job.note,
            "outcome": job.outcome,
            "attempts": attempts.collect::<Vec<_>>(),
        })
    });
    let moves = fleet.moves.iter().map(|moved| {
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
            "came": moved.outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()).map(|came| json!({
                "pausing": came.pausing_ms,
                "standstill": came.standstill_ms,
                "bytes": came.bytes,
            })),
            "failure": moved.outcome.as_ref().and_then(|outcome| outcome.as_ref().err()),
        })
    });
    json!({
        "wall_ms": fleet.wall_ms,
        "machines": machines.collect::<Vec<_>>(),
        "jobs": jobs.collect::<Vec<_>>(),
        "moves": moves.collect::<Vec<_>>(),
        "undriven": fleet.undriven.iter().map(stretch).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
