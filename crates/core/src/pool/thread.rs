//! The threads of workers, started by the system or by the user's function.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use heist_sync::stack_size;
use heist_sync::thread::{self, JoinHandle};

use crate::base::latch::{BlockingLatch, Latch};
use crate::base::unwind::{self, AbortOnUnwind};
use crate::schedule::Members;
use crate::state::Pool;
use crate::worker::Worker;

/// A way to start each worker's thread, [`DefaultSpawn`] or [`CustomSpawn`]: see
/// [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
pub trait ThreadSpawn {
    /// Starts a thread that calls [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// Fails if the thread cannot be started.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;

    /// The threads that were started since the last call, as far as this knows of them.
    fn threads(&mut self) -> Vec<JoinHandle<()>> {
        Vec::new()
    }
}

/// Starts each worker's thread as `std::thread` would: see
/// [`ThreadPoolBuilder::new`](crate::ThreadPoolBuilder::new).
#[derive(Debug)]
pub struct DefaultSpawn(Vec<JoinHandle<()>>);

impl DefaultSpawn {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }
}

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        self.0.push(os_thread(&thread).spawn(|| thread.run())?);
        Ok(())
    }

    fn threads(&mut self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.0)
    }
}

/// Starts each worker's thread with a function of the user's: see
/// [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
pub struct CustomSpawn<F>(F);

impl<F> CustomSpawn<F> {
    pub(crate) fn new(spawn: F) -> Self {
        Self(spawn)
    }
}

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

impl<F> fmt::Debug for CustomSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomSpawn").finish_non_exhaustive()
    }
}

/// Starts a thread with the given name and stack size.
pub(crate) fn os_thread(thread: &ThreadBuilder) -> thread::Builder {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(stack_size) = thread.stack_size() {
        builder = builder.stack_size(stack_size);
    }
    builder
}

/// A worker that waits for its thread: see
/// [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler), whose argument it is.
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    pool: Arc<Pool>,
    /// `None` if the thread may be late.
    beginning: Option<Beginning>,
    index: usize,
    /// `Send` but not `Sync`, as a thread is.
    alone: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    pub(crate) fn new(
        name: Option<String>,
        stack_size: Option<usize>,
        pool: Arc<Pool>,
        index: usize,
    ) -> Self {
        Self {
            name,
            stack_size,
            beginning: Beginning::of(&pool),
            pool,
            index,
            alone: PhantomData,
        }
    }

    /// As this one, for a thread that the program starts when it likes: the pool does not wait for
    /// it. It might be started on a thread that runs another worker until the pool ends.
    pub(crate) fn that_may_be_late(self) -> Self {
        Self {
            beginning: None,
            ..self
        }
    }

    /// The worker's index in its pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker-{index}"))
    ///     .stack_size(1 << 20)
    ///     .spawn_handler(|thread| {
    ///         assert_eq!(thread.index(), 0);
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// # drop(pool);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that the builder was given for the thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker-{index}"))
    ///     .stack_size(1 << 20)
    ///     .spawn_handler(|thread| {
    ///         assert_eq!(thread.name(), Some("worker-0"));
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// # drop(pool);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size that the builder was given for the thread, in bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker-{index}"))
    ///     .stack_size(1 << 20)
    ///     .spawn_handler(|thread| {
    ///         assert_eq!(thread.stack_size(), Some(1 << 20));
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// # drop(pool);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Makes the calling thread the worker. Returns when the pool has ended.
    ///
    /// # Panics
    ///
    /// Panics if the calling thread is a worker already.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .thread_name(|index| format!("worker-{index}"))
    ///     .stack_size(1 << 20)
    ///     .spawn_handler(|thread| {
    ///         // Anything that has to be set up for the thread goes here.
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// # drop(pool);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn run(self) {
        let beginning = self.beginning.or_else(|| Beginning::of(&self.pool));
        // SAFETY: one builder is made for each index, and it is used up here.
        unsafe { self.pool.run(self.index, beginning) };
    }
}

/// Keeps a pool from ending before a thread of its own has begun, whose start handler may submit
/// jobs.
pub(crate) struct Beginning(Arc<Pool>);

impl Beginning {
    /// `None` if the pool has ended.
    pub(crate) fn of(pool: &Arc<Pool>) -> Option<Self> {
        pool.is_kept_alive().then(|| Self(Arc::clone(pool)))
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &Arc::as_ptr(&self.pool))
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

impl Pool {
    /// The whole life of the thread of the worker with this index.
    ///
    /// # Safety
    ///
    /// 1. No other thread is this worker.
    pub(crate) unsafe fn run(&self, index: usize, beginning: Option<Beginning>) {
        let (pool, state) = (self, self.worker(index));
        if let Some(members) = pool.members {
            members.become_worker(index);
        }
        pool.placement.settle(index);
        // SAFETY: by 1.; `leave` is called below, and the caller holds the pool.
        let worker = unsafe { Worker::enter(state) };
        worker.begin_stack(stack_size());
        // SAFETY: the pool holds the latch.
        unsafe { BlockingLatch::set(&raw const state.ready) };
        let abort = AbortOnUnwind("a panic escaped from a worker's main loop");
        let handler = pool.handlers.start.as_deref();
        // A called worker counts as searching; but the handler may block.
        let blocks = handler.is_some();
        if self.is_compensating(index) && blocks {
            worker.end_search();
        }
        pool.call_handler(handler, worker.index());
        drop(beginning);
        worker.begins_to_work();
        if self.is_compensating(index) {
            worker.stand_in(!blocks);
        } else if let Some(drive) = &pool.handlers.drive {
            worker.main_loop_driven(drive);
        } else {
            worker.main_loop(|| false);
        }
        let last = worker.local().thread.last.take();
        let last = last.map(|last| move |_| last());
        pool.call_handler(last.as_ref().map(|last| last as _), index);
        pool.call_handler(pool.handlers.exit.as_deref(), index);
        abort.defuse();
        worker.is_gone();
        Worker::leave();
        // SAFETY: the pool holds the latch.
        unsafe { BlockingLatch::set(&raw const state.ended) };
        Members::leave();
    }

    /// The thread of this worker is about to be started, or could not be.
    pub(crate) fn expect(&self, index: usize, is_coming: bool) {
        if let Some(members) = self.members {
            members.expect(index, is_coming);
        }
    }

    fn call_handler(&self, handler: Option<&(dyn Fn(usize) + Send + Sync)>, index: usize) {
        if let Some(handler) = handler {
            if let Err(payload) = unwind::catch(|| handler(index)) {
                self.handle_panic(payload);
            }
        }
    }

    /// Starts the thread of a compensation worker. False if the system has none left, or the pool
    /// has ended and an exit handler waits: then the place stays empty.
    pub(crate) fn start_compensation(&self, index: usize, stack_size: Option<usize>) -> bool {
        let mut builder = thread::Builder::new();
        if let Some(stack_size) = stack_size {
            builder = builder.stack_size(stack_size);
        }
        let pool = self.share();
        let Some(beginning) = Beginning::of(&pool) else {
            return false;
        };
        self.expect(index, true);
        // SAFETY: `Compensation::call` has one thread started for each index, under its lock.
        let thread = builder.spawn(move || unsafe { pool.run(index, Some(beginning)) });
        let has_started = thread.is_ok();
        if !has_started {
            self.expect(index, false);
        }
        self.threads.lock().extend(thread);
        has_started
    }
}
