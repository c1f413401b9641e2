//! The global pool.

use std::sync::{Arc, OnceLock};

use crate::base::error::ThreadPoolBuildError;
use crate::pool::settings::Settings;
use crate::pool::thread::ThreadSpawn;
use crate::state::Pool;
use crate::worker::Worker;

static GLOBAL: OnceLock<Arc<Pool>> = OnceLock::new();

impl Pool {
    /// The pool of the calling worker, or else the global pool.
    pub(crate) fn current() -> Arc<Self> {
        Self::here().share()
    }

    /// As [`current`](Self::current), for no longer than the present job.
    #[inline]
    pub(crate) fn here<'job>() -> &'job Self {
        match Worker::seen() {
            Some(worker) => worker.pool(),
            None => Self::global(),
        }
    }

    /// The global pool, built now with the defaults if there is none.
    pub(crate) fn global() -> &'static Arc<Self> {
        match GLOBAL.get() {
            Some(pool) => pool,
            None => Self::global_or(Settings::new()),
        }
    }

    /// The global pool, built now with this configuration if there is none.
    pub(crate) fn global_or<S: ThreadSpawn>(settings: Settings<S>) -> &'static Arc<Self> {
        let mut built = Self::set_global(settings);
        if matches!(&built, Err(error) if error.is_unsupported()) && Worker::current().is_none() {
            // No threads here (WebAssembly, say): the caller is the pool.
            let here = Settings {
                num_threads: 1,
                use_current_thread: true,
                ..Settings::new()
            };
            built = Self::set_global(here);
        }
        match built {
            Ok(pool) => pool,
            Err(error) => GLOBAL.get().unwrap_or_else(|| {
                panic!("the global thread pool could not be built: {error}");
            }),
        }
    }

    /// Builds the global pool, unless there is one.
    pub(crate) fn set_global<S: ThreadSpawn>(
        settings: Settings<S>,
    ) -> Result<&'static Arc<Self>, ThreadPoolBuildError> {
        static BUILDING: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _building = BUILDING
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if GLOBAL.get().is_some() {
            return Err(ThreadPoolBuildError::already_global());
        }
        // The handle is never dropped: the global pool does not end.
        let pool = Self::start(settings)?;
        Ok(GLOBAL.get_or_init(|| pool))
    }
}
