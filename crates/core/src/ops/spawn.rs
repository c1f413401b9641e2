//! `spawn`: a job that nobody waits for.

use crate::base::task::Task;
use crate::base::unwind::{self, Payload};
use crate::insight::meter::Meter;
use crate::insight::site::Site;
use crate::state::{Place, Pool};
use crate::worker::Worker;

/// Queues a job that nobody waits for, in the pool of the calling worker, or else in the global
/// pool.
///
/// On a worker the job goes to the worker's own deque: the newest runs first, unless it is stolen.
/// From outside it goes to the injector. The pool stays until the job has run, even if its handle
/// is dropped. To get a value back, use [`submit`](crate::submit).
///
/// # Panics
///
/// A panic in the job goes to the pool's [panic handler](crate::ThreadPoolBuilder::panic_handler);
/// without one it aborts the process.
///
/// # Cost
///
/// 64 bytes for a closure of up to 56 bytes, of the worker's deque or of the injector, which
/// allocates when it grows; for a larger one, and for [`spawn_fifo`] on a worker, also one
/// allocation of the closure's size and 16 bytes.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let (done, wait) = std::sync::mpsc::channel();
/// heist::spawn(move || done.send(6 * 7).unwrap());
/// assert_eq!(wait.recv(), Ok(42));
/// ```
#[track_caller]
pub fn spawn<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(Pool::here(), job);
}

/// As [`spawn`], but jobs that one worker spawns with this function start in the order in which
/// they were spawned, as far as they are not stolen.
///
/// Where only [descendants](crate::Waiting::Descendants) may run on top of a frame that waits, it
/// is `spawn`: the oldest job may be of another frame.
///
/// # Panics
///
/// As [`spawn`].
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (say, heard) = std::sync::mpsc::channel();
/// pool.install(move || {
///     for n in 0..3 {
///         let say = say.clone();
///         heist::spawn_fifo(move || say.send(n).unwrap());
///     }
/// });
/// assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 1, 2]);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
pub fn spawn_fifo<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_fifo_in(Pool::here(), job);
}

/// As [`spawn`], with a hint: the worker with this index should run the job, because what it needs
/// is in that worker's cache.
///
/// The job waits in that worker's queue, where the oldest comes first, and the worker takes it when
/// it has nothing left in its own deque, before it steals; if it sleeps it is woken. When the job
/// has waited for 50 us, any worker that has nothing else to do may take it. So no job is lost to a
/// worker that is busy, blocks or sleeps.
///
/// # Panics
///
/// Panics if the pool has no worker with this index: [`current_num_threads`](crate::current_num_threads)
/// says how many there are. Otherwise as [`spawn`].
///
/// # Cost
///
/// As a `spawn` from outside: a lock or two, and perhaps a wake-up.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let (say, heard) = std::sync::mpsc::channel();
/// pool.spawn_on(1, move || say.send(heist::current_thread_index()).unwrap());
/// assert!(heard.recv()?.is_some(), "on worker 1, or on the other if that is late");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn spawn_on<F>(worker: usize, job: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_at(Pool::here(), Place::Near(worker), job);
}

#[track_caller]
pub(crate) fn spawn_at(pool: &Pool, place: Place, job: impl FnOnce() + Send + 'static) {
    pool.demand_place(place);
    let job = detached(pool, job);
    // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
    pool.queue_at(place, unsafe { pool.detach(job) });
}

pub(crate) fn spawn_in(pool: &Pool, job: impl FnOnce() + Send + 'static) {
    let job = detached(pool, job);
    // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
    unsafe { pool.queue(job) };
}

pub(crate) fn spawn_fifo_in(pool: &Pool, job: impl FnOnce() + Send + 'static) {
    let job = detached(pool, job);
    // SAFETY: 1. it borrows nothing. 2. A panic in it is held back. 3. It keeps the pool.
    unsafe { queue_fifo(pool, job) };
}

/// As [`Pool::queue`], but on a worker in the order of [`spawn_fifo`].
///
/// # Safety
///
/// 1. The closure's borrows live until it has run.
/// 2. The closure does not unwind.
/// 3. The pool lives until it has run.
pub(crate) unsafe fn queue_fifo(pool: &Pool, job: impl Task) {
    let Some(worker) = pool.current_worker().filter(|worker| worker.keeps_order()) else {
        // SAFETY: handed on.
        return unsafe { pool.queue(job) };
    };
    // SAFETY: handed on.
    let job = worker.inheriting(unsafe { pool.detach(job) });
    // SAFETY: the worker's queue lies in the pool; by 3.
    worker.push_reference(unsafe { worker.fifo().queue(job) });
}

/// A job that keeps the pool until it has run, and does not unwind.
///
/// # Panics
///
/// Panics if the pool has ended.
pub(crate) fn detached(pool: &Pool, job: impl FnOnce() + Send + 'static) -> impl Task + 'static {
    pool.keep_alive();
    kept(job)
}

/// A job for which the pool is kept alive, until it has run, and which does not unwind.
pub(crate) fn kept(job: impl FnOnce() + Send + 'static) -> impl Task + 'static {
    Detached(job)
}

struct Detached<F>(F);

impl<F: FnOnce() + Send> Task for Detached<F> {
    const SITE: Option<&'static Site> = Some(&Site::of::<F>("spawn"));

    #[inline(always)]
    fn run(self) {
        // One of the pool's, which is there as long as a thread is one of its workers.
        let worker = Worker::current().expect("jobs run on workers");
        let pool = worker.pool();
        if let Err(payload) = unwind::catch_job(self.0) {
            pool.handle_panic(payload);
        }
        pool.release();
    }

    fn discard(self, why: Payload) {
        let worker = Worker::current().expect("jobs are discarded by workers");
        worker.pool().handle_panic(unwind::dropped(self.0, why));
        worker.pool().release();
    }
}

/// A task that keeps the pool until it has run.
///
/// # Panics
///
/// Panics if the pool has ended.
pub(crate) fn keeping(pool: &Pool, task: impl Task + 'static) -> impl Task + 'static {
    pool.keep_alive();
    Kept(task)
}

struct Kept<T>(T);

impl<T: Task> Task for Kept<T> {
    const SITE: Option<&'static Site> = T::SITE;
    const IS_JOINED: bool = T::IS_JOINED;

    fn run(self) {
        self.0.run();
        release();
    }

    fn run_metered(self, meter: &Meter) {
        self.0.run_metered(meter);
        release();
    }

    fn discard(self, why: Payload) {
        self.0.discard(why);
        release();
    }
}

/// A job no more keeps the pool of the calling worker.
fn release() {
    let worker = Worker::current().expect("jobs run on workers");
    worker.pool().release();
}
