//! Settings with some values: `Callers`, `Injected` and `Pin`.

/// How an external caller, a thread that is no worker, calls an operation that waits.
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
    /// The caller runs the closures itself, in the place of a worker that sleeps meanwhile.
    ///
    /// This saves two changes of threads, some microseconds. During the call the thread is a worker
    /// like any other, has an index, and may run any jobs of the pool. If no worker sleeps, the
    /// call moves into the pool all the same.
    Participate,
    /// The closures move into the pool, and the caller blocks, as with rayon.
    Move,
}

/// When a job from outside the pool starts while all workers are busy.
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
    /// When a worker comes back to its main loop or has to wait, after 61 other jobs or a
    /// millisecond of them at most; a job of [high priority](crate::Priority) then comes first.
    ///
    /// That is soon if the jobs are short, and may be as late as the end of a long one: of a whole
    /// tree of joins, say.
    #[default]
    InTurn,
    /// At the next `join`, or at the end of a grain of a parallel loop, on top of what that worker
    /// is doing: one at a time, or an urgent one on top of a normal one, and only if at most a
    /// quarter of its stack is in use. Jobs of [low priority](crate::Priority) are not among them,
    /// nor those that were given a worker. A `spawn` of any kind runs nothing.
    ///
    /// Only for jobs that do not want what a frame below may hold: a lock that is held over a
    /// `join`, a `RefCell` of the thread that is borrowed there. Such a job would wait for itself,
    /// or panic.
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
    /// None: the system puts each worker where it likes, and moves it.
    #[default]
    No,
    /// These, by the system's numbers: the first worker gets the first, and so on. One that is
    /// named twice has two workers.
    Cpus(Vec<usize>),
    /// Those of the NUMA node with this number that the process may use: first one of each core,
    /// then the second of each.
    Node(usize),
    /// Those of this class of [`Topology::classes`](crate::Topology::classes), as for a node: 0 is
    /// the class of the fastest cores.
    Class(usize),
}
