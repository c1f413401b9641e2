//! A biased count of jobs that have yet to end: its owner, the waiting thread, pays for no
//! read-modify-write as long as it runs all of them itself.
//!
//! Most jobs of a scope are spawned by the worker that waits for them, and run by it. So the count
//! is two numbers: the owner's additions and subtractions, in a cell that no other thread touches,
//! and those of the others, in an atomic that starts at [`BIAS`]. The count is the sum of both,
//! less the bias. An owner that has nothing else to do [merges](BiasedCount::merge): it adds its
//! number to the shared one, takes the bias off, and from then on counts there as the others do.
//!
//! The end is detected exactly once, neither too early nor too late:
//!
//! - A thread that adds is itself counted, and takes itself off later, so in the modification order
//!   of the shared number an addition comes before the subtractions that match it. The owner's
//!   number is exact for the owner. So when the owner reads a sum of zero, each addition up to
//!   there has been taken off, and a missing one would have been made by a thread that was still
//!   counted.
//! - Before the owner merges, the shared number is far above zero whatever the others do, and none
//!   of them finds that it was the last. The owner asks [`is_zero`](BiasedCount::is_zero) itself.
//! - Afterwards the shared number is the count. Either the owner brought it to zero when it merged,
//!   or exactly one later caller finds that it was the last.
//! - The owner is a thread, not a worker: a waiting thread does not end, so no other thread can be
//!   mistaken for it, whichever is that worker later.

use std::fmt;

use heist_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::{fault, thread_local, CachePadded};

thread_local! {
    static HERE: u8 = const { 0 }
}

/// The name of the calling thread, unique among living ones: the address of a thread-local
/// variable.
#[inline(always)]
fn this_thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// More than can ever be taken off.
const BIAS: u64 = 1 << 63;

/// No thread.
const NOBODY: usize = 0;

/// A count of jobs that have yet to end, for which the thread that made it waits.
pub(crate) struct BiasedCount {
    /// The owner's additions, less its subtractions. Wraps.
    own: CachePadded<UnsafeCell<u64>>,
    /// The same of the others, plus [`BIAS`]; once the owner has merged, the count.
    shared: CachePadded<AtomicU64>,
    /// The owner, until it merges.
    owner: AtomicUsize,
}

// SAFETY: `own` is touched by the owner only.
unsafe impl Sync for BiasedCount {}
// SAFETY: as above.
unsafe impl Send for BiasedCount {}

impl BiasedCount {
    /// A count that the calling thread owns.
    pub(crate) fn new(count: u64) -> Self {
        let bias = if fault::planted("count.bias") {
            0
        } else {
            BIAS
        };
        Self {
            own: CachePadded::new(UnsafeCell::new(count)),
            shared: CachePadded::new(AtomicU64::new(bias)),
            owner: AtomicUsize::new(this_thread()),
        }
    }

    /// True if the caller is the owner, and has not merged.
    #[inline(always)]
    fn is_own(&self) -> bool {
        // Relaxed: no other thread ever finds its own name here, and the owner finds what it wrote.
        self.owner.load(Ordering::Relaxed) == this_thread()
    }

    /// Changes the owner's number, and returns it.
    #[inline(always)]
    fn change_own(&self, change: u64) -> u64 {
        // SAFETY: the callers have found that they are the owner.
        self.own.with_mut(|own| unsafe {
            *own = (*own).wrapping_add(change);
            *own
        })
    }

    /// Adds one. The caller must be counted itself. True if it is the owner, and has not merged.
    #[inline]
    pub(crate) fn add(&self) -> bool {
        let is_own = self.is_own();
        if is_own {
            self.change_own(1);
        } else {
            // Relaxed: the caller's own share keeps the count above zero.
            self.shared.fetch_add(1, Ordering::Relaxed);
        }
        is_own
    }

    /// Takes one off. True if it was the last, and the owner must be told. If not, the count may be
    /// gone.
    ///
    /// # Safety
    ///
    /// 1. `this` points to a live count when the call begins, and the caller is part of it.
    #[inline]
    pub(crate) unsafe fn take_off(this: *const Self) -> bool {
        // SAFETY: alive by 1.
        let pending = unsafe { &*this };
        if pending.is_own() {
            pending.change_own(u64::MAX);
            return false;
        }
        // Release: pairs with the acquire in `is_zero`, in `merge` and here: whoever learns that
        // the count is zero sees what was done. Acquire: the last has seen it, and tells the owner.
        let order = fault::ordering("count.take_off", Ordering::AcqRel);
        pending.shared.fetch_sub(1, order) == 1
    }

    /// Calls `run_one`, as the owner, until the count is zero or there is nothing to run, and then
    /// leaves the rest to the others. True if the count is zero: the effects of everything counted
    /// are visible then. If not, one call of `take_off` will find that it is the last.
    ///
    /// # Panics
    ///
    /// Panics if the caller is not the owner, or has merged.
    pub(crate) fn merge(&self, mut run_one: impl FnMut() -> bool) -> bool {
        assert!(self.is_own(), "a count is merged once, by its owner");
        while !self.is_zero() {
            if !run_one() {
                self.owner.store(NOBODY, Ordering::Relaxed);
                let change = self.change_own(0).wrapping_sub(BIAS);
                // Acquire: pairs with the release in `take_off`.
                let order = fault::ordering("count.merge", Ordering::Acquire);
                return self.shared.fetch_add(change, order).wrapping_add(change) == 0;
            }
        }
        true
    }

    /// True if the count is zero. For the owner, before it has merged.
    #[inline]
    pub(crate) fn is_zero(&self) -> bool {
        // Acquire: pairs with the release in `take_off`.
        let order = fault::ordering("count.is_zero", Ordering::Acquire);
        self.shared.load(order).wrapping_add(self.change_own(0)) == BIAS
    }
}

impl fmt::Debug for BiasedCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The owner's number is for the owner only.
        f.debug_struct("BiasedCount").finish_non_exhaustive()
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::atomic::{AtomicBool, Ordering};
    use heist_sync::cell::UnsafeCell;
    use heist_sync::thread;

    use super::BiasedCount;

    struct Scope {
        pending: BiasedCount,
        /// Set by the last, unless that is the owner.
        told: AtomicBool,
        /// A job that was spawned in another one, and waits for somebody.
        nested: AtomicBool,
        results: [UnsafeCell<bool>; 2],
    }

    // SAFETY: loom checks that nobody uses a result while another writes it.
    unsafe impl Sync for Scope {}
    // SAFETY: as above.
    unsafe impl Send for Scope {}

    impl Scope {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                pending: BiasedCount::new(1),
                told: AtomicBool::new(false),
                nested: AtomicBool::new(false),
                results: [false, false].map(UnsafeCell::new),
            })
        }

        fn end_of_a_job(&self, result: usize) {
            // SAFETY: each job has a result of its own, and the owner reads it when it knows that
            // the job has ended, which is what loom checks here.
            self.results[result].with_mut(|result| unsafe { *result = true });
            self.take_off();
        }

        fn take_off(&self) {
            // SAFETY: the model keeps the scope.
            if unsafe { BiasedCount::take_off(&raw const self.pending) } {
                // Release: pairs with the acquire in `wait`.
                self.told.store(true, Ordering::Release);
            }
        }

        /// Waits as a scope does, whose owner runs what `run_one` finds.
        fn wait(&self, mut run_one: impl FnMut() -> bool) {
            self.take_off();
            if !self.pending.merge(&mut run_one) {
                // Acquire: pairs with the release in `take_off`.
                while !self.told.load(Ordering::Acquire) {
                    run_one();
                    thread::yield_now();
                }
            }
        }

        fn assert_done(&self, result: usize) {
            // SAFETY: as in `end_of_a_job`.
            assert!(self.results[result].with(|result| unsafe { *result }));
        }
    }

    #[test]
    fn the_owner_waits_for_a_job_of_its_own_and_one_that_was_stolen() {
        loom::model(|| {
            let scope = Scope::new();
            scope.pending.add();
            scope.pending.add();
            let thief = thread::spawn({
                let scope = Arc::clone(&scope);
                move || scope.end_of_a_job(0)
            });
            let mut own = Some(1);
            scope.wait(|| own.take().map(|own| scope.end_of_a_job(own)).is_some());
            scope.assert_done(0);
            scope.assert_done(1);
            thief.join().unwrap();
        });
    }

    /// The stolen job spawns another, which the owner runs: before it merges, or afterwards.
    #[test]
    fn the_owner_waits_for_a_job_that_a_stolen_one_spawned() {
        loom::model(|| {
            let scope = Scope::new();
            scope.pending.add();
            let thief = thread::spawn({
                let scope = Arc::clone(&scope);
                move || {
                    scope.pending.add();
                    // Release: pairs with the acquire in `run_nested`.
                    scope.nested.store(true, Ordering::Release);
                    scope.end_of_a_job(0);
                }
            });
            let mut ran = false;
            let run_nested = || {
                // Acquire: pairs with the release of the thief above.
                let is_there = !ran && scope.nested.load(Ordering::Acquire);
                if is_there {
                    ran = true;
                    scope.end_of_a_job(1);
                }
                is_there
            };
            scope.wait(run_nested);
            scope.assert_done(0);
            scope.assert_done(1);
            thief.join().unwrap();
        });
    }
}
