//! A decision of the planner as one JSON document, for programs.

use std::io::{self, Write};

use heist_cluster::planner::{Decision, Outcome, Reason};
use serde::Serialize;

/// Grows when a field changes its meaning or goes away; new fields may appear.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
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
    let document = Document {
        schema_version: SCHEMA_VERSION,
        outcome: sentence(&decision.outcome),
        reasons: decision.reasons.iter().map(sentence).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn sentence<T: ToString>(data: &T) -> Sentence<'_, T> {
    Sentence {
        data,
        text: data.to_string(),
    }
}
