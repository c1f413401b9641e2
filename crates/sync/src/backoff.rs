//! Waiting for another thread that needs only a few more instructions.

use crate::{hint, thread};

/// Waits a little longer each time: spins, lets others run, and at last sleeps.
///
/// Use it where another thread is done within nanoseconds, unless it has lost its processor. In
/// that case yielding is not enough: under a real-time policy a yield runs only threads that are at
/// least as urgent. Hence the sleep.
///
/// # Examples
///
/// ```
/// use heist_sync::Backoff;
///
/// let mut backoff = Backoff::new();
/// let is_done = || true;
/// while !is_done() {
///     backoff.wait();
/// }
/// ```
#[derive(Debug, Default)]
pub struct Backoff {
    waits: u32,
}

/// The number of spins: together about as long as a heavy barrier takes on most machines.
const SPINS: u32 = if cfg!(any(heist_loom, heist_shuttle)) {
    0
} else {
    100
};
/// The number of yields before it sleeps: a few hundred microseconds, because on a virtual machine
/// a heavy barrier may take 30 us, and a thread that sleeps for it comes back 200 us later.
const YIELDS: u32 = 500;

impl Backoff {
    /// A backoff that has not waited yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits, for nanoseconds at first and a tenth of a millisecond in the end.
    pub fn wait(&mut self) {
        self.waits = self.waits.saturating_add(1);
        if self.waits <= SPINS {
            hint::spin_loop();
        } else if self.waits <= SPINS + YIELDS || cfg!(any(heist_loom, heist_shuttle)) {
            thread::yield_now();
        } else {
            doze();
        }
    }

    /// True once the next wait yields or sleeps.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.waits >= SPINS
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
fn doze() {
    std::thread::sleep(std::time::Duration::from_micros(100));
}

#[cfg(any(heist_loom, heist_shuttle))]
fn doze() {}
