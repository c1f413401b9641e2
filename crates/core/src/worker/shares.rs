//! A worker's stock of shares of its pool, for its futures.
//!
//! A scheduled future holds a share, like any job that nobody waits for. Taking and returning each
//! one would be two read-modify-writes of a word that all workers write. So a worker takes and
//! returns many at once, and returns all when it has nothing to do, so as not to keep alive a pool
//! whose last job has run. Only a worker in its main loop has a stock: an external caller in its
//! place might leave one behind.

use crate::worker::Worker;

/// The shares that are taken or returned at once.
const MANY: usize = 32;

impl Worker {
    /// Takes a share. False if the pool has ended.
    #[inline]
    pub(crate) fn keep_pool(&self) -> bool {
        let stock = &self.local().thread.stock;
        match stock.get() {
            Some(shares @ 1..) => {
                stock.set(Some(shares - 1));
                true
            }
            _ => self.take_shares(),
        }
    }

    /// As `keep_pool`, if there is none in stock.
    #[cold]
    #[inline(never)]
    fn take_shares(&self) -> bool {
        let stock = &self.local().thread.stock;
        if stock.get().is_none() {
            return self.pool().is_kept_alive();
        }
        let is_kept = self.pool().live.keep(MANY);
        if is_kept {
            stock.set(Some(MANY - 1));
        }
        is_kept
    }

    /// Returns a share.
    #[inline]
    pub(crate) fn release_pool(&self) {
        let stock = &self.local().thread.stock;
        match stock.get() {
            Some(shares) if shares + 1 < 2 * MANY => stock.set(Some(shares + 1)),
            _ => self.release_more(),
        }
    }

    /// As `release_pool`, if the stock is full, or the worker has none.
    #[cold]
    #[inline(never)]
    fn release_more(&self) {
        let stock = &self.local().thread.stock;
        match stock.get() {
            None => self.pool().release(),
            Some(shares) => {
                stock.set(Some(shares + 1 - MANY));
                self.pool().release_shares(MANY);
            }
        }
    }

    /// Lets the worker have a stock from now on, or no longer.
    pub(crate) fn hold_shares(&self, holds: bool) {
        self.return_shares();
        self.local().thread.stock.set(holds.then_some(0));
        if !holds {
            self.return_guests(usize::MAX);
        }
    }

    /// Gives back all shares that the worker has in stock.
    pub(crate) fn return_shares(&self) {
        let stock = &self.local().thread.stock;
        if let Some(shares @ 1..) = stock.get() {
            stock.set(Some(0));
            self.pool().release_shares(shares);
        }
    }
}
