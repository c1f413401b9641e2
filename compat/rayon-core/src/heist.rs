//! Extensions of heist, for programs that ask for them.
//!
//! A program that uses these traits names the stand-in among its dependencies,
//! `rayon-core = "1.13"`, and runs on heist only.

use crate::{ThreadPool, ThreadPoolBuilder};

/// A pool of rayon's as the pool of heist's that it is.
pub trait ThreadPoolExt {
    /// The pool with all its operations: counters, recorded events, waiting for its end.
    ///
    /// # Examples
    ///
    /// ```
    /// use rayon_core::heist::ThreadPoolExt as _;
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.join(|| (), || ());
    /// assert_eq!(pool.as_heist().counters().total().pushes, 1);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    fn as_heist(&self) -> &heist_core::ThreadPool;
}

impl ThreadPoolExt for ThreadPool {
    fn as_heist(&self) -> &heist_core::ThreadPool {
        self.inner()
    }
}

/// Settings of heist on a builder of rayon's.
pub trait ThreadPoolBuilderExt: Sized {
    /// Switches the event recorder on: each worker keeps the newest `capacity` events.
    /// `HEIST_RECORD_EVENTS` does it without a change of the program.
    ///
    /// # Examples
    ///
    /// ```
    /// use rayon_core::heist::{ThreadPoolBuilderExt as _, ThreadPoolExt as _};
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).record_events(1000).build()?;
    /// pool.join(|| (), || ());
    /// assert!(pool.as_heist().events().iter().any(|worker| !worker.events.is_empty()));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    fn record_events(self, capacity: usize) -> Self;
}

impl<S> ThreadPoolBuilderExt for ThreadPoolBuilder<S> {
    fn record_events(self, capacity: usize) -> Self {
        self.map(|inner| inner.record_events(capacity))
    }
}
