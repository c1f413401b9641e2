//! A clock that stands still where the system has none.

use std::time::Instant;

/// WebAssembly without a system (`wasm32-unknown-unknown`) has no clock: asking `std` for the time
/// panics there.
const IS_MISSING: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

/// How long ago something began.
///
/// Where the system has no clock, the answer is always 0.
///
/// # Examples
///
/// ```
/// let clock = heist_sync::Clock::start();
/// let then_ns = clock.elapsed_ns();
/// assert!(clock.elapsed_ns() >= then_ns);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Option<Instant>,
}

impl Clock {
    /// A clock that counts from now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            began: (!IS_MISSING).then(Instant::now),
        }
    }

    /// Nanoseconds since the start.
    #[inline]
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        let elapsed = self.began.map(|began| began.elapsed().as_nanos());
        u64::try_from(elapsed.unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// The moment of the start, if the system has a clock.
    #[must_use]
    pub fn began(&self) -> Option<Instant> {
        self.began
    }
}
