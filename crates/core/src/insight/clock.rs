//! The clock of profiles: the processor's, or one that tests advance.

use std::cell::Cell;

use heist_sync::{thread_local, ticks};

thread_local! {
    /// The time of this thread, if the clock is virtual: only differences on one thread count.
    static VIRTUAL: Cell<u64> = const { Cell::new(0) }
}

/// The present time, in ticks.
#[inline]
pub(crate) fn now(is_virtual: bool) -> u64 {
    if is_virtual {
        VIRTUAL.with(Cell::get)
    } else {
        ticks()
    }
}

/// Lets so many ticks pass on this thread, if the clock is virtual.
pub fn pass(ticks: u64) {
    VIRTUAL.with(|time| time.set(time.get() + ticks));
}
