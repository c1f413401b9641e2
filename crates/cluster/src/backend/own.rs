//! A backend, as the process sees it that connected it, and as the children do that it forks.
//!
//! A forked child has copies of the connections and none of the threads that serve them. A word of
//! it would come between those of its parent, its waits would never end, and what it closes would
//! be closed for both. So in a child requests fail at once, and nothing is closed or dropped.

use std::process;
use std::sync::Arc;

use super::{
    Backend, BackendError, CallSpec, JobEvents, Node, NodeId, ObjectId, Reading, Reply, StartSpec,
};

/// The process that has the threads of something, by its number: generations are counted from the
/// first pool on (`after_fork`, whose one place is the pools'), and a driver may have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u32);

impl Owner {
    /// The running process.
    pub(crate) fn here() -> Self {
        Self(process::id())
    }

    /// Fails in other processes.
    pub(crate) fn check(self) -> Result<(), BackendError> {
        if self == Self::here() {
            return Ok(());
        }
        Err(BackendError::setup(format!(
            "the cluster belongs to process {}, which connected it, and this is process {}, which \
             was forked; connect in the child",
            self.0,
            process::id()
        )))
    }

    /// In other processes, keeps `shared` for ever.
    pub(crate) fn keep<T: ?Sized>(self, shared: &Arc<T>) -> bool {
        let is_elsewhere = self.check().is_err();
        if is_elsewhere {
            // One reference is never given back.
            let _ = Arc::into_raw(Arc::clone(shared));
        }
        is_elsewhere
    }
}

/// A backend that only its own process uses.
pub(crate) struct Own {
    backend: Arc<dyn Backend>,
    owner: Owner,
}

impl Own {
    /// The backend for the running process alone.
    pub(crate) fn wrap(backend: Arc<dyn Backend>) -> Arc<dyn Backend> {
        let owner = Owner::here();
        Arc::new(Self { backend, owner })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.owner.keep(&self.backend);
    }
}

/// Only what a child could come to is checked: jobs are run by a thread that it does not have.
impl Backend for Own {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        self.owner.check()?;
        self.backend.nodes()
    }

    fn call(&self, call: CallSpec, reply: Reply) {
        match self.owner.check() {
            Ok(()) => self.backend.call(call, reply),
            Err(error) => reply(Err(error)),
        }
    }

    fn cancel(&self, id: u64, is_hard: bool) {
        if self.owner.check().is_ok() {
            self.backend.cancel(id, is_hard);
        }
    }

    fn put(&self, id: ObjectId, bytes: Vec<u8>) -> Result<(), BackendError> {
        self.owner.check()?;
        self.backend.put(id, bytes)
    }

    fn fetch(&self, id: ObjectId) -> Result<Vec<u8>, BackendError> {
        self.owner.check()?;
        self.backend.fetch(id)
    }

    fn forget(&self, id: ObjectId) {
        if self.owner.check().is_ok() {
            self.backend.forget(id);
        }
    }

    fn start(&self, start: StartSpec, events: JobEvents) {
        self.backend.start(start, events);
    }

    fn pause(&self, job: u64, epoch: u32) {
        self.backend.pause(job, epoch);
    }

    fn snapshot(&self, job: u64, epoch: u32) {
        self.backend.snapshot(job, epoch);
    }

    fn stop(&self, job: u64, epoch: u32) {
        self.backend.stop(job, epoch);
    }

    fn kill(&self, job: u64) {
        self.backend.kill(job);
    }

    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        self.backend.usage()
    }

    fn close(&self) {
        if self.owner.check().is_ok() {
            self.backend.close();
        }
    }
}
