//! Pinned pools: the builder's methods, and a pool for each NUMA node.

use heist_sync::{allowed_processors, NumaNode, Topology};

use crate::base::error::ThreadPoolBuildError;
use crate::pool::builder::ThreadPoolBuilder;
use crate::pool::choices::Pin;
use crate::pool::thread_pool::ThreadPool;

impl<S> ThreadPoolBuilder<S> {
    /// Binds each worker to a processor of its own: see [`Pin`]. The default is [`Pin::No`].
    ///
    /// The workers of a pinned pool steal from near victims first: those that share a core, then a
    /// cache, then the NUMA node. They ask far victims for private jobs only after near ones had
    /// none; but every search looks everywhere, so that no worker keeps jobs that another could
    /// run. Pinning pays where data lies near some processors. It costs where other programs run
    /// beside this one, because a worker whose processor is taken waits for it, while other
    /// processors idle.
    ///
    /// - There is one worker for each processor, unless [`num_threads`](Self::num_threads) asks for
    ///   fewer; the environment is not consulted. For a node and a class there are no more workers
    ///   than the control group's quota is worth.
    /// - External callers do not participate: [`Callers::Move`](crate::Callers::Move) holds.
    /// - [Compensation workers](Self::compensation_workers) may run on all processors of the pool.
    /// - With [`set_active_threads`](ThreadPool::set_active_threads), or a limit that the pool
    ///   [follows](Self::follow_cpu_limit), the last workers stand aside: of a node or a class
    ///   these are the second threads of cores. A worker whose processor is taken from the process
    ///   runs where the system puts it.
    /// - A thread of a [`spawn_handler`](Self::spawn_handler) stays bound when the pool has ended.
    ///
    /// # Errors
    ///
    /// Building the pool fails if one of the processors does not exist, is switched off, or is
    /// outside the affinity mask of the process; if more workers than processors are asked for;
    /// with [`use_current_thread`](Self::use_current_thread), callers that participate, or a serial
    /// pool; and on systems other than Linux.
    ///
    /// # Cost
    ///
    /// Building the pool takes some milliseconds on a large machine, to read its topology.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// # if cfg!(target_os = "linux") {
    /// use heist::{Pin, ThreadPoolBuilder, Topology};
    /// // A worker for each P core, or for each core where all are alike.
    /// let pool = ThreadPoolBuilder::new().pin(Pin::Class(0)).build()?;
    /// assert!(pool.current_num_threads() <= Topology::detect().classes()[0].processors().len());
    /// # }
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn pin(mut self, pin: Pin) -> Self {
        self.0.pin = pin;
        self
    }

    /// Takes the distances between processors from this topology instead of the system. For tests:
    /// the machine at hand may have a single distance.
    #[doc(hidden)]
    #[must_use]
    pub fn topology(mut self, topology: Topology) -> Self {
        self.0.topology = Some(topology);
        self
    }

    /// Sets the niceness of the pool's threads: from -20, which gets most of the processor where
    /// several threads want it, to 19, which gets least. The default is that of the thread that
    /// builds the pool.
    ///
    /// Use it for a pool of background work beside one whose results are awaited. Callers that
    /// participate, and a thread of [`use_current_thread`](Self::use_current_thread), keep theirs.
    ///
    /// # Errors
    ///
    /// Building the pool fails if the system refuses: lowering the niceness takes a privilege, and
    /// systems other than Linux have no niceness of single threads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// # if cfg!(target_os = "linux") {
    /// let background = heist::ThreadPoolBuilder::new().num_threads(2).thread_nice(19).build()?;
    /// assert_eq!(background.install(|| 6 * 7), 42);
    /// # }
    /// # Ok::<(), heist::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn thread_nice(mut self, nice: i8) -> Self {
        self.0.nice = Some(nice);
        self
    }
}

/// Builds a pool for each NUMA node in which the process may use processors, in the order of the
/// nodes, with the builder that `builder` returns for it, pinned to the node.
///
/// Data that a pool's jobs touch first lies in its node's memory, and its jobs never leave the
/// node. The program says what goes from one pool to another. A machine without nodes has one
/// pool; on systems other than Linux it is not pinned.
///
/// # Errors
///
/// As [`ThreadPoolBuilder::build`], and [`pin`](ThreadPoolBuilder::pin). Pools that were built end
/// again.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{pools_per_node, ThreadPoolBuilder};
/// let pools = pools_per_node(|node| {
///     let id = node.id();
///     ThreadPoolBuilder::new().thread_name(move |worker| format!("node {id}, worker {worker}"))
/// })?;
/// let sums: Vec<u64> = std::thread::scope(|threads| {
///     let sums = pools.iter().map(|pool| threads.spawn(|| pool.install(|| (0..10).sum())));
///     let sums: Vec<_> = sums.collect();
///     sums.into_iter().map(|sum| sum.join().unwrap()).collect()
/// });
/// assert!(sums.iter().all(|&sum| sum == 45));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
pub fn pools_per_node(
    mut builder: impl FnMut(&NumaNode) -> ThreadPoolBuilder,
) -> Result<Vec<ThreadPool>, ThreadPoolBuildError> {
    let topology = Topology::detect();
    let allowed = allowed_processors();
    let is_open = |node: &&NumaNode| node.processors().iter().any(|id| allowed.contains(id));
    let pools = topology.nodes().iter().filter(is_open).map(|node| {
        let mut builder = builder(node);
        if cfg!(target_os = "linux") {
            let pin = Pin::Node(node.id());
            builder = builder.pin(pin).topology(topology.clone());
        }
        builder.build()
    });
    pools.collect()
}
