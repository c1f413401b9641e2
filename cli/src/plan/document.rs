//! A decision of the planner as one JSON document, for programs.

use std::io::{self, Write};
use std::time::Duration;

use heist_cluster::planner::{Decision, Outcome, Reason};
use serde::Serialize;

/// Grows when a field changes its meaning or goes away; new fields may appear.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    /// With --watch, since the beginning of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_s: Option<f64>,
    outcome: Sentence<'a, Outcome>,
    reasons: Vec<Sentence<'a, Reason>>,
}

/// The data, and with it what is said to people.
#[derive(Serialize)]
struct Sentence<'a, T> {
    #[serde(flatten)]
    data: &'a T,
    text: String,
}

/// Prints the decision.
pub(super) fn write(decision: &Decision, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document::new(decision, None))?;
    writeln!(out)
}

/// Prints a decision that was made so long after the beginning of a run, in one line.
pub(super) fn write_line(
    at: Duration,
    decision: &Decision,
    out: &mut impl Write,
) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document::new(decision, Some(at.as_secs_f64())))?;
    writeln!(out)
}

impl<'a> Document<'a> {
    fn new(decision: &'a Decision, at_s: Option<f64>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            at_s,
            outcome: sentence(&decision.outcome),
            reasons: decision.reasons.iter().map(sentence).collect(),
        }
    }
}

fn sentence<T: ToString>(data: &T) -> Sentence<'_, T> {
    Sentence {
        data,
        text: data.to_string(),
    }
}
