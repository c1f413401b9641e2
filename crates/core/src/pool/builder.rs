//! The builder of a pool.

use std::any::Any;
use std::fmt;
use std::io;

use crate::base::error::ThreadPoolBuildError;
use crate::base::waiting::Waiting;
use crate::pool::choices::{Callers, Injected};
use crate::pool::settings::Settings;
use crate::pool::thread::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
use crate::pool::ThreadPool;
use crate::state::Pool;

/// Configures a pool, by value: each method returns the builder.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("solver-{index}"))
///     .build()?;
/// assert_eq!(pool.install(|| heist::current_num_threads()), 2);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn>(pub(super) Settings, S);

impl ThreadPoolBuilder {
    /// A builder with the defaults: one worker for each processor that the process may use, or as
    /// many as `HEIST_NUM_THREADS` says.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().build()?;
    /// assert!(pool.current_num_threads() >= 1);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self(Settings::new(), DefaultSpawn::new())
    }

    /// Builds a pool whose threads may borrow from the caller's frame, calls `with_pool`, and ends
    /// the pool before it returns.
    ///
    /// `wrapper` runs on each worker's thread; it must call [`ThreadBuilder::run`], and can set up
    /// surroundings for the jobs.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    ///
    /// # Panics
    ///
    /// Panics if `wrapper` panicked on some thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let greeting = String::from("hello");
    /// let len = heist::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         assert_eq!(greeting, "hello"); // a borrow of the caller's
    ///         thread.run();
    ///     },
    ///     |pool| pool.install(|| greeting.len()),
    /// )?;
    /// assert_eq!(len, 5);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        heist_sync::thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    let builder = crate::pool::thread::os_thread(&thread);
                    let handle = builder.spawn_scoped(scope, move || wrapper(thread))?;
                    drop(handle);
                    Ok(())
                })
                .build()?;
            // The scope waits for the threads, which end when the handle goes.
            Ok(with_pool(&pool))
        })
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets the number of workers. 0, the default, leaves it to `HEIST_NUM_THREADS`, and without
    /// that to the number of processors that the process may use. A pool of more than
    /// [`max_num_threads`](crate::max_num_threads) is not built.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.current_num_threads(), 3);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.0.num_threads = num_threads;
        self
    }

    /// Makes the calling thread worker 0 of the pool, for the rest of its life.
    ///
    /// That worker has no main loop: it runs jobs only while it waits in an operation of the pool,
    /// or in [`yield_now`](crate::yield_now). The other workers go on while it does something else.
    /// A [broadcast](crate::broadcast()) waits for it. In a pool of one worker all calls do, for
    /// ever if the thread has ended and the pool has not, and jobs that are queued there when the
    /// thread ends are neither run nor dropped: let it wait for them before.
    ///
    /// The thread does not hold the pool: once the handle is dropped and all jobs have ended, the
    /// other workers end, and `spawn`, `submit` and [`broadcast`](crate::broadcast()) on this
    /// thread panic, while joins, scopes and loops run in place.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// std::thread::spawn(|| {
    ///     let pool = heist::ThreadPoolBuilder::new().num_threads(2).use_current_thread().build()?;
    ///     assert_eq!(pool.current_thread_index(), Some(0));
    ///     Ok::<(), heist::ThreadPoolBuildError>(())
    /// }).join().unwrap().unwrap();
    /// ```
    #[must_use]
    pub fn use_current_thread(mut self) -> Self {
        self.0.use_current_thread = true;
        self
    }

    /// Sets the function that names each worker's thread, called just before it starts, and first
    /// for a [current thread](Self::use_current_thread). A name with a NUL byte is an error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker {index}"))
    ///     .build()?;
    /// let name = pool.install(|| std::thread::current().name().map(String::from));
    /// assert_eq!(name.as_deref(), Some("worker 0"));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn thread_name<F>(mut self, name: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.0.thread_name = Some(Box::new(name));
        self
    }

    /// Sets the stack size of each worker's thread, in bytes. The default is that of `std::thread`.
    ///
    /// A worker that waits runs other jobs on top of the waiting frame, so deep recursions need
    /// more stack than they would serially: see [`stack_guard`](Self::stack_guard).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().stack_size(8 << 20).build()?;
    /// # drop(pool);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.0.stack_size = Some(stack_size);
        self
    }

    /// Sets how much of each worker's stack is kept free of foreign jobs, in bytes. The default is
    /// half of the stack; 0 switches the guard off.
    ///
    /// A waiting worker runs other jobs on top of the waiting frame, and those may wait, too, so
    /// the depth of a stack depends on chance. Where less than this is left, a
    /// [`join`](crate::join()) that waits for its stolen half runs only its own descendants and
    /// broadcasts, or sleeps, until the thief is done. All loops and iterators are made of joins.
    /// Scopes, task groups and handles are not guarded, because their jobs may be queued where only
    /// a worker that takes foreign jobs finds them.
    ///
    /// The guarded part must be enough for the deepest job of the program when run serially. An
    /// external caller and a thread of [`use_current_thread`](Self::use_current_thread) are assumed
    /// to have 512 KiB left when they come.
    ///
    /// # Cost
    ///
    /// A join whose half is not stolen pays nothing. While a guarded worker sleeps its processor
    /// idles, unless there are [compensation workers](Self::compensation_workers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .stack_size(4 << 20)
    ///     .stack_guard(1 << 20) // the deepest job takes a megabyte
    ///     .build()?;
    /// assert_eq!(pool.install(|| heist::join(|| 1, || 2)), (1, 2));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn stack_guard(mut self, bytes: usize) -> Self {
        self.0.stack_guard = Some(bytes);
        self
    }

    /// Sets the function that is called with the payload of a panic that nobody waits for, in a job
    /// of [`spawn`](crate::spawn) or in a start or exit handler. Without a handler such a panic
    /// aborts the process, and so does a panic in the handler itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::mpsc::channel;
    /// let (caught, payloads) = channel();
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .panic_handler(move |payload| caught.send(payload).unwrap())
    ///     .build()?;
    /// pool.spawn(|| panic!("nobody waits for this"));
    /// let payload = payloads.recv().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"nobody waits for this"));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn panic_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.0.handlers.panic = Some(Box::new(handler));
        self
    }

    /// Sets the function that each worker's thread calls when it starts, with the worker's index.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::mpsc::channel;
    /// let (started, indices) = channel();
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .start_handler(move |index| started.send(index).unwrap())
    ///     .build()?;
    /// assert_eq!(indices.recv(), Ok(0));
    /// # drop(pool);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn start_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.0.handlers.start = Some(Box::new(handler));
        self
    }

    /// Sets the function that each worker's thread calls when it ends, with the worker's index.
    ///
    /// The pool takes no jobs any more: `spawn` and its like panic in the handler, and a panic
    /// there goes to the [panic handler](Self::panic_handler), without which it aborts.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::mpsc::channel;
    /// let (ended, indices) = channel();
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .exit_handler(move |index| ended.send(index).unwrap())
    ///     .build()?;
    /// drop(pool);
    /// assert_eq!(indices.recv(), Ok(0));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn exit_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.0.handlers.exit = Some(Box::new(handler));
        self
    }

    /// Makes every worker run the oldest of its own jobs first, not the newest, when it looks for
    /// something to do. A join still takes its own second half back first.
    ///
    /// Jobs then wait for longer, and more of them exist at a time; where only some of them need
    /// their order, [`spawn_fifo`](crate::spawn_fifo()) is better.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).breadth_first().build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.install(move || {
    ///     for n in 0..3 {
    ///         let say = say.clone();
    ///         heist::spawn(move || say.send(n).unwrap());
    ///     }
    /// });
    /// assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 1, 2]);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn breadth_first(mut self) -> Self {
        self.0.breadth_first = true;
        self
    }

    /// Sets the way in which external callers call [`join`](crate::join()),
    /// [`scope`](crate::scope()) and other waiting operations: see [`Callers`].
    /// [`ThreadPool::install`] moves into the pool in any case.
    ///
    /// The default is [`Callers::Participate`]; but it is [`Callers::Move`] if jobs may rely on
    /// something special about the pool's threads: a start or exit handler, a spawn handler or a
    /// stack size.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::thread::current;
    /// let pool = heist::ThreadPoolBuilder::new().callers(heist::Callers::Move).build()?;
    /// let here = current().id();
    /// let (a, _) = pool.join(|| current().id(), || ());
    /// assert_ne!(a, here);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn callers(mut self, callers: Callers) -> Self {
        self.0.callers = Some(callers);
        self
    }

    /// Sets the moment at which a job from outside starts if all workers are busy: see
    /// [`Injected`]. The default is [`Injected::InTurn`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::{Injected, ThreadPoolBuilder};
    /// let pool = ThreadPoolBuilder::new().num_threads(1).injected(Injected::Prompt).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// let pool = &pool;
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| pool.spawn(move || say.send(()).unwrap()));
    ///     // Joins until the job from outside has started.
    ///     pool.install(move || while heard.try_recv().is_err() {
    ///         heist::join(|| (), || ());
    ///     });
    /// });
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn injected(mut self, injected: Injected) -> Self {
        self.0.injected = injected;
        self
    }

    /// Sets the jobs that a worker may run while it waits: any of the pool, which is the default,
    /// or descendants of the waiting frame only: see [`Waiting`]. For a single call there is
    /// [`with_waiting`](crate::with_waiting).
    ///
    /// With `Descendants` there are up to as many
    /// [compensation workers](Self::compensation_workers) as workers.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::{ThreadPoolBuilder, Waiting};
    /// let pool = ThreadPoolBuilder::new().waiting(Waiting::Descendants).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.0.waiting = waiting;
        self
    }

    /// Sets the number of compensation workers, which work in the place of workers that
    /// [block](crate::blocking), or that [wait](Self::waiting) and find nothing that they may run,
    /// or only that for 10 ms. The default is none, or as many as workers with
    /// [`Waiting::Descendants`].
    ///
    /// A compensation worker steps in when there is a job for which no worker is free, and its
    /// thread starts when it does so for the first time. Its index is above those of the workers,
    /// and broadcasts do not reach it. Each that has started has a deque, which thieves search, so
    /// that many make a search longer. When a worker is back there may be one too many at work, or
    /// up to four where job after job [blocked](crate::blocking), each until its job has ended.
    ///
    /// Building fails with more than [`max_num_threads`](crate::max_num_threads) workers of both.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::time::Duration;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).compensation_workers(8).build()?;
    /// // Ten at a time.
    /// pool.scope(|scope| for _ in 0..40 {
    ///     scope.spawn(|_| heist::blocking(|| std::thread::sleep(Duration::from_millis(1))));
    /// });
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn compensation_workers(mut self, compensation_workers: usize) -> Self {
        self.0.compensation_workers = Some(compensation_workers);
        self
    }

    /// Lets the number of [active](ThreadPool::active_threads) workers follow the system's limits
    /// on the process: its affinity mask, and on Linux the quotas of its control groups. So a
    /// container whose limit is lowered while the program runs is not throttled for having too many
    /// workers. There are never more than [`num_threads`](Self::num_threads) workers, and at least
    /// one is active.
    ///
    /// By default the limit counts once, when the pool is built.
    ///
    /// # Cost
    ///
    /// Reading the limit takes some tens of microseconds. It is read at most once a second, by a
    /// worker that is not active while others are awake, or by one that runs out of work. Nothing
    /// runs in an idle pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(64).follow_cpu_limit().build()?;
    /// let processors = std::thread::available_parallelism().unwrap().get();
    /// assert!(pool.active_threads() <= processors.min(64));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn follow_cpu_limit(mut self) -> Self {
        self.0.follows_cpu_limit = true;
        self
    }

    /// Switches the event recorder on: each worker keeps the newest `capacity` events, 16 bytes
    /// each, and counts the older ones it dropped. Without this call `HEIST_RECORD_EVENTS` decides.
    ///
    /// Costs a clock reading for each event: some 30 ns for each steal, for each job that is taken
    /// from a deque other than by the join that pushed it, and for each turn from working to
    /// searching to sleeping.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).record_events(1000).build()?;
    /// pool.install(|| heist::join(|| 1, || 2));
    /// assert!(pool.events().iter().any(|worker| !worker.events.is_empty()));
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn record_events(mut self, capacity: usize) -> Self {
        self.0.record_events = Some(capacity);
        self
    }

    /// Starts each worker's thread with `spawn`, which must arrange for [`ThreadBuilder::run`] to
    /// be called on a new thread. One that comes after the pool's end calls the handlers only.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new().spawn(|| thread.run())?;
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 1 + 1), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn spawn_handler<F>(mut self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        self.0.has_special_threads();
        ThreadPoolBuilder(self.0, CustomSpawn::new(spawn))
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool and starts its threads, without waiting for them.
    ///
    /// # Errors
    ///
    /// Fails if a thread cannot be started, if a variable of the environment is malformed, if
    /// membarrier was asked for and is missing, or if
    /// [`use_current_thread`](Self::use_current_thread) was asked for on a thread that is a worker
    /// already. Threads that were started end again.
    ///
    /// # Cost
    ///
    /// Starts one thread for each worker. A worker begins with 64 KiB of memory in addition to its
    /// stack, and reserves address space for its deque.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn build(mut self) -> Result<ThreadPool, ThreadPoolBuildError> {
        Pool::start(self.0, &mut self.1).map(ThreadPool::new)
    }

    /// Builds the global pool, in which the free functions run when they are called outside any
    /// pool, and waits until its threads have started.
    ///
    /// Only needed to configure it: the first use builds it with the defaults.
    ///
    /// # Errors
    ///
    /// Fails if there is a global pool already, and as [`build`](Self::build).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// heist::ThreadPoolBuilder::new().num_threads(2).build_global()?;
    /// assert_eq!(heist::current_num_threads(), 2);
    /// let again = heist::ThreadPoolBuilder::new().build_global();
    /// assert!(again.unwrap_err().is_already_initialized());
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn build_global(mut self) -> Result<(), ThreadPoolBuildError> {
        Pool::set_global(self.0, &mut self.1)?.wait_until_ready();
        Ok(())
    }

    /// Builds the global pool as its first use would, but with this configuration: does nothing if
    /// there is one, and does not wait for the threads. Where the system has no threads, the caller
    /// becomes the pool's only worker.
    ///
    /// For a library that gives the global pool other defaults than heist does. A program calls
    /// [`build_global`](Self::build_global), which says if it came too late.
    ///
    /// # Panics
    ///
    /// Panics where `build_global` would fail for another reason.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use heist::ThreadPoolBuilder;
    /// ThreadPoolBuilder::new().num_threads(2).build_global_if_absent();
    /// ThreadPoolBuilder::new().num_threads(9).build_global_if_absent();
    /// assert_eq!(heist::current_num_threads(), 2);
    /// ```
    #[doc(hidden)] // for stand-ins that give the global pool other defaults
    pub fn build_global_if_absent(mut self) {
        Pool::global_or(self.0, &mut self.1);
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
