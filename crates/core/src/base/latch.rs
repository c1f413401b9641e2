//! Latches, by which one worker learns that a job on another is done.
//!
//! A latch starts pending and is set once. Setting it may release the frame in which the latch
//! itself lies: from the moment the state changes, the setter touches nothing of it. That is why
//! [`Latch::set`] takes a raw pointer, and why the waiter to wake is read *before*.
//!
//! | latch | waited for by |
//! |---|---|
//! | [`CoreLatch`] | the state itself; a worker that helps, then sleeps on its parker; in the slot of a lent job it stands alone |
//! | [`ForeignLatch`](crate::worker::latch::ForeignLatch) | a worker, set from another pool |
//! | [`LockLatch`] | a thread that is no worker |
//! | [`CountLatch`](crate::worker::latch::CountLatch) | either, until a [count](crate::base::count::BiasedCount) has fallen to zero |

use std::ptr;
use std::time::Duration;

use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::{fault, Condvar, Mutex};

use crate::schedule;

/// Something that can be set once.
pub(crate) trait Latch {
    /// Sets the latch and wakes its waiter.
    ///
    /// # Safety
    ///
    /// 1. `this` points to a live latch when the call begins. It may die during the call, as soon
    ///    as the state has changed.
    unsafe fn set(this: *const Self);
}

/// Not set, and no worker sleeps on it.
const PENDING: u32 = 0;
/// The waiting worker sleeps, or is about to: whoever sets the latch must unpark it. Only the
/// waiting worker enters and leaves this state.
const SLEEPING: u32 = 1;
/// Set. Final, unless the waiter resets it.
const SET: u32 = 2;

/// The state of a latch that a worker waits for.
#[derive(Debug)]
pub(crate) struct CoreLatch {
    state: AtomicU32,
}

impl CoreLatch {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(PENDING),
        }
    }

    /// True once the latch is set; everything before `set` is visible then.
    #[inline(always)]
    pub(crate) fn probe(&self) -> bool {
        // Acquire: pairs with the release half of the swap in `set`.
        let order = fault::ordering("latch.probe", Ordering::Acquire);
        self.state.load(order) == SET
    }

    /// The waiting worker announces that it will sleep. Returns false if the latch is set already.
    /// Comes after the worker has armed its parker.
    pub(crate) fn fall_asleep(&self) -> bool {
        // Release: pairs with the acquire half of the swap in `set`: whoever finds the worker
        // sleeping finds its parker armed.
        let order = fault::ordering("latch.fall_asleep", Ordering::Release);
        self.state
            .compare_exchange(PENDING, SLEEPING, order, Ordering::Relaxed)
            .is_ok()
    }

    /// Notes that the waiting worker is awake again, whatever woke it.
    pub(crate) fn wake_up(&self) {
        // Relaxed: nothing is handed over; if the latch is set, it stays set.
        let _ =
            self.state
                .compare_exchange(SLEEPING, PENDING, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Makes the latch pending again, after the waiting worker has seen it set. For a latch that
    /// stays in place.
    pub(crate) fn reset(&self) {
        // Acquire: pairs with the release half of the swap in `set`, that of the last to set it
        // since `probe`.
        let order = fault::ordering("latch.reset", Ordering::Acquire);
        self.state.swap(PENDING, order);
    }

    /// Sets the latch. True if the caller must now unpark the waiting worker. After the swap the
    /// latch may be gone.
    ///
    /// # Safety
    ///
    /// As for [`Latch::set`].
    #[inline]
    pub(crate) unsafe fn set(this: *const Self) -> bool {
        // Release: the waiter's `probe` sees what the job did. Acquire: pairs with `fall_asleep`.
        // One swap, so that a worker falling asleep at the same time either makes this return true
        // or sees the latch set.
        let order = fault::ordering("latch.set", Ordering::AcqRel);
        // SAFETY: alive by 1., and this is the last access.
        unsafe { (*this).state.swap(SET, order) == SLEEPING }
    }
}

/// The calling runner waits (`schedule.rs`), until this is dropped.
struct Stop;

impl Drop for Stop {
    fn drop(&mut self) {
        schedule::goes_on();
    }
}

/// A latch that a thread outside the pool blocks on.
#[derive(Debug)]
pub(crate) struct LockLatch {
    set: Mutex<bool>,
    change: Condvar,
}

impl LockLatch {
    pub(crate) fn new() -> Self {
        Self {
            set: Mutex::new(false),
            change: Condvar::new(),
        }
    }

    /// Blocks until the latch is set.
    pub(crate) fn wait(&self) {
        self.wait_and(|_| {});
    }

    /// Blocks until the latch is set, or no time is `left`. True if it is set.
    pub(crate) fn wait_while_left(&self, left: impl Fn() -> Duration) -> bool {
        let _stop = self.stop();
        let mut set = self.set.lock();
        while !*set {
            let left = left();
            if left.is_zero() {
                return false;
            }
            set = self.change.wait_timeout(set, left);
            if !*set {
                schedule::pass_time(left);
            }
        }
        true
    }

    /// True if the latch is set.
    pub(crate) fn is_set(&self) -> bool {
        *self.set.lock()
    }

    /// Blocks until the latch is set, and makes it pending again.
    pub(crate) fn wait_and_reset(&self) {
        self.wait_and(|set| *set = false);
    }

    fn wait_and(&self, then: impl FnOnce(&mut bool)) {
        let _stop = self.stop();
        let mut set = self.set.lock();
        while !*set {
            set = self.change.wait(set);
        }
        then(&mut set);
    }

    /// Lets others run meanwhile, if the process is scheduled and the latch is not set.
    fn stop(&self) -> Option<Stop> {
        let stops = schedule::is_on() && !self.is_set();
        stops.then(|| {
            schedule::stops(ptr::from_ref(self) as usize);
            Stop
        })
    }
}

impl Latch for LockLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: alive when the call begins; the waiter cannot leave before the lock is free
        // again, and a lock may die once it has been unlocked.
        let this = unsafe { &*this };
        schedule::wakes(ptr::from_ref(this) as usize);
        let mut set = this.set.lock();
        *set = true;
        // Under the lock: afterwards the latch may be gone.
        this.change.notify_all();
    }
}

/// A borrowed latch, which its owner keeps alive.
#[derive(Debug)]
pub(crate) struct LatchRef<'a, L>(pub(crate) &'a L);

impl<L: Latch> Latch for LatchRef<'_, L> {
    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: alive by the caller's 1.; the reference is copied out first.
        let latch: *const L = unsafe { (*this).0 };
        // SAFETY: the owner keeps it alive until it is set.
        unsafe { L::set(latch) }
    }
}
