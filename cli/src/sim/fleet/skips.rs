//! The rows of a trace that were left out or changed, and why.

use std::collections::BTreeMap;

use heist_run::terminal::cut;

/// The longest value that an example shows.
const VALUE_SHOWN: usize = 40;
/// How many different reasons are kept; those beyond are counted as one.
const REASONS_MAX: usize = 64;

/// Counts by reason, each with its first example.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Skips {
    reasons: BTreeMap<String, Skip>,
}

/// Rows of one reason.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(super) struct Skip {
    /// How many.
    pub(super) rows: u64,
    /// The first of them: where it is, and its value.
    pub(super) first: String,
}

/// A field whose value cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    pub(super) value: String,
    pub(super) accepted: &'static str,
}

impl Fault {
    pub(super) fn new(field: &'static str, value: &str, accepted: &'static str) -> Self {
        Self {
            field,
            value: cut(value, VALUE_SHOWN),
            accepted,
        }
    }
}

impl Skips {
    /// A row that is left out or changed for this reason.
    pub(super) fn add(&mut self, place: &str, reason: &str) {
        self.with(reason.to_owned(), || place.to_owned());
    }

    /// A row with a field that cannot be used.
    pub(super) fn fault(&mut self, place: &str, fault: &Fault) {
        let reason = if fault.value.is_empty() {
            format!("{} is missing; accepted is {}", fault.field, fault.accepted)
        } else {
            format!("{} is not {}", fault.field, fault.accepted)
        };
        let shown = || match fault.value.is_empty() {
            true => place.to_owned(),
            false => format!("{place}: '{}'", fault.value),
        };
        self.with(reason, shown);
    }

    fn with(&mut self, reason: String, first: impl FnOnce() -> String) {
        let is_new = !self.reasons.contains_key(&reason);
        let reason = match is_new && self.reasons.len() >= REASONS_MAX {
            true => "other reasons".to_owned(),
            false => reason,
        };
        let skip = self.reasons.entry(reason).or_insert_with(|| Skip {
            rows: 0,
            first: first(),
        });
        skip.rows += 1;
    }

    /// All rows.
    pub(super) fn rows(&self) -> u64 {
        self.reasons.values().map(|skip| skip.rows).sum()
    }

    /// The reasons with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Skip)> {
        self.reasons.iter()
    }
}
