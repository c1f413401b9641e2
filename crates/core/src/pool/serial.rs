//! Serial pools: the builder's method, and the settings that it refuses.

use crate::base::error::ThreadPoolBuildError;
use crate::pool::builder::ThreadPoolBuilder;
use crate::pool::choices::{Callers, Pin};
use crate::pool::settings::Settings;

impl<S> ThreadPoolBuilder<S> {
    /// Makes the pool serial: it has one worker and no thread. The threads that call its operations
    /// run everything in place, one of them at a time.
    ///
    /// Use it for debugging, because a backtrace shows where each job began; for reproducible runs,
    /// if one thread uses the pool; and in environments without threads.
    ///
    /// A thread that calls a waiting operation, such as [`join`](crate::ThreadPool::join) or
    /// [`install`](crate::ThreadPool::install), is the worker until the call returns; if another
    /// thread is the worker, it first sleeps until its turn. A job that is spawned or submitted
    /// from outside runs before the call returns, or, if another thread is the worker, on that one
    /// before it leaves. So do not spawn from outside while you hold a lock that the job wants.
    /// Inside a job, [`spawn`](crate::spawn()) queues as in any pool.
    /// [`broadcast`](crate::broadcast()) calls its closure once.
    ///
    /// A call by a worker of another pool runs there at once if no thread is the serial pool's
    /// worker; otherwise that thread runs it, and the caller goes on with jobs of its own pool.
    /// While it is the worker of the serial pool and waits, it runs jobs of its own pool as well.
    ///
    /// `HEIST_NUM_THREADS` has no effect. In a forked child calls to the pool panic, as with any
    /// other pool, because another thread may have been in the middle of a call; the child can
    /// build a pool of its own.
    ///
    /// # Errors
    ///
    /// Building the pool fails with a setting that concerns threads: more than one thread, the
    /// current thread, compensation workers, a start, exit or spawn handler, a function that
    /// [drives](Self::drive_workers) workers, thread names, a stack size, a niceness,
    /// [`Callers::Move`]; and not pinned.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().serial().build()?;
    /// let here = std::thread::current().id();
    /// let (a, b) = pool.join(|| std::thread::current().id(), || std::thread::current().id());
    /// assert_eq!([a, b], [here; 2]);
    ///
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.spawn(move || say.send(42).unwrap());
    /// assert_eq!(heard.try_recv(), Ok(42)); // it has run
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn serial(mut self) -> Self {
        self.0.serial = true;
        self
    }
}

impl Settings {
    /// # Errors
    ///
    /// Fails if the pool is to be serial and one of the settings concerns threads.
    pub(super) fn refuse_threads_if_serial(&self) -> Result<(), ThreadPoolBuildError> {
        let (threads, compensation) = (self.num_threads, self.compensation_workers.unwrap_or(0));
        let asked = [
            (threads > 1, format!("num_threads({threads})")),
            (self.use_current_thread, "use_current_thread".to_owned()),
            (
                compensation > 0,
                format!("compensation_workers({compensation})"),
            ),
            (self.handlers.start.is_some(), "a start_handler".to_owned()),
            (self.handlers.exit.is_some(), "an exit_handler".to_owned()),
            (self.handlers.drive.is_some(), "drive_workers".to_owned()),
            (self.has_spawn_handler, "a spawn_handler".to_owned()),
            (self.thread_name.is_some(), "a thread_name".to_owned()),
            (self.stack_size.is_some(), "a stack_size".to_owned()),
            (self.pin != Pin::No, format!("pin(Pin::{:?})", self.pin)),
            (self.nice.is_some(), "a thread_nice".to_owned()),
            (
                self.callers == Some(Callers::Move),
                "callers(Callers::Move)".to_owned(),
            ),
        ];
        let first = asked.into_iter().find(|(is_asked, _)| *is_asked);
        match first.filter(|_| self.serial) {
            Some((_, setting)) => Err(ThreadPoolBuildError::serial(setting)),
            None => Ok(()),
        }
    }
}
