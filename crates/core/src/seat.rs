//! A worker's place in its pool: what it owns, and what others may touch.

use crate::context::Chain;
use crate::counters::Counters;
use crate::job::{Fifo, Job, JobRef, JobSlot, Kind};
use crate::latch::{CoreLatch, LockLatch};
use crate::policy::{Gaps, Manners, Rng, Turns, Visits};
use crate::pool::Pool;
use crate::recorder::Recorder;
use crate::waiting::{Manner, Waiting, Watch};
use heist_deque::{Deque, Injector, Steal};
use std::cell::Cell;
use std::ptr;

/// A worker's place in its pool. The thread that sits there is the
/// [`Worker`](crate::worker::Worker), and sees more of it than others do.
///
/// It begins a page: what the deque's slots lie opposite to then does not depend on
/// the allocator (`deque/src/slot.rs`).
#[repr(C, align(4096))]
pub(crate) struct Seat {
    deque: Deque<Kind>,
    /// Written by whoever sits here.
    pub(crate) counters: Counters,
    own: Own,
    pool: *const Pool,
    index: usize,
    /// How the jobs here wait, wherever they run.
    pub(crate) manner: Manner,
    /// Jobs that only this worker may run.
    pub(crate) mailbox: Injector<JobRef>,
    pub(crate) fifo: Fifo,
    pub(crate) recorder: Option<Recorder>,
    /// Set when the worker can take jobs.
    pub(crate) ready: LockLatch,
    /// Set when the worker shall end.
    pub(crate) end: CoreLatch,
    /// Set when the worker has ended.
    pub(crate) ended: LockLatch,
}

/// What only the thread that sits here touches.
pub(crate) struct Own {
    pub(crate) rng: Cell<Rng>,
    pub(crate) manners: Cell<Manners>,
    /// How long it had nothing to do, lately.
    pub(crate) gaps: Cell<Gaps>,
    /// True if there were jobs in the last round that `manners` forbids to ask for.
    pub(crate) was_refused: Cell<bool>,
    /// Below the slot at this address lies nothing that the frame at the top of the stack has
    /// pushed: that of a job, or of the innermost [`Watch`].
    pub(crate) base: Cell<usize>,
    /// The innermost frame that notes what it pushes, or null.
    pub(crate) watch: Cell<*const Watch>,
    /// True if jobs are to be noted: by a recorder, or because they may wait for
    /// descendants only.
    pub(crate) is_watched: Cell<bool>,
    /// The chain whose contexts carry the deque's tail, so that the one in memory lags
    /// behind; null while that is exact.
    pub(crate) carrier: Cell<*const Chain<'static>>,
    /// True while the worker waits for descendants only.
    pub(crate) is_strict: Cell<bool>,
    /// Decides when a job from outside comes before the worker's own.
    pub(crate) turns: Cell<Turns>,
    /// How often it has come for a job from outside when it had nothing to do.
    pub(crate) looks: Cell<u32>,
    /// A frame below this address is deep in the stack.
    pub(crate) deep: Cell<usize>,
    /// True while a job from outside runs in the middle of another.
    pub(crate) is_serving: Cell<bool>,
    /// True while a guest sits here.
    pub(crate) is_guest: Cell<bool>,
    /// How long guests stay that sit here, and when they come.
    pub(crate) visits: Cell<Visits>,
}

// SAFETY: `own` is touched by the one thread that sits here, which
// `Worker::sit` is promised; so is the owner's end of the deque. `pool` is the
// pool that the seat is part of, so that it is there as long as the seat.
unsafe impl Sync for Seat {}
// SAFETY: as above.
unsafe impl Send for Seat {}

impl Seat {
    /// The seat with this index in a pool that is being made at that address.
    pub(crate) fn new(
        pool: *const Pool,
        index: usize,
        deque: Deque<Kind>,
        waiting: Waiting,
        recorder: Option<Recorder>,
    ) -> Self {
        // The pool's address tells pools of one process apart, and differs from
        // run to run where the system randomises addresses.
        let seed = pool as usize as u64 ^ (index as u64) << 48;
        Self {
            deque,
            counters: Counters::new(),
            own: Own {
                rng: Cell::new(Rng::new(seed)),
                manners: Cell::new(Manners::new()),
                gaps: Cell::new(Gaps::new()),
                was_refused: Cell::new(false),
                base: Cell::new(0),
                watch: Cell::new(ptr::null()),
                is_watched: Cell::new(recorder.is_some() || waiting == Waiting::Descendants),
                carrier: Cell::new(ptr::null()),
                is_strict: Cell::new(waiting == Waiting::Descendants),
                turns: Cell::new(Turns::new()),
                looks: Cell::new(0),
                deep: Cell::new(0),
                is_serving: Cell::new(false),
                is_guest: Cell::new(false),
                visits: Cell::new(Visits::new()),
            },
            pool,
            index,
            manner: Manner::new(waiting),
            mailbox: Injector::new(),
            fifo: Fifo::new(),
            recorder,
            ready: LockLatch::new(),
            end: CoreLatch::new(),
            ended: LockLatch::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn pool(&self) -> &Pool {
        // SAFETY: the seat is part of it.
        unsafe { &*self.pool }
    }

    #[inline(always)]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The deque: the worker takes the owner's end, everybody else the thieves'.
    #[inline(always)]
    pub(crate) fn deque(&self) -> &Deque<Kind> {
        &self.deque
    }

    /// For the worker only.
    #[inline(always)]
    pub(crate) fn own(&self) -> &Own {
        &self.own
    }

    /// Tries to take the oldest job of this worker; `may_ask` says whether it may
    /// be disturbed.
    #[inline]
    pub(crate) fn steal(&self, may_ask: impl FnOnce() -> bool) -> Steal<Job> {
        let claim = |kind, slot: JobSlot| {
            self.counters.robbed.add(1);
            // SAFETY: the deque's lock is held.
            let is_strict = unsafe { self.manner.is_strict_at(slot.as_ptr() as usize) };
            // SAFETY: just taken, and the deque's lock keeps others away.
            unsafe { Job::claim(kind, slot, self.index, is_strict) }
        };
        // SAFETY: `claim` moves a detached job out; the slot of a lent one stays
        // with the thief until it sets the latch.
        unsafe { self.deque.thief().steal(may_ask, claim) }
    }

    pub(crate) fn has_a_job(&self) -> bool {
        !self.deque.thief().is_empty()
    }

    /// True if there is a job anywhere else that the worker here could run. Its own deque is
    /// not looked at: what is there belongs to frames that wait.
    pub(crate) fn sees_a_job(&self) -> bool {
        let pool = self.pool();
        !pool.injector.is_empty()
            || !self.mailbox.is_empty()
            || pool
                .seats()
                .any(|seat| seat.index != self.index && seat.has_a_job())
    }
}
