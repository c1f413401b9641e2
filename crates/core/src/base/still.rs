//! A pointer that jobs carry to what waits for them.

/// A pointer to something in a frame that waits for all jobs which carry one.
pub(crate) struct Still<T>(pub(crate) *const T);

impl<T> Clone for Still<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Still<T> {}

// SAFETY: others get a shared reference to the same, which is Sync.
unsafe impl<T: Sync> Send for Still<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Still<T> {}

impl<T> Still<T> {
    /// It, for as long as the job has not told it of its end.
    pub(crate) fn get(&self) -> &T {
        // SAFETY: a job runs while the frame waits for it.
        unsafe { &*self.0 }
    }
}
