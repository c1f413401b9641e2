//! A number that all parts of an iterator count down together.

use std::sync::Arc;

use heist_sync::atomic::{AtomicUsize, Ordering};

/// A number that all parts of an iterator count down together. As a flag, one.
///
/// All is Relaxed: it decides about items, but nothing is handed over by it.
#[derive(Debug)]
pub(crate) struct Quota {
    left: Arc<AtomicUsize>,
}

impl Quota {
    pub(crate) fn new(left: usize) -> Self {
        let left = Arc::new(AtomicUsize::new(left));
        Self { left }
    }

    /// The same for another part.
    pub(crate) fn share(&self) -> Self {
        let left = Arc::clone(&self.left);
        Self { left }
    }

    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Takes one; false if none is left.
    #[inline]
    pub(crate) fn take_one(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        let before = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        before.is_ok()
    }

    /// Takes all.
    #[inline]
    pub(crate) fn spend(&self) {
        self.left.store(0, Ordering::Relaxed);
    }
}

/// Another iterator's, which counts by itself.
impl Clone for Quota {
    fn clone(&self) -> Self {
        Self::new(self.left.load(Ordering::Relaxed))
    }
}
