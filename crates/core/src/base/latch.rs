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
//! | [`BlockingLatch`] | threads that are no workers |
//! | [`CountLatch`](crate::worker::latch::CountLatch) | either, until a [count](crate::base::count::BiasedCount) has fallen to zero |

use std::ptr;
use std::time::Duration;

use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::{fault, Futex};

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

/// A latch that threads outside the pool block on.
///
/// Where [`Futex`] is the system's it has no lock: whoever is woken would run into that of its
/// waker, whose processor it often takes, and two more changes of threads would follow.
#[derive(Debug)]
pub(crate) struct BlockingLatch {
    state: Futex,
}

impl BlockingLatch {
    pub(crate) fn new() -> Self {
        Self {
            state: Futex::new(PENDING),
        }
    }

    /// Blocks until the latch is set.
    pub(crate) fn wait(&self) {
        let _stop = self.stop();
        while !self.is_set_or_armed() {
            self.state.wait(SLEEPING);
        }
    }

    /// Blocks until the latch is set, or no time is `left`. True if it is set.
    pub(crate) fn wait_while_left(&self, left: impl Fn() -> Duration) -> bool {
        let _stop = self.stop();
        while !self.is_set_or_armed() {
            let left = left();
            if left.is_zero() {
                return false;
            }
            if cfg!(any(heist_loom, heist_shuttle)) {
                // A model has no clock.
                self.state.wait(SLEEPING);
            } else {
                self.state.wait_timeout(SLEEPING, left);
            }
            if !self.is_set() {
                schedule::pass_time(left);
            }
        }
        true
    }

    /// True if the latch is set; everything before `set` is visible then, and the latch may be
    /// dropped.
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with the release in `set`.
        let order = fault::ordering("latch.blocking.is_set", Ordering::Acquire);
        let is_set = self.state.load(order) == SET;
        if is_set {
            self.state.let_leave();
        }
        is_set
    }

    /// True if the latch is set. Otherwise whoever sets it wakes those who sleep.
    fn is_set_or_armed(&self) -> bool {
        // Relaxed: nothing is handed over.
        if self.state.replace(PENDING, SLEEPING, Ordering::Relaxed) {
            return false;
        }
        self.is_set()
    }

    /// Blocks until the latch is set, and makes it pending again. For one waiter.
    pub(crate) fn wait_and_reset(&self) {
        self.wait();
        // Acquire: pairs with the release in `set`, that of the last to set it since `wait`.
        let order = fault::ordering("latch.blocking.reset", Ordering::Acquire);
        self.state.swap(PENDING, order);
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

impl Latch for BlockingLatch {
    unsafe fn set(this: *const Self) {
        schedule::wakes(this as usize);
        // Release: the waiter sees what came before.
        let order = fault::ordering("latch.blocking.set", Ordering::Release);
        // SAFETY: alive when the call begins; whoever drops it has seen it set, by `is_set`.
        unsafe { Futex::write_and_leave(&raw const (*this).state, SET, SLEEPING, order) }
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

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::atomic::{AtomicUsize, Ordering};
    use heist_sync::cell::UnsafeCell;
    use heist_sync::thread;

    use super::{BlockingLatch, Latch};

    /// A latch, and a value that is there once it is set.
    struct Sent {
        latch: BlockingLatch,
        value: UnsafeCell<usize>,
        count: AtomicUsize,
    }

    // SAFETY: loom checks that nobody reads the value while it is written.
    unsafe impl Sync for Sent {}
    // SAFETY: as above.
    unsafe impl Send for Sent {}

    impl Sent {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                latch: BlockingLatch::new(),
                value: UnsafeCell::new(0),
                count: AtomicUsize::new(0),
            })
        }

        fn set(&self) {
            // SAFETY: the `Arc` keeps it.
            unsafe { BlockingLatch::set(&raw const self.latch) };
        }

        fn read(&self) -> usize {
            // SAFETY: it is not written any more, which loom checks.
            self.value.with(|value| unsafe { *value })
        }
    }

    fn spawn(sent: &Arc<Sent>, op: impl FnOnce(&Sent) + Send + 'static) -> thread::JoinHandle<()> {
        let sent = Arc::clone(sent);
        thread::spawn(move || op(&sent))
    }

    #[test]
    fn all_who_block_on_a_latch_see_what_came_before() {
        let mut builder = loom::model::Builder::new();
        // Without a bound it takes a minute.
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let sent = Sent::new();
            let waiters = [(); 2].map(|()| {
                spawn(&sent, |sent| {
                    sent.latch.wait();
                    assert_eq!(sent.read(), 1);
                })
            });
            // SAFETY: nobody reads it yet, which loom checks.
            sent.value.with_mut(|value| unsafe { *value = 1 });
            sent.set();
            assert!(sent.latch.is_set());
            for waiter in waiters {
                waiter.join().unwrap();
            }
        });
    }

    /// It is set twice. The waiter may see both at once, and then misses neither.
    #[test]
    fn a_blocking_latch_that_is_set_again_while_it_is_reset_is_seen() {
        loom::model(|| {
            let sent = Sent::new();
            let setter = spawn(&sent, |sent| {
                for n in 1..=2 {
                    // Relaxed: the latch is what orders it.
                    sent.count.store(n, Ordering::Relaxed);
                    sent.set();
                }
            });
            while sent.count.load(Ordering::Relaxed) < 2 {
                sent.latch.wait_and_reset();
            }
            setter.join().unwrap();
        });
    }
}
