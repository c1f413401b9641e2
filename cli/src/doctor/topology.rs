//! Cores, SMT siblings, sockets, caches and NUMA nodes, as the kernel reports them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::cpu_list::CpuList;
use super::tree::{excerpt, parse_number, Tree};

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";

/// The build of the machine. A property that the kernel does not show is `None`.
#[derive(Debug, Serialize)]
pub(crate) struct Topology {
    /// The logical CPUs that are switched on.
    pub(crate) online: Option<CpuList>,
    /// The CPUs that this process may run on.
    pub(crate) affinity: Option<CpuList>,
    /// The physical cores, each as the logical CPUs that share it.
    pub(crate) cores: Option<Vec<CpuList>>,
    pub(crate) sockets: Option<usize>,
    /// From the smallest level to the largest; empty if the kernel shows none.
    pub(crate) caches: Vec<Cache>,
    pub(crate) numa_nodes: Option<Vec<NumaNode>>,
}

/// The caches of one level, kind and size.
#[derive(Debug, Serialize)]
pub(crate) struct Cache {
    pub(crate) level: u64,
    /// `Data`, `Instruction` or `Unified`.
    pub(crate) kind: String,
    pub(crate) size_bytes: u64,
    /// One entry for each such cache: the CPUs that share it.
    pub(crate) shared_by: Vec<CpuList>,
}

#[derive(Debug, Serialize)]
pub(crate) struct NumaNode {
    pub(crate) id: u32,
    /// Empty for a node that is memory only.
    pub(crate) cpus: Option<CpuList>,
    pub(crate) memory_bytes: Option<u64>,
}

impl Topology {
    pub(crate) fn read(tree: &mut Tree) -> Self {
        let online = tree.parse(&format!("{CPU}/online"), CpuList::parse);
        // A number in the folder may belong to a CPU that is switched off; such
        // a CPU has no topology, and only the list of CPUs online tells.
        let cpus: Vec<u32> = match &online {
            Some(online) => online.iter().collect(),
            None => tree.numbered(CPU, "cpu"),
        };
        // The mask keeps those that have been switched off.
        let is_online = |cpu: &usize| online.as_ref().is_none_or(|online| online.contains(*cpu));
        let mask = tree.parse("/proc/self/status", parse_affinity).flatten();
        let usable = |mask: CpuList| {
            mask.iter()
                .map(|cpu| cpu as usize)
                .filter(is_online)
                .collect()
        };
        Self {
            affinity: mask.map(usable),
            cores: cores(tree, &cpus),
            sockets: sockets(tree, &cpus),
            caches: caches(tree, &cpus),
            numa_nodes: numa_nodes(tree),
            online,
        }
    }

    /// The most logical CPUs that share a core; `None` if that is not known.
    pub(crate) fn threads_per_core(&self) -> Option<usize> {
        self.cores.as_ref()?.iter().map(CpuList::len).max()
    }
}

fn parse_affinity(status: &str) -> Result<Option<CpuList>, String> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .map(|list| CpuList::parse(list.trim()))
        .transpose()
}

/// The distinct sets of siblings; `None` unless each CPU is in one of them.
fn cores(tree: &mut Tree, cpus: &[u32]) -> Option<Vec<CpuList>> {
    let mut cores = BTreeSet::new();
    for cpu in cpus {
        // The first name is that of kernels since 5.6, the second is older.
        let siblings = ["core_cpus_list", "thread_siblings_list"]
            .iter()
            .find_map(|name| {
                tree.parse(&format!("{CPU}/cpu{cpu}/topology/{name}"), CpuList::parse)
            })?;
        if !siblings.iter().any(|sibling| sibling == *cpu) {
            tree.add_unreadable(
                &format!("{CPU}/cpu{cpu}/topology"),
                format!("CPU {cpu} is not among its own siblings, {siblings}"),
            );
            return None;
        }
        cores.insert(siblings);
    }
    (!cores.is_empty()).then(|| cores.into_iter().collect())
}

fn sockets(tree: &mut Tree, cpus: &[u32]) -> Option<usize> {
    let mut packages = BTreeSet::new();
    for cpu in cpus {
        let path = format!("{CPU}/cpu{cpu}/topology/physical_package_id");
        // A virtual machine may say -1: no package known.
        packages.insert(tree.parse(&path, |text| match text {
            "-1" => Ok(None),
            _ => parse_number(text).map(Some),
        })??);
    }
    (!packages.is_empty()).then_some(packages.len())
}

fn caches(tree: &mut Tree, cpus: &[u32]) -> Vec<Cache> {
    let mut found: BTreeMap<(u64, String, u64), BTreeSet<CpuList>> = BTreeMap::new();
    for cpu in cpus {
        let folder = format!("{CPU}/cpu{cpu}/cache");
        for index in tree.numbered(&folder, "index") {
            let folder = format!("{folder}/index{index}");
            let level = tree.number(&format!("{folder}/level"));
            let kind = tree.parse(&format!("{folder}/type"), |text| Ok(text.to_owned()));
            let size = tree.parse(&format!("{folder}/size"), parse_size);
            let shared_by = tree.parse(&format!("{folder}/shared_cpu_list"), CpuList::parse);
            if let (Some(level), Some(kind), Some(size), Some(shared_by)) =
                (level, kind, size, shared_by)
            {
                found
                    .entry((level, kind, size))
                    .or_default()
                    .insert(shared_by);
            }
        }
    }
    found
        .into_iter()
        .map(|((level, kind, size_bytes), shared_by)| Cache {
            level,
            kind,
            size_bytes,
            shared_by: shared_by.into_iter().collect(),
        })
        .collect()
}

fn numa_nodes(tree: &mut Tree) -> Option<Vec<NumaNode>> {
    let ids = tree.numbered(NODE, "node");
    let nodes = ids.into_iter().map(|id| NumaNode {
        id,
        cpus: tree.parse(&format!("{NODE}/node{id}/cpulist"), CpuList::parse),
        memory_bytes: tree.parse(&format!("{NODE}/node{id}/meminfo"), parse_node_memory),
    });
    let nodes: Vec<NumaNode> = nodes.collect();
    (!nodes.is_empty()).then_some(nodes)
}

/// `48K`, `32M` or a bare number of bytes.
fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(1 << shift))
        .ok_or_else(|| format!("expected a size such as 48K, found {}", excerpt(text)))
}

/// The line `Node 0 MemTotal:  24684084 kB` of a node's `meminfo`.
fn parse_node_memory(text: &str) -> Result<u64, String> {
    text.lines()
        .find_map(|line| line.split_once("MemTotal:"))
        .and_then(|(_, amount)| amount.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .and_then(|kib| kib.checked_mul(1024))
        .ok_or_else(|| {
            format!(
                "expected a line with MemTotal in kB, found {}",
                excerpt(text)
            )
        })
}
