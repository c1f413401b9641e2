//! A clock that stands still where the system has none, and that a schedule can advance.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[cfg(not(any(heist_loom, heist_shuttle)))]
use crate::atomic::{AtomicU64, Ordering};

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
            began: (!IS_MISSING).then(now),
        }
    }

    /// Nanoseconds since the start.
    #[inline]
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        let elapsed = self
            .began
            .map(|began| now().duration_since(began).as_nanos());
        u64::try_from(elapsed.unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// The moment of the start, if the system has a clock.
    #[must_use]
    pub fn began(&self) -> Option<Instant> {
        self.began
    }
}

/// When the time of all clocks was first set.
static SET_AT: OnceLock<Instant> = OnceLock::new();

/// The time since then, as it was set, and 1; 0 while clocks follow the system.
#[cfg(not(any(heist_loom, heist_shuttle)))]
static SET_NS: AtomicU64 = AtomicU64::new(0);

/// From now on all clocks of the process show so many nanoseconds after the first call of this,
/// until the next one. Clocks follow the system where nobody calls it, and under a model.
///
/// # Examples
///
/// ```
/// heist_sync::set_time_ns(0);
/// let clock = heist_sync::Clock::start();
/// heist_sync::set_time_ns(5_000);
/// assert_eq!(clock.elapsed_ns(), 5_000);
/// ```
pub fn set_time_ns(ns: u64) {
    SET_AT.get_or_init(Instant::now);
    // Relaxed: the time is all that is handed over.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    SET_NS.store(ns.saturating_add(1), Ordering::Relaxed);
    #[cfg(any(heist_loom, heist_shuttle))]
    let _ = ns;
}

#[inline]
fn now() -> Instant {
    match set_time() {
        None => Instant::now(),
        Some(ns) => *SET_AT.get_or_init(Instant::now) + Duration::from_nanos(ns),
    }
}

#[inline]
fn set_time() -> Option<u64> {
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    return SET_NS.load(Ordering::Relaxed).checked_sub(1);
    #[cfg(any(heist_loom, heist_shuttle))]
    None
}
