//! The distances between CPUs, and the order in which a worker of a pinned pool tries its victims.

use std::collections::BTreeMap;
use std::io::{self, Write};

use heist::{Distance, Topology};
use serde::Serialize;

use super::cpu_list::CpuList;
use super::page::Page;

/// The CPUs of a machine by their distances, as heist sees them.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) cpus: CpuList,
    /// The kinds of cores, the fastest first.
    pub(crate) kinds: Vec<CpuList>,
    pub(crate) nodes: Vec<Node>,
    /// The CPU from which the victims are seen.
    pub(crate) worker_cpu: Option<usize>,
    /// The CPUs whose workers a worker there tries, the nearest first.
    pub(crate) victims: Vec<Victims>,
    /// Missing or doubtful facts, and the assumptions in their place.
    pub(crate) notes: Vec<String>,
}

/// A NUMA node that has CPUs.
#[derive(Debug, Serialize)]
pub(crate) struct Node {
    pub(crate) id: usize,
    pub(crate) cpus: CpuList,
}

/// CPUs that are equally far away.
#[derive(Debug, Serialize)]
pub(crate) struct Victims {
    pub(crate) distance: String,
    pub(crate) cpus: CpuList,
}

impl Place {
    /// As seen from the first CPU that workers may be pinned to: one of these, if the process may
    /// run on them only.
    pub(crate) fn new(topology: &Topology, affinity: Option<&CpuList>) -> Self {
        let is_open = |cpu: &usize| affinity.is_none_or(|open| open.contains(*cpu));
        let mut open: Vec<usize> = topology.processors().filter(is_open).collect();
        if open.is_empty() {
            open = topology.processors().collect();
        }
        let worker_cpu = open.first().copied();
        let mut victims: BTreeMap<Distance, Vec<usize>> = BTreeMap::new();
        if let Some(from) = worker_cpu {
            for cpu in open.into_iter().skip(1) {
                let distance = topology.distance(from, cpu);
                victims.entry(distance).or_default().push(cpu);
            }
        }
        let list = |cpus: &[usize]| cpus.iter().copied().collect();
        let kinds = topology.classes().iter();
        let nodes = topology.nodes().iter();
        Self {
            cpus: topology.processors().collect(),
            kinds: kinds.map(|class| list(class.processors())).collect(),
            nodes: nodes
                .map(|node| Node {
                    id: node.id(),
                    cpus: list(node.processors()),
                })
                .collect(),
            worker_cpu,
            victims: victims
                .into_iter()
                .map(|(distance, cpus)| Victims {
                    distance: name(distance),
                    cpus: list(&cpus),
                })
                .collect(),
            notes: topology.notes().to_vec(),
        }
    }

    /// The report of a machine of which nothing else is known.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut page = Page { out };
        page.row("CPUs", &self.cpus.to_string())?;
        let node = |node: &Node| format!("node {}  CPUs {}", node.id, node.cpus);
        page.rows("NUMA", self.nodes.iter().map(node).collect())?;
        self.write_rows(&mut page)?;
        self.write_notes(&mut page)
    }

    /// The kinds of cores, and the victims.
    pub(crate) fn write_rows(&self, page: &mut Page<'_, impl Write>) -> io::Result<()> {
        if self.kinds.len() > 1 {
            let lists: Vec<String> = self.kinds.iter().map(CpuList::to_string).collect();
            let (count, lists) = (self.kinds.len(), lists.join("; "));
            page.row(
                "core kinds",
                &format!("{count}, the fastest first: CPUs {lists}"),
            )?;
        }
        let Some(cpu) = self.worker_cpu else {
            return page.row("victims", "not shown by this system");
        };
        let row = |victims: &Victims| format!("{} ({})", victims.cpus, victims.distance);
        let rows: Vec<String> = self.victims.iter().map(row).collect();
        let victims = match rows.is_empty() {
            true => "none".to_owned(),
            false => rows.join("; "),
        };
        page.row(
            "victims",
            &format!("of a worker pinned to CPU {cpu}, in order: {victims}"),
        )
    }

    /// The things that are assumed.
    pub(crate) fn write_notes(&self, page: &mut Page<'_, impl Write>) -> io::Result<()> {
        if self.notes.is_empty() {
            return Ok(());
        }
        writeln!(
            page.out,
            "\nassumed of the machine, which matters to pinned pools"
        )?;
        self.notes.iter().try_for_each(|note| page.hanging(note))
    }
}

fn name(distance: Distance) -> String {
    match distance {
        Distance::Smt => "SMT".to_owned(),
        Distance::Cache => "cache".to_owned(),
        Distance::Node => "node".to_owned(),
        Distance::Remote(distance) => format!("node at {distance}"),
    }
}
