//! The views and results of jobs, for the threads that wait for them.

use std::collections::{HashMap, HashSet};

use heist_sync::{Condvar, Mutex};

use super::messages::View;
use super::store::{JobResult, Stored};
use crate::planner::JobId;

/// Views and results of jobs, shared by the reactor's thread with those that wait.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) state: Mutex<Shown>,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) views: HashMap<u64, View>,
    /// `None` once it was taken.
    pub(super) results: HashMap<u64, Option<JobResult>>,
    /// The reasons why results are missing from the store that should be there.
    pub(super) not_stored: HashMap<u64, String>,
    /// The names of jobs that are not over.
    pub(super) names: HashSet<JobId>,
    /// The numbers of all jobs that were submitted to this driver.
    pub(super) ours: HashSet<u64>,
    /// True when nothing will change any more.
    pub(super) is_closed: bool,
}

impl Results {
    /// Shows the new views of jobs that have changed.
    pub(super) fn show(&self, changed: Vec<View>) {
        let changed = changed.into_iter().map(|view| (view.job, view));
        self.state.lock().views.extend(changed);
        self.changed.notify_all();
    }

    /// Tells the waiters that nothing will change any more.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Hands the result of a job to its waiters.
    pub(super) fn finish(&self, job: u64, result: JobResult, stored: Stored) {
        let mut shown = self.state.lock();
        if let Err(error) = stored {
            shown.not_stored.insert(job, error);
        }
        if let Some(view) = shown.views.get(&job) {
            let id = view.options.id.clone();
            shown.names.remove(&id);
        }
        shown.results.insert(job, Some(result));
        drop(shown);
        self.changed.notify_all();
    }
}
