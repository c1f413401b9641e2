//! A flag that stops loops early.

use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, Ordering};

/// A flag that stops loops early: see
/// [`with_cancellation`](crate::iter::ParallelIterator::with_cancellation).
///
/// Clones are the same flag. It stays set.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
/// use heist::CancellationToken;
///
/// let token = CancellationToken::new();
/// let seen = (0..u32::MAX).into_par_iter().with_cancellation(&token);
/// // Anybody may set it, from any thread: here one of the items does.
/// seen.for_each(|n| {
///     if n == 1_000 {
///         token.cancel();
///     }
/// });
/// assert!(token.is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancellationToken {
    is_cancelled: Arc<AtomicBool>,
}

impl CancellationToken {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag: each part that looks at it stops before its next item.
    pub fn cancel(&self) {
        // Relaxed: it hands nothing over.
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// True if it is set.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}
