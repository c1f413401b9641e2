//! The state that the workers of a pool share.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Instant;

use heist_event::{PoolCounters, WorkerEvents};
use heist_sync::process::Generation;
use heist_sync::thread::JoinHandle;
use heist_sync::{ticks, CachePadded, Clock, Mutex};

use crate::base::guests::Guests;
use crate::base::live::Live;
use crate::base::orphans::Orphans;
use crate::base::recorder::Recorder;
use crate::base::unwind::{self, AbortOnUnwind, Payload};
use crate::insight::idle;
use crate::insight::timeline::{self, Recorded};
use crate::schedule::Members;
use crate::sleep::{Jobs, Sleep};
use crate::state::active::Active;
use crate::state::alert::Alert;
use crate::state::compensation::{Compensation, AHEAD_MAX};
use crate::state::lanes::Lanes;
use crate::state::place::Place;
use crate::state::placement::Placement;
use crate::state::serial::SerialPlace;
use crate::state::worker::WorkerState;

/// Starts the thread of the worker with an index.
type StartThread = Box<dyn Fn(&Pool, usize) -> bool + Send + Sync>;

/// The state that the workers of a pool share.
pub(crate) struct Pool {
    pub(crate) me: Weak<Pool>,
    /// How many pools the process had built before it, for those that look at pools.
    pub(crate) number: usize,
    /// The workers, then the compensation workers.
    pub(crate) workers: Box<[CachePadded<WorkerState<Pool>>]>,
    pub(crate) compensation: Compensation,
    /// The worker's place, if the pool has no thread.
    pub(crate) serial: Option<SerialPlace>,
    /// The threads of workers that the pool has started itself.
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    /// Starts the thread of the compensation worker with this index. False if it cannot be had.
    pub(crate) start_compensation: StartThread,
    /// Jobs from outside the pool, and those with a priority.
    pub(crate) lanes: Lanes,
    pub(crate) sleep: Sleep,
    /// The number of workers that are to be active.
    pub(crate) active: Active,
    /// Where the workers' threads run.
    pub(crate) placement: Placement,
    /// The guarded part of a worker's stack in bytes, if it was set.
    pub(crate) stack_guard: Option<usize>,
    /// True if workers run the oldest of their own jobs first.
    pub(crate) breadth_first: bool,
    /// True if jobs from outside run in the middle of other jobs.
    pub(crate) prompt: bool,
    /// True if external callers participate in their calls.
    pub(crate) callers_participate: bool,
    pub(crate) live: Live,
    /// The shares of its memory besides those of its `Arc`.
    pub(crate) guests: Guests,
    /// Held while a broadcast is posted, so that all workers see all broadcasts in the same order.
    pub(crate) posting: Mutex<()>,
    /// Runs since the pool was built.
    pub(crate) clock: Clock,
    /// The process in which it was built, and has its workers.
    pub(crate) born: Generation,
    /// Tasks that were woken after its end.
    pub(crate) orphans: Arc<Orphans>,
    pub(crate) alert: Alert,
    pub(crate) recording: bool,
    /// True if its workers are metered (`insight.rs`).
    pub(crate) metered: bool,
    /// The runners of its workers, if it is scheduled (`schedule.rs`).
    pub(crate) members: Option<Members>,
    /// Its number in the books of idle time, if it is metered.
    pub(crate) board: usize,
    pub(crate) handlers: Handlers,
}

/// The function that polls the main loop of a worker, which is a future.
type DriveFn = dyn Fn(Pin<&mut dyn Future<Output = ()>>) + Send + Sync;

/// That function, until the last worker has ended: handles keep the pool for longer, and it may
/// hold a reactor, whose end some of them wait for.
pub(crate) struct Drive(Mutex<Option<Arc<DriveFn>>>);

impl Drive {
    pub(crate) fn new(
        drive: impl Fn(Pin<&mut dyn Future<Output = ()>>) + Send + Sync + 'static,
    ) -> Self {
        Self(Mutex::new(Some(Arc::new(drive))))
    }

    /// The share of a worker that begins; none once one has ended, and the pool with it.
    pub(crate) fn share(&self) -> Option<Arc<DriveFn>> {
        self.0.lock().clone()
    }

    /// The share of the pool is dropped, because it has ended.
    pub(crate) fn end(&self) {
        // Dropped without the lock, because that may take long.
        let _share = self.0.lock().take();
    }
}

/// User callbacks.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<Box<dyn Fn(Payload) + Send + Sync>>,
    pub(crate) start: Option<Box<dyn Fn(usize) + Send + Sync>>,
    pub(crate) exit: Option<Box<dyn Fn(usize) + Send + Sync>>,
    pub(crate) drive: Option<Drive>,
}

impl Pool {
    /// A panic that nobody waits for: the pool's handler takes it, or the process ends. A
    /// cancellation ends here.
    pub(crate) fn handle_panic(&self, payload: Payload) {
        if unwind::is_cancellation(&payload) {
            return;
        }
        let Some(handler) = &self.handlers.panic else {
            unwind::abort("a job that nobody waits for panicked, and its pool has no panic handler")
        };
        let abort = AbortOnUnwind("a panic handler panicked");
        handler(payload);
        abort.defuse();
    }

    /// The number of the next pool.
    pub(crate) fn next_number() -> usize {
        static BUILT: std::sync::Mutex<usize> = std::sync::Mutex::new(0);
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        *built += 1;
        *built - 1
    }

    /// True if its workers are never visible, since an operation has more to do on them.
    pub(crate) fn hides_workers(&self) -> bool {
        self.metered || self.members.is_some()
    }

    /// A share of the pool.
    pub(crate) fn share(&self) -> Arc<Self> {
        self.me.upgrade().expect("a pool that is borrowed is alive")
    }

    /// How many workers the pool has.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.workers.len() - self.compensation.most()
    }

    /// The workers, then the compensation workers.
    pub(crate) fn workers(&self) -> impl ExactSizeIterator<Item = &WorkerState<Self>> {
        self.workers.iter().map(|worker| &**worker)
    }

    /// Those among which each worker is that may have a job in its deque.
    #[inline]
    pub(crate) fn victims(&self) -> impl ExactSizeIterator<Item = &WorkerState<Self>> {
        self.workers().take(self.compensation.reach())
    }

    /// The workers that have a thread, with their indices; compensation workers that are started
    /// while the others are looked at are among them.
    pub(crate) fn started(&self) -> impl Iterator<Item = (usize, &WorkerState<Self>)> {
        self.workers().enumerate().filter(|&(index, _)| {
            !self.is_compensating(index) || self.compensation.has_thread(index)
        })
    }

    #[inline(always)]
    pub(crate) fn worker(&self, index: usize) -> &WorkerState<Self> {
        &self.workers[index]
    }

    /// Nanoseconds since the pool was built.
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.elapsed_ns()
    }

    /// To be called by operations that begin outside the pool and would wait for it.
    ///
    /// # Panics
    ///
    /// Panics in a forked child of the process that built the pool: the workers are the parent's,
    /// and none would ever come.
    #[inline]
    pub(crate) fn demand_workers(&self, attempt: &str) {
        Self::demand_present(self.born, attempt);
    }

    /// As [`demand_workers`](Self::demand_workers), of a pool that was built in this process.
    ///
    /// # Panics
    ///
    /// Panics in a forked child of that.
    #[inline]
    pub(crate) fn demand_present(born: Generation, attempt: &str) {
        assert!(
            !born.is_past(),
            "could not {attempt} a pool that was built before this process was forked: its workers are threads of the parent; build a ThreadPool in the child and call its methods, or let the child call exec"
        );
    }

    /// To be called by operations that may have begun before a fork and go on in the child, where
    /// they would run the parent's jobs a second time, or wait for ever. A panic would not end
    /// that: the frames below may wait as well.
    #[inline]
    pub(crate) fn abort_if_forked(&self) {
        if self.born.is_past() {
            unwind::abort_child();
        }
    }

    /// Signals all owners: their next pushes look whether a worker sleeps.
    pub(crate) fn signal_owners(&self) {
        self.workers
            .iter()
            .for_each(|worker| worker.deque().thief().signal());
    }

    /// True if a job from outside waits, no worker is free to take it, and the busy ones are to
    /// take it in turn.
    pub(crate) fn waits_for_a_worker(&self) -> bool {
        self.prompt && self.lanes.are_urgent() && self.sleep.no_worker_is_free()
    }

    /// True if more workers are active than there are processors.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.active.is_oversubscribed(&self.sleep)
    }

    /// True if this worker is to stand aside when its stack is empty.
    pub(crate) fn is_recalled(&self, worker: usize) -> bool {
        self.sleep.is_recalled(worker) && !self.is_compensating(worker)
    }

    /// Asks for the system's limit, if the pool follows it and it is time.
    pub(crate) fn check_cpu_limit(&self, now_ns: u64) {
        self.active.check_cpu_limit(&self.sleep, now_ns);
    }

    /// True if this is the index of a compensation worker.
    pub(crate) fn is_compensating(&self, index: usize) -> bool {
        index >= self.len()
    }

    /// Calls a compensation worker in the place of this one, which has withdrawn, if there is a
    /// job. Returns the number called.
    pub(crate) fn compensate(&self, worker: usize) -> usize {
        if self.compensation.want_one(&self.sleep) {
            self.sleep.look_around(worker, self)
        } else if self.worker(worker).has_a_job_for_others() {
            self.sleep.published(self)
        } else {
            0
        }
    }

    /// As [`compensate`](Self::compensate), for a worker that blocks: others may have called all
    /// that are wanted, and then one is called ahead.
    pub(crate) fn compensate_blocked(&self, worker: usize) -> usize {
        if self.is_compensating(worker) {
            self.compensation.note_job(true);
        }
        match self.compensate(worker) {
            0 if self.worker(worker).has_a_job_for_others() || self.sees_a_job(worker) => {
                self.sleep.call_another(AHEAD_MAX, self)
            }
            called => called,
        }
    }

    /// True if there is a job that this worker could run, now or when it has waited for its own
    /// worker long enough. Its own deque does not count: the jobs there belong to waiting frames.
    pub(crate) fn sees_a_job(&self, worker: usize) -> bool {
        let mut others = self
            .victims()
            .enumerate()
            .filter(|&(index, _)| index != worker);
        !self.lanes.is_empty()
            || !self.worker(worker).mailbox.is_empty()
            || !self.worker(worker).yielded.is_empty()
            || others.any(|(_, other)| other.has_a_job_for_others())
    }

    /// True if a job waits for a worker.
    pub(crate) fn has_a_job(&self) -> bool {
        let mut workers = self.workers();
        !self.lanes.is_empty()
            || workers.any(|worker| worker.has_a_job_for_others() || !worker.mailbox.is_empty())
    }

    /// Checks a place before a job is queued there.
    ///
    /// # Panics
    ///
    /// Panics if the place is that of a worker which the pool does not have.
    #[track_caller]
    pub(crate) fn demand_place(&self, place: Place) {
        let (worker, workers) = match place {
            Place::Lane(_) => return,
            // A compensation worker may withdraw, and then others take the job.
            Place::Near(worker) => (worker, self.workers.len()),
            Place::OnlyOn(worker) => (worker, self.len()),
        };
        let last = workers - 1;
        assert!(
            worker <= last,
            "could not queue a job for worker {worker}: the last worker of the pool is {last}"
        );
    }

    /// Takes a share of the pool.
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

    /// Takes a share of the pool. False if it has ended.
    pub(crate) fn is_kept_alive(&self) -> bool {
        self.live.keep(1)
    }

    pub(crate) fn counters(&self) -> PoolCounters {
        // A worker may have been in the middle of a change.
        self.demand_workers("read the counters of");
        let now_ns = self.now_ns();
        let snapshots = self
            .workers()
            .map(|worker| worker.counters.snapshot(now_ns));
        PoolCounters::new(snapshots.collect())
    }

    pub(crate) fn events(&self) -> Vec<WorkerEvents> {
        let recorders = self
            .workers
            .iter()
            .filter_map(|worker| worker.recorder.as_ref());
        recorders.map(Recorder::read).collect()
    }

    /// The moment from which the times of events count, if any are recorded.
    pub(crate) fn recorder_started(&self) -> Option<Instant> {
        self.clock.began().filter(|_| self.recording)
    }
}

impl Recorded for Pool {
    fn recorded(&self) -> (Option<Instant>, Vec<WorkerEvents>) {
        (self.recorder_started(), self.events())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.metered {
            idle::remove_pool(self.board, ticks());
        }
        if self.recording {
            timeline::keep(self);
        }
    }
}

impl Jobs for Pool {
    fn signal_all(&self) {
        self.signal_owners();
    }

    fn signal(&self, worker: usize) {
        self.worker(worker).deque().thief().signal();
    }

    fn are_at(&self, worker: usize) -> bool {
        self.worker(worker).has_a_job_for_others()
    }

    fn are_beyond(&self, worker: usize) -> bool {
        self.sees_a_job(worker)
    }

    fn want_reserve(&self) -> bool {
        !self.compensation.has_surplus()
    }

    fn call(&self, worker: usize) -> bool {
        let start = || (self.start_compensation)(self, worker);
        self.compensation.call(worker, &self.sleep, start)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("workers", &self.len())
            .finish()
    }
}
