//! The moves that are in flight, and those that count against the limits.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::decision::Move;
use super::id::{JobId, NodeId};

/// Moves by job, and when moves began.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    flying: BTreeMap<JobId, Move>,
    starts: Vec<Start>,
}

#[derive(Clone, Debug)]
struct Start {
    at: Duration,
    from: NodeId,
    to: NodeId,
}

impl Ledger {
    pub(super) fn start(&mut self, now: Duration, chosen: &Move) -> Result<(), MoveError> {
        if self.flying.contains_key(&chosen.job) {
            return Err(MoveError::AlreadyInFlight(chosen.job.clone()));
        }
        self.flying.insert(chosen.job.clone(), chosen.clone());
        self.starts.push(Start {
            at: now,
            from: chosen.from.clone(),
            to: chosen.to.clone(),
        });
        Ok(())
    }

    pub(super) fn finish(&mut self, job: &JobId) -> Result<Move, MoveError> {
        let over = self.flying.remove(job);
        over.ok_or_else(|| MoveError::NotInFlight(job.clone()))
    }

    pub(super) fn in_flight(&self, job: &JobId) -> Option<&Move> {
        self.flying.get(job)
    }

    pub(super) fn all_in_flight(&self) -> impl Iterator<Item = &Move> {
        self.flying.values()
    }

    /// How many moves began lately.
    pub(super) fn starts(&self) -> usize {
        self.starts.len()
    }

    /// How many of them had the node at either end.
    pub(super) fn starts_at(&self, node: &NodeId) -> usize {
        let touches = |start: &&Start| start.from == *node || start.to == *node;
        self.starts.iter().filter(touches).count()
    }

    /// Forgets what began `window` ago or earlier.
    pub(super) fn forget(&mut self, now: Duration, window: Duration) {
        self.starts
            .retain(|start| now.saturating_sub(start.at) < window);
    }
}

/// The planner was told of a move that cannot be.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::{Config, JobId, MoveError, Planner};
/// use std::time::Duration;
///
/// let mut planner = Planner::new(Config::default())?;
/// let job = JobId::from("etl-7");
/// let error = planner.move_failed(Duration::from_secs(1), &job).unwrap_err();
/// assert_eq!(error, MoveError::NotInFlight(job));
/// # Ok::<(), heist_cluster::planner::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MoveError {
    /// A move began of a job that is on its way.
    AlreadyInFlight(JobId),
    /// A move ended of a job that is not on its way.
    NotInFlight(JobId),
}

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyInFlight(job) => {
                write!(f, "a move of job {job} cannot begin: one is in flight")
            }
            Self::NotInFlight(job) => {
                write!(f, "a move of job {job} cannot end: none is in flight")
            }
        }
    }
}

impl std::error::Error for MoveError {}
