//! A signal: any thread sets it, and one thread waits for it, any number of times.

use std::ptr;
use std::sync::Arc;

use crate::base::latch::{BlockingLatch, CoreLatch, Latch};
use crate::state::{Pool, Wait};
use crate::worker::wait::Patience;
use crate::worker::Worker;

/// A latch that its waiter resets. Shares keep it in place, also while it is being set.
#[derive(Debug)]
pub(crate) enum Signal {
    /// For the worker with this index.
    Worker {
        core: CoreLatch,
        pool: Arc<Pool>,
        index: usize,
    },
    /// For a thread that is no worker.
    Thread(BlockingLatch),
}

impl Signal {
    /// For the calling thread, which is this worker or none.
    pub(crate) fn new(owner: Option<&Worker>) -> Self {
        match owner {
            Some(worker) => Self::Worker {
                core: CoreLatch::new(),
                pool: worker.pool().share(),
                index: worker.index(),
            },
            None => Self::Thread(BlockingLatch::new()),
        }
    }

    /// Ends a wait, the present one or the next.
    pub(crate) fn set(&self) {
        match self {
            Self::Worker { core, pool, index } => {
                // SAFETY: the caller holds a share.
                if unsafe { CoreLatch::set(core) } && !pool.born.is_past() {
                    pool.unpark(*index);
                }
            }
            // SAFETY: as above.
            Self::Thread(latch) => unsafe { BlockingLatch::set(latch) },
        }
    }

    /// Waits until the signal is set, and resets it: a worker helps meanwhile, any other thread
    /// blocks. If it is set already, one has a round of a wait, with this patience.
    pub(crate) fn wait(&self, caller: Option<&Worker>, patience: &mut Patience) {
        match (self, caller) {
            (Self::Worker { core, pool, index }, Some(worker)) => {
                assert!(
                    ptr::eq(worker.pool(), &raw const **pool) && worker.index() == *index,
                    "a signal is waited for on the worker that made it"
                );
                if core.probe() {
                    // It has set the signal itself, to let others go first.
                    worker.lets_others_go(patience);
                }
                // The job that sets the signal may be one that this job has pushed.
                worker.wait_until(core, Wait::Event, None, Worker::pushed_in_job_from);
                core.reset();
            }
            (Self::Thread(latch), _) => latch.wait_and_reset(),
            (Self::Worker { .. }, None) => {
                unreachable!("a signal is waited for on the worker that made it")
            }
        }
    }
}
