//! The functions and jobs that attributes have registered, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{de::DeserializeOwned, Serialize};

use super::form;
use super::function::{CallOptions, RemoteFunction};
use super::job::{Job, JobContext, RegisteredJob, Stop};
use crate::protocol;
use crate::protocol::fingerprint::{Build, Fingerprint, Part};
use crate::protocol::refusal::Refusal;

/// A library of the program that workers can load, as [`export!`](macro@crate::export) says.
#[doc(hidden)]
#[derive(Debug)]
pub struct Library {
    /// The name of the crate.
    pub name: &'static str,
}

inventory::collect!(Library);

/// The names of all such libraries.
pub(crate) fn libraries() -> Vec<String> {
    inventory::iter::<Library>
        .into_iter()
        .map(|library| library.name.to_owned())
        .collect()
}

/// One remote function or type of job, as the attributes register it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registration {
    name: &'static str,
    signature: &'static str,
    /// Hash of the item below the attribute.
    item: u64,
    /// Hash of its sources and dependencies.
    parts: &'static [Part],
    forms: fn() -> [u64; 2],
    entry: Entry,
}

inventory::collect!(Registration);

/// A function or a job, type-erased.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    Function {
        call: fn(&[u8]) -> Result<Vec<u8>, BadBytes>,
        forms: Forms,
        options: CallOptions,
    },
    Job {
        version: u32,
        run: fn(&JobContext, &[u8]) -> Result<JobEnd, BadBytes>,
        forms: Forms,
    },
}

impl Entry {
    pub(crate) fn forms(self) -> Forms {
        match self {
            Self::Function { forms, .. } | Self::Job { forms, .. } => forms,
        }
    }
}

/// Conversions from JSON to encoded arguments or states, and from encoded results to JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forms {
    pub(crate) from_json: fn(&[u8]) -> Result<Vec<u8>, BadBytes>,
    pub(crate) to_json: fn(&[u8]) -> Result<Vec<u8>, BadBytes>,
}

/// A message about a value that could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadBytes(pub(crate) String);

impl BadBytes {
    pub(crate) fn refusal(self, what: String) -> Refusal {
        Refusal::Malformed {
            what,
            error: self.0,
        }
    }
}

/// How the run of a job ended.
#[derive(Debug)]
pub(crate) enum JobEnd {
    /// With this result.
    Finished(Vec<u8>),
    /// At a safe point, with this state.
    Paused(Vec<u8>),
    /// It gave up.
    Failed(String),
}

impl Registration {
    #[doc(hidden)]
    pub const fn function<F: RemoteFunction>(
        signature: &'static str,
        item: u64,
        parts: &'static [Part],
    ) -> Self {
        Self {
            name: F::NAME,
            signature,
            item,
            parts,
            forms: || [form::of::<F::Args>(), form::of::<F::Out>()],
            entry: Entry::Function {
                options: F::OPTIONS,
                call: call::<F>,
                forms: Forms {
                    from_json: from_json::<F::Args>,
                    to_json: to_json::<F::Out>,
                },
            },
        }
    }

    #[doc(hidden)]
    pub const fn job<J: RegisteredJob>(
        signature: &'static str,
        item: u64,
        parts: &'static [Part],
    ) -> Self {
        Self {
            name: J::NAME,
            signature,
            item,
            parts,
            forms: || [form::of::<J>(), form::of::<J::Out>()],
            entry: Entry::Job {
                version: J::VERSION,
                run: run_job::<J>,
                forms: Forms {
                    from_json: from_json::<J>,
                    to_json: to_json::<J::Out>,
                },
            },
        }
    }
}

fn call<F: RemoteFunction>(args: &[u8]) -> Result<Vec<u8>, BadBytes> {
    let args = protocol::decode(args).map_err(BadBytes)?;
    protocol::encode(&F::run(args)).map_err(BadBytes)
}

fn run_job<J: Job>(context: &JobContext, state: &[u8]) -> Result<JobEnd, BadBytes> {
    let mut job: J = protocol::decode(state).map_err(BadBytes)?;
    context.has_begun();
    Ok(match job.run(context) {
        Ok(out) => JobEnd::Finished(protocol::encode(&out).map_err(BadBytes)?),
        Err(Stop::Pause(_)) => JobEnd::Paused(protocol::encode(&job).map_err(BadBytes)?),
        Err(Stop::Fail(message)) => JobEnd::Failed(message),
    })
}

fn from_json<T: Serialize + DeserializeOwned>(json: &[u8]) -> Result<Vec<u8>, BadBytes> {
    let value: T = serde_json::from_slice(json).map_err(|error| BadBytes(error.to_string()))?;
    protocol::encode(&value).map_err(BadBytes)
}

fn to_json<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<Vec<u8>, BadBytes> {
    let value: T = protocol::decode(bytes).map_err(BadBytes)?;
    serde_json::to_vec(&value).map_err(|error| BadBytes(error.to_string()))
}

/// Everything that the attributes have registered.
#[derive(Debug)]
pub(crate) struct Registry {
    entries: BTreeMap<&'static str, Entry>,
    build: Arc<Build>,
    fingerprint: Fingerprint,
    /// The names that were registered more than once.
    pub(crate) ambiguous: Vec<&'static str>,
}

impl Registry {
    pub(crate) fn find(&self, name: &str) -> Option<Entry> {
        self.entries.get(name).copied()
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn build(&self) -> &Arc<Build> {
        &self.build
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'static str, Entry)> + '_ {
        self.entries.iter().map(|(name, entry)| (*name, *entry))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.entries.keys().copied()
    }
}

/// The registry of this program.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut all: Vec<_> = inventory::iter::<Registration>.into_iter().collect();
        all.sort_by_key(|registration| registration.name);
        let mut build = Build::new();
        let mut entries = BTreeMap::new();
        let mut ambiguous = Vec::new();
        for one in all {
            let name = one.name;
            build.add(format!("`{name}`"), &(one.signature, one.item));
            let form = format!("the form of what `{name}` takes or gives");
            build.add(form, &(one.forms)());
            for part in one.parts {
                build.add_hash(part.what, part.hash);
            }
            if entries.insert(one.name, one.entry).is_some() {
                ambiguous.push(one.name);
            }
        }
        Registry {
            entries,
            fingerprint: build.fingerprint(),
            build: Arc::new(build),
            ambiguous,
        }
    })
}

impl Fingerprint {
    /// The fingerprint of the program or library that calls this; [`Fingerprint`] has an example.
    #[must_use]
    pub fn of_this_program() -> Self {
        registry().build().fingerprint()
    }
}
