//! Results of the watcher of jobs for the backend: usage of jobs, and what ends with the
//! connection.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use heist_sync::Mutex;

use super::batch;
use crate::error::BackendError;
use crate::planner::NodeId;
use crate::protocol::reading::Reading;

/// A reading that has not changed for so long says nothing any more.
const READING_MAX: Duration = Duration::from_secs(10);

/// Usage of jobs, and what the connection owns in Slurm.
#[derive(Debug, Default)]
pub(super) struct Watched {
    readings: Mutex<HashMap<u64, Usage>>,
    /// Held while a job is submitted, so that none is forgotten.
    own: Mutex<Own>,
}

/// Batch jobs and folders that end with the connection.
#[derive(Debug, Default)]
struct Own {
    is_closed: bool,
    slurm_jobs: BTreeSet<u64>,
    /// Of jobs that are over.
    folders: Vec<PathBuf>,
}

impl Watched {
    /// The use of resources by the jobs' processes, with their nodes.
    pub(super) fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        let readings = self.readings.lock();
        let usage = readings.values().map(|usage| {
            let reading = match usage.since.elapsed() > READING_MAX {
                true => Err(BackendError::lost(format!(
                    "a job on {} has not said for {} s what it uses",
                    usage.node,
                    READING_MAX.as_secs()
                ))),
                false => Ok(usage.reading.clone()),
            };
            (usage.node.clone(), reading)
        });
        usage.collect()
    }

    /// Notes what a job's process on this node has used.
    pub(super) fn note(&self, job: u64, node: &NodeId, reading: Reading) {
        let mut readings = self.readings.lock();
        let known = readings.get(&job);
        if known.is_none_or(|known| known.reading.at_ms != reading.at_ms || known.node != *node) {
            let usage = Usage {
                node: node.clone(),
                reading,
                since: Instant::now(),
            };
            readings.insert(job, usage);
        }
    }

    /// Forgets what a job's process has used.
    pub(super) fn forget(&self, job: u64) {
        self.readings.lock().remove(&job);
    }

    /// Notes a batch job of this connection.
    pub(super) fn add(&self, slurm_job: u64) {
        self.own.lock().slurm_jobs.insert(slurm_job);
    }

    /// As [`add`](Self::add), for one that `submit` makes; none if the connection has ended.
    pub(super) fn add_new(
        &self,
        submit: impl FnOnce() -> Result<u64, String>,
    ) -> Option<Result<u64, String>> {
        let mut own = self.own.lock();
        let submitted = (!own.is_closed).then(submit)?;
        own.slurm_jobs.extend(submitted.iter());
        Some(submitted)
    }

    /// Forgets a batch job.
    pub(super) fn remove(&self, slurm_job: u64) {
        self.own.lock().slurm_jobs.remove(&slurm_job);
    }

    /// Notes the folder of a job that is over.
    pub(super) fn over(&self, folder: &Path) {
        self.own.lock().folders.push(folder.to_owned());
    }

    /// Gives up all jobs, and removes what is left of those that are over.
    pub(super) fn close(&self) {
        let mut own = self.own.lock();
        own.is_closed = true;
        let slurm_jobs: Vec<_> = std::mem::take(&mut own.slurm_jobs).into_iter().collect();
        let folders = std::mem::take(&mut own.folders);
        drop(own);
        if !slurm_jobs.is_empty() {
            // No one is left to be told if this fails.
            let _ = batch::cancel(&slurm_jobs);
        }
        for folder in folders {
            // A folder that stays does no harm.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// A reading of a job's process, with its node and the time at which it came.
#[derive(Debug)]
struct Usage {
    node: NodeId,
    reading: Reading,
    since: Instant,
}
