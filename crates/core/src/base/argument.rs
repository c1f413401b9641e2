//! The argument of a job's closure: whether it has migrated.

use std::marker::PhantomData;

/// The argument of a closure: see [`join_context`](crate::join_context()).
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Says something about the present thread only: neither `Send` nor `Sync`.
    here: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline(always)]
    pub(crate) fn new(migrated: bool) -> Self {
        Self {
            migrated,
            here: PhantomData,
        }
    }

    /// True if the closure was stolen, or has moved into the pool from outside.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// heist::ThreadPoolBuilder::new().callers(heist::Callers::Move).build_global()?;
    /// let (a, _) = heist::join_context(|a| a.migrated(), |_| ());
    /// assert!(a, "both closures moved into the pool");
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Tells a job that was lent where it runs.
pub(crate) trait Argument: Sized {
    /// Runs a job on its thief.
    fn on_thief<R>(job: impl FnOnce(Self) -> R) -> R;
}

impl Argument for FnContext {
    #[inline(always)]
    fn on_thief<R>(job: impl FnOnce(Self) -> R) -> R {
        job(Self::new(true))
    }
}
