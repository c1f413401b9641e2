//! `Strand`: a queue whose jobs run one at a time, in order.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::base::job::DetachedJob;
use crate::base::job_queue::JobQueue;
use crate::base::on_stack;
use crate::base::strand_queue::StrandQueue;
use crate::base::task::{Carrying, Task};
use crate::base::unwind::{self, Payload};
use crate::insight;
use crate::insight::latest::Latest;
use crate::insight::site::Site;
use crate::ops::spawn;
use crate::ops::submit::{self, Bound, JoinHandle};
use crate::policy::{Priority, Stint};
use crate::pool::ThreadPool;
use crate::state::Pool;
use crate::worker::backlog::{self, Backlog};
use crate::worker::needed;
use crate::worker::Worker;

/// A serial queue: its jobs run one at a time, in the order in which they came, on whatever worker
/// is free, and block no thread.
///
/// Each job sees what the one before has written, so that a strand does for some data what a lock
/// would do, but nobody waits for it: an actor with its mailbox, the writer of a log, the calls of
/// a library that is not thread-safe. Jobs of different strands run in parallel. Clones are handles
/// of the same strand.
///
/// *In order* means: if one job was queued before another, by the same thread or by a thread that
/// synchronised with it, the first has ended before the second begins. A job has ended when its
/// closure has returned; a job that waits in a [`join`](crate::join()) or a
/// [`scope`](crate::scope()) has not, and its strand stands still, whatever else its worker runs
/// meanwhile.
///
/// A worker serves a strand for 32 jobs or 50 us, and then lets others go first if any wait. So an
/// endless strand keeps no other job from its turn. A strand moves between workers only then, so
/// that its data stay in one cache.
///
/// Queued jobs run even if all handles of the strand are dropped; they keep the pool, as those of
/// [`spawn`](crate::spawn()) do.
///
/// # Deadlocks
///
/// A job must not wait for a later job of its own strand, which begins when it has ended. Such a
/// wait, for the strand or a handle, [panics](Self#panics) if the earlier job is below it on the
/// same stack. It deadlocks if it is made by a part of the job that a thief has taken, or if two
/// jobs of different strands, on different workers, wait for later jobs of each other's strands.
///
/// While a job of a strand waits, its worker may run any job on top of it. If that one waits for
/// the strand, it panics, too. Let such jobs wait for
/// [descendants](crate::with_waiting) only.
///
/// # Panics
///
/// Queueing a job panics if the strand is idle and its pool has ended.
///
/// # Cost
///
/// A lock for each job, and the size of its closure and 8 bytes; a closure of more than 56 bytes is
/// allocated, and takes 16 bytes of the queue. The first job of an idle strand, and each later
/// turn, costs a [`spawn`](crate::spawn()) too. A worker takes all queued jobs with one lock. An
/// idle strand takes some 120 bytes, and 32 more if it has been used.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use std::sync::mpsc::channel;
/// let (say, heard) = channel();
/// let strand = heist::Strand::new();
/// for n in 0..1000 {
///     let say = say.clone();
///     strand.spawn(move || say.send(n).unwrap());
/// }
/// drop(say);
/// assert!(heard.iter().eq(0..1000));
/// ```
#[derive(Clone)]
pub struct Strand {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Arc<Pool>,
    queue: StrandQueue,
    /// The drainer, where it was started in an initialiser, which may wait for it.
    backlog: OnceLock<Arc<Backlog>>,
    /// The point at which the last job has ended, in a metered pool.
    latest: Latest,
}

impl Strand {
    /// A strand in the pool of the calling worker, or else in the global pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let strand = heist::Strand::new();
    /// assert_eq!(strand.submit(|| 6 * 7).join(), 42);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn new() -> Self {
        Self::on(Pool::current())
    }

    /// A strand in this pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let strand = heist::Strand::new_in(&pool);
    /// assert_eq!(strand.submit(heist::current_num_threads).join(), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn new_in(pool: &ThreadPool) -> Self {
        Self::on(Arc::clone(pool.pool()))
    }

    fn on(pool: Arc<Pool>) -> Self {
        Self {
            shared: Arc::new(Shared {
                pool,
                queue: StrandQueue::new(),
                backlog: OnceLock::new(),
                latest: Latest::new(),
            }),
        }
    }

    /// Queues a job that nobody waits for. A job may queue further jobs of its strand.
    ///
    /// A panic in the job goes to the pool's
    /// [panic handler](crate::ThreadPoolBuilder::panic_handler), or without one aborts the process;
    /// the strand goes on with the next job.
    ///
    /// # Examples
    ///
    /// An actor: the one that has the state is the closure's owner, and everybody else sends it
    /// closures.
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::{Arc, Mutex};
    /// // Never contended: the strand is the one to take it.
    /// let words = Arc::new(Mutex::new(Vec::new()));
    /// let strand = heist::Strand::new();
    /// for word in ["first", "second"] {
    ///     let words = Arc::clone(&words);
    ///     strand.spawn(move || words.lock().unwrap().push(word));
    /// }
    /// strand.wait();
    /// assert_eq!(*words.lock().unwrap(), ["first", "second"]);
    /// ```
    pub fn spawn<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let (pool, job) = (&self.shared.pool, Spawned(job));
        // Asked here, so that the job is put together in the queue, without a copy of it before.
        match pool.metered {
            // SAFETY: 1. it borrows nothing. 2. A panic in it is held back.
            false => self.queue(|| unsafe { DetachedJob::new(job) }),
            // SAFETY: as above.
            true => self.queue(|| unsafe { pool.detach(job) }),
        }
    }

    /// Queues a job and returns a handle to its value. A panic in the job goes to whoever joins the
    /// handle; the strand goes on with the next job.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let strand = heist::Strand::new();
    /// let (first, second) = (strand.submit(|| 1), strand.submit(|| 2));
    /// assert_eq!(second.join(), 2);
    /// assert!(first.is_finished());
    /// ```
    pub fn submit<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let bound = Bound::ToStrand(self.shared.address(), self.shared.backlog_here());
        let (handle, job) =
            submit::prepare(&self.shared.pool, job, bound, self.shared.pool.inherited());
        self.queue(|| job);
        handle
    }

    /// Waits until all jobs queued before the call have ended. A worker runs jobs while it waits;
    /// any other thread blocks.
    ///
    /// # Panics
    ///
    /// Panics in a job of the strand, and on top of one that waits: see
    /// [deadlocks](Self#deadlocks).
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let strand = heist::Strand::new();
    /// strand.spawn(|| println!("on some worker"));
    /// strand.wait();
    /// ```
    pub fn wait(&self) {
        if !self.is_idle() {
            self.shared.pool.demand_workers("wait for a job of");
            on_stack::refuse_to_wait(self.shared.address());
            self.submit(|| ()).join();
        }
    }

    /// True if no job is queued or running. It may turn true a moment after the last job has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// assert!(heist::Strand::new().is_idle());
    /// ```
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.shared.queue.is_idle()
    }

    /// Queues a job.
    #[inline]
    fn queue(&self, job: impl FnOnce() -> DetachedJob) {
        let pool = &self.shared.pool;
        pool.demand_workers("submit a job to");
        // Asked before the lock is taken, as all that can be.
        let inherits = pool.is_inherited_here();
        // One share for all jobs of the strand, until it is idle.
        let begin = || pool.keep_alive();
        let put = |queue: &mut JobQueue| match inherits {
            false => queue.push(job()),
            true => queue.push(pool.inheriting(job())),
        };
        if self.shared.queue.push(begin, put) {
            Drainer::start(Arc::clone(&self.shared));
        }
    }
}

/// A job that nobody waits for.
struct Spawned<F>(F);

impl<F: FnOnce() + Send> Task for Spawned<F> {
    const SITE: Option<&'static Site> = Some(&Site::of::<F>("strand"));

    fn run(self) {
        if let Err(payload) = unwind::catch_job(self.0) {
            Pool::here().handle_panic(payload);
        }
    }

    fn discard(self, why: Payload) {
        Pool::here().handle_panic(unwind::dropped(self.0, why));
    }
}

impl Shared {
    /// The backlog, if an initialiser may wait for what is begun here.
    fn backlog_here(&self) -> Option<Arc<Backlog>> {
        let of_strand = || self.backlog.get_or_init(|| Arc::new(Backlog::new()));
        needed::may_be_awaited().then(|| Arc::clone(of_strand()))
    }

    /// The address by which the strand is known while it has jobs.
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// The pool's job that runs the jobs of a strand, while there are any.
struct Drainer {
    strand: Arc<Shared>,
    /// Where it was queued, if an initialiser may wait for it.
    backlog: Option<Arc<Backlog>>,
    /// The jobs that it has taken.
    jobs: JobQueue,
}

impl Drainer {
    /// Queues the drainer of this strand, behind those that the calling worker has queued before:
    /// two strands that send each other messages do not keep a third one from its turn.
    fn start(strand: Arc<Shared>) {
        let (pool, backlog) = (Arc::clone(&strand.pool), strand.backlog_here());
        // Of no region: its jobs carry theirs.
        let job = Carrying({
            let backlog = backlog.clone();
            move || {
                let jobs = JobQueue::default();
                let drainer = Self {
                    strand,
                    backlog,
                    jobs,
                };
                drainer.run();
            }
        });
        let wake = || pool.wake_withdrawn();
        // SAFETY: 1. it borrows nothing. 2. The jobs of a strand do not unwind. 3. The strand keeps
        // the pool until it is idle.
        unsafe {
            match backlog {
                None => spawn::queue_fifo(&pool, job),
                Some(backlog) => backlog::queue(&backlog, &pool, Priority::Normal, job, wake),
            }
        }
    }

    fn run(mut self) {
        let worker = Worker::current().expect("jobs run on workers");
        let has_ended = on_stack::with(self.strand.address(), || self.serve(worker));
        if has_ended {
            drop(self);
            worker.pool().release();
        } else {
            self.go_behind(worker);
        }
    }

    /// Runs jobs until none is queued; false if others are to go first.
    fn serve(&mut self, worker: &Worker) -> bool {
        let pool = worker.pool();
        let mut stint = Stint::new(pool.now_ns());
        while !self.jobs.is_empty() || self.strand.queue.take_all(&mut self.jobs) {
            if stint.is_over(|| pool.now_ns(), || worker.others_wait()) {
                return false;
            }
            if let Some(job) = self.jobs.take() {
                let latest = &self.strand.latest;
                // SAFETY: the queue hands each job out once.
                insight::call::in_sequence(latest, || unsafe { job.execute() });
                worker.has_moved();
            }
        }
        true
    }

    /// Queues itself, behind all that waits for a worker.
    fn go_behind(self, worker: &Worker) {
        let (pool, backlog) = (worker.pool(), self.backlog.clone());
        let task = Carrying(move || self.run());
        if let Some(backlog) = backlog {
            let wake = || pool.wake_withdrawn();
            // SAFETY: 1. it borrows nothing. 2. The jobs of a strand do not unwind.
            return unsafe { backlog::queue(&backlog, pool, Priority::Normal, task, wake) };
        }
        // SAFETY: as above.
        let job = unsafe { DetachedJob::new(task) };
        if worker.is_on_top() && !worker.keeps_order() {
            // A frame below may wait for it that runs nothing from outside.
            worker.push_behind(job);
        } else {
            pool.inject(Priority::Normal, job);
        }
    }
}

impl Default for Strand {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Strand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strand")
            .field("is_idle", &self.is_idle())
            .finish()
    }
}
