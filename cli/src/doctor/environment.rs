//! The environment variables that heist reads, their present values, and likely misspellings.

use std::ffi::OsString;

use serde::Serialize;

/// The variables that heist reads, and the others whose name starts with `HEIST_`.
#[derive(Debug, Serialize)]
pub(crate) struct Environment {
    pub(crate) known: Vec<Variable>,
    pub(crate) unknown: Vec<Stranger>,
}

/// A variable that heist reads.
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

/// Whether a variable has a value, and one that heist accepts.
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

/// What heist knows of a variable before it looks at the environment.
struct Definition {
    name: &'static str,
    changes: &'static str,
    accepts: &'static str,
    is_accepted: fn(&str) -> bool,
}

const PREFIX: &str = "HEIST_";
const NUM_THREADS: &str = "HEIST_NUM_THREADS";

const DEFINITIONS: [Definition; 2] = [
    Definition {
        name: NUM_THREADS,
        changes: "the number of workers of a pool that is built without saying how many",
        accepts: "a whole number from 0 to 65535; 0 or unset: one worker per usable core",
        is_accepted: |value| parse_workers(value).is_some(),
    },
    Definition {
        name: "HEIST_BARRIER",
        changes: "how a worker that goes to sleep makes sure that it misses no job",
        accepts: "auto, membarrier or fence; auto or unset: membarrier where it is offered",
        is_accepted: |value| matches!(value, "auto" | "membarrier" | "fence"),
    },
];

impl Environment {
    pub(crate) fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut known = DEFINITIONS.map(|definition| Variable {
            name: definition.name,
            changes: definition.changes,
            accepts: definition.accepts,
            value: None,
            state: State::Unset,
        });
        let mut unknown = Vec::new();
        for (name, value) in variables {
            let name = name.to_string_lossy();
            if let Some(at) = DEFINITIONS.iter().position(|known| known.name == name) {
                let is_accepted = value.to_str().is_some_and(DEFINITIONS[at].is_accepted);
                known[at].value = Some(value.to_string_lossy().into_owned());
                known[at].state = match is_accepted {
                    true => State::Accepted,
                    false => State::Malformed,
                };
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
        let variable = self.known.iter().find(|known| known.name == NUM_THREADS);
        let value = variable.and_then(|variable| variable.value.as_deref());
        value.and_then(parse_workers).filter(|&workers| workers > 0)
    }
}

/// The number of workers as heist reads it.
fn parse_workers(value: &str) -> Option<usize> {
    let workers = value.trim().parse().ok();
    workers.filter(|&workers| workers <= heist::max_num_threads())
}

fn nearest(name: &str) -> &'static str {
    let distance = |known: &&Definition| strsim::damerau_levenshtein(known.name, name);
    DEFINITIONS
        .iter()
        .min_by_key(distance)
        .map_or("", |known| known.name)
}
