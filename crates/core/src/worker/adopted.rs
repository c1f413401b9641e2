//! Adoption: the thread that builds a pool is a worker of it for the rest of its life.

use std::cell::Cell;
use std::sync::Arc;

use heist_sync::thread_local;

use crate::base::error::ThreadPoolBuildError;
use crate::insight::call::Stay;
use crate::state::{Doing, Pool};
use crate::worker::caller::CALLER_STACK;
use crate::worker::Worker;

thread_local! {
    /// The pool of which this thread became a worker for the rest of its life.
    static ADOPTED: Cell<Option<Adopted>> = const { Cell::new(None) }
}

/// Holds the pool of an adopted thread until the thread ends.
struct Adopted(#[expect(dead_code, reason = "held, not used")] Arc<Pool>);

impl Drop for Adopted {
    fn drop(&mut self) {
        Worker::leave();
    }
}

impl Worker {
    /// Whether the calling thread can be made a worker for the rest of its life.
    ///
    /// # Errors
    ///
    /// Fails on a thread that is a worker, and on one that is about to end: its thread-local values
    /// are being dropped.
    pub(crate) fn may_adopt_current_thread() -> Result<(), ThreadPoolBuildError> {
        if Self::current().is_some() {
            return Err(ThreadPoolBuildError::already_a_worker());
        }
        // From the first use on, the value is there until the thread's destructors run.
        ADOPTED
            .try_with(|_| ())
            .map_err(|_| ThreadPoolBuildError::ending_thread())
    }

    /// Makes the calling thread, which has frames below it, the worker with this index for the rest
    /// of its life.
    ///
    /// # Errors
    ///
    /// As [`may_adopt_current_thread`](Self::may_adopt_current_thread).
    #[expect(clippy::mem_forget, reason = "what frames may use is leaked")]
    pub(crate) fn adopt_current_thread(
        pool: &Arc<Pool>,
        index: usize,
    ) -> Result<(), ThreadPoolBuildError> {
        Self::may_adopt_current_thread()?;
        // Nothing below can fail: a thread that unwound after it has entered would stay a worker of
        // a pool that is gone.
        let adopted = Some(Adopted(Arc::clone(pool)));
        let former = ADOPTED.with(|place| place.replace(adopted));
        // There is one in a forked child, whose frames may use it: it stays.
        std::mem::forget(former);
        // SAFETY: `Adopted` holds the pool until it calls `leave`, and no other thread was started
        // for this worker.
        let worker = unsafe { Self::enter(pool.worker(index)) };
        worker.begins_to_work();
        worker.begin_stack(CALLER_STACK);
        // For good: all that the thread does from now on is a job.
        std::mem::forget(Stay::begin(pool.metered));
        std::mem::forget(worker.enters(|| Doing::Calls));
        Ok(())
    }
}
