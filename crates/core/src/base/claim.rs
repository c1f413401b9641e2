//! A claim: the word that decides which thread has a queued job.
//!
//! A submitted job may be run by the worker that takes it from its queue, or by one that joins it;
//! and it may be cancelled. The first thread to change the word of the queued job has the job and
//! its closure. The others do nothing, nor does the worker that later finds the job in a queue.
//!
//! ```text
//! QUEUED ──> RUNNING     the taker, or a worker that joins
//!    └─────> CANCELLED   the handle, aborted
//! ```
//!
//! Invariant CM-1: a claimed job runs or is cancelled, once, and its closure is dropped once.

use std::ptr::NonNull;
use std::sync::Arc;

use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::fault;

use crate::base::job_ref::{Header, JobRef};
use crate::base::region::{self, Context};

const QUEUED: u32 = 0;
const RUNNING: u32 = 1;
const CANCELLED: u32 = 2;

/// The head of a job that is to be claimed.
#[repr(C)]
pub(crate) struct Claim {
    header: Header,
    state: AtomicU32,
    /// The context in which the job is to run.
    context: Option<Arc<Context>>,
}

impl Claim {
    /// The claim of a queued job, which `execute` runs in this context if it is still queued.
    pub(crate) fn new(execute: unsafe fn(NonNull<Header>), context: Option<Arc<Context>>) -> Self {
        Self {
            header: Header { execute },
            state: AtomicU32::new(QUEUED),
            context,
        }
    }

    /// The context in which the job is to run.
    pub(crate) fn context(&self) -> Option<&Arc<Context>> {
        self.context.as_ref()
    }

    /// Claims the job to run it. True if it is the caller's now.
    pub(crate) fn run(&self) -> bool {
        self.take(RUNNING)
    }

    /// Claims the job to drop it. True if it is the caller's now.
    pub(crate) fn cancel(&self) -> bool {
        self.take(CANCELLED)
    }

    /// True if somebody has cancelled the job.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.load(Ordering::Relaxed) == CANCELLED
    }

    fn take(&self, state: u32) -> bool {
        if fault::planted("claim.take") {
            let is_queued = self.state.load(Ordering::Relaxed) == QUEUED;
            self.state.store(state, Ordering::Relaxed);
            return is_queued;
        }
        // Relaxed: the closure was written before the job was published, and its completion
        // publishes the outcome.
        self.state
            .compare_exchange(QUEUED, state, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// True if the job in a queue has been claimed.
    ///
    /// # Safety
    ///
    /// 1. The reference is that of a job which begins with a claim, and has not been run.
    pub(crate) unsafe fn is_void(job: JobRef) -> bool {
        // SAFETY: by 1. By J1 the job is there.
        let claim: &Self = unsafe { job.address().cast().as_ref() };
        claim.state.load(Ordering::Relaxed) != QUEUED
    }

    /// True if the job in a queue may run in the surroundings that the thread has entered.
    ///
    /// # Safety
    ///
    /// 1. As for [`is_void`](Self::is_void).
    pub(crate) unsafe fn may_run_here(job: JobRef) -> bool {
        // SAFETY: as there.
        let claim: &Self = unsafe { job.address().cast().as_ref() };
        region::may_run(claim.context())
    }
}
