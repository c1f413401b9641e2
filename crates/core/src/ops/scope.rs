//! `scope`: jobs that may borrow, because the scope waits for them.

mod base;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use heist_sync::atomic::Ordering;

use crate::base::fifo::Fifo;
use crate::base::still::Still;
use crate::base::task::Task;
use crate::base::unwind::{self, Payload};
use crate::insight::meter::Meter;
use crate::insight::site::Site;
use crate::ops::broadcast::BroadcastContext;
use crate::ops::scope::base::Base;
use crate::state::Pool;
use crate::worker::region;
use crate::worker::Worker;

/// Calls `op` with a scope in which jobs can be spawned that borrow from outside it, and returns
/// when all of them have run.
///
/// `op` runs on a worker: here if the caller is one or can participate in the global pool, as in
/// [`join`](crate::join()); otherwise it moves into that pool. A job of the scope can spawn further
/// jobs in it. While it waits the worker runs other jobs, as in [`join`](crate::join).
///
/// # Panics
///
/// If `op` or a job panics, `scope` panics with the payload of the first, once all jobs have ended.
///
/// # Cost
///
/// 64 bytes for each job whose closure takes up to 48 bytes, of the worker's deque or of the
/// injector, which allocates when it grows; for a larger one also an allocation.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let mut halves = [0, 0];
/// let (left, right) = halves.split_at_mut(1);
/// heist::scope(|scope| {
///     scope.spawn(|_| left[0] = 1);
///     scope.spawn(|_| right[0] = 2);
/// });
/// assert_eq!(halves, [1, 2]);
/// ```
#[track_caller]
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| {
        let scope = Scope::new(worker.pool().share(), Some(worker));
        scope.base.complete(Some(worker), || op(&scope))
    })
}

/// As [`scope`], but jobs that one worker spawns start in the order in which they were spawned, as
/// far as they are not stolen; in [no order](crate::spawn_fifo()) where only descendants may run.
///
/// # Panics
///
/// As [`scope`].
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (say, heard) = std::sync::mpsc::channel();
/// pool.scope_fifo(|scope| {
///     for n in 0..3 {
///         let say = say.clone();
///         scope.spawn_fifo(move |_| say.send(n).unwrap());
///     }
/// });
/// assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    Pool::on_worker(|worker| {
        let scope = ScopeFifo::new(worker.pool().share(), Some(worker));
        scope.base.complete(Some(worker), || op(&scope))
    })
}

/// As [`scope`], but `op` runs on the calling thread, wherever that is, and so need not be `Send`.
/// Its jobs run in the pool of the calling worker, or else in the global pool.
///
/// # Panics
///
/// As [`scope`].
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let local = std::rc::Rc::new(1); // not Send
/// let sum = heist::in_place_scope(|scope| {
///     scope.spawn(|_| ());
///     *local + 1
/// });
/// assert_eq!(sum, 2);
/// ```
#[track_caller]
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    in_place_scope_in(&Pool::current(), op)
}

/// As [`scope_fifo`], but `op` runs on the calling thread.
///
/// # Panics
///
/// As [`scope`].
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let n = heist::in_place_scope_fifo(|scope| {
///     scope.spawn_fifo(|_| ());
///     1
/// });
/// assert_eq!(n, 1);
/// ```
#[track_caller]
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place_scope_fifo_in(&Pool::current(), op)
}

pub(crate) fn in_place_scope_in<'scope, R>(
    pool: &Arc<Pool>,
    op: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    let caller = Worker::current();
    let scope = Scope::new(Arc::clone(pool), caller);
    scope.base.complete(caller, || op(&scope))
}

pub(crate) fn in_place_scope_fifo_in<'scope, R>(
    pool: &Arc<Pool>,
    op: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    let caller = Worker::current();
    let scope = ScopeFifo::new(Arc::clone(pool), caller);
    scope.base.complete(caller, || op(&scope))
}

/// Spawns jobs that borrow for `'scope`: the argument of the closures of [`scope`](scope()) and
/// [`in_place_scope`], where the examples are.
pub struct Scope<'scope> {
    base: Base<'scope>,
}

impl<'scope> Scope<'scope> {
    fn new(pool: Arc<Pool>, waiter: Option<&Worker>) -> Self {
        Self {
            base: Base::new(pool, waiter),
        }
    }

    /// Queues a job, for which the scope will wait. The job gets the scope, so that it can
    /// spawn more.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// let leaves = AtomicU32::new(0);
    /// heist::scope(|scope| {
    ///     scope.spawn(|scope| {
    ///         scope.spawn(|_| { leaves.fetch_add(1, Ordering::Relaxed); });
    ///         scope.spawn(|_| { leaves.fetch_add(1, Ordering::Relaxed); });
    ///     });
    /// });
    /// assert_eq!(leaves.into_inner(), 2);
    /// ```
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Self) + Send + 'scope,
    {
        // SAFETY: 1. the scope waits for the job, so that what it borrows for `'scope` is there. 2.
        // A panic in it is held back.
        unsafe {
            match self.base.add() {
                None => self.base.pool.queue(job(self, body)),
                Some(backlog) => self.base.queue_in(backlog, job(self, body)),
            }
        }
    }

    /// Queues a job for each worker of the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// let reached = AtomicUsize::new(0);
    /// pool.scope(|scope| {
    ///     scope.spawn_broadcast(|_, _| { reached.fetch_add(1, Ordering::Relaxed); });
    /// });
    /// assert_eq!(reached.into_inner(), 3);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let scope = Still(self);
        self.base
            .broadcast(move |context| body(scope.get(), context));
    }

    /// Drops the jobs of the scope that have not begun, also those that are spawned in it from now
    /// on.
    ///
    /// Those that run go on to their ends, and so does the closure of the scope, whose value is
    /// returned as ever: it must not rely on what a dropped job would have written. A long job asks
    /// [`is_cancelled`](Self::is_cancelled) now and then. A call that is to be left as a whole, with
    /// all loops and joins in it, is one of [`with_cancellation`](crate::with_cancellation), which
    /// says so by its result.
    ///
    /// # Cost
    ///
    /// A store. Each job is dropped when its turn comes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::sync::OnceLock;
    ///
    /// /// Some number with this property, if there is one: the rest are not looked at any more.
    /// fn find(numbers: &[u32], is_such: fn(u32) -> bool) -> Option<u32> {
    ///     let found = OnceLock::new();
    ///     heist::scope(|scope| {
    ///         for &number in numbers {
    ///             let found = &found;
    ///             scope.spawn(move |scope| {
    ///                 if is_such(number) && found.set(number).is_ok() {
    ///                     scope.cancel();
    ///                 }
    ///             });
    ///         }
    ///     });
    ///     found.into_inner()
    /// }
    ///
    /// assert_eq!(find(&[6, 3, 9, 8], |n| n % 4 == 1), Some(9));
    /// ```
    pub fn cancel(&self) {
        self.base.cancel();
    }

    /// True if the scope was cancelled: see [`cancel`](Self::cancel).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.base.is_cancelled()
    }
}

/// Spawns jobs that borrow for `'scope` and start in order: the argument of the closures of
/// [`scope_fifo`] and [`in_place_scope_fifo`], where the examples are.
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    /// One queue for each worker, and for each compensation worker.
    fifos: Box<[Fifo]>,
}

impl<'scope> ScopeFifo<'scope> {
    fn new(pool: Arc<Pool>, waiter: Option<&Worker>) -> Self {
        Self {
            fifos: pool.workers().map(|_| Fifo::new()).collect(),
            base: Base::new(pool, waiter),
        }
    }

    /// Queues a job, for which the scope will wait. The job gets the scope, so that it can
    /// spawn more.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let mut done = false;
    /// heist::scope_fifo(|scope| scope.spawn_fifo(|_| done = true));
    /// assert!(done);
    /// ```
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Self) + Send + 'scope,
    {
        let backlog = self.base.add();
        let job = job(self, body);
        if let Some(backlog) = backlog {
            // SAFETY: 1. the scope waits for the job, so that what it borrows for `'scope` is
            // there. 2. A panic in it is held back.
            return unsafe { self.base.queue_in(backlog, job) };
        }
        let worker = self.base.pool.current_worker();
        let Some(worker) = worker.filter(|worker| worker.keeps_order()) else {
            // SAFETY: as above.
            return unsafe { self.base.pool.queue(job) };
        };
        // SAFETY: as above.
        let job = worker.inheriting(unsafe { self.base.pool.detach(job) });
        // SAFETY: the queue lies in the scope, which waits for the job, and the reference is done
        // with the queue when the job starts.
        worker.push_reference(unsafe { self.fifos[worker.index()].queue(job) });
    }

    /// Queues a job for each worker of the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let (say, heard) = std::sync::mpsc::channel();
    /// pool.scope_fifo(|scope| {
    ///     scope.spawn_broadcast(move |_, context| say.send(context.index()).unwrap());
    /// });
    /// assert_eq!(heard.iter().count(), 2);
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let scope = Still(self);
        self.base
            .broadcast(move |context| body(scope.get(), context));
    }

    /// As [`Scope::cancel`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// heist::scope_fifo(|scope| {
    ///     scope.cancel();
    ///     scope.spawn_fifo(|_| unreachable!("it was cancelled before"));
    /// });
    /// ```
    pub fn cancel(&self) {
        self.base.cancel();
    }

    /// True if the scope was cancelled: see [`cancel`](Self::cancel).
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.base.is_cancelled()
    }
}

/// Either kind of scope.
trait AnyScope<'scope>: Sync {
    fn base(&self) -> &Base<'scope>;
}

impl<'scope> AnyScope<'scope> for Scope<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

impl<'scope> AnyScope<'scope> for ScopeFifo<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

/// A job of the scope, which was added, to be queued. It does not unwind.
#[inline]
fn job<'scope, S: AnyScope<'scope> + 'scope>(
    scope: &S,
    body: impl FnOnce(&S) + Send + 'scope,
) -> impl Task + 'scope {
    let (scope, lives) = (Still(scope), PhantomData);
    ScopeJob { scope, body, lives }
}

struct ScopeJob<'scope, S, BODY> {
    scope: Still<S>,
    body: BODY,
    lives: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

impl<'scope, S, BODY> Task for ScopeJob<'scope, S, BODY>
where
    S: AnyScope<'scope>,
    BODY: FnOnce(&S) + Send,
{
    const SITE: Option<&'static Site> = Some(&Site::of::<BODY>("scope"));
    const IS_JOINED: bool = true;

    #[inline(always)]
    fn run(self) {
        let Self { scope, body, .. } = self;
        let scope = scope.get();
        Base::run(Still(scope.base()), || body(scope));
    }

    fn run_metered(self, meter: &Meter) {
        let Self { scope, body, .. } = self;
        let scope = scope.get();
        let result = unwind::catch_job(|| body(scope));
        meter.reach(&scope.base().latest, &meter.ends());
        Base::end(Still(scope.base()), result);
    }

    fn discard(self, why: Payload) {
        let base = self.scope.get().base();
        // Relaxed: the scope's thread has written it before it queued the job.
        let runs_to_its_end = base.is_in_destructor.load(Ordering::Relaxed);
        if runs_to_its_end && unwind::is_cancellation(&why) && !base.is_cancelled() {
            return region::apart(|| self.run());
        }
        let base = Still(base);
        let payload = unwind::dropped(self.body, why);
        Base::end(base, Err(payload));
    }

    fn is_cancelled(&self) -> bool {
        self.scope.get().base().is_cancelled()
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Scope");
        self.base.debug(&mut f);
        f.finish()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("ScopeFifo");
        self.base.debug(&mut f);
        f.field("num_fifos", &self.fifos.len()).finish()
    }
}
