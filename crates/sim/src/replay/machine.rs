//! The machine on which a DAG runs, and how it ran there.

/// The times that scheduling takes.
///
/// # Examples
///
/// ```
/// use heist_sim::replay::Costs;
///
/// let far = Costs { steal_ns: 300, ..Costs::default() };
/// assert!(far.steal_ns > far.probe_ns);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A look at a deque that is empty.
    pub probe_ns: u64,
    /// A steal.
    pub steal_ns: u64,
    /// How long an idle worker searches before it sleeps.
    pub search_ns: u64,
    /// From when there is work to when a worker runs that slept.
    pub wake_ns: u64,
}

impl Default for Costs {
    /// As measured on a virtual machine of two cores.
    fn default() -> Self {
        Self {
            probe_ns: 60,
            steal_ns: 100,
            search_ns: 50_000,
            wake_ns: 18_000,
        }
    }
}

/// The machine and its rules.
///
/// # Examples
///
/// ```
/// use heist_sim::replay::Machine;
///
/// let machine = Machine { slow: vec![(3, 0.5)], ..Machine::new(4) };
/// assert_eq!(machine.workers, 4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The number of workers.
    pub workers: usize,
    /// The times that scheduling takes.
    pub costs: Costs,
    /// Workers that have another speed, with that speed: 0.5 takes twice as long.
    pub slow: Vec<(usize, f64)>,
    /// Sites whose jobs nobody can steal, by their places in the DAG.
    pub serial: Vec<u16>,
}

impl Machine {
    /// So many equal workers.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            costs: Costs::default(),
            slow: Vec::new(),
            serial: Vec::new(),
        }
    }
}

/// How a DAG ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// From the start to the end of the last strand.
    pub ns: u64,
    /// The time that all workers were at work.
    pub busy_ns: u64,
    /// Looks at the deques of others.
    pub attempts: u64,
    /// Those that brought something.
    pub steals: u64,
    /// Workers that had to be woken, and how often.
    pub wakes: u64,
}
