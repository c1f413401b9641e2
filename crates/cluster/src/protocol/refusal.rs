//! The reasons for which a worker does nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::decode;
use super::fingerprint::{self, Build, Fingerprint};

/// The reasons for which a worker does nothing.
///
/// # Examples
///
/// ```
/// use heist_cluster::Refusal;
///
/// let refusal = Refusal::Unknown { name: "sum".to_owned(), known: vec!["square".to_owned()] };
/// assert_eq!(refusal.to_string(), "the worker does not know `sum`; it knows square");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// The driver is built from other code.
    WrongFingerprint {
        /// Of the driver.
        driver: Fingerprint,
        /// Of the worker.
        worker: Fingerprint,
        /// In what they differ, as far as that is known.
        differences: Vec<String>,
    },
    /// Nothing of that name is registered.
    Unknown {
        /// The name.
        name: String,
        /// The names that are registered.
        known: Vec<String>,
    },
    /// The message, the arguments or the state could not be read, or the result not written.
    Malformed {
        /// The thing that was read or written.
        what: String,
        /// The fault that serde found.
        error: String,
    },
    /// No such attempt is running here.
    NotRunning {
        /// The job.
        job: u64,
        /// The attempt.
        epoch: u32,
    },
    /// A younger attempt at the job has been here.
    Superseded {
        /// The job.
        job: u64,
        /// The attempt that came too late.
        epoch: u32,
        /// The younger one.
        by: u32,
    },
    /// The worker could not do it.
    Failed {
        /// The failed step and its cause.
        error: String,
    },
}

impl Refusal {
    /// With the differences of builds, if it is about those: the driver's is `build`, and that of
    /// the worker came with the refusal, as `payload`.
    pub(crate) fn explained(mut self, build: &Build, payload: &[u8]) -> Self {
        if let Self::WrongFingerprint { differences, .. } = &mut self {
            *differences = decode(payload)
                .map(|worker| build.differences(&worker))
                .unwrap_or_default();
        }
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongFingerprint {
                driver,
                worker,
                differences,
            } => write!(
                f,
                "the driver is build {driver}; the worker is build {worker}{}; both must be built \
                 from the same sources, so build and ship the worker again",
                fingerprint::list(differences)
            ),
            Self::Unknown { name, known } if known.is_empty() => {
                write!(f, "the worker does not know `{name}`, nor anything else")
            }
            Self::Unknown { name, known } => write!(
                f,
                "the worker does not know `{name}`; it knows {}",
                known.join(", ")
            ),
            Self::Malformed { what, error } => write!(f, "{what} cannot be understood: {error}"),
            Self::NotRunning { job, epoch } => {
                write!(
                    f,
                    "attempt {epoch} at job {job} is not running in this worker"
                )
            }
            Self::Superseded { job, epoch, by } => write!(
                f,
                "attempt {epoch} at job {job} comes too late: attempt {by} has been here"
            ),
            Self::Failed { error } => f.write_str(error),
        }
    }
}
