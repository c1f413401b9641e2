//! A share of a pool's memory, for a task that may outlive the workers.
//!
//! A share of the `Arc` would be two read-modify-writes for each task, of a word that all workers
//! write. So a worker takes and returns many at once, as with those that keep the pool's workers
//! (`shares.rs`), and has a stock of them as long as of those.

use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::state::Pool;
use crate::worker::Worker;

/// The shares that are taken or returned at once.
const MANY: usize = 64;

/// A share of a pool's memory.
pub(crate) struct Guest(NonNull<Pool>);

// SAFETY: as an `Arc` of a pool, which may be used and dropped anywhere.
unsafe impl Send for Guest {}
// SAFETY: as above.
unsafe impl Sync for Guest {}

impl Guest {
    /// A share of this pool, which the caller holds in another way. `worker` is that of the calling
    /// thread.
    #[inline]
    pub(crate) fn of(pool: &Pool, worker: Option<&Worker>) -> Self {
        match worker.filter(|worker| ptr::eq(worker.pool(), pool)) {
            Some(worker) => worker.take_guest(),
            None => pool.take_guests(1),
        }
        // The address that the `Arc` has given, and not one out of the borrow.
        // SAFETY: not null, or the pool would not be there.
        Self(unsafe { NonNull::new_unchecked(pool.me.as_ptr().cast_mut()) })
    }
}

impl Clone for Guest {
    fn clone(&self) -> Self {
        Self::of(self, Worker::current_or_hidden())
    }
}

impl Deref for Guest {
    type Target = Pool;

    #[inline(always)]
    fn deref(&self) -> &Pool {
        // SAFETY: it is there as long as this share, or any other.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Guest {
    #[inline]
    fn drop(&mut self) {
        let pool = self.0.as_ptr().cast_const();
        match Worker::current_or_hidden().filter(|worker| ptr::eq(worker.pool(), pool)) {
            Some(worker) => worker.return_guest(),
            // SAFETY: the share is not used any more.
            None => unsafe { Pool::return_guests(pool, 1) },
        }
    }
}

impl Pool {
    /// Takes so many shares. The caller holds the pool in another way.
    #[cold]
    fn take_guests(&self, shares: usize) {
        if self.guests.take(shares) {
            // Dropped by whoever returns the last of them.
            let _: *const Self = Arc::into_raw(self.share());
        }
    }

    /// Returns so many shares of the pool at this address.
    ///
    /// # Safety
    ///
    /// 1. The address is that which its `Arc` gives.
    /// 2. They were taken, and the caller does not use the pool by them any more.
    #[cold]
    unsafe fn return_guests(pool: *const Self, shares: usize) {
        // SAFETY: by 2. the pool is there up to this.
        if unsafe { &(*pool).guests }.give_back(shares) {
            // SAFETY: 1. and the first of them have left one share of the `Arc` for this.
            drop(unsafe { Arc::from_raw(pool) });
        }
    }
}

impl Worker {
    /// Takes a share of the pool's memory.
    #[inline]
    fn take_guest(&self) {
        let guests = &self.local().thread.guests;
        match guests.get().checked_sub(1) {
            Some(left) => guests.set(left),
            None => self.take_guests(),
        }
    }

    /// As `take_guest`, if none is in stock.
    #[cold]
    #[inline(never)]
    fn take_guests(&self) {
        let thread = &self.local().thread;
        let more = thread.stock.get().map_or(0, |_| MANY);
        self.pool().take_guests(1 + more);
        thread.guests.set(more);
    }

    /// Returns a share of the pool's memory.
    #[inline]
    fn return_guest(&self) {
        let guests = &self.local().thread.guests;
        let shares = guests.get() + 1;
        guests.set(shares);
        if shares > 2 * MANY || self.local().thread.stock.get().is_none() {
            self.return_guests(MANY);
        }
    }

    /// Gives back the shares of the pool's memory that the worker has in stock: so many, or all if
    /// it may have none.
    #[cold]
    #[inline(never)]
    pub(crate) fn return_guests(&self, most: usize) {
        let guests = &self.local().thread.guests;
        let shares = match self.local().thread.stock.get() {
            Some(_) => guests.get().min(most),
            None => guests.get(),
        };
        guests.set(guests.get() - shares);
        if shares > 0 {
            // SAFETY: 1. the address is the `Arc`'s own. 2. They are in stock, and a thread that is
            // a worker holds the pool otherwise.
            unsafe { Pool::return_guests(self.pool().me.as_ptr(), shares) };
        }
    }
}
