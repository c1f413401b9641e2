//! The settings of a pool, and one rule of precedence.
//!
//! The builder decides each setting; else the environment; else the default. A malformed variable
//! is an error.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use heist_sync::{Barrier, Topology};

use crate::base::error::ThreadPoolBuildError;
use crate::base::waiting::Waiting;
use crate::insight::profile::{self, Output, DAG, PROFILE};
use crate::insight::timeline;
use crate::pool::choices::{Callers, Injected, Pin};
use crate::pool::environment;
use crate::pool::thread::{ThreadBuilder, ThreadSpawn};
use crate::schedule;
use crate::stall;
use crate::state::{limits, Handlers, Placement, Pool};

const TIMELINE: Output = ("HEIST_TIMELINE", timeline::ENDING);

/// The settings of a [`ThreadPoolBuilder`](crate::ThreadPoolBuilder).
pub(crate) struct Settings {
    pub(crate) serial: bool,
    pub(crate) num_threads: usize,
    pub(crate) use_current_thread: bool,
    pub(crate) thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) stack_guard: Option<usize>,
    pub(crate) record_events: Option<usize>,
    pub(crate) breadth_first: bool,
    pub(crate) callers: Option<Callers>,
    pub(crate) injected: Injected,
    pub(crate) waiting: Waiting,
    pub(crate) compensation_workers: Option<usize>,
    pub(crate) follows_cpu_limit: bool,
    pub(crate) pin: Pin,
    /// The topology of the machine, if it is known already.
    pub(crate) topology: Option<Topology>,
    pub(crate) nice: Option<i8>,
    pub(crate) handlers: Handlers,
    pub(crate) has_spawn_handler: bool,
}

impl Settings {
    /// The defaults.
    pub(crate) fn new() -> Self {
        Self {
            serial: false,
            num_threads: 0,
            use_current_thread: false,
            thread_name: None,
            stack_size: None,
            stack_guard: None,
            record_events: None,
            breadth_first: false,
            callers: None,
            injected: Injected::InTurn,
            waiting: Waiting::Any,
            compensation_workers: None,
            follows_cpu_limit: false,
            pin: Pin::No,
            topology: None,
            nice: None,
            handlers: Handlers::default(),
            has_spawn_handler: false,
        }
    }
}

impl Settings {
    /// The threads are not the default's, so callers participate only if that was asked for.
    pub(crate) fn has_special_threads(&mut self) {
        self.callers.get_or_insert(Callers::Move);
        self.has_spawn_handler = true;
    }

    /// Whether callers participate: not in a schedule, which says what workers do.
    fn callers(&self, placement: &Placement, scheduled: bool) -> Callers {
        let are_common = self.handlers.start.is_none()
            && self.handlers.exit.is_none()
            && self.handlers.drive.is_none()
            && self.stack_size.is_none()
            && placement.pinned.is_none();
        let default = if are_common {
            Callers::Participate
        } else {
            Callers::Move
        };
        if scheduled {
            Callers::Move
        } else {
            self.callers.unwrap_or(default)
        }
    }

    /// Fills in the settings that were left open.
    pub(crate) fn resolve(self) -> Result<Config, ThreadPoolBuildError> {
        self.refuse_threads_if_serial()?;
        let (pinned, placement) = self.place()?;
        let workers = match self.num_threads.max(pinned) {
            _ if self.serial => 1,
            0 => environment::default_workers(
                env::var_os("HEIST_NUM_THREADS"),
                env::var_os("RAYON_NUM_THREADS"),
            )?,
            n => n,
        };
        limits::refuse_absurd(workers, 0)?;
        let compensation = match (self.compensation_workers, self.waiting) {
            (Some(told), _) => {
                limits::refuse_absurd(workers, told)?;
                told
            }
            (None, waiting) if self.serial || waiting == Waiting::Any => 0,
            (None, _) => workers.min(limits::max_num_threads() - workers),
        };
        let request = environment::barrier_request(env::var_os("HEIST_BARRIER"))?;
        let barrier = Barrier::new(request).map_err(ThreadPoolBuildError::barrier)?;
        let metered = is_metered()?;
        let scheduled = is_scheduled(metered)? && !self.serial;
        let record_events = events_to_record(self.record_events)?;
        // This pool does not use it; but a malformed value is reported here.
        environment::global_is_explicit(env::var_os("HEIST_GLOBAL"))?;
        Ok(Config {
            serial: self.serial,
            callers: self.callers(&placement, scheduled),
            injected: self.injected,
            waiting: self.waiting,
            workers,
            compensation,
            follows_cpu_limit: self.follows_cpu_limit && !scheduled,
            placement,
            barrier,
            banner: environment::wants_banner(env::var_os("HEIST_BANNER"))?,
            handlers: self.handlers,
            record_events,
            metered,
            scheduled,
            stall_patience: stall_patience(self.serial)?,
            live: environment::wants_live_view(env::var_os("HEIST_LIVE"))? && !self.serial,
            breadth_first: self.breadth_first,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            has_spawn_handler: self.has_spawn_handler,
            stack_guard: self.stack_guard,
        })
    }
}

/// True if the program is profiled, or its DAG recorded.
fn is_metered() -> Result<bool, ThreadPoolBuildError> {
    let profile = env::var_os(PROFILE.0);
    let dag = env::var_os(DAG.0);
    if dag.is_some() && file(DAG) == file(PROFILE) {
        return Err(same_file(DAG));
    }
    let wanted = profile::Wanted {
        profile: profile.as_deref(),
        dag: dag.as_deref(),
    };
    profile::is_wanted(wanted).map_err(|(output, why)| {
        ThreadPoolBuildError::output(output, env::var_os(output.0).unwrap_or_default(), why)
    })
}

/// The error of an output that would be in the file of the profile.
fn same_file(output: Output) -> ThreadPoolBuildError {
    let why = "HEIST_PROFILE names the same file".to_owned();
    ThreadPoolBuildError::output(output, env::var_os(output.0).unwrap_or_default(), why)
}

/// How many events each worker keeps, of those that the builder asks for.
fn events_to_record(asked: Option<usize>) -> Result<Option<usize>, ThreadPoolBuildError> {
    let has_timeline = has_timeline()?;
    match (asked, env::var_os("HEIST_RECORD_EVENTS")) {
        (None, None) => Ok(has_timeline.then_some(timeline::EVENTS_OF_WORKER)),
        (None, value) => environment::events_to_record(value),
        (asked, _) => Ok(asked),
    }
}

/// True if the program writes a timeline.
fn has_timeline() -> Result<bool, ThreadPoolBuildError> {
    let name = env::var_os("HEIST_TIMELINE");
    if name.is_some() && file(TIMELINE) == file(PROFILE) {
        return Err(same_file(TIMELINE));
    }
    timeline::is_wanted(name.as_deref())
        .map_err(|why| ThreadPoolBuildError::output(TIMELINE, name.unwrap_or_default(), why))
}

/// The name of the file that such a variable names.
fn file((variable, ending): Output) -> Option<OsString> {
    let mut name = env::var_os(variable)?;
    name.push(ending);
    Some(name)
}

/// True if a schedule says which worker runs.
fn is_scheduled(metered: bool) -> Result<bool, ThreadPoolBuildError> {
    let schedule = env::var_os("HEIST_SCHEDULE");
    if schedule.is_some() && metered {
        let why = "HEIST_PROFILE or HEIST_DAG is set as well, and in a schedule there is no time to measure; accepted is one of them";
        return Err(ThreadPoolBuildError::schedule(why.to_owned()));
    }
    schedule::wanted(schedule.as_deref()).map_err(|why| {
        let value = schedule.unwrap_or_default();
        ThreadPoolBuildError::schedule(format!("it is set to {value:?}: {why}"))
    })
}

/// The time after which a stall is said, if pools are watched. A serial pool is not: it starts no
/// thread, that of the watchdog neither.
fn stall_patience(is_serial: bool) -> Result<Option<Duration>, ThreadPoolBuildError> {
    let patience = environment::stall_patience(env::var_os("HEIST_STALL"))?;
    Ok(patience.filter(|_| !is_serial && stall::is_possible()))
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("serial", &self.serial)
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("thread_name", &self.thread_name.is_some())
            .field("stack_size", &self.stack_size)
            .field("stack_guard", &self.stack_guard)
            .field("record_events", &self.record_events)
            .field("breadth_first", &self.breadth_first)
            .field("callers", &self.callers)
            .field("injected", &self.injected)
            .field("waiting", &self.waiting)
            .field("compensation_workers", &self.compensation_workers)
            .field("follows_cpu_limit", &self.follows_cpu_limit)
            .field("pin", &self.pin)
            .field("nice", &self.nice)
            .finish_non_exhaustive()
    }
}

/// A configuration in which every default has been filled in.
pub(crate) struct Config {
    pub(crate) serial: bool,
    pub(crate) workers: usize,
    /// The number of compensation workers.
    pub(crate) compensation: usize,
    pub(crate) follows_cpu_limit: bool,
    pub(crate) placement: Placement,
    pub(crate) barrier: Barrier,
    /// Print a line when the pool has started.
    pub(crate) banner: bool,
    pub(crate) handlers: Handlers,
    pub(crate) record_events: Option<usize>,
    pub(crate) metered: bool,
    /// One worker runs at a time.
    pub(crate) scheduled: bool,
    /// The time after which a stall of the pool is said, if it is watched.
    pub(crate) stall_patience: Option<Duration>,
    /// The live view shows the pool. A serial one starts no thread, that of the view neither.
    pub(crate) live: bool,
    pub(crate) stack_guard: Option<usize>,
    pub(crate) breadth_first: bool,
    pub(crate) callers: Callers,
    pub(crate) injected: Injected,
    pub(crate) waiting: Waiting,
    pub(crate) use_current_thread: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    has_spawn_handler: bool,
}

impl Config {
    pub(crate) fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Asks for the name of the thread of the worker with this index.
    pub(crate) fn name(&mut self, index: usize) -> Option<String> {
        self.thread_name.as_mut().map(|name| name(index))
    }

    /// Starts the thread of the worker with this index.
    pub(crate) fn start_thread(
        &mut self,
        spawner: &mut dyn ThreadSpawn,
        pool: &Arc<Pool>,
        index: usize,
    ) -> io::Result<()> {
        let name = self.name(index);
        if let Some(name) = name.as_ref().filter(|name| name.contains('\0')) {
            let why = format!("its name {name:?} contains a NUL byte; give it one without");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let thread = ThreadBuilder::new(name, self.stack_size, Arc::clone(pool), index);
        let thread = if self.has_spawn_handler {
            thread.that_may_be_late()
        } else {
            thread
        };
        pool.expect(index, true);
        let started = spawner.spawn(thread);
        if started.is_err() {
            pool.expect(index, false);
        }
        started
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn compensation_workers_count_against_the_limit_only_if_they_were_asked_for() {
        let workers = 40_000;
        if limits::refuse_absurd(workers, 0).is_err() {
            let reason = "test skipped: the system allows no 40,000 threads\n";
            let _ = io::stderr().write_all(reason.as_bytes());
            return;
        }
        let strict = |compensation_workers| Settings {
            num_threads: workers,
            waiting: Waiting::Descendants,
            compensation_workers,
            ..Settings::new()
        };
        let config = strict(None).resolve().map(|config| config.compensation);
        assert_eq!(config.unwrap(), 25_535);
        assert!(strict(Some(workers)).resolve().is_err());
    }
}
