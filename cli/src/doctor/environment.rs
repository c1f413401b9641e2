//! The environment variables that heist reads, their present values, and likely misspellings.

mod settings;
mod variables;

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};

use serde::Serialize;

pub(crate) use settings::{chapter, help};
pub(crate) use variables::Reader;
use variables::{
    parse_events, parse_workers, Definition, Rule, INTERNAL, KNOWN, NUM_THREADS, RAYON_NUM_THREADS,
    RECORD_EVENTS,
};

/// The variables that heist reads, and unknown ones that start with `HEIST_`.
#[derive(Debug, Serialize)]
pub(crate) struct Environment {
    pub(crate) known: Vec<Variable>,
    /// Those that are set and that no user sets.
    pub(crate) internal: Vec<InternalVariable>,
    pub(crate) unknown: Vec<Stranger>,
}

/// A variable that is read.
#[derive(Debug, Serialize)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) read_by: Reader,
    /// Its effect.
    pub(crate) changes: &'static str,
    pub(crate) accepts: &'static str,
    /// The value; invalid UTF-8 is replaced. `None` if unset.
    pub(crate) value: Option<String>,
    pub(crate) state: State,
    #[serde(skip)]
    rule: Rule,
}

/// Whether a variable has a value, and one that its reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Unset,
    Accepted,
    Malformed,
}

/// A variable that one part of heist sets for another.
#[derive(Debug, Serialize)]
pub(crate) struct InternalVariable {
    pub(crate) name: &'static str,
    /// Which part does so, and what for.
    pub(crate) why: &'static str,
    pub(crate) value: String,
}

/// A variable that looks like one of heist's and is not.
#[derive(Debug, Serialize)]
pub(crate) struct Stranger {
    pub(crate) name: String,
    /// The variable with the most similar name.
    pub(crate) nearest: &'static str,
}

const PREFIX: &str = "HEIST_";

impl Environment {
    pub(crate) fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut known = KNOWN.map(Variable::unset);
        let mut internal = Vec::new();
        let mut unknown = Vec::new();
        for (name, value) in variables {
            let name = name.to_string_lossy();
            if let Some(variable) = known.iter_mut().find(|known| known.name == name) {
                variable.set(&value);
            } else if let Some(one) = INTERNAL.iter().find(|one| one.name == name) {
                internal.push(InternalVariable {
                    name: one.name,
                    why: one.why,
                    value: value.to_string_lossy().into_owned(),
                });
            } else if name.starts_with(PREFIX) {
                unknown.push(Stranger {
                    nearest: nearest(&name),
                    name: name.into_owned(),
                });
            }
        }
        internal.sort_by_key(|one| one.name);
        unknown.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            known: known.into(),
            internal,
            unknown,
        }
    }

    /// True if heist would refuse one of the values.
    pub(crate) fn is_refused(&self) -> bool {
        self.known.iter().any(Variable::is_refused)
    }

    /// The number of workers that the environment asks for, unless it leaves it to heist,
    /// and the name of the variable that does so.
    pub(crate) fn asked_workers(&self) -> Option<(usize, &'static str)> {
        let (workers, name) = match self.value(NUM_THREADS) {
            Some(value) => (parse_workers(value), NUM_THREADS),
            None => {
                let asked = parse_workers(self.value(RAYON_NUM_THREADS)?);
                (asked, RAYON_NUM_THREADS)
            }
        };
        Some((workers.filter(|&workers| workers > 0)?, name))
    }

    /// True if the environment asks each worker to keep some number of events.
    pub(crate) fn asks_for_events(&self) -> bool {
        let events = self.value(RECORD_EVENTS).and_then(parse_events);
        events.is_some_and(|events| events > 0)
    }

    fn value(&self, name: &str) -> Option<&OsStr> {
        let variable = self.known.iter().find(|known| known.name == name);
        variable?.value.as_deref().map(OsStr::new)
    }
}

impl Variable {
    fn unset(definition: Definition) -> Self {
        Self {
            name: definition.name,
            read_by: definition.read_by,
            changes: definition.changes,
            accepts: definition.accepts,
            value: None,
            state: State::Unset,
            rule: definition.rule,
        }
    }

    fn set(&mut self, value: &OsStr) {
        self.value = Some(value.to_string_lossy().into_owned());
        let is_accepted = match self.rule {
            Rule::Any => true,
            Rule::Refuses(accepts, _) | Rule::Ignores(accepts, _) => accepts(value),
        };
        self.state = match is_accepted {
            true => State::Accepted,
            false => State::Malformed,
        };
    }

    fn is_refused(&self) -> bool {
        self.state == State::Malformed && matches!(self.rule, Rule::Refuses(..))
    }

    /// The consequence of the present value, if its reader does not accept it.
    pub(crate) fn complaint(&self) -> Option<String> {
        match self.rule {
            _ if self.state != State::Malformed => None,
            Rule::Any => None,
            Rule::Refuses(_, what) => Some(format!("is MALFORMED; {what}")),
            Rule::Ignores(_, by) => Some(format!("is malformed and {by}")),
        }
    }
}

fn nearest(name: &str) -> &'static str {
    let ours = KNOWN.map(|known| known.name);
    ours.into_iter()
        .filter(|known| known.starts_with(PREFIX))
        .min_by_key(|known| strsim::damerau_levenshtein(known, name))
        .unwrap_or("")
}
