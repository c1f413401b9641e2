//! How a pool is configured: the builder, and one rule.
//!
//! The rule of precedence, for every setting: what the builder says; else what
//! the environment says; else the default. A variable that is consulted and
//! malformed is an error.

use crate::environment;
use crate::error::ThreadPoolBuildError;
use crate::handle::ThreadPool;
use crate::pool::{Handlers, Pool};
use crate::room;
use crate::threads::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
use crate::waiting::Waiting;
use heist_sync::{thread, Barrier};
use std::any::Any;
use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The most workers that a pool can have: 65,535.
///
/// # Examples
///
/// ```
/// assert_eq!(heist_core::max_num_threads(), 65_535);
/// ```
#[must_use]
pub const fn max_num_threads() -> usize {
    // The sleep protocol counts workers, and as many spares, in twenty bits.
    u16::MAX as usize
}

/// Configures a pool, by value: each method returns the builder.
///
/// # Examples
///
/// ```
/// let pool = heist_core::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("solver-{index}"))
///     .build()?;
/// assert_eq!(pool.install(|| heist_core::current_num_threads()), 2);
/// # Ok::<(), heist_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    record_events: Option<usize>,
    breadth_first: bool,
    callers_take_part: Option<bool>,
    prompt: bool,
    waiting: Waiting,
    handlers: Handlers,
    spawner: S,
}

impl ThreadPoolBuilder {
    /// A builder with the defaults: one worker for each processor that the
    /// process may use, or as many as `HEIST_NUM_THREADS` says.
    #[must_use]
    pub fn new() -> Self {
        Self {
            num_threads: 0,
            use_current_thread: false,
            thread_name: None,
            stack_size: None,
            record_events: None,
            breadth_first: false,
            callers_take_part: None,
            prompt: false,
            waiting: Waiting::Any,
            handlers: Handlers::default(),
            spawner: DefaultSpawn::new(),
        }
    }

    /// Builds a pool whose threads may borrow from the caller's frame, calls
    /// `with_pool`, and ends the pool before it returns.
    ///
    /// `wrapper` runs on each worker's thread; it must call
    /// [`ThreadBuilder::run`] and can set up what the jobs need around it.
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
    /// let greeting = String::from("hello");
    /// let len = heist_core::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         assert_eq!(greeting, "hello"); // a borrow of the caller's
    ///         thread.run();
    ///     },
    ///     |pool| pool.install(|| greeting.len()),
    /// )?;
    /// assert_eq!(len, 5);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    let builder = crate::threads::os_thread(&thread);
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

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// How many workers. 0, the default, leaves it to `HEIST_NUM_THREADS`, and
    /// without that to the number of processors that the process may use. A pool of more
    /// than [`max_num_threads`] is not built.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// assert_eq!(pool.current_num_threads(), 3);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the calling thread worker 0 of the pool, for the rest of its life.
    ///
    /// That worker has no main loop: it runs jobs only while it waits in an
    /// operation of the pool, or in [`yield_now`](crate::yield_now). The other workers
    /// go on while it does something else. For this one waits a
    /// [broadcast](crate::broadcast()), and in a pool of one everything: for ever, if
    /// the thread has ended and the pool has not.
    ///
    /// # Examples
    ///
    /// ```
    /// std::thread::spawn(|| {
    ///     let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).use_current_thread().build()?;
    ///     assert_eq!(pool.current_thread_index(), Some(0));
    ///     Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// }).join().unwrap().unwrap();
    /// ```
    #[must_use]
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// The name of each worker's thread, asked for just before it is started. With a NUL
    /// byte in a name the pool is not built.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker {index}"))
    ///     .build()?;
    /// let name = pool.install(|| std::thread::current().name().map(String::from));
    /// assert_eq!(name.as_deref(), Some("worker 0"));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn thread_name<F>(mut self, name: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// The stack size of each worker's thread, in bytes. The default is that
    /// of `std::thread`.
    ///
    /// A worker that waits runs other jobs on top of the waiting frame, so deep
    /// recursions need more stack than they would serially.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().stack_size(8 << 20).build()?;
    /// # drop(pool);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Called with the payload of a panic that nobody waits for, in a job of
    /// [`spawn`](crate::spawn) or in a start or exit handler. Without a
    /// handler such a panic aborts the process, and so does a panic in the
    /// handler itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// let (caught, payloads) = channel();
    /// let pool = heist_core::ThreadPoolBuilder::new()
    ///     .panic_handler(move |payload| caught.send(payload).unwrap())
    ///     .build()?;
    /// pool.spawn(|| panic!("nobody waits for this"));
    /// let payload = payloads.recv().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"nobody waits for this"));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn panic_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.handlers.panic = Some(Box::new(handler));
        self
    }

    /// Called on each worker's thread when it starts, with the worker's index.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// let (started, indices) = channel();
    /// let pool = heist_core::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .start_handler(move |index| started.send(index).unwrap())
    ///     .build()?;
    /// assert_eq!(indices.recv(), Ok(0));
    /// # drop(pool);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn start_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.start = Some(Box::new(handler));
        self
    }

    /// Called on each worker's thread when it ends, with the worker's index.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// let (ended, indices) = channel();
    /// let pool = heist_core::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .exit_handler(move |index| ended.send(index).unwrap())
    ///     .build()?;
    /// drop(pool);
    /// assert_eq!(indices.recv(), Ok(0));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn exit_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.exit = Some(Box::new(handler));
        self
    }

    /// Makes every worker run the oldest of its own jobs first, not the newest,
    /// when it looks for something to do. A join still takes its own second
    /// half back first.
    ///
    /// Jobs then wait for long and there are more of them at a time; where only
    /// some of them need their order, [`spawn_fifo`](crate::spawn_fifo()) is
    /// better.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(1).breadth_first().build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.install(move || {
    ///     for n in 0..3 {
    ///         let say = say.clone();
    ///         heist_core::spawn(move || say.send(n).unwrap());
    ///     }
    /// });
    /// assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 1, 2]);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Whether a thread from outside takes part in what it calls: whether it runs
    /// the closures of [`join`](crate::join()), [`scope`](crate::scope()) and their
    /// like itself, on the seat of a worker that sleeps meanwhile, or moves them
    /// into the pool and blocks. [`ThreadPool::install`] moves in any case.
    ///
    /// Taking part spares two changes of threads, some microseconds. During the
    /// call the thread is a worker like any other, has an index, and may run any
    /// jobs of the pool. If no worker sleeps, the call moves into the pool all the
    /// same.
    ///
    /// The default is yes; but no if the pool's threads are special, so that jobs
    /// may rely on them: if there is a start or exit handler, a spawn handler or a
    /// stack size.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread::current;
    /// let pool = heist_core::ThreadPoolBuilder::new().callers_take_part(false).build()?;
    /// let here = current().id();
    /// let (a, _) = pool.join(|| current().id(), || ());
    /// assert_ne!(a, here);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn callers_take_part(mut self, take_part: bool) -> Self {
        self.callers_take_part = Some(take_part);
        self
    }

    /// Whether a job from outside starts soon even if all workers are deep in work
    /// of their own. The default is no: it starts when a worker comes back to its main
    /// loop or has to wait, after [61 other jobs or a millisecond of them](crate::policy::Turns)
    /// at most. That is soon if the jobs are short, and may be as late as the end of a
    /// long one: of a whole tree of joins, say.
    ///
    /// With yes, the next worker that comes to a `join`, or to the end of a piece of a
    /// parallel loop, runs it there first, on top of what it is doing: one at a time, and
    /// only if at most a quarter of its stack is in use. A `spawn` of any kind runs nothing.
    ///
    /// Say yes only if no job from outside wants what a frame below it may hold: a lock
    /// that is held over a `join`, a `RefCell` of the thread that is borrowed there. Such a
    /// job would wait for itself, or panic.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(1).prompt(true).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// let pool = &pool;
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| pool.spawn(move || say.send(()).unwrap()));
    ///     // Joins until the job from outside has started.
    ///     pool.install(move || while heard.try_recv().is_err() {
    ///         heist_core::join(|| (), || ());
    ///     });
    /// });
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn prompt(mut self, prompt: bool) -> Self {
        self.prompt = prompt;
        self
    }

    /// What a worker may run while it waits: any job of the pool, which is the
    /// default, or descendants of the waiting frame only: see [`Waiting`]. For a
    /// single call there is [`with_waiting`](crate::with_waiting).
    ///
    /// With `Descendants` there are up to as many spare workers as workers. A spare's
    /// thread starts when the first of the pool's workers has found nothing that it may
    /// run. Its index is above those of the workers; broadcasts do not reach it.
    /// Each reserves a deque.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_core::{ThreadPoolBuilder, Waiting};
    /// let pool = ThreadPoolBuilder::new().waiting(Waiting::Descendants).build()?;
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.waiting = waiting;
        self
    }

    /// Switches the event recorder on: each worker keeps the newest
    /// `capacity` events, 8 bytes each, and counts the older ones it dropped.
    /// Without this call `HEIST_RECORD_EVENTS` decides.
    ///
    /// Costs a clock reading for each event: some 30 ns for each steal, for
    /// each job that is taken from a deque other than by the join that pushed
    /// it, and for each turn from working to searching to sleeping.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).record_events(1000).build()?;
    /// pool.install(|| heist_core::join(|| 1, || 2));
    /// assert!(pool.events().iter().any(|worker| !worker.events.is_empty()));
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn record_events(mut self, capacity: usize) -> Self {
        self.record_events = Some(capacity);
        self
    }

    /// Starts each worker's thread with `spawn`, which must arrange for
    /// [`ThreadBuilder::run`] to be called on a new thread.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new().spawn(|| thread.run())?;
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 1 + 1), 2);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            record_events: self.record_events,
            breadth_first: self.breadth_first,
            callers_take_part: Some(self.callers_take_part.unwrap_or(false)),
            prompt: self.prompt,
            waiting: self.waiting,
            handlers: self.handlers,
            spawner: CustomSpawn::new(spawn),
        }
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool and starts its threads, without waiting for them.
    ///
    /// # Errors
    ///
    /// Fails if a thread cannot be started, if a variable of the environment is
    /// malformed, if membarrier was asked for and is missing, or if
    /// [`use_current_thread`](Self::use_current_thread) was asked for on a
    /// thread that is a worker already. Threads that were started end again.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = heist_core::ThreadPoolBuilder::new().build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        Pool::start(self).map(ThreadPool::new)
    }

    /// Builds the global pool, in which the free functions run when they are
    /// called outside any pool, and waits until its threads have started.
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
    /// heist_core::ThreadPoolBuilder::new().num_threads(2).build_global()?;
    /// assert_eq!(heist_core::current_num_threads(), 2);
    /// let again = heist_core::ThreadPoolBuilder::new().build_global();
    /// assert!(again.unwrap_err().is_already_initialized());
    /// # Ok::<(), heist_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        Pool::set_global(self)?.wait_until_ready();
        Ok(())
    }

    /// Builds the global pool as its first use would, but with this
    /// configuration: does nothing if there is one, and does not wait for the
    /// threads. Where the system has no threads, the caller becomes the pool's
    /// only worker.
    ///
    /// For a library that gives the global pool other defaults than heist does.
    /// A program calls [`build_global`](Self::build_global), which says if it
    /// came too late.
    ///
    /// # Panics
    ///
    /// Panics where `build_global` would fail for another reason.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_core::ThreadPoolBuilder;
    /// ThreadPoolBuilder::new().num_threads(2).build_global_if_absent();
    /// ThreadPoolBuilder::new().num_threads(9).build_global_if_absent();
    /// assert_eq!(heist_core::current_num_threads(), 2);
    /// ```
    pub fn build_global_if_absent(self) {
        Pool::global_or(self);
    }

    /// Fills in what was left open.
    pub(crate) fn resolve(self) -> Result<Config<S>, ThreadPoolBuildError> {
        let workers = match self.num_threads {
            0 => environment::default_workers(
                env::var_os("HEIST_NUM_THREADS"),
                env::var_os("RAYON_NUM_THREADS"),
            )?,
            n => n,
        };
        room::refuse_absurd(workers)?;
        let request = environment::barrier_request(env::var_os("HEIST_BARRIER"))?;
        let barrier = Barrier::new(request).map_err(ThreadPoolBuildError::barrier)?;
        let record_events = match self.record_events {
            None => environment::events_to_record(env::var_os("HEIST_RECORD_EVENTS"))?,
            told => told,
        };
        let handlers = &self.handlers;
        let are_common =
            handlers.start.is_none() && handlers.exit.is_none() && self.stack_size.is_none();
        Ok(Config {
            guests: self.callers_take_part.unwrap_or(are_common),
            prompt: self.prompt,
            waiting: self.waiting,
            workers,
            barrier,
            banner: environment::wants_banner(env::var_os("HEIST_BANNER"))?,
            handlers: self.handlers,
            record_events,
            breadth_first: self.breadth_first,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            spawner: self.spawner,
        })
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("thread_name", &self.thread_name.is_some())
            .field("stack_size", &self.stack_size)
            .field("record_events", &self.record_events)
            .field("breadth_first", &self.breadth_first)
            .field("callers_take_part", &self.callers_take_part)
            .field("prompt", &self.prompt)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

/// A configuration in which every default has been filled in.
pub(crate) struct Config<S> {
    pub(crate) workers: usize,
    pub(crate) barrier: Barrier,
    /// Print a line when the pool has started.
    pub(crate) banner: bool,
    pub(crate) handlers: Handlers,
    pub(crate) record_events: Option<usize>,
    pub(crate) breadth_first: bool,
    /// Callers from outside take part.
    pub(crate) guests: bool,
    pub(crate) prompt: bool,
    pub(crate) waiting: Waiting,
    pub(crate) use_current_thread: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    spawner: S,
}

impl<S> Config<S> {
    pub(crate) fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }
}

impl<S: ThreadSpawn> Config<S> {
    /// Starts the thread of the worker with this index.
    pub(crate) fn start_thread(&mut self, pool: &Arc<Pool>, index: usize) -> io::Result<()> {
        let name = self.thread_name.as_mut().map(|name| name(index));
        if let Some(name) = name.as_ref().filter(|name| name.contains('\0')) {
            let why = format!("its name {name:?} contains a NUL byte; give it one without");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let thread = ThreadBuilder::new(name, self.stack_size, Arc::clone(pool), index);
        self.spawner.spawn(thread)
    }

    /// Waits for the end of the threads that were started.
    pub(crate) fn wait_for_threads(&mut self) {
        self.spawner.wait();
    }
}
