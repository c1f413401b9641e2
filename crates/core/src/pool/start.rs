//! Building a pool and starting its threads.

use std::io;
use std::sync::{Arc, Weak};

use heist_deque::Deque;
use heist_sync::process::{self, Generation};
use heist_sync::{ticks, CachePadded, Clock, Mutex};

use crate::base::counters::Activity;
use crate::base::error::ThreadPoolBuildError;
use crate::base::guests::Guests;
use crate::base::job::Kind;
use crate::base::latch::{BlockingLatch, Latch};
use crate::base::live::Live;
use crate::base::recorder::Recorder;
use crate::base::unwind;
use crate::insight::idle;
use crate::insight::timeline;
use crate::live_view;
use crate::pool::choices::{Callers, Injected};
use crate::pool::settings::{Config, Settings};
use crate::pool::thread::ThreadSpawn;
use crate::schedule::Members;
use crate::sleep::Sleep;
use crate::stall;
use crate::state::limits;
use crate::state::{
    Active, Alert, Compensation, Frames, Lanes, Pool, SerialPlace, Watchers, WorkerState,
};
use crate::worker::Worker;

impl Pool {
    /// Builds the pool and starts its threads.
    pub(crate) fn start(
        settings: Settings,
        spawner: &mut dyn ThreadSpawn,
    ) -> Result<Arc<Self>, ThreadPoolBuildError> {
        let mut config = settings.resolve()?;
        process::after_fork(Worker::leave_all);
        if config.use_current_thread {
            Worker::may_adopt_current_thread()?;
        }
        let pool = Self::new(&mut config)?;
        if pool.members.is_some() {
            let shown = Arc::downgrade(&pool);
            Members::show(Box::new(move || {
                shown.upgrade().map(|pool| stall::describe(&pool))
            }));
        }
        // The program's own closures may panic, those for names and for starting threads.
        let started = unwind::catch(|| pool.start_threads(&mut config, spawner));
        // Fewer, if the system allows fewer.
        pool.active.want(&pool.sleep, pool.len());
        if !matches!(started, Ok(Ok(()))) {
            // The threads that were started end again.
            pool.release();
            if pool.handlers.start.is_none() {
                let threads = spawner.threads().into_iter();
                threads.for_each(|thread| _ = thread.join());
            }
        }
        started.unwrap_or_else(|payload| unwind::resume(payload))?;
        if let Some(patience) = config.stall_patience {
            stall::watch(&pool, patience);
        }
        if config.live {
            live_view::watch(&pool);
        }
        if pool.recording {
            let pool = Arc::downgrade(&pool);
            timeline::watch(pool);
        }
        if config.banner {
            let (version, workers) = (env!("CARGO_PKG_VERSION"), config.workers);
            let barrier = pool.sleep.barrier().mode();
            eprintln!("heist {version}: started a pool of {workers} workers, barrier {barrier}");
        }
        Ok(pool)
    }

    /// The number of a pool in the books of idle time, if it is metered.
    fn board(config: &Config) -> usize {
        let all = config.workers + config.compensation;
        if config.metered {
            idle::add_pool(config.workers, all, ticks())
        } else {
            0
        }
    }

    /// The number of a pool that `is_seen` from outside.
    fn number(is_seen: bool) -> usize {
        if is_seen {
            Self::next_number()
        } else {
            0
        }
    }

    /// How the workers sleep: not in the function that drives them if the pool is scheduled, since
    /// the schedule says who runs, and knows no waits but heist's.
    fn sleep(config: &mut Config, is_scheduled: bool) -> Sleep {
        let sleep = Sleep::new(config.workers, config.compensation, config.barrier);
        if is_scheduled {
            config.handlers.drive = None;
            return sleep.scheduled();
        }
        match config.handlers.drive {
            Some(_) => sleep.driven(),
            None => sleep,
        }
    }

    /// The pool, without its threads. Takes the handlers out of the configuration.
    fn new(config: &mut Config) -> Result<Arc<Self>, ThreadPoolBuildError> {
        let (workers, waiting, stack_size) = (config.workers, config.waiting, config.stack_size());
        let compensation = config.compensation;
        let mut places = Places::new(config, workers, workers + compensation)?;
        let placement = std::mem::take(&mut config.placement);
        let board = Self::board(config);
        let all = workers + compensation;
        let members = config.scheduled.then(|| Members::reserve(all)).flatten();
        let is_framed = config.stall_patience.is_some() || members.is_some();
        let sleep = Self::sleep(config, members.is_some());
        Ok(Arc::new_cyclic(|me: &Weak<Self>| {
            let mut states = places.states;
            let parts = places.parts.drain(..).enumerate();
            states.extend(parts.map(|(index, (deque, recorder))| {
                CachePadded::new(WorkerState::new(
                    me.as_ptr(),
                    index,
                    deque,
                    waiting,
                    Watchers {
                        recorder,
                        metered: config.metered,
                        frames: is_framed.then(Frames::new),
                    },
                    placement.neighbours(index, workers + compensation),
                ))
            }));
            Self {
                me: me.clone(),
                number: Self::number(config.live || is_framed),
                workers: states.into_boxed_slice(),
                compensation: Compensation::new(workers, compensation),
                serial: config.serial.then(SerialPlace::default),
                threads: Mutex::default(),
                start_compensation: Box::new(move |pool, index| {
                    pool.start_compensation(index, stack_size)
                }),
                lanes: Lanes::new(),
                sleep,
                active: Active::new(workers, config.follows_cpu_limit),
                placement,
                stack_guard: config.stack_guard,
                breadth_first: config.breadth_first,
                prompt: config.injected == Injected::Prompt,
                callers_participate: config.callers == Callers::Participate,
                live: Live::new(),
                guests: Guests::new(),
                posting: Mutex::new(()),
                clock: Clock::start(),
                born: Generation::present(),
                orphans: Arc::default(),
                alert: Alert::new(),
                recording: config.record_events.is_some(),
                metered: config.metered,
                members,
                board,
                handlers: std::mem::take(&mut config.handlers),
            }
        }))
    }

    /// Starts the threads of all workers. The calling thread becomes a worker last, when nothing
    /// can fail any more.
    fn start_threads(
        self: &Arc<Self>,
        config: &mut Config,
        spawner: &mut dyn ThreadSpawn,
    ) -> Result<(), ThreadPoolBuildError> {
        let workers = self.len();
        if config.serial {
            self.worker(0)
                .counters
                .time
                .change(Activity::Asleep, self.now_ns());
            // SAFETY: the pool holds the latch.
            unsafe { BlockingLatch::set(&raw const self.worker(0).ready) };
            return Ok(());
        }
        let first = usize::from(config.use_current_thread);
        // A function that counts its calls gives the others the names that they have in rayon.
        (0..first).for_each(|index| drop(config.name(index)));
        for index in first..workers {
            config
                .start_thread(spawner, self, index)
                .map_err(|error| ThreadPoolBuildError::thread(index, workers, error))?;
        }
        self.threads.lock().extend(spawner.threads());
        if config.use_current_thread {
            Worker::adopt_current_thread(self, 0)?;
            let state = self.worker(0);
            // SAFETY: the pool holds the latches.
            unsafe { BlockingLatch::set(&raw const state.ready) };
            // SAFETY: as above. There is no main loop to wait for.
            unsafe { BlockingLatch::set(&raw const state.ended) };
        }
        Ok(())
    }

    /// Blocks until every worker can take jobs.
    pub(crate) fn wait_until_ready(&self) {
        self.workers()
            .take(self.len())
            .for_each(|worker| worker.ready.wait());
    }
}

/// The parts of a pool's state whose allocation may fail.
struct Places {
    /// Room for the state of each worker.
    states: Vec<CachePadded<WorkerState<Pool>>>,
    /// The deque and the recorder of each.
    parts: Vec<(Deque<Kind>, Option<Recorder>)>,
}

impl Places {
    fn new(config: &Config, workers: usize, all: usize) -> Result<Self, ThreadPoolBuildError> {
        let lacks =
            |worker, bytes, error| ThreadPoolBuildError::memory(worker, workers, bytes, error);
        let mut places = Self {
            states: Vec::new(),
            parts: Vec::new(),
        };
        places.states.try_reserve_exact(all).map_err(|_| {
            lacks(
                0,
                all * size_of::<WorkerState<Pool>>(),
                io::ErrorKind::OutOfMemory.into(),
            )
        })?;
        let slots = limits::slots(all, config.stack_size());
        for index in 0..all {
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
