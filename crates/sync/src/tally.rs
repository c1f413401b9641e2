//! A count that lies in a static.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A count in a static, where the words of models cannot be: models do not look at it. All accesses
/// are relaxed. So whoever relies on an earlier change must have heard of it by other means.
///
/// ```
/// static CALLS: heist_sync::Tally = heist_sync::Tally::new();
///
/// CALLS.raise();
/// assert!(!CALLS.is_zero());
/// CALLS.lower();
/// assert!(CALLS.is_zero());
/// ```
#[derive(Debug, Default)]
pub struct Tally(AtomicUsize);

impl Tally {
    /// A count of none, for a static.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Adds one.
    pub fn raise(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes one off, which was added.
    pub fn lower(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// True if as many were taken off as added, as far as the caller sees.
    #[inline]
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}
