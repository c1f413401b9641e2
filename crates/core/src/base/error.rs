//! Why a pool could not be built.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io;

use heist_sync::BarrierError;

/// Why a pool could not be built.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::ThreadPoolBuilder;
///
/// # std::env::set_var("HEIST_NUM_THREADS", "many");
/// // With HEIST_NUM_THREADS=many in the environment:
/// let error = ThreadPoolBuilder::new().build().unwrap_err();
/// assert!(error.to_string().contains("\"many\""));
/// ```
#[derive(Debug)]
pub struct ThreadPoolBuildError(Kind);

#[derive(Debug)]
enum Kind {
    AlreadyGlobal,
    AlreadyAWorker,
    EndingThread,
    Serial {
        setting: String,
    },
    Placement {
        text: String,
    },
    TooMany {
        asked: usize,
        compensation: usize,
        limit: u64,
        setting: &'static str,
    },
    Thread {
        worker: usize,
        workers: usize,
        error: io::Error,
    },
    Memory {
        worker: usize,
        workers: usize,
        bytes: usize,
        error: io::Error,
    },
    Barrier(BarrierError),
    Variable {
        name: &'static str,
        value: OsString,
        accepted: &'static str,
    },
    Schedule {
        why: String,
    },
    Output {
        variable: &'static str,
        ending: &'static str,
        value: OsString,
        why: String,
    },
}

impl ThreadPoolBuildError {
    pub(crate) fn already_global() -> Self {
        Self(Kind::AlreadyGlobal)
    }

    pub(crate) fn already_a_worker() -> Self {
        Self(Kind::AlreadyAWorker)
    }

    pub(crate) fn barrier(error: BarrierError) -> Self {
        Self(Kind::Barrier(error))
    }

    /// `use_current_thread`, while the thread's locals are being dropped.
    pub(crate) fn ending_thread() -> Self {
        Self(Kind::EndingThread)
    }

    /// A serial pool, with a setting that concerns threads.
    pub(crate) fn serial(setting: String) -> Self {
        Self(Kind::Serial { setting })
    }

    /// The pool's threads cannot be pinned as asked: the reason, a sentence.
    pub(crate) fn placement(text: String) -> Self {
        Self(Kind::Placement { text })
    }

    /// More workers, and compensation workers beside them, than this setting allows.
    pub(crate) fn too_many(
        asked: usize,
        compensation: usize,
        limit: u64,
        setting: &'static str,
    ) -> Self {
        Self(Kind::TooMany {
            asked,
            compensation,
            limit,
            setting,
        })
    }

    /// The thread of a worker could not be started: its index, of so many workers.
    pub(crate) fn thread(worker: usize, workers: usize, error: io::Error) -> Self {
        Self(Kind::Thread {
            worker,
            workers,
            error,
        })
    }

    /// There is no memory for a worker: its index, of so many workers.
    pub(crate) fn memory(worker: usize, workers: usize, bytes: usize, error: io::Error) -> Self {
        Self(Kind::Memory {
            worker,
            workers,
            bytes,
            error,
        })
    }

    /// A file with this ending cannot be written where a variable asks for it, and why.
    pub(crate) fn output(
        (variable, ending): (&'static str, &'static str),
        value: OsString,
        why: String,
    ) -> Self {
        Self(Kind::Output {
            variable,
            ending,
            value,
            why,
        })
    }

    /// There is no such schedule, and why.
    pub(crate) fn schedule(why: String) -> Self {
        Self(Kind::Schedule { why })
    }

    pub(crate) fn variable(name: &'static str, value: OsString, accepted: &'static str) -> Self {
        Self(Kind::Variable {
            name,
            value,
            accepted,
        })
    }

    /// True if there is a global pool already.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let twice = || heist::ThreadPoolBuilder::new().build_global();
    /// assert!(twice().is_ok());
    /// assert!(twice().unwrap_err().is_already_initialized());
    /// ```
    #[must_use]
    pub fn is_already_initialized(&self) -> bool {
        matches!(self.0, Kind::AlreadyGlobal)
    }

    /// True if the platform has no threads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// match heist::ThreadPoolBuilder::new().build() {
    ///     Ok(pool) => println!("{} workers", pool.current_num_threads()),
    ///     Err(error) if error.is_unsupported() => println!("no threads here"),
    ///     Err(error) => panic!("{error}"),
    /// }
    /// ```
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(&self.0, Kind::Thread { error, .. } if error.kind() == io::ErrorKind::Unsupported)
    }
}

/// The messages of rayon-core 1.13, which programs may compare.
const ALREADY_GLOBAL: &str = "The global thread pool has already been initialized.";
const ALREADY_A_WORKER: &str = "The current thread is already part of another thread pool.";

const ENDING_THREAD: &str = "the current thread was to become a worker, and is about to end: its thread-local values are being dropped; build the pool earlier, or without use_current_thread";

fn too_many(
    f: &mut fmt::Formatter<'_>,
    (asked, compensation): (usize, usize),
    limit: u64,
    setting: &str,
) -> fmt::Result {
    write!(f, "a pool of {asked} workers")?;
    if compensation > 0 {
        write!(f, " and {compensation} compensation workers")?;
    }
    let of_both = if compensation > 0 { " of both" } else { "" };
    write!(
        f,
        " was asked for; accepted are at most {limit}{of_both}, by {setting}"
    )
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::AlreadyGlobal => f.write_str(ALREADY_GLOBAL),
            Kind::AlreadyAWorker => f.write_str(ALREADY_A_WORKER),
            Kind::EndingThread => f.write_str(ENDING_THREAD),
            Kind::Serial { setting } => write!(
                f,
                "a serial pool was asked for, which has no thread, and {setting}; accepted are one thread at most, callers that participate, and no setting that is about threads: leave one of the two out"
            ),
            Kind::Placement { text } => f.write_str(text),
            Kind::TooMany {
                asked,
                compensation,
                limit,
                setting,
            } => too_many(f, (*asked, *compensation), *limit, setting),
            // The user's spawn handler's own message, as in rayon.
            Kind::Thread { error, .. } if error.raw_os_error().is_none() => error.fmt(f),
            Kind::Thread {
                worker,
                workers,
                error,
            } => write!(
                f,
                "the thread of worker {worker} of {workers} (the first is 0) could not be started: {error}; ask for fewer workers or smaller stacks, or raise the limits on processes and memory"
            ),
            Kind::Memory {
                worker,
                workers,
                bytes,
                error,
            } => write!(
                f,
                "{bytes} bytes for worker {worker} of {workers} (the first is 0) could not be had: {error}; ask for fewer workers or, if events are recorded, for fewer of those, or raise the limit on memory"
            ),
            Kind::Barrier(error) => error.fmt(f),
            Kind::Variable {
                name,
                value,
                accepted,
            } => write!(
                f,
                "the environment variable {name} is set to {value:?}; accepted is {accepted}"
            ),
            Kind::Schedule { why } => {
                write!(f, "the environment variable HEIST_SCHEDULE: {why}")
            }
            Kind::Output {
                variable,
                ending,
                value,
                why,
            } => write!(
                f,
                "the environment variable {variable} is set to {value:?}, and no file can be written there: {why}; accepted is the name of a file that can be made, without the ending {ending}"
            ),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::Thread { error, .. } | Kind::Memory { error, .. } => Some(error),
            Kind::Barrier(error) => Some(error),
            Kind::AlreadyGlobal
            | Kind::AlreadyAWorker
            | Kind::EndingThread
            | Kind::Serial { .. }
            | Kind::Placement { .. }
            | Kind::TooMany { .. }
            | Kind::Variable { .. }
            | Kind::Schedule { .. }
            | Kind::Output { .. } => None,
        }
    }

    #[expect(deprecated, reason = "it overrides and calls what std deprecated")]
    fn description(&self) -> &str {
        match &self.0 {
            Kind::AlreadyGlobal => ALREADY_GLOBAL,
            Kind::AlreadyAWorker => ALREADY_A_WORKER,
            Kind::EndingThread => ENDING_THREAD,
            Kind::Serial { .. } => "a serial pool has no threads",
            Kind::Placement { .. } => "the threads cannot be placed so",
            Kind::TooMany { .. } => "more workers were asked for than there can be",
            Kind::Thread { error, .. } | Kind::Memory { error, .. } => error.description(),
            Kind::Barrier(_) => "the barrier that was asked for is not to be had here",
            Kind::Variable { .. } => "an environment variable is malformed",
            Kind::Schedule { .. } => "there is no such schedule",
            Kind::Output { .. } => "the profile or the timeline cannot be written",
        }
    }
}
