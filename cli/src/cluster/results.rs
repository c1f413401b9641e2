//! The results of a run, for the screen and as a document.

use std::io::{self, Write};

use heist_run::terminal::harmless;
use serde::Serialize;
use serde_json::Value;

use super::run_state::RunState;

/// How many characters of a result the table has room for.
const RESULT_WIDTH: usize = 100;

/// The outcome of a run.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    pub(super) schema_version: u32,
    pub(super) run_folder: String,
    pub(super) backend: String,
    /// True if somebody ended it.
    pub(super) is_interrupted: bool,
    pub(super) jobs: Vec<JobResult>,
    pub(super) calls: Vec<CallResult>,
}

/// How a job ended.
#[derive(Debug, Serialize)]
pub(super) struct JobResult {
    pub(super) id: String,
    pub(super) kind: String,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    /// True if it ended in an earlier part of the run.
    pub(super) is_stored: bool,
    pub(super) moves: u32,
    pub(super) losses: u32,
}

/// How a call ended.
#[derive(Debug, Serialize)]
pub(super) struct CallResult {
    pub(super) function: String,
    pub(super) args: Value,
    /// Which of its repetitions, from 0.
    pub(super) repetition: u32,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    /// True if it ended in an earlier part of the run.
    pub(super) is_stored: bool,
}

/// A result, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Result(Value),
    Error(String),
}

impl Results {
    /// Adds what the events say about the run.
    pub(super) fn add(&mut self, state: &RunState) {
        state.backend.clone_into(&mut self.backend);
        for result in &mut self.jobs {
            let known = state.jobs.iter().find(|job| job.id.as_str() == result.id);
            if let Some(known) = known {
                (result.moves, result.losses) = (known.moves, known.losses);
            }
        }
    }

    /// How many jobs and calls have no result.
    pub(super) fn missing(&self) -> usize {
        let jobs = self.jobs.iter().map(|job| &job.outcome);
        let calls = self.calls.iter().map(|call| &call.outcome);
        let missing = |outcome: &&Outcome| matches!(outcome, Outcome::Error(_));
        jobs.chain(calls).filter(missing).count()
    }

    /// Writes one JSON document.
    pub(super) fn write_document(&self, out: &mut impl Write) -> anyhow::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)?;
        Ok(())
    }

    /// Writes tables.
    pub(super) fn write_tables(&self, out: &mut impl Write) -> io::Result<()> {
        let jobs = self.jobs.iter().map(|job| {
            let id = harmless(&job.id);
            let mut notes = Vec::new();
            if job.moves > 0 {
                notes.push(counted(job.moves, "move"));
            }
            if job.losses > 0 {
                notes.push(format!("lost {}", counted(job.losses, "time")));
            }
            if job.is_stored {
                notes.push("from the store".to_owned());
            }
            (id, &job.outcome, notes)
        });
        table(out, "job", jobs.collect())?;
        if !self.jobs.is_empty() && !self.calls.is_empty() {
            writeln!(out)?;
        }
        let calls = self.calls.iter().map(|call| {
            let args = match &call.args {
                Value::Array(args) => {
                    let args: Vec<_> = args.iter().map(Value::to_string).collect();
                    args.join(", ")
                }
                one => one.to_string(),
            };
            let text = shortened(&harmless(&format!("{}({args})", call.function)));
            let notes = call.is_stored.then(|| "from the store".to_owned());
            (text, &call.outcome, notes.into_iter().collect())
        });
        table(out, "call", calls.collect())
    }
}

fn table(
    out: &mut impl Write,
    head: &str,
    rows: Vec<(String, &Outcome, Vec<String>)>,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let widths = rows.iter().map(|(name, ..)| name.chars().count());
    let width = widths.chain([head.len()]).max().unwrap_or(0);
    writeln!(out, "{head:width$}  result")?;
    for (name, outcome, notes) in rows {
        let outcome = match outcome {
            Outcome::Result(value) => shortened(&harmless(&shown(value))),
            Outcome::Error(error) => format!("none: {}", harmless(error)),
        };
        let notes = match notes.as_slice() {
            [] => String::new(),
            notes => format!("  ({})", notes.join(", ")),
        };
        writeln!(out, "{name:width$}  {outcome}{notes}")?;
    }
    Ok(())
}

/// A value; of a `Result`, whose form in JSON has a name around it, what it holds.
fn shown(value: &Value) -> String {
    let fields = value.as_object().filter(|fields| fields.len() == 1);
    match fields.and_then(|fields| fields.iter().next()) {
        Some((name, held)) if name == "Ok" => held.to_string(),
        Some((name, held)) if name == "Err" => format!("the error {held}"),
        _ => value.to_string(),
    }
}

fn counted(count: u32, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(RESULT_WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_shows_the_content_of_a_result_without_its_wrapping() {
        for (value, text) in [
            (json!({"Ok": 144}), "144"),
            (json!({"Err": "no room"}), "the error \"no room\""),
            (json!({"Ok": 1, "more": 2}), r#"{"Ok":1,"more":2}"#),
            (json!([1]), "[1]"),
            (json!({}), "{}"),
        ] {
            assert_eq!(shown(&value), text);
        }
    }
}
