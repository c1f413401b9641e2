//! A program as it runs: the snapshots that it writes of itself, and a view of one.
//!
//! A program on heist writes a [`Snapshot`] four times a second when `HEIST_LIVE` is 1, and
//! [`lines`] show it. `heist top` finds the file, and reads the [half](heist_event::halves) that is
//! whole.
#![doc = include_str!("live/schema.md")]

mod lines;

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::profile::Idle;

pub use lines::{lines, Reading};

/// The version of the document that is read.
const VERSION: u64 = 1;

/// A program at one moment.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The version of the document.
    pub heist_live: u64,
    /// The version of heist in the program.
    #[serde(default)]
    pub heist: String,
    /// The program and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// The number of the process.
    pub pid: u32,
    /// When it was first looked at, in milliseconds since 1970.
    pub began_unix_ms: u64,
    /// When it was looked at for this snapshot.
    pub written_unix_ms: u64,
    /// The processors that it may use.
    #[serde(default)]
    pub processors: u64,
    /// Its pools, the oldest first.
    pub pools: Vec<Pool>,
    /// How many more pools there are.
    #[serde(default)]
    pub other_pools: u64,
    /// The figures of its meter, if it is profiled.
    #[serde(default)]
    pub metered: Option<Metered>,
}

/// A pool at one moment.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Pool {
    /// The number of the pools that the process had built before it.
    pub number: u64,
    /// How long ago it was built.
    #[serde(default)]
    pub age_ns: u64,
    /// How many workers it has, without compensation workers.
    pub len: u64,
    /// True if a job waits for a worker.
    #[serde(default)]
    pub has_a_job: bool,
    /// The sums of all workers.
    #[serde(default)]
    pub total: Counters,
    /// How long the last second was.
    pub last_ns: u64,
    /// The sums of all workers in the last second.
    pub last: Counters,
    /// The workers that have a thread.
    #[serde(default)]
    pub workers: Vec<Worker>,
    /// How many more there are.
    #[serde(default)]
    pub other_workers: u64,
    /// The report of its stall, if it stands still and is watched.
    #[serde(default)]
    pub stall: Option<String>,
}

/// Sums of one worker or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Counters {
    /// Jobs that ran.
    pub jobs: u64,
    /// Jobs that were taken from a victim's deque.
    pub steals: u64,
    /// Attempts that brought nothing.
    pub steals_failed: u64,
    /// Jobs from outside.
    pub injected: u64,
    /// How often a worker fell asleep.
    pub sleeps: u64,
    /// The time at work.
    pub working_ns: u64,
    /// The time of searches for a job.
    pub searching_ns: u64,
    /// The time asleep.
    pub asleep_ns: u64,
}

/// A worker at one moment.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Worker {
    /// Its index in the pool.
    pub index: u64,
    /// The use that it makes of its time: `working`, `searching` or `asleep`.
    pub state: String,
    /// For how long it has done so.
    #[serde(default)]
    pub for_ns: u64,
    /// Its sums.
    #[serde(default)]
    pub total: Counters,
}

/// The figures of the meter, of all pools together.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Metered {
    /// The sum of all strands: T1.
    #[serde(default)]
    pub work_ns: u64,
    /// The longest path through them: Tinf.
    #[serde(default)]
    pub span_ns: u64,
    /// The time of workers without a job, by cause.
    #[serde(default)]
    pub idle_ns: Idle,
    /// How long the last second was.
    pub last_ns: u64,
    /// The time of workers without a job in the last second.
    pub last_idle_ns: Idle,
    /// The places with the most work in the last second, the hottest first.
    #[serde(default)]
    pub sites: Vec<Site>,
}

/// A place in the program that forks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Site {
    /// The user's innermost closure in it.
    pub name: String,
    /// The operation: `join`, `scope`, `loop`.
    #[serde(default)]
    pub kind: String,
    /// The sum of its strands.
    #[serde(default)]
    pub work_ns: u64,
    /// That of the last second.
    #[serde(default)]
    pub last_work_ns: u64,
    /// The part of the longest path that ran in its strands.
    #[serde(default)]
    pub span_ns: u64,
    /// How often it forked.
    #[serde(default)]
    pub forks: u64,
    /// How many of its jobs were stolen.
    #[serde(default)]
    pub stolen: u64,
}

/// The reason why a text is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotError(String);

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for SnapshotError {}

impl Snapshot {
    /// Reads a snapshot.
    ///
    /// # Errors
    ///
    /// Fails if the text is none, or one of another version.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_observe::live::Snapshot;
    ///
    /// let error = Snapshot::parse(r#"{"heist_live": 7}"#).unwrap_err();
    /// assert!(error.to_string().contains("version 7"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, SnapshotError> {
        #[derive(Deserialize)]
        struct Version {
            heist_live: u64,
        }
        let syntax = |error| SnapshotError(format!("it is no snapshot of a program: {error}"));
        let Version { heist_live } = serde_json::from_str(text).map_err(syntax)?;
        if heist_live != VERSION {
            return Err(SnapshotError(format!(
                "it is a snapshot of version {heist_live}, and version {VERSION} is read here; use \
                 the heist of the program that wrote it"
            )));
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            SnapshotError(format!("its field {path} is wrong: {}", error.into_inner()))
        })
    }

    /// The workers at work in the last second, on average, of all pools.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        self.pools.iter().map(Pool::parallelism).sum()
    }

    /// The workers of all pools.
    #[must_use]
    pub fn workers(&self) -> u64 {
        let workers = self.pools.iter().map(|pool| pool.len);
        workers.fold(0, u64::saturating_add)
    }
}

impl Pool {
    /// The workers at work in the last second, on average.
    #[must_use]
    pub fn parallelism(&self) -> f64 {
        self.last.working_ns as f64 / self.last_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests;
