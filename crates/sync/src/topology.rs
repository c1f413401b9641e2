//! Which processors the machine has, and how far apart they are.

mod files;
mod parse;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use files::Files;

/// How far one processor is from another, the nearest first.
///
/// # Examples
///
/// ```
/// # use heist_sync as heist;
/// use heist::Distance;
/// assert!(Distance::Smt < Distance::Cache && Distance::Node < Distance::Remote(11));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same core: its threads share all caches.
    Smt,
    /// Another core that shares the last level of cache, in the same NUMA node.
    Cache,
    /// The same NUMA node.
    Node,
    /// Another NUMA node, at this distance by the firmware's account: 10 is the node itself, 20
    /// takes twice as long to reach.
    Remote(u8),
}

/// The most that is read of a file with facts; those of ten thousand processors are a fraction.
const RECORD_BYTES_MAX: u64 = 1 << 26;

/// A NUMA node that has processors.
///
/// # Examples
///
/// ```
/// # use heist_sync as heist;
/// for node in heist::Topology::detect().nodes() {
///     println!("node {}: {:?}", node.id(), node.processors());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaNode {
    id: usize,
    processors: Vec<usize>,
}

impl NumaNode {
    /// The system's number of the node.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// assert!(heist::Topology::detect().nodes().iter().is_sorted_by_key(|node| node.id()));
    /// ```
    #[must_use]
    pub fn id(&self) -> usize {
        self.id
    }

    /// The processors of the node that are switched on, ascending.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// assert!(!heist::Topology::detect().nodes()[0].processors().is_empty());
    /// ```
    #[must_use]
    pub fn processors(&self) -> &[usize] {
        &self.processors
    }
}

/// The processors of one kind of core, where a machine has cores of several kinds.
///
/// # Examples
///
/// ```
/// # use heist_sync as heist;
/// let topology = heist::Topology::detect();
/// let fastest = &topology.classes()[0];
/// assert!(!fastest.processors().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreClass {
    processors: Vec<usize>,
}

impl CoreClass {
    /// The processors of the class, ascending.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// let topology = heist::Topology::detect();
    /// let all: usize = topology.classes().iter().map(|class| class.processors().len()).sum();
    /// assert_eq!(all, topology.processors().count());
    /// ```
    #[must_use]
    pub fn processors(&self) -> &[usize] {
        &self.processors
    }
}

/// One processor. Two of them share a core, or a cache, if its number is the same in both.
#[derive(Clone, Copy, Debug)]
struct Processor {
    id: usize,
    core: usize,
    cache: Option<usize>,
    /// Index into the nodes.
    node: usize,
}

/// The processors that are switched on, and how far apart they are: SMT siblings, shared caches,
/// NUMA nodes, kinds of cores.
///
/// On Linux this is read from `/sys/devices`. Systems differ in the files that they have there, and
/// firmware errs: missing or contradictory facts are left out, and [`notes`](Self::notes) say so.
/// At worst all processors of the machine are equally far apart, which is also the answer on other
/// systems.
///
/// # Examples
///
/// ```
/// # use heist_sync as heist;
/// use heist::{Distance, Topology};
/// let topology = Topology::detect();
/// let first = topology.processors().next().expect("a machine has processors");
/// assert_eq!(topology.distance(first, first), Distance::Smt);
/// ```
#[derive(Clone, Debug)]
pub struct Topology {
    /// Ascending by number.
    processors: Vec<Processor>,
    nodes: Vec<NumaNode>,
    /// The distance of each node from each, as the firmware tells them, a row for each node.
    distances: Vec<Vec<u8>>,
    classes: Vec<CoreClass>,
    notes: Vec<String>,
}

impl Topology {
    /// The topology of this machine.
    ///
    /// # Cost
    ///
    /// Some files are read for each processor, which takes tens of microseconds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// let topology = heist::Topology::detect();
    /// println!("{} nodes, {} kinds of cores", topology.nodes().len(), topology.classes().len());
    /// ```
    #[must_use]
    pub fn detect() -> Self {
        if cfg!(all(target_os = "linux", not(miri))) {
            let read = Self::of(&Files::Folder(Path::new("/sys/devices")));
            if !read.processors.is_empty() {
                return read;
            }
            Self::alike(crate::allowed_processors(), read.notes)
        } else {
            Self::alike(crate::allowed_processors(), Vec::new())
        }
    }

    /// The topology of another Linux machine: `path` is a folder with a copy of its `sys/devices`,
    /// or a file with facts from there.
    ///
    /// Such a file has lines `path = value`, where the path begins below `sys/devices`. A line for
    /// `cpu{0-3}` holds for each of these processors. In a line for `cpu@` there are several sets
    /// of processors, and each is the value for all processors that are in it. Lines that begin
    /// with `#` are comments:
    ///
    /// ```text
    /// system/cpu/online = 0-3
    /// system/cpu/cpu{0-3}/cache/index3/level = 3
    /// system/cpu/cpu@/topology/core_cpus_list = 0-1 2-3
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if there is nothing at that path, it cannot be read, or is a file of more than 64 MiB,
    /// as an endless device is. Damaged or missing facts are no error, and [`notes`](Self::notes)
    /// say them; there may be no processor then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// let error = heist::Topology::read("no/such/machine".as_ref()).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn read(path: &Path) -> io::Result<Self> {
        if path.metadata()?.is_dir() {
            Ok(Self::of(&Files::Folder(&path.join("sys/devices"))))
        } else {
            let mut text = Vec::new();
            let file = File::open(path)?;
            file.take(RECORD_BYTES_MAX + 1).read_to_end(&mut text)?;
            if text.len() as u64 > RECORD_BYTES_MAX {
                let why = format!("it has more than {RECORD_BYTES_MAX} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            Ok(Self::of(&Files::recorded(&String::from_utf8_lossy(&text))))
        }
    }

    /// The processors, ascending: the system's numbers of those that are switched on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// assert!(heist::Topology::detect().processors().count() >= 1);
    /// ```
    pub fn processors(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.processors.iter().map(|processor| processor.id)
    }

    /// The distance from processor `a` to processor `b`.
    ///
    /// Between NUMA nodes the way back can be longer or shorter, if the firmware says so. An
    /// unknown processor counts as one of the same node.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// use heist::{Distance, Topology};
    /// let topology = Topology::detect();
    /// let near = topology.processors().filter(|&p| topology.distance(0, p) <= Distance::Cache);
    /// println!("processor 0 shares a cache with {:?}", near.collect::<Vec<_>>());
    /// ```
    #[must_use]
    pub fn distance(&self, a: usize, b: usize) -> Distance {
        let find = |id| {
            let place = self.processors.binary_search_by_key(&id, |known| known.id);
            place.map(|place| self.processors[place])
        };
        match (find(a), find(b)) {
            (Ok(a), Ok(b)) if a.core == b.core => Distance::Smt,
            (Ok(a), Ok(b)) if a.node != b.node => Distance::Remote(self.distances[a.node][b.node]),
            (Ok(a), Ok(b)) if a.cache.is_some() && a.cache == b.cache => Distance::Cache,
            _ => Distance::Node,
        }
    }

    /// The processors of the set, one of each core first, then the second of each, and so on;
    /// ascending otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// let topology = heist::Topology::detect();
    /// let all: Vec<usize> = topology.processors().collect();
    /// let first = topology.core_by_core(&all)[0];
    /// assert_eq!(first, all[0]);
    /// ```
    #[must_use]
    pub fn core_by_core(&self, processors: &[usize]) -> Vec<usize> {
        let mut sorted = processors.to_vec();
        sorted.sort_unstable();
        let siblings_before = |at: usize| {
            let is_sibling = |&&other: &&usize| {
                other != sorted[at] && self.distance(other, sorted[at]) == Distance::Smt
            };
            sorted[..at].iter().filter(is_sibling).count()
        };
        let mut ranked: Vec<_> = (0..sorted.len())
            .map(|at| (siblings_before(at), sorted[at]))
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, processor)| processor).collect()
    }

    /// The NUMA nodes that have processors, ascending by number. There is at least one if there are
    /// processors; all processors are in it where the system knows of no nodes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// assert!(!heist::Topology::detect().nodes().is_empty());
    /// ```
    #[must_use]
    pub fn nodes(&self) -> &[NumaNode] {
        &self.nodes
    }

    /// The kinds of cores, the fastest first: P and E cores, or big and little ones. One on most
    /// machines.
    ///
    /// They are told apart by the kernel's core types (`cpu_core`, `cpu_atom`), by the capacities
    /// that it schedules by, or by the greatest frequencies; where one of the latter is less than
    /// nine tenths of that of a class, another class begins.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// assert!(!heist::Topology::detect().classes().is_empty());
    /// ```
    #[must_use]
    pub fn classes(&self) -> &[CoreClass] {
        &self.classes
    }

    /// The facts that the system does not show, or contradicts, and the assumption made instead: a
    /// sentence for each.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_sync as heist;
    /// heist::Topology::detect().notes().iter().for_each(|note| println!("{note}"));
    /// ```
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A machine all of whose processors are equally far apart.
    fn alike(ids: Vec<usize>, notes: Vec<String>) -> Self {
        let processors = ids.iter().map(|&id| Processor {
            id,
            core: id,
            cache: None,
            node: 0,
        });
        Self {
            processors: processors.collect(),
            nodes: vec![NumaNode {
                id: 0,
                processors: ids.clone(),
            }],
            distances: vec![vec![10]],
            classes: vec![CoreClass { processors: ids }],
            notes,
        }
    }
}

/// Formats processors as Linux does, for messages: consecutive ones as a range.
///
/// # Examples
///
/// ```
/// assert_eq!(heist_sync::processor_list(&[0, 1, 2, 5]), "0-2,5");
/// ```
#[must_use]
pub fn processor_list(processors: &[usize]) -> String {
    let runs = processors.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}
