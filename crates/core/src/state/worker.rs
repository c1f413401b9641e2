//! The state of a worker: a part of its own, and a part that others may touch.

use std::cell::Cell;

use heist_deque::{Deque, Injector, Steal};
use heist_sync::atomic::AtomicUsize;

use crate::base::counters::Counters;
use crate::base::fifo::Fifo;
use crate::base::job::{Job, JobSlot, Kind};
use crate::base::latch::{BlockingLatch, CoreLatch};
use crate::base::mail::Mail;
use crate::base::recorder::Recorder;
use crate::base::region::Regions;
use crate::base::waiting::{WaitMode, Waiting};
use crate::policy::Neighbours;
use crate::state::frames::Frames;
use crate::state::hinted::Hinted;
use crate::state::local::Local;
use crate::state::yielded::Yielded;

/// The state of one worker, in a pool of type `P`. The worker's own thread sees it as a
/// [`Worker`](crate::worker::Worker).
///
/// It is aligned to a page: otherwise the allocator would decide whether accesses to it are delayed
/// by stores to the deque's slots (`deque/src/slot.rs`).
#[repr(C, align(4096))]
pub(crate) struct WorkerState<P> {
    deque: Deque<Kind>,
    /// Written by the thread that is the worker.
    pub(crate) counters: Counters,
    local: Local,
    pool: *const P,
    index: usize,
    /// The way in which this worker's jobs wait, wherever they run.
    pub(crate) regions: Regions,
    /// Jobs that only this worker may run.
    pub(crate) mailbox: Injector<Mail>,
    /// How many of them run local futures.
    pub(crate) mailed_futures: AtomicUsize,
    /// Jobs that this worker should run.
    pub(crate) hinted: Hinted,
    /// Jobs of this worker that have yielded: they let others go first.
    pub(crate) yielded: Yielded,
    pub(crate) fifo: Fifo,
    pub(crate) recorder: Option<Recorder>,
    /// Set when the worker can take jobs.
    pub(crate) ready: BlockingLatch,
    /// Set to end the worker.
    pub(crate) end: CoreLatch,
    /// Set when the worker has ended.
    pub(crate) ended: BlockingLatch,
    /// The other workers by distance, if they are not all equally near.
    pub(crate) neighbours: Option<Neighbours>,
    /// The frames of the thread, if the stall watchdog watches.
    pub(crate) frames: Option<Frames>,
}

/// Those that are told what a worker does, in pools that were built with them.
pub(crate) struct Watchers {
    pub(crate) recorder: Option<Recorder>,
    pub(crate) metered: bool,
    pub(crate) frames: Option<Frames>,
}

// SAFETY: `local` is touched by the one thread that is the worker, which `Worker::enter` is
// promised; so is the owner's end of the deque. `pool` is the pool that this is part of, so that it
// is there as long as this.
unsafe impl<P> Sync for WorkerState<P> {}
// SAFETY: as above.
unsafe impl<P> Send for WorkerState<P> {}

impl<P> WorkerState<P> {
    /// The state of the worker with this index in a pool that is being made at that address.
    pub(crate) fn new(
        pool: *const P,
        index: usize,
        deque: Deque<Kind>,
        waiting: Waiting,
        watchers: Watchers,
        neighbours: Option<Neighbours>,
    ) -> Self {
        let Watchers {
            recorder,
            metered,
            frames,
        } = watchers;
        // The pool's address tells pools of one process apart, and differs from run to run where
        // the system randomises addresses.
        let seed = pool as usize as u64 ^ (index as u64) << 48;
        let is_strict = waiting == Waiting::Descendants;
        let is_watched = recorder.is_some() || metered || is_strict || frames.is_some();
        Self {
            deque,
            counters: Counters::new(),
            local: Local::new(index, seed, is_strict, is_watched),
            pool,
            index,
            regions: Regions::new(waiting),
            mailbox: Injector::new(),
            mailed_futures: AtomicUsize::new(0),
            hinted: Hinted::new(),
            yielded: Yielded::new(),
            fifo: Fifo::new(),
            recorder,
            ready: BlockingLatch::new(),
            end: CoreLatch::new(),
            ended: BlockingLatch::new(),
            neighbours,
            frames,
        }
    }

    #[inline(always)]
    pub(crate) fn pool(&self) -> &P {
        // SAFETY: this is part of it.
        unsafe { &*self.pool }
    }

    #[inline(always)]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The deque: the worker uses the owner's end, all others the thieves'.
    #[inline(always)]
    pub(crate) fn deque(&self) -> &Deque<Kind> {
        &self.deque
    }

    /// The local part, for the worker only.
    #[inline(always)]
    pub(crate) fn local(&self) -> &Local {
        &self.local
    }

    /// Tries to take the oldest job of this worker; `may_ask` says whether it may be disturbed.
    #[inline]
    pub(crate) fn steal(&self, may_ask: impl FnOnce() -> bool) -> Steal<Job> {
        let claim = |kind, slot| {
            self.counters.stolen_from.add(1);
            // SAFETY: just taken, under the deque's lock.
            unsafe { self.claim(kind, slot) }
        };
        // SAFETY: `claim` moves a detached job out; the slot of a lent one stays with the thief
        // until it sets the latch.
        unsafe { self.deque.thief().steal(may_ask, claim) }
    }

    /// As [`steal`](Self::steal), if the oldest job is a piece of the initialiser of this `Once`.
    pub(crate) fn steal_piece(
        &self,
        once: *const (),
        may_ask: impl FnOnce() -> bool,
    ) -> Steal<Job> {
        if !self.regions.has_regions() {
            return Steal::Empty;
        }
        let is_piece = |slot, kind: Option<&Kind>| {
            // SAFETY: the deque's lock is held.
            let mode = unsafe { self.mode_at(slot) };
            // Only a lent job is known to be one for which the initialiser waits.
            mode.once() == once && kind.is_none_or(Kind::is_lent)
        };
        let claim = |kind, slot| {
            self.counters.stolen_from.add(1);
            // SAFETY: just taken, under the deque's lock.
            unsafe { self.claim(kind, slot) }
        };
        // SAFETY: as in `steal`.
        unsafe { self.deque.thief().steal_if(may_ask, is_piece, claim) }
    }

    /// True if the oldest job may be a piece of that initialiser.
    pub(crate) fn has_a_piece(&self, once: *const ()) -> bool {
        let is_there = Cell::new(false);
        let look = |slot, _: Option<&Kind>| {
            // SAFETY: the deque's lock is held.
            is_there.set(unsafe { self.mode_at(slot) }.once() == once);
            false
        };
        if self.regions.has_regions() {
            // SAFETY: nothing is claimed.
            let nothing = unsafe { self.deque.thief().steal_if(|| true, look, |_, _| ()) };
            debug_assert!(!matches!(nothing, Steal::Success(())));
        }
        is_there.get()
    }

    /// Takes the oldest job, if it is public and its frame waits in the default way. For the owner.
    pub(crate) fn take_plain(&self) -> Option<Job> {
        // SAFETY: the deque's lock is held.
        let is_plain = |slot, _: Option<&Kind>| unsafe { self.mode_at(slot) }.is_plain();
        // SAFETY: just taken, under the deque's lock.
        let claim = |kind, slot| unsafe { self.claim(kind, slot) };
        // SAFETY: as in `steal`.
        match unsafe { self.deque.thief().steal_if(|| false, is_plain, claim) } {
            Steal::Success(job) => {
                self.counters.pops.add(1);
                Some(job)
            }
            Steal::Empty | Steal::Retry => None,
        }
    }

    /// Claims the job in this slot of the deque.
    ///
    /// # Safety
    ///
    /// 1. The caller has just taken it, and holds the lock of the deque.
    pub(crate) unsafe fn claim(&self, kind: &'static Kind, slot: JobSlot) -> Job {
        // SAFETY: by 1.
        let mode = unsafe { self.mode_at(slot) };
        // SAFETY: by 1.
        let context = || unsafe { self.regions.context_at(slot.as_ptr() as usize) };
        // SAFETY: by 1., and the lock keeps others away.
        unsafe { Job::claim(kind, slot, self.index, mode, context) }
    }

    /// The way in which the job in this slot waits.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock of the deque.
    unsafe fn mode_at(&self, slot: JobSlot) -> WaitMode {
        // SAFETY: by 1.
        unsafe { self.regions.at(slot.as_ptr() as usize) }
    }

    /// True if the deque holds a job.
    pub(crate) fn has_a_job(&self) -> bool {
        !self.deque.thief().is_empty()
    }

    /// True if there is a job here that others may take.
    pub(crate) fn has_a_job_for_others(&self) -> bool {
        self.has_a_job() || !self.yielded.is_empty()
    }
}
