//! The settings with a choice of values: `Callers`, `Injected` and `Pin`.

/// The way in which an external caller, a thread that is not a worker, calls a waiting operation.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{Callers, ThreadPoolBuilder};
/// let pool = ThreadPoolBuilder::new().callers(Callers::Move).build()?;
/// let here = std::thread::current().id();
/// assert_ne!(pool.participate(|| std::thread::current().id()), here);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Callers {
    /// The caller runs the closures itself, in the place of a sleeping worker.
    ///
    /// This saves two changes of threads, some microseconds. During the call the thread is a worker
    /// like any other, has an index, and may run any jobs of the pool. If no worker sleeps, the
    /// call moves into the pool nevertheless.
    Participate,
    /// The closures move into the pool, and the caller blocks, as with rayon.
    Move,
}

/// The moment at which a job from outside the pool starts while all workers are busy.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{Injected, ThreadPoolBuilder};
/// let pool = ThreadPoolBuilder::new().injected(Injected::Prompt).build()?;
/// assert_eq!(pool.install(|| 1 + 1), 2);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Injected {
    /// The job starts when a worker comes back to its main loop or has to wait, after at most 61
    /// other jobs or a millisecond of them; a job of [high priority](crate::Priority) then comes
    /// first.
    ///
    /// That is soon if the jobs are short, and may be as late as the end of a long one: of a whole
    /// tree of joins, say.
    #[default]
    InTurn,
    /// The job starts at the next `join`, or at the end of a grain of a parallel loop, on top of
    /// that worker's job: one at a time, or an urgent one on top of a normal one, and only if at
    /// most a quarter of the stack is in use. This excludes jobs of [low priority](crate::Priority)
    /// and those for a particular worker. A `spawn` of any kind starts no other job.
    ///
    /// Use it only if jobs from outside need nothing that a frame below may hold: a lock that is
    /// held across a `join`, or a thread-local `RefCell` that is borrowed there. Such a job would
    /// deadlock, or panic.
    Prompt,
}

/// The processors that the workers of a pool are bound to, one each: see
/// [`ThreadPoolBuilder::pin`](crate::ThreadPoolBuilder::pin).
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{Pin, ThreadPoolBuilder};
/// let nowhere = ThreadPoolBuilder::new().pin(Pin::Cpus(vec![60_000])).build();
/// assert!(nowhere.unwrap_err().to_string().contains("60000"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pin {
    /// No binding: the system places each worker, and moves it.
    #[default]
    No,
    /// These processors, by the system's numbers: the first worker gets the first, and so on. One
    /// that is named twice has two workers.
    Cpus(Vec<usize>),
    /// The processors of the NUMA node with this number that the process may use: first one of each
    /// core, then the second of each.
    Node(usize),
    /// The processors of this class of [`Topology::classes`](crate::Topology::classes), as for a
    /// node: 0 is the class of the fastest cores.
    Class(usize),
}
