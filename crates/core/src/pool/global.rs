//! The global pool.

use std::env;
use std::sync::{Arc, OnceLock};

use crate::base::error::ThreadPoolBuildError;
use crate::pool::environment;
use crate::pool::settings::Settings;
use crate::pool::thread::{DefaultSpawn, ThreadSpawn};
use crate::state::Pool;
use crate::worker::Worker;

static GLOBAL: OnceLock<Arc<Pool>> = OnceLock::new();

/// Set if the program has forbidden to build the global pool on its first use.
static IS_FORBIDDEN: OnceLock<()> = OnceLock::new();

/// Forbids, from now on, building the global pool on its first use: a call that needs it panics,
/// unless the program has built it by [`build_global`](crate::ThreadPoolBuilder::build_global).
/// `HEIST_GLOBAL=explicit` does the same from outside.
///
/// Use it in a program that gives each part a pool of its own, or chooses the number of workers,
/// and wants to find libraries that call heist outside [`install`](crate::ThreadPool::install). The
/// panic names the line of the call; for loops and iterators, the backtrace does.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// heist::forbid_implicit_global();
/// assert!(std::panic::catch_unwind(|| heist::join(|| (), || ())).is_err());
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.install(|| heist::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub fn forbid_implicit_global() {
    // Forbidden before; nothing to do.
    let _ = IS_FORBIDDEN.set(());
}

impl Pool {
    /// The pool of the calling worker, or else the global pool.
    #[track_caller]
    pub(crate) fn current() -> Arc<Self> {
        Self::here().share()
    }

    /// As [`current`](Self::current), for no longer than the present job.
    #[inline]
    #[track_caller]
    pub(crate) fn here<'job>() -> &'job Self {
        match Worker::current_or_hidden() {
            Some(worker) => worker.pool(),
            None => Self::global(),
        }
    }

    /// The global pool, built now with the defaults if there is none.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be built, or must not.
    #[track_caller]
    pub(crate) fn global() -> &'static Arc<Self> {
        match GLOBAL.get() {
            Some(pool) => pool,
            None => Self::implicit(),
        }
    }

    #[cold]
    #[track_caller]
    fn implicit() -> &'static Arc<Self> {
        let explicit = environment::global_is_explicit(env::var_os("HEIST_GLOBAL"));
        let by = match explicit {
            Ok(true) => Some("HEIST_GLOBAL=explicit"),
            _ => IS_FORBIDDEN.get().map(|()| "forbid_implicit_global"),
        };
        if let Some(by) = by {
            panic!(
                "could not call heist outside of any pool: {by} forbids to build the global pool for that; make the call in `install` of a pool, or build the global pool before by `ThreadPoolBuilder::build_global`"
            );
        }
        Self::global_or(Settings::new(), &mut DefaultSpawn::new())
    }

    /// The global pool, built now with this configuration if there is none.
    pub(crate) fn global_or(
        settings: Settings,
        spawner: &mut dyn ThreadSpawn,
    ) -> &'static Arc<Self> {
        let mut built = Self::set_global(settings, spawner);
        if matches!(&built, Err(error) if error.is_unsupported()) && Worker::current().is_none() {
            // No threads here (WebAssembly, say): the caller is the pool.
            let here = Settings {
                num_threads: 1,
                use_current_thread: true,
                ..Settings::new()
            };
            built = Self::set_global(here, &mut DefaultSpawn::new());
        }
        match built {
            Ok(pool) => pool,
            Err(error) => GLOBAL.get().unwrap_or_else(|| {
                panic!("the global thread pool could not be built: {error}");
            }),
        }
    }

    /// Builds the global pool, unless there is one.
    pub(crate) fn set_global(
        settings: Settings,
        spawner: &mut dyn ThreadSpawn,
    ) -> Result<&'static Arc<Self>, ThreadPoolBuildError> {
        static BUILDING: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _building = BUILDING
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if GLOBAL.get().is_some() {
            return Err(ThreadPoolBuildError::already_global());
        }
        // The handle is never dropped: the global pool does not end.
        let pool = Self::start(settings, spawner)?;
        Ok(GLOBAL.get_or_init(|| pool))
    }
}
