//! Latches that know their waiter: a worker of another pool, or the waiter for a count.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use crate::base::count::BiasedCount;
use crate::base::latch::{BlockingLatch, CoreLatch, Latch};
use crate::insight::call::Pause;
use crate::state::{Pool, Wait};
use crate::worker::backlog::Backlog;
use crate::worker::Worker;

/// The pause before a worker that waits for a limited time, and has found no job, looks again.
const LOOK_PERIOD: Duration = Duration::from_millis(1);

/// A latch that a worker waits for and a worker of another pool sets.
#[derive(Debug)]
pub(crate) struct ForeignLatch<'w> {
    pub(crate) core: CoreLatch,
    owner: &'w Worker,
}

impl<'w> ForeignLatch<'w> {
    pub(crate) fn new(owner: &'w Worker) -> Self {
        Self {
            core: CoreLatch::new(),
            owner,
        }
    }
}

impl Latch for ForeignLatch<'_> {
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive until the swap below, and the owner while it waits for it.
        let owner = unsafe { (*this).owner };
        // The owner's pool may end as soon as the latch is set: hold it.
        let (pool, index) = (owner.pool().share(), owner.index());
        // SAFETY: alive by the caller's 1.
        if unsafe { CoreLatch::set(&raw const (*this).core) } {
            pool.unpark(index);
        }
    }
}

/// A latch that is set when a count has fallen to zero.
#[derive(Debug)]
pub(crate) struct CountLatch {
    pending: BiasedCount,
    waiter: Waiter,
}

/// The waiter of a [`CountLatch`], once it has run out of its own jobs.
#[derive(Debug)]
enum Waiter {
    Worker {
        core: CoreLatch,
        pool: Arc<Pool>,
        index: usize,
    },
    Thread(BlockingLatch),
}

impl CountLatch {
    /// A latch, to be set `count` times, for the calling thread, which is the worker `owner` or
    /// none.
    pub(crate) fn new(count: usize, owner: Option<&Worker>) -> Self {
        let waiter = match owner {
            Some(worker) => Waiter::Worker {
                core: CoreLatch::new(),
                pool: worker.pool().share(),
                index: worker.index(),
            },
            None => Waiter::Thread(BlockingLatch::new()),
        };
        Self {
            pending: BiasedCount::new(count as u64),
            waiter,
        }
    }

    /// Requires one more setting. To be called by a thread that has yet to set the latch. True if
    /// that is the one for which the latch was made, which has not begun to wait.
    #[inline]
    pub(crate) fn increment(&self) -> bool {
        self.pending.add()
    }

    /// True if the latch is set. For the thread that it was made for, before it waits.
    pub(crate) fn is_set(&self) -> bool {
        self.pending.is_zero()
    }

    /// Waits until the latch is set, once, on the thread that it was made for: a worker helps, any
    /// other thread blocks.
    ///
    /// For a worker that runs descendants only, they are the jobs from the slot `oldest` upwards,
    /// and those of the `backlog`.
    pub(crate) fn wait(
        &self,
        owner: Option<&Worker>,
        backlog: Option<&Backlog>,
        oldest: impl Fn(&Worker) -> usize,
    ) {
        self.wait_as(owner, Wait::Jobs, backlog, oldest);
    }

    /// As [`wait`](Self::wait), for `what`.
    pub(crate) fn wait_as(
        &self,
        owner: Option<&Worker>,
        what: Wait,
        backlog: Option<&Backlog>,
        oldest: impl Fn(&Worker) -> usize,
    ) {
        let _pause = Pause::begin();
        match (&self.waiter, owner) {
            (Waiter::Worker { core, .. }, Some(worker)) => {
                let (mut rounds, is_strict) = (0, worker.is_strict());
                let merge = || {
                    self.pending.merge(|| {
                        // The wait below has another worker step in.
                        let is_last = worker.has_a_round(&mut rounds, is_strict);
                        !(is_last && is_strict) && worker.run_own_job(oldest(worker))
                    })
                };
                if !worker.on_top(merge) {
                    worker.wait_until(core, what, backlog, oldest);
                }
            }
            (Waiter::Thread(latch), _) => {
                if !self.pending.merge(|| false) {
                    latch.wait();
                }
            }
            (Waiter::Worker { .. }, None) => {
                unreachable!("a worker's latch is waited for on that worker")
            }
        }
    }

    /// Wakes the waiter before the latch is set, if it is a sleeping worker of this pool. True if
    /// it did.
    pub(crate) fn wake_sleeper(&self, pool: &Pool) -> bool {
        match &self.waiter {
            Waiter::Worker {
                pool: own, index, ..
            } => std::ptr::eq(Arc::as_ptr(own), pool) && pool.sleep.unpark(*index),
            Waiter::Thread(_) => false,
        }
    }

    /// Wakes the waiter, if it is a worker, before the latch is set, for a job that was published
    /// for it alone.
    pub(crate) fn wake_for_mail(&self) {
        if let Waiter::Worker { pool, index, .. } = &self.waiter {
            let woke = pool.sleep.unpark_for_mail(*index);
            pool.count_wakes(usize::from(woke));
        }
    }

    /// As [`wait`](Self::wait), but a worker calls `help`, which returns when the latch that it is
    /// given is set.
    pub(crate) fn wait_by(&self, owner: Option<&Worker>, help: impl FnOnce(&Worker, &CoreLatch)) {
        let is_set = self.pending.merge(|| false);
        match (&self.waiter, owner) {
            _ if is_set => {}
            (Waiter::Worker { core, .. }, Some(worker)) => help(worker, core),
            (Waiter::Thread(latch), _) => latch.wait(),
            (Waiter::Worker { .. }, None) => {
                unreachable!("a worker's latch is waited for on that worker")
            }
        }
    }
}

impl CountLatch {
    /// Waits as long as there is time `left`. The latch was made as for a thread that is no worker;
    /// but if the thread is the worker `caller`, it runs jobs meanwhile, first those that `help`
    /// runs, which tells whether there was one. True if the latch is set.
    pub(crate) fn wait_while_left(
        &self,
        caller: Option<&Worker>,
        help: impl Fn() -> bool,
        left: impl Fn() -> Duration,
    ) -> bool {
        let Waiter::Thread(latch) = &self.waiter else {
            unreachable!("a worker's latch has no time limit")
        };
        if self.pending.merge(|| false) {
            return true;
        }
        let Some(worker) = caller else {
            return latch.wait_while_left(left);
        };
        let _pause = Pause::begin();
        while !latch.is_set() {
            if left().is_zero() {
                return false;
            }
            let oldest = worker.pushed_in_job_from();
            if !worker.on_top(|| help() || worker.help_once(oldest)) {
                // BL-1: no publisher relies on it meanwhile, so it looks for jobs now and then.
                let once = Cell::new(left().min(LOOK_PERIOD));
                worker.block(|| latch.wait_while_left(|| once.take()));
            }
        }
        true
    }
}

impl Latch for CountLatch {
    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: alive by the caller's 1., who has yet to set it.
        if unsafe { BiasedCount::take_off(&raw const (*this).pending) } {
            // SAFETY: this is the last to set, and the waiter waits for it.
            unsafe { Self::wake(this) };
        }
    }
}

impl CountLatch {
    /// Wakes the waiter, after the last setting.
    ///
    /// # Safety
    ///
    /// 1. The waiter waits for this call.
    #[cold]
    unsafe fn wake(this: *const Self) {
        // SAFETY: alive by 1.
        match unsafe { &(*this).waiter } {
            Waiter::Worker {
                core, pool, index, ..
            } => {
                let (pool, index) = (Arc::clone(pool), *index);
                // SAFETY: alive until this swap.
                if unsafe { CoreLatch::set(core) } {
                    pool.unpark(index);
                }
            }
            // SAFETY: alive when the call begins.
            Waiter::Thread(latch) => unsafe { BlockingLatch::set(latch) },
        }
    }
}
