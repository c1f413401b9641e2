//! The environment variables that heist reads, their present values, and likely misspellings.

use std::ffi::{OsStr, OsString};

use serde::Serialize;

/// The variables that heist reads, and the others whose name starts with `HEIST_`.
#[derive(Debug, Serialize)]
pub(crate) struct Environment {
    pub(crate) known: Vec<Variable>,
    /// What the stand-in for rayon-core reads besides, as rayon does: a
    /// malformed value is ignored.
    pub(crate) stand_in: Vec<Variable>,
    pub(crate) unknown: Vec<Stranger>,
}

/// A variable that is read.
#[derive(Debug, Serialize)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// What it changes.
    pub(crate) changes: &'static str,
    pub(crate) accepts: &'static str,
    /// The value as given; bytes that are no text are replaced. `None` if unset.
    pub(crate) value: Option<String>,
    pub(crate) state: State,
}

/// Whether a variable has a value, and one that its reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Unset,
    Accepted,
    Malformed,
}

/// A variable that looks like one of heist's and is not.
#[derive(Debug, Serialize)]
pub(crate) struct Stranger {
    pub(crate) name: String,
    /// The variable with the most similar name.
    pub(crate) nearest: &'static str,
}

/// What is known of a variable before the environment is looked at.
struct Definition {
    name: &'static str,
    changes: &'static str,
    accepts: &'static str,
    is_accepted: fn(&str) -> bool,
}

const PREFIX: &str = "HEIST_";
const NUM_THREADS: &str = "HEIST_NUM_THREADS";
const RECORD_EVENTS: &str = "HEIST_RECORD_EVENTS";

const KNOWN: [Definition; 4] = [
    Definition {
        name: NUM_THREADS,
        changes: "the number of workers of a pool that is built without saying how many",
        accepts: "a whole number from 0 to 65535; 0 or unset: one worker per usable core",
        is_accepted: |value| parse_workers(value).is_some(),
    },
    Definition {
        name: "HEIST_BARRIER",
        changes:
            "how idle workers see what busy ones do: by membarrier, or with a lock for each job",
        accepts: "auto, membarrier or fence; auto or unset: membarrier where it is offered",
        is_accepted: |value| matches!(value, "auto" | "membarrier" | "fence"),
    },
    Definition {
        name: RECORD_EVENTS,
        changes: "how many events each worker keeps, in pools that are built without saying",
        accepts: "a whole number from 0 to 4294967295; 0 or unset: none",
        is_accepted: |value| parse_events(value).is_some(),
    },
    Definition {
        name: "HEIST_BANNER",
        changes: "whether each pool that starts says so in a line on standard error",
        accepts: "0 or 1; 0 or unset: no line",
        is_accepted: |value| matches!(value, "0" | "1"),
    },
];

const STAND_IN: [Definition; 2] = [
    Definition {
        name: "RAYON_NUM_THREADS",
        changes: "the number of workers of the stand-in's pools, where the program does not say \
                  and HEIST_NUM_THREADS is unset",
        accepts: "a whole number; 0: one worker per usable core",
        is_accepted: |value| value.parse::<usize>().is_ok(),
    },
    Definition {
        name: "RAYON_RS_NUM_CPUS",
        changes: "the same, where RAYON_NUM_THREADS is unset or malformed",
        accepts: "a whole number; 0: one worker per usable core",
        is_accepted: |value| value.parse::<usize>().is_ok(),
    },
];

impl Environment {
    pub(crate) fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut known = KNOWN.map(|definition| definition.unset());
        let mut stand_in = STAND_IN.map(|definition| definition.unset());
        let mut unknown = Vec::new();
        for (name, value) in variables {
            let name = name.to_string_lossy();
            let is_named = |definition: &Definition| definition.name == name;
            if let Some(at) = KNOWN.iter().position(is_named) {
                known[at].set(&value, KNOWN[at].is_accepted);
            } else if let Some(at) = STAND_IN.iter().position(is_named) {
                stand_in[at].set(&value, STAND_IN[at].is_accepted);
            } else if name.starts_with(PREFIX) {
                unknown.push(Stranger {
                    nearest: nearest(&name),
                    name: name.into_owned(),
                });
            }
        }
        unknown.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            known: known.into(),
            stand_in: stand_in.into(),
            unknown,
        }
    }

    /// True if heist would refuse one of the values.
    pub(crate) fn is_malformed(&self) -> bool {
        self.known
            .iter()
            .any(|variable| variable.state == State::Malformed)
    }

    /// The number of workers that the environment asks for, unless it leaves it to heist.
    pub(crate) fn asked_workers(&self) -> Option<usize> {
        let workers = parse_workers(self.value(NUM_THREADS)?);
        workers.filter(|&workers| workers > 0)
    }

    /// True if the environment asks each worker to keep some number of events.
    pub(crate) fn asks_for_events(&self) -> bool {
        let events = self.value(RECORD_EVENTS).and_then(parse_events);
        events.is_some_and(|events| events > 0)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let variable = self.known.iter().find(|known| known.name == name);
        variable?.value.as_deref()
    }
}

impl Definition {
    fn unset(&self) -> Variable {
        Variable {
            name: self.name,
            changes: self.changes,
            accepts: self.accepts,
            value: None,
            state: State::Unset,
        }
    }
}

impl Variable {
    fn set(&mut self, value: &OsStr, is_accepted: fn(&str) -> bool) {
        self.value = Some(value.to_string_lossy().into_owned());
        self.state = match value.to_str().is_some_and(is_accepted) {
            true => State::Accepted,
            false => State::Malformed,
        };
    }
}

/// The number of workers as heist reads it.
fn parse_workers(value: &str) -> Option<usize> {
    let workers = value.trim().parse().ok();
    workers.filter(|&workers| workers <= heist::max_num_threads())
}

/// The number of events that each worker keeps, as heist reads it.
fn parse_events(value: &str) -> Option<u32> {
    value.trim().parse().ok()
}

fn nearest(name: &str) -> &'static str {
    let distance = |known: &&Definition| strsim::damerau_levenshtein(known.name, name);
    KNOWN
        .iter()
        .min_by_key(distance)
        .map_or("", |known| known.name)
}
