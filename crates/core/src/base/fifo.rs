//! A first-in, first-out order on top of a deque.

use std::ptr::NonNull;

use heist_deque::Injector;

use crate::base::job::DetachedJob;
use crate::base::job_ref::{Header, JobRef};

/// Makes a queue of some jobs in a deque, whose newest job otherwise comes first.
///
/// For each job a reference to the queue is pushed to the deque; running that reference runs the
/// oldest job of the queue.
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

    /// Queues a job, and returns the reference to push to the deque in its place.
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
