//! Waiting for another thread that needs some instructions only.

use crate::{hint, thread};

/// Waits a little longer each time: spins, lets others run, and at last sleeps.
///
/// For what another thread is in the middle of, and done with in nanoseconds, unless it has lost
/// its processor. Letting others run is not enough then: under a real-time policy it lets those run
/// only that are as urgent.
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

/// How often it spins: about as long as a heavy barrier takes.
const SPINS: u32 = if cfg!(any(heist_loom, heist_shuttle)) {
    0
} else {
    100
};
/// How often it lets others run before it sleeps.
const YIELDS: u32 = 50;

impl Backoff {
    /// Has not waited yet.
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

    /// True if it does not only spin any more.
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
