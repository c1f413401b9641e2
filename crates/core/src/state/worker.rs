//! The state of a worker: a part of its own, and a part that others may touch.

use std::cell::Cell;
use std::ptr;

use heist_deque::Injector;
use heist_deque::{Deque, Steal};

use crate::base::counters::Counters;
use crate::base::fifo::Fifo;
use crate::base::job::{Job, JobSlot, Kind};
use crate::base::job_ref::JobRef;
use crate::base::latch::{CoreLatch, LockLatch};
use crate::base::recorder::Recorder;
use crate::base::region::{Regions, Watch};
use crate::base::waiting::{WaitMode, Waiting};
use crate::policy::{CallHistory, Gaps, Neighbours, Priority, Reach, Rng, StealBackoff, Turns};
use crate::sleep::Alert;
use crate::state::hinted::Hinted;
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
    pub(crate) mailbox: Injector<JobRef>,
    /// Jobs that this worker should run.
    pub(crate) hinted: Hinted,
    /// Jobs of this worker that have yielded: they let others go first.
    pub(crate) yielded: Yielded,
    pub(crate) fifo: Fifo,
    pub(crate) recorder: Option<Recorder>,
    /// Set when the worker can take jobs.
    pub(crate) ready: LockLatch,
    /// Set to end the worker.
    pub(crate) end: CoreLatch,
    /// Set when the worker has ended.
    pub(crate) ended: LockLatch,
    /// The other workers by distance, if they are not all equally near.
    pub(crate) neighbours: Option<Neighbours>,
}

/// The state of one call of [`with_context`](crate::with_context) whose contexts carry the deque's
/// tail, so that the one in memory lags behind.
pub(crate) struct Carrier {
    /// True while they carry the tail.
    pub(crate) carries: Cell<bool>,
    /// The slot from which on they do.
    pub(crate) lowest: JobSlot,
}

/// Addresses in a stack, which grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// A frame below this address is deep in the stack.
    pub(crate) deep: usize,
    /// A join that waits in a frame below this address runs descendants only.
    pub(crate) guarded: usize,
}

/// The part that only the worker's own thread touches.
pub(crate) struct Local {
    pub(crate) rng: Cell<Rng>,
    pub(crate) backoff: Cell<StealBackoff>,
    /// How long the worker had nothing to do, lately.
    pub(crate) gaps: Cell<Gaps>,
    /// True if the last round found jobs for which `backoff` does not allow it to ask.
    pub(crate) was_refused: Cell<bool>,
    /// The address of the lowest slot that the frame at the top of the stack may have pushed: the
    /// frame of a job, or of the innermost [`Watch`].
    pub(crate) base: Cell<usize>,
    /// The innermost frame that notes what it pushes, or null.
    pub(crate) watch: Cell<*const Watch>,
    /// True if jobs are to be noted, for the recorder or the meter, or because they may wait for
    /// descendants only.
    pub(crate) is_watched: Cell<bool>,
    /// The call whose contexts carry the deque's tail; null while the tail in memory is exact.
    pub(crate) carrier: Cell<*const Carrier>,
    /// True while the worker waits for descendants only.
    pub(crate) is_strict: Cell<bool>,
    /// The number of waiting frames below the present job.
    pub(crate) wait_depth: Cell<usize>,
    /// The number of jobs run by waits for descendants only.
    pub(crate) ran_strictly: Cell<u32>,
    /// True if the present run has pushed a woken or spawned job that should have yielded, because
    /// a frame on top may wait for it.
    pub(crate) was_early: Cell<bool>,
    /// True while the program's code blocks, inside [`blocking`](crate::blocking).
    pub(crate) is_blocked: Cell<bool>,
    /// True if the deque may hold jobs that other threads have claimed.
    pub(crate) holds_void: Cell<bool>,
    /// Decides when a job from outside comes before the worker's own.
    pub(crate) turns: Cell<Turns>,
    /// The time since which it has passed over its queue of hinted jobs.
    pub(crate) queue_passed_ns: Cell<Option<u64>>,
    /// How often the main loop has come to its queue of yielded jobs.
    pub(crate) yielded_ran: Cell<u32>,
    /// The job that was alone in another worker's queue of yielded jobs when this one looked: the
    /// worker's index, and the number of the job.
    pub(crate) alone: Cell<(usize, usize)>,
    /// Spare shares of the pool, if the worker may have any.
    pub(crate) stock: Cell<Option<usize>>,
    /// How often the main loop has come to the lanes.
    pub(crate) lanes_reached: Cell<u32>,
    /// Marks in the stack of the worker's thread.
    pub(crate) marks: Cell<Marks>,
    /// The priority of the job from outside that runs in the middle of another one here, or of an
    /// urgent one below: only a more urgent job may run on top.
    pub(crate) serving: Cell<Priority>,
    /// Whether its next push looks who sleeps, without a signal.
    pub(crate) alert: Alert,
    /// True while an external caller is in this worker's place.
    pub(crate) is_caller: Cell<bool>,
    /// The times at which callers came, and how long they stayed.
    pub(crate) calls: Cell<CallHistory>,
    /// Called on the worker's own thread when the pool has ended.
    pub(crate) last: Cell<Option<fn()>>,
    /// The distance up to which it may disturb others.
    pub(crate) reach: Cell<Reach>,
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
        recorder: Option<Recorder>,
        metered: bool,
        neighbours: Option<Neighbours>,
    ) -> Self {
        // The pool's address tells pools of one process apart, and differs from run to run where
        // the system randomises addresses.
        let seed = pool as usize as u64 ^ (index as u64) << 48;
        Self {
            deque,
            counters: Counters::new(),
            local: Local {
                rng: Cell::new(Rng::new(seed)),
                backoff: Cell::new(StealBackoff::new()),
                gaps: Cell::new(Gaps::new()),
                was_refused: Cell::new(false),
                base: Cell::new(0),
                watch: Cell::new(ptr::null()),
                is_watched: Cell::new(
                    recorder.is_some() || metered || waiting == Waiting::Descendants,
                ),
                carrier: Cell::new(ptr::null()),
                is_strict: Cell::new(waiting == Waiting::Descendants),
                wait_depth: Cell::new(0),
                ran_strictly: Cell::new(0),
                was_early: Cell::new(false),
                is_blocked: Cell::new(false),
                holds_void: Cell::new(false),
                turns: Cell::new(Turns::new()),
                queue_passed_ns: Cell::new(None),
                yielded_ran: Cell::new(0),
                alone: Cell::new((index, 0)),
                stock: Cell::new(None),
                lanes_reached: Cell::new(0),
                marks: Cell::new(Marks::default()),
                serving: Cell::new(Priority::Low),
                alert: Alert::new(),
                is_caller: Cell::new(false),
                calls: Cell::new(CallHistory::new()),
                last: Cell::new(None),
                reach: Cell::new(Reach::new()),
            },
            pool,
            index,
            regions: Regions::new(waiting),
            mailbox: Injector::new(),
            hinted: Hinted::new(),
            yielded: Yielded::new(),
            fifo: Fifo::new(),
            recorder,
            ready: LockLatch::new(),
            end: CoreLatch::new(),
            ended: LockLatch::new(),
            neighbours,
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
