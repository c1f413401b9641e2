//! The way from the caller's thread to a worker.

/// Runs `op` on the calling worker, or else on one of the global pool. So a caller from outside
/// runs no item itself, and the pool is built with rayon's defaults.
pub(crate) fn enter<R: Send>(op: impl FnOnce() -> R + Send) -> R {
    match rayon_core::current_thread_index() {
        Some(_) => op(),
        None => rayon_core::scope(|_| op()),
    }
}
