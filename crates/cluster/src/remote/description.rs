//! A program's description of itself, for one that is not linked with it.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::function::Defaults;
use super::registry::{libraries, registry, Entry};
use crate::protocol::fingerprint::Build;

/// The functions and jobs of a program, and its build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Description {
    /// The parts of its fingerprint.
    pub(crate) build: Build,
    pub(crate) libraries: Vec<String>,
    pub(crate) entries: Vec<Described>,
}

/// A function or a job of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Described {
    Function { name: String, options: Defaults },
    Job { name: String, version: u32 },
}

/// Writes what this program has.
pub(crate) fn write(out: &mut impl Write) -> io::Result<()> {
    let described = |(name, entry): (&str, Entry)| match entry {
        Entry::Function { options, .. } => Described::Function {
            name: name.to_owned(),
            options: options.into(),
        },
        Entry::Job { version, .. } => Described::Job {
            name: name.to_owned(),
            version,
        },
    };
    let description = Description {
        build: Build::clone(registry().build()),
        libraries: libraries(),
        entries: registry().entries().map(described).collect(),
    };
    serde_json::to_writer(&mut *out, &description)?;
    out.flush()
}
