//! Shares of the pool that a worker has in stock for its futures.
//!
//! A scheduled future has one, as any job that nobody waits for. To take it and to give it back
//! would be two read-modify-writes of a word that all workers write. So a worker takes many at
//! once, and gives many back; and all of them when it has nothing to do, so that it keeps no pool
//! whose last job has run. Only a worker in its main loop has a stock: another thread in its place
//! might leave one behind.

use crate::worker::Worker;

/// So many shares are taken or given back at once.
const MANY: usize = 32;

impl Worker {
    /// One more thing needs the workers. False if the pool has ended.
    pub(crate) fn keep_pool(&self) -> bool {
        let stock = &self.local().stock;
        match stock.get() {
            Some(0) if self.pool().live.keep(MANY) => stock.set(Some(MANY - 1)),
            Some(0) => return false,
            Some(shares) => stock.set(Some(shares - 1)),
            None => return self.pool().is_kept_alive(),
        }
        true
    }

    /// One thing needs the workers no more.
    pub(crate) fn release_pool(&self) {
        let stock = &self.local().stock;
        match stock.get() {
            None => self.pool().release(),
            Some(shares) if shares + 1 < 2 * MANY => stock.set(Some(shares + 1)),
            Some(shares) => {
                stock.set(Some(shares + 1 - MANY));
                self.pool().release_shares(MANY);
            }
        }
    }

    /// From now on there is a stock, or none.
    pub(crate) fn hold_shares(&self, holds: bool) {
        self.return_shares();
        self.local().stock.set(holds.then_some(0));
    }

    /// Gives back all shares that the worker has in stock.
    pub(crate) fn return_shares(&self) {
        let stock = &self.local().stock;
        if let Some(shares @ 1..) = stock.get() {
            stock.set(Some(0));
            self.pool().release_shares(shares);
        }
    }
}
