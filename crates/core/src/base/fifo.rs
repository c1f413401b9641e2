//! First in, first out, on top of a deque.

use std::ptr::NonNull;

use heist_deque::Injector;

use crate::base::job::DetachedJob;
use crate::base::job_ref::{Header, JobRef};

/// Turns a deque, where the newest comes first, into a queue for some jobs.
///
/// For each job the queue's own reference is pushed to the deque; whoever runs that reference runs
/// the oldest job of the queue.
#[repr(C)]
pub(crate) struct Fifo {
    header: Header,
    queue: Injector<DetachedJob>,
}

impl Fifo {
    pub(crate) fn new() -> Self {
        Self {
            header: Header {
                execute: Self::execute,
            },
            queue: Injector::new(),
        }
    }

    /// Queues a job and gives the reference to push to the deque in its place.
    ///
    /// # Safety
    ///
    /// 1. The queue stays in place until the reference has run.
    pub(crate) unsafe fn queue(&self, job: DetachedJob) -> JobRef {
        self.queue.push(job);
        JobRef::new(NonNull::from(self))
    }

    /// # Safety
    ///
    /// As for [`JobRef::execute`], with a reference from `queue`.
    unsafe fn execute(header: NonNull<Header>) {
        // SAFETY: whoever queued keeps the queue in place until this has run, and the job below,
        // which may be what it waits for, starts only after this borrow has ended.
        let job = unsafe { header.cast::<Self>().as_ref() }.queue.take();
        let job = job.expect("one reference was pushed for each queued job");
        // SAFETY: taken from the queue, which hands each job out once.
        unsafe { job.finish(None) }
    }
}
