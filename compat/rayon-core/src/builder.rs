//! The builder: heist's, with the defaults of rayon.

use std::any::Any;
use std::fmt;
use std::io;
use std::thread;

use heist_core::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadPoolBuildError, ThreadSpawn};

use crate::global;
use crate::pool::ThreadPool;

/// Configures a pool.
///
/// # Examples
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.install(rayon_core::current_num_threads), 2);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    inner: heist_core::ThreadPoolBuilder<S>,
    /// 0 if the builder was not told.
    num_threads: usize,
}

impl ThreadPoolBuilder {
    /// A builder with the defaults.
    pub fn new() -> Self {
        Self {
            inner: heist_core::ThreadPoolBuilder::new()
                .callers(heist_core::Callers::Move)
                .stack_guard(0),
            num_threads: 0,
        }
    }

    /// Builds a pool whose threads may borrow from the caller's frame, calls `with_pool`, and ends
    /// the pool before it returns. `wrapper` runs on each worker's thread and must call
    /// [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    ///
    /// # Panics
    ///
    /// Panics if `wrapper` panicked on some thread.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|scope| {
            let pool = self
                .spawn_handler(|worker| {
                    let mut thread = thread::Builder::new();
                    if let Some(name) = worker.name() {
                        thread = thread.name(name.to_owned());
                    }
                    if let Some(bytes) = worker.stack_size() {
                        thread = thread.stack_size(bytes);
                    }
                    thread.spawn_scoped(scope, move || wrapper(worker))?;
                    Ok(())
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// How many workers. 0, the default, leaves it to the environment: to `HEIST_NUM_THREADS`, else
    /// to `RAYON_NUM_THREADS`, else to `RAYON_RS_NUM_CPUS`. Without one of them, or if it says 0,
    /// there is one worker for each processor that the process may use. More than
    /// [`max_num_threads`](crate::max_num_threads) are that many.
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self {
            num_threads,
            ..self
        }
    }

    /// Makes the calling thread worker 0 of the pool, for the rest of its life.
    pub fn use_current_thread(self) -> Self {
        self.map(heist_core::ThreadPoolBuilder::use_current_thread)
    }

    /// The name of each worker's thread, asked for just before it is started.
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.map(|inner| inner.thread_name(closure))
    }

    /// The stack size of each worker's thread, in bytes.
    pub fn stack_size(self, stack_size: usize) -> Self {
        self.map(|inner| inner.stack_size(stack_size))
    }

    /// Called with the payload of a panic that nobody waits for.
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.map(|inner| inner.panic_handler(panic_handler))
    }

    /// Called on each worker's thread when it starts, with the worker's index.
    pub fn start_handler<H>(self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.map(|inner| inner.start_handler(start_handler))
    }

    /// Called on each worker's thread when it ends, with the worker's index.
    pub fn exit_handler<H>(self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.map(|inner| inner.exit_handler(exit_handler))
    }

    /// Makes every worker run the oldest of its own jobs first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(self) -> Self {
        self.map(heist_core::ThreadPoolBuilder::breadth_first)
    }

    /// Starts each worker's thread with `spawn`, which must arrange for [`ThreadBuilder::run`] to
    /// be called on a new thread.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            inner: self.inner.spawn_handler(spawn),
            num_threads: self.num_threads,
        }
    }

    /// The same builder after a method of heist's was called on its own.
    pub(crate) fn map(
        self,
        configure: impl FnOnce(heist_core::ThreadPoolBuilder<S>) -> heist_core::ThreadPoolBuilder<S>,
    ) -> Self {
        Self {
            inner: configure(self.inner),
            num_threads: self.num_threads,
        }
    }

    /// Heist's builder, with rayon's default for the number of workers.
    fn resolved(self) -> heist_core::ThreadPoolBuilder<S> {
        self.inner.num_threads(match self.num_threads {
            0 => global::default_num_threads(),
            told => told.min(heist_core::max_num_threads()),
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool and starts its threads, without waiting for them.
    ///
    /// # Errors
    ///
    /// Fails if a thread cannot be started, if [`use_current_thread`](Self::use_current_thread) was
    /// asked for on a thread that is a worker already, or if a variable of heist's in the
    /// environment is malformed.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.resolved().build().map(ThreadPool::from_heist)
    }

    /// Builds the global pool and waits until its threads have started.
    ///
    /// # Errors
    ///
    /// Fails if there is a global pool already, and as [`build`](Self::build).
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        self.resolved().build_global()
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("heist", &self.inner)
            .finish()
    }
}
