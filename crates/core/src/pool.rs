//! The pool: what its workers share, and how it starts, stops and is reached.

use crate::config::{max_num_threads, Config, ThreadPoolBuilder};
use crate::error::ThreadPoolBuildError;
use crate::job::{DetachedJob, JobRef, Kind, StackJob};
use crate::latch::{CoreLatch, ForeignLatch, Latch, LatchRef, LockLatch};
use crate::live::Live;
use crate::recorder::Recorder;
use crate::room;
use crate::seat::Seat;
use crate::sleep::{Jobs, Sleep};
use crate::spares::Spares;
use crate::threads::{Beginning, ThreadSpawn};
use crate::unwind::{self, AbortOnUnwind, Payload};
use crate::waiting::Waiting;
use crate::worker::Worker;
use heist_deque::{Deque, Injector};
use heist_event::{PoolCounters, WorkerEvents};
use heist_sync::process::{self, Generation};
use heist_sync::{stack_size, thread, CachePadded, Clock, Mutex};
use std::fmt;
use std::io;
use std::ptr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

/// What the workers of a pool share.
pub(crate) struct Pool {
    me: Weak<Pool>,
    /// The workers' seats, then those of the spares.
    seats: Box<[CachePadded<Seat>]>,
    pub(crate) spares: Spares,
    /// Jobs from outside the pool.
    pub(crate) injector: Injector<DetachedJob>,
    pub(crate) sleep: Sleep,
    /// More workers than processors: whoever waits should not spin.
    pub(crate) oversubscribed: bool,
    /// Workers run the oldest of their own jobs first.
    pub(crate) breadth_first: bool,
    /// Jobs from outside do not wait for busy workers to come to an end.
    pub(crate) prompt: bool,
    /// Callers from outside take part in what they wait for.
    guests: bool,
    live: Live,
    /// Held while a broadcast is posted, so that all workers see all
    /// broadcasts in the same order.
    posting: Mutex<()>,
    /// Runs since the pool was built.
    clock: Clock,
    /// The process in which it was built, and has its workers.
    born: Generation,
    recording: bool,
    handlers: Handlers,
}

/// What the user wants to be told.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<Box<dyn Fn(Payload) + Send + Sync>>,
    pub(crate) start: Option<Box<dyn Fn(usize) + Send + Sync>>,
    pub(crate) exit: Option<Box<dyn Fn(usize) + Send + Sync>>,
}

impl Pool {
    /// Builds the pool and starts its threads with the configuration's spawner.
    pub(crate) fn start<S: ThreadSpawn>(
        builder: ThreadPoolBuilder<S>,
    ) -> Result<Arc<Self>, ThreadPoolBuildError> {
        let mut config = builder.resolve()?;
        process::after_fork(Worker::leave);
        let workers = config.workers;
        let spares = match config.waiting {
            Waiting::Any => 0,
            Waiting::Descendants => workers.min(max_num_threads() - workers),
        };
        if config.use_current_thread {
            Worker::may_adopt_current_thread()?;
        }
        let mut places = Places::new(&config, workers, workers + spares)?;
        let usable = if cfg!(any(heist_loom, heist_shuttle)) {
            // One thread at a time runs in a model, and its clock is not the model's.
            1
        } else {
            thread::available_parallelism().map_or(1, usize::from)
        };
        let pool = Arc::new_cyclic(|me: &Weak<Self>| {
            let mut seats = places.seats;
            let parts = places.parts.drain(..).enumerate();
            seats.extend(parts.map(|(index, (deque, recorder))| {
                let pool = me.as_ptr();
                CachePadded::new(Seat::new(pool, index, deque, config.waiting, recorder))
            }));
            Self {
                me: me.clone(),
                seats: seats.into_boxed_slice(),
                spares: Spares::new(spares, config.stack_size()),
                injector: Injector::new(),
                sleep: Sleep::new(workers, spares, config.barrier),
                oversubscribed: workers > usable,
                breadth_first: config.breadth_first,
                prompt: config.prompt,
                guests: config.guests,
                live: Live::new(),
                posting: Mutex::new(()),
                clock: Clock::start(),
                born: Generation::present(),
                recording: config.record_events.is_some(),
                handlers: std::mem::take(&mut config.handlers),
            }
        });
        // The program's own closures may panic: for the names, to start a thread.
        let started = unwind::halt(|| pool.start_threads(&mut config));
        if !matches!(started, Ok(Ok(()))) {
            // The threads that were started end again.
            pool.release();
            if pool.handlers.start.is_none() {
                config.wait_for_threads();
            }
        }
        started.unwrap_or_else(|payload| unwind::resume(payload))?;
        if config.banner {
            let version = env!("CARGO_PKG_VERSION");
            let barrier = pool.sleep.barrier().mode();
            eprintln!("heist {version}: started a pool of {workers} workers, barrier {barrier}");
        }
        Ok(pool)
    }

    /// Starts the threads of all workers. The calling thread becomes a worker last, when
    /// nothing can fail any more.
    fn start_threads<S: ThreadSpawn>(
        self: &Arc<Self>,
        config: &mut Config<S>,
    ) -> Result<(), ThreadPoolBuildError> {
        let workers = self.len();
        for index in usize::from(config.use_current_thread)..workers {
            config
                .start_thread(self, index)
                .map_err(|error| ThreadPoolBuildError::thread(index, workers, error))?;
        }
        if config.use_current_thread {
            Worker::adopt_current_thread(self, 0)?;
            let seat = self.seat(0);
            // SAFETY: the pool holds the latches.
            unsafe { LockLatch::set(&raw const seat.ready) };
            // SAFETY: as above. There is no main loop to wait for.
            unsafe { LockLatch::set(&raw const seat.ended) };
        }
        Ok(())
    }

    /// What the thread of the worker with this index does from start to end.
    ///
    /// # Safety
    ///
    /// 1. No other thread sits there.
    pub(crate) unsafe fn run(&self, index: usize, beginning: Beginning) {
        let (pool, seat) = (self, self.seat(index));
        // SAFETY: by 1.; `leave` is called below, and the caller holds the pool.
        let worker = unsafe { Worker::sit(seat) };
        worker.begin_stack(stack_size());
        // SAFETY: the pool holds the latch.
        unsafe { LockLatch::set(&raw const seat.ready) };
        let abort = AbortOnUnwind("a panic escaped from a worker's main loop");
        pool.call_handler(pool.handlers.start.as_deref(), worker.index());
        drop(beginning);
        worker.begins_to_work();
        if self.is_spare(index) {
            worker.stand_in();
        } else {
            worker.main_loop(&seat.end, || false);
        }
        pool.call_handler(pool.handlers.exit.as_deref(), worker.index());
        abort.defuse();
        Worker::leave();
        // SAFETY: the pool holds the latch.
        unsafe { LockLatch::set(&raw const seat.ended) };
    }

    fn call_handler(&self, handler: Option<&(dyn Fn(usize) + Send + Sync)>, index: usize) {
        if let Some(handler) = handler {
            if let Err(payload) = unwind::halt(|| handler(index)) {
                self.handle_panic(payload);
            }
        }
    }

    /// A panic that nobody waits for: the pool's handler takes it, or the
    /// process ends.
    pub(crate) fn handle_panic(&self, payload: Payload) {
        let Some(handler) = &self.handlers.panic else {
            unwind::abort("a job that nobody waits for panicked, and its pool has no panic handler")
        };
        let abort = AbortOnUnwind("a panic handler panicked");
        handler(payload);
        abort.defuse();
    }

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

    /// The global pool, built now with the defaults if nobody has built it.
    pub(crate) fn global() -> &'static Arc<Self> {
        match GLOBAL.get() {
            Some(pool) => pool,
            None => Self::global_or(ThreadPoolBuilder::new()),
        }
    }

    /// The global pool, built now with this configuration if nobody has built it.
    pub(crate) fn global_or<S: ThreadSpawn>(builder: ThreadPoolBuilder<S>) -> &'static Arc<Self> {
        let mut built = Self::set_global(builder);
        if matches!(&built, Err(error) if error.is_unsupported()) && Worker::current().is_none() {
            // No threads here (WebAssembly, say): the caller is the pool.
            let here = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
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
        builder: ThreadPoolBuilder<S>,
    ) -> Result<&'static Arc<Self>, ThreadPoolBuildError> {
        static BUILDING: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _building = BUILDING
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if GLOBAL.get().is_some() {
            return Err(ThreadPoolBuildError::already_global());
        }
        // The handle is never dropped: the global pool does not end.
        let pool = Self::start(builder)?;
        Ok(GLOBAL.get_or_init(|| pool))
    }

    /// A share of the pool.
    pub(crate) fn share(&self) -> Arc<Self> {
        self.me.upgrade().expect("a pool that is borrowed is alive")
    }

    /// Blocks until every worker can take jobs.
    pub(crate) fn wait_until_ready(&self) {
        self.seats()
            .take(self.len())
            .for_each(|seat| seat.ready.wait());
    }

    /// Blocks until every worker has ended.
    pub(crate) fn wait_until_ended(&self) {
        self.demand_workers("wait for the end of");
        let started = self.len() + self.spares.started();
        self.seats()
            .take(started)
            .for_each(|seat| seat.ended.wait());
    }

    /// How many workers the pool has.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.seats.len() - self.spares.most()
    }

    /// The workers' seats, then those of the spares.
    pub(crate) fn seats(&self) -> impl ExactSizeIterator<Item = &Seat> {
        self.seats.iter().map(|seat| &**seat)
    }

    #[inline(always)]
    pub(crate) fn seat(&self, index: usize) -> &Seat {
        &self.seats[index]
    }

    /// Nanoseconds since the pool was built.
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.elapsed_ns()
    }

    /// Called by whatever begins outside of the pool and would wait for it.
    ///
    /// # Panics
    ///
    /// Panics in a forked child of the process that built the pool: the workers
    /// are the parent's, and nobody would ever come.
    pub(crate) fn demand_workers(&self, attempt: &str) {
        assert!(
            !self.born.is_past(),
            "could not {attempt} a pool that was built before this process was forked: its workers are threads of the parent; build a ThreadPool in the child and call its methods, or let the child call exec"
        );
    }

    /// Called by what may have begun before a fork and go on in the child, where it
    /// would run the parent's jobs a second time, or wait for ever. To panic would not
    /// end that: the frames below may wait as well.
    #[inline]
    pub(crate) fn abort_if_forked(&self) {
        if self.born.is_past() {
            unwind::abort_child();
        }
    }

    /// The calling thread, if it is a worker of this pool.
    #[inline]
    pub(crate) fn current_worker<'job>(&self) -> Option<&'job Worker> {
        Worker::current().filter(|worker| ptr::eq(worker.pool(), self))
    }

    /// Wakes the worker with this index, if it sleeps.
    pub(crate) fn ring(&self, index: usize) {
        if self.sleep.ring(index) {
            self.count_wakes(1);
        }
    }

    /// Counts wake-ups for the calling worker; an outside thread has no counters.
    fn count_wakes(&self, woke: usize) {
        if let Some(worker) = self.current_worker() {
            self.seat(worker.index()).counters.wakes.add(woke as u64);
        }
    }

    /// Calls all owners: their next pushes look whether somebody sleeps.
    pub(crate) fn call_owners(&self) {
        self.seats
            .iter()
            .for_each(|seat| seat.deque().thief().call());
    }

    /// Queues a job from outside the pool.
    pub(crate) fn inject(&self, job: DetachedJob) {
        self.injector.push(job);
        if self.sleep.published() == 0 && self.waits_for_a_worker() {
            self.call_owners();
        }
    }

    /// True if a job from outside waits, nobody is free who would come for it,
    /// and the busy ones are to take it in turn.
    pub(crate) fn waits_for_a_worker(&self) -> bool {
        self.prompt && !self.injector.is_empty() && self.sleep.nobody_is_free()
    }

    /// Queues a job: on the calling worker's deque, or from outside.
    ///
    /// # Safety
    ///
    /// 1. What the closure borrows lives until it has run.
    /// 2. The closure does not unwind.
    pub(crate) unsafe fn submit(&self, job: impl FnOnce() + Send) {
        match self.current_worker() {
            // SAFETY: handed on.
            Some(worker) => unsafe { worker.push(job) },
            // SAFETY: handed on.
            None => self.inject(unsafe { DetachedJob::new(job) }),
        }
    }

    /// Posts one job to each worker's mailbox, in the order of their indices.
    ///
    /// # Panics
    ///
    /// As [`keep_alive`](Self::keep_alive): in an exit handler, some of the workers are gone.
    pub(crate) fn post(&self, jobs: impl ExactSizeIterator<Item = JobRef>) {
        self.demand_workers("post a job to each worker of");
        self.keep_alive();
        assert_eq!(jobs.len(), self.len());
        let posting = self.posting.lock();
        for (seat, job) in self.seats.iter().zip(jobs) {
            seat.mailbox.push(job);
        }
        drop(posting);
        let woke = (0..self.len()).filter(|&worker| self.sleep.ring_for_mail(worker));
        self.count_wakes(woke.count());
        self.release();
    }

    /// Runs `op` on the calling worker; a caller from outside takes part in the global pool.
    #[inline]
    pub(crate) fn on_worker<R: Send>(op: impl FnOnce(&Worker) -> R + Send) -> R {
        match Worker::current() {
            Some(worker) => op(worker),
            None => Self::global().take_part(|worker, _| op(worker)),
        }
    }

    /// Runs `op` on a worker of this pool: here, if the caller is one; else it
    /// moves into the pool and the caller waits. `op` is told whether it moved.
    pub(crate) fn in_worker<R: Send>(&self, op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
        match Worker::current() {
            None => self.in_worker_from_outside(op),
            Some(worker) if ptr::eq(worker.pool(), self) => op(worker, false),
            Some(worker) => self.in_worker_from_another_pool(worker, op),
        }
    }

    /// As [`in_worker`](Self::in_worker), but a caller from outside takes part: it
    /// runs `op` itself, as a guest, if the pool is open to guests and a worker
    /// sleeps whose seat it can have.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_part<R: Send>(&self, op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
        if !self.guests || Worker::current().is_some() {
            return self.in_worker(op);
        }
        self.demand_workers("take part in");
        match Worker::visit(self, op) {
            Ok(result) => result,
            Err(op) => self.in_worker_from_outside(op),
        }
    }

    #[cold]
    fn in_worker_from_outside<R: Send>(&self, op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
        self.demand_workers("move a call into");
        heist_sync::thread_local! { static LATCH: LockLatch = LockLatch::new() }
        // A pointer, because a thread that ends may have dropped its latch already: then
        // it takes one for this time.
        let own = LATCH.try_with(ptr::from_ref).ok();
        let once;
        let latch = match own {
            // SAFETY: it is there until the thread's destructors run, in which the thread
            // does not come back to this frame.
            Some(own) => unsafe { &*own },
            None => {
                once = LockLatch::new();
                &once
            }
        };
        let job = StackJob::new(on_current_worker(op), LatchRef(latch));
        // SAFETY: this frame waits for the latch below; `op` and `R` are Send.
        self.inject(unsafe { job.as_job_ref() }.into());
        latch.wait_and_reset();
        // SAFETY: the latch was set, and the result is taken once.
        unsafe { job.take_result() }.unwrap_or_else(|payload| unwind::resume(payload))
    }

    /// The caller is a worker of another pool: it goes on running its own
    /// pool's jobs while it waits.
    #[cold]
    fn in_worker_from_another_pool<R: Send>(
        &self,
        caller: &Worker,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        self.demand_workers("move a call into");
        let job = StackJob::new(on_current_worker(op), ForeignLatch::new(caller));
        // SAFETY: this frame waits for the latch below; `op` and `R` are Send.
        self.inject(unsafe { job.as_job_ref() }.into());
        // Nothing that was pushed here is waited for.
        let next_slot = caller.next_slot();
        caller.wait_until(&job.latch.core, |_| next_slot);
        // SAFETY: the latch is set, and the result is taken once.
        unsafe { job.take_result() }.unwrap_or_else(|payload| unwind::resume(payload))
    }

    /// One more thing needs the workers.
    ///
    /// # Panics
    ///
    /// Panics if the pool has ended, or its workers are not of this process.
    pub(crate) fn keep_alive(&self) {
        self.demand_workers("submit a job to");
        assert!(
            self.is_kept_alive(),
            "a job was submitted to a pool that has ended; keep its handle for as long as you submit"
        );
    }

    /// One more thing needs the workers, if the pool has not ended.
    pub(crate) fn is_kept_alive(&self) -> bool {
        self.live.keep()
    }

    /// One thing needs the workers no more. At the last they end.
    pub(crate) fn release(&self) {
        // In a forked child there are none that could end.
        if self.live.release() && !self.born.is_past() {
            for (index, seat) in self.seats.iter().enumerate() {
                // SAFETY: the pool holds the latch.
                if unsafe { CoreLatch::set(&raw const seat.end) } {
                    self.ring(index);
                }
            }
        }
    }

    pub(crate) fn counters(&self) -> PoolCounters {
        // A worker may have been in the middle of a change.
        self.demand_workers("read the counters of");
        let now_ns = self.now_ns();
        let seats = self.seats();
        PoolCounters::new(seats.map(|seat| seat.counters.snapshot(now_ns)).collect())
    }

    pub(crate) fn events(&self) -> Vec<WorkerEvents> {
        let recorders = self.seats.iter().filter_map(|seat| seat.recorder.as_ref());
        recorders.map(Recorder::read).collect()
    }

    /// The moment from which the times of events count, if any are recorded.
    pub(crate) fn recorder_started(&self) -> Option<Instant> {
        self.clock.began().filter(|_| self.recording)
    }
}

static GLOBAL: OnceLock<Arc<Pool>> = OnceLock::new();

/// What has moved into the pool runs on whichever worker took it.
fn on_current_worker<R>(op: impl FnOnce(&Worker, bool) -> R) -> impl FnOnce() -> R {
    move || op(Worker::current().expect("jobs run on workers"), true)
}

/// The parts of a pool's seats for which there may be no memory.
struct Places {
    /// Room for the seats.
    seats: Vec<CachePadded<Seat>>,
    /// The deque and the recorder of each.
    parts: Vec<(Deque<Kind>, Option<Recorder>)>,
}

impl Places {
    fn new<S>(
        config: &Config<S>,
        workers: usize,
        seats: usize,
    ) -> Result<Self, ThreadPoolBuildError> {
        let lacks =
            |worker, bytes, error| ThreadPoolBuildError::memory(worker, workers, bytes, error);
        let mut places = Self {
            seats: Vec::new(),
            parts: Vec::new(),
        };
        places.seats.try_reserve_exact(seats).map_err(|_| {
            lacks(
                0,
                seats * size_of::<Seat>(),
                io::ErrorKind::OutOfMemory.into(),
            )
        })?;
        let slots = room::slots(seats, config.stack_size());
        for index in 0..seats {
            let deque = Deque::new(slots, config.barrier)
                .map_err(|error| lacks(index, Deque::<Kind>::LEAST_BYTES, error))?;
            let recorder = match config.record_events {
                None => None,
                Some(capacity) => Some(Recorder::new(capacity).ok_or_else(|| {
                    let bytes = capacity.saturating_mul(size_of::<u64>());
                    lacks(index, bytes, io::ErrorKind::OutOfMemory.into())
                })?),
            };
            places.parts.push((deque, recorder));
        }
        Ok(places)
    }
}

impl Jobs for Pool {
    fn call_all(&self) {
        self.call_owners();
    }

    fn are_at(&self, seat: usize) -> bool {
        self.seat(seat).has_a_job()
    }

    fn are_beyond(&self, seat: usize) -> bool {
        self.seat(seat).sees_a_job()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.len())
            .finish()
    }
}
