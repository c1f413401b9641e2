//! A count of shares of a pool's memory, which are taken and returned many at a time.

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{fault, CachePadded};

/// The shares of tasks that may outlive their pool's workers, and of workers that have some in
/// stock for such tasks. All together hold one share of the pool's `Arc`: whoever takes the first
/// adds it, and whoever returns the last drops it.
#[derive(Debug)]
pub(crate) struct Guests(CachePadded<AtomicUsize>);

impl Guests {
    /// A count of no shares.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicUsize::new(0)))
    }

    /// Takes so many shares. True if they are the first: the caller, which holds the pool in
    /// another way, adds a share of the `Arc` for them before it gives any away.
    #[inline]
    #[must_use]
    pub(crate) fn take(&self, shares: usize) -> bool {
        // Relaxed: the caller holds the pool. Others that take shares need not see that of the
        // `Arc`, which stays at least until these are returned.
        self.0.fetch_add(shares, Ordering::Relaxed) == 0
    }

    /// Returns so many shares. True if they were the last: the caller sees everything that was done
    /// before the others were returned, and drops the share of the `Arc`. Otherwise the pool may be
    /// gone by now.
    #[inline]
    #[must_use]
    pub(crate) fn give_back(&self, shares: usize) -> bool {
        // Release and Acquire: pairs with itself, of each caller with that of the last.
        let order = fault::ordering("guests.give_back", Ordering::AcqRel);
        self.0.fetch_sub(shares, order) == shares
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::cell::UnsafeCell;
    use heist_sync::thread;

    use super::*;

    /// A pool whose shares of the `Arc` are counted by `strong`.
    struct Pool {
        guests: Guests,
        strong: AtomicUsize,
        /// Read by whoever uses the pool, written by whoever frees it.
        memory: UnsafeCell<bool>,
    }

    // SAFETY: loom checks that nobody looks at the memory while another frees it.
    unsafe impl Sync for Pool {}
    // SAFETY: as above.
    unsafe impl Send for Pool {}

    impl Pool {
        fn use_it(&self) {
            // SAFETY: loom checks it.
            assert!(self.memory.with(|memory| unsafe { *memory }));
        }

        fn take(&self, shares: usize) {
            if self.guests.take(shares) {
                self.strong.fetch_add(1, Ordering::Relaxed);
            }
        }

        fn give_back(&self, shares: usize) {
            if self.guests.give_back(shares) {
                self.drop_strong();
            }
        }

        /// As `Arc` does.
        fn drop_strong(&self) {
            if self.strong.fetch_sub(1, Ordering::AcqRel) == 1 {
                // SAFETY: loom checks it.
                self.memory.with_mut(|memory| unsafe { *memory = false });
            }
        }
    }

    /// Two workers take shares; a task of the first is dropped by a third thread.
    #[test]
    fn the_memory_goes_once_and_after_the_last_share_of_either_kind() {
        loom::model(|| {
            let pool = Arc::new(Pool {
                guests: Guests::new(),
                strong: AtomicUsize::new(2),
                memory: UnsafeCell::new(true),
            });
            pool.take(2);
            let task = thread::spawn({
                let pool = Arc::clone(&pool);
                move || {
                    pool.use_it();
                    pool.give_back(1);
                }
            });
            let other = thread::spawn({
                let pool = Arc::clone(&pool);
                move || {
                    pool.take(1);
                    pool.use_it();
                    pool.give_back(1);
                    pool.drop_strong();
                }
            });
            pool.use_it();
            pool.give_back(1);
            pool.drop_strong();
            task.join().unwrap();
            other.join().unwrap();
            // SAFETY: all threads have ended.
            assert!(!pool.memory.with(|memory| unsafe { *memory }));
            assert_eq!(pool.strong.load(Ordering::Relaxed), 0);
        });
    }
}
