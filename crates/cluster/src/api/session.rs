//! The connection that a cluster and all its calls share.

use std::fmt;
use std::sync::{Arc, OnceLock};

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::Mutex;

use super::permits::Permits;
use super::timers::Timers;
use crate::backend::own::Owner;
use crate::backend::Backend;
use crate::driver::handle::Driver;
use crate::driver::options::Options;
use crate::error::ClusterErrorKind;
use crate::event::CallCounts;
use crate::log::Logs;
use crate::protocol::fingerprint::{Build, Fingerprint};
use crate::protocol::Limits;

/// The time for which there is somebody who wants the cluster.
#[derive(Debug)]
pub(super) struct Session(pub(super) Arc<Shared>);

impl Drop for Session {
    fn drop(&mut self) {
        if self.0.owner.keep(&self.0) {
            return;
        }
        if let Some(driver) = self.0.driver.get() {
            driver.end();
        }
        self.0.backend.close();
        self.0.timers.close();
        self.0.logs.0.close();
    }
}

/// The log of the lines that workers print, which is closed with the cluster, also if there is none
/// after all.
#[derive(Debug)]
pub(super) struct Logging(pub(super) Logs);

impl Drop for Logging {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The state that all clones of a cluster, and all its calls, share.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    /// The process that has the threads of all this.
    pub(super) owner: Owner,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) build: Arc<Build>,
    pub(super) limits: Limits,
    pub(super) id: u64,
    pub(super) next_request: AtomicU64,
    pub(super) next_object: AtomicU64,
    pub(super) next_job: AtomicU64,
    pub(crate) counters: Arc<Counters>,
    pub(crate) permits: Arc<Permits>,
    pub(super) timers: Arc<Timers>,
    pub(super) logs: Logging,
    /// Drives jobs. Without options it is there once there is a job.
    pub(super) driver: OnceLock<Driver>,
    pub(super) starting: Mutex<()>,
}

/// How many calls there are.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) begun: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) lost: AtomicU64,
}

impl Counters {
    fn read(&self) -> CallCounts {
        // For people; each is right by itself.
        let done = self.done.load(Ordering::Relaxed);
        CallCounts {
            open: self.begun.load(Ordering::Relaxed).saturating_sub(done),
            done,
            lost: self.lost.load(Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("backend", &self.backend.name())
            .finish_non_exhaustive()
    }
}

/// Reads `counters` for as long as somebody counts.
pub(super) fn reader(counters: &Arc<Counters>) -> impl Fn() -> CallCounts + Send + 'static {
    let counters = Arc::clone(counters);
    move || counters.read()
}

impl Shared {
    /// The driver of jobs, started when it is first needed.
    pub(crate) fn driver(&self) -> Result<&Driver, ClusterErrorKind> {
        self.owner.check().map_err(ClusterErrorKind::Backend)?;
        let _one_at_a_time = self.starting.lock();
        if self.driver.get().is_none() {
            let started = Driver::start(&self.backend, Options::new(), reader(&self.counters))?;
            self.driver.get_or_init(|| started);
        }
        self.driver
            .get()
            .ok_or_else(|| ClusterErrorKind::Job("jobs cannot be driven".to_owned()))
    }

    /// A number for a request; 0 is none.
    pub(crate) fn next_request(&self) -> u64 {
        // Only uniqueness matters.
        self.next_request.fetch_add(1, Ordering::Relaxed)
    }
}
