//! The parser of `/sys/devices`: processors, cores, caches, nodes, and kinds of cores.

use std::collections::BTreeMap;

use super::files::{parse_list, parse_number, Files};
use super::{processor_list, CoreClass, NumaNode, Processor, Topology};

/// The distance between two nodes of which nothing is known: the kernel's default.
const REMOTE: u8 = 20;
/// The most caches of a processor that are looked at.
const MOST_CACHES: usize = 16;

impl Topology {
    /// The topology of the machine that these files describe.
    pub(super) fn of(files: &Files<'_>) -> Self {
        let mut notes = Vec::new();
        let Some(online) = list_in(files, "system/cpu/online").filter(|list| !list.is_empty())
        else {
            notes.push("system/cpu/online does not list processors: none is known".to_owned());
            return Self {
                processors: Vec::new(),
                nodes: Vec::new(),
                distances: Vec::new(),
                classes: Vec::new(),
                notes,
            };
        };
        let cores = cores(files, &online, &mut notes);
        let caches = caches(files, &online, &mut notes);
        let nodes = nodes(files, &online, &mut notes);
        let distances = distances(files, &nodes, &mut notes);
        let node_of = |id| {
            let holds = |node: &NumaNode| node.processors.binary_search(&id).is_ok();
            nodes.iter().position(holds)
        };
        let processors = online.iter().enumerate().map(|(place, &id)| Processor {
            id,
            core: cores[place],
            cache: caches[place],
            node: node_of(id).expect("each processor is in a node"),
        });
        Self {
            processors: processors.collect(),
            distances,
            classes: classes(files, &online, &mut notes),
            nodes,
            notes,
        }
    }
}

fn list_in(files: &Files<'_>, path: &str) -> Option<Vec<usize>> {
    parse_list(&files.text(path)?)
}

fn number_in(files: &Files<'_>, path: &str) -> Option<usize> {
    parse_number(&files.text(path)?)
}

/// The number of each processor's core. Processors with the same set of siblings share one, so that
/// contradictions between sets do no harm.
fn cores(files: &Files<'_>, online: &[usize], notes: &mut Vec<String>) -> Vec<usize> {
    let mut known = BTreeMap::new();
    let mut alone = Vec::new();
    let mut cores = Vec::new();
    for &id in online {
        let file = |name| list_in(files, &format!("system/cpu/cpu{id}/topology/{name}"));
        // The first name is that of kernels since 5.6, the second is older.
        let siblings = file("core_cpus_list").or_else(|| file("thread_siblings_list"));
        let siblings = siblings.filter(|list| list.contains(&id));
        let siblings = siblings.unwrap_or_else(|| {
            alone.push(id);
            vec![id]
        });
        cores.push(*known.entry(siblings).or_insert(id));
    }
    if !alone.is_empty() {
        notes.push(format!(
            "the siblings of processors {} are not shown: each is taken for a core of its own",
            processor_list(&alone)
        ));
    }
    cores
}

/// The number of each processor's last-level cache, if it is known.
fn caches(files: &Files<'_>, online: &[usize], notes: &mut Vec<String>) -> Vec<Option<usize>> {
    let mut known = BTreeMap::new();
    let mut without = Vec::new();
    let mut caches = Vec::new();
    for &id in online {
        let cache = |index| {
            let folder = format!("system/cpu/cpu{id}/cache/index{index}");
            let level = number_in(files, &format!("{folder}/level"))?;
            let sharers = list_in(files, &format!("{folder}/shared_cpu_list"))?;
            let kind = files.text(&format!("{folder}/type"))?;
            Some((level, sharers))
                .filter(|(_, sharers)| &*kind != "Instruction" && sharers.contains(&id))
        };
        let last = (0..MOST_CACHES)
            .filter_map(cache)
            .max_by_key(|(level, _)| *level);
        if last.is_none() {
            without.push(id);
        }
        caches.push(last.map(|cache| *known.entry(cache).or_insert(id)));
    }
    if !without.is_empty() {
        notes.push(format!(
            "the caches of processors {} are not shown: none is taken for shared",
            processor_list(&without)
        ));
    }
    caches
}

/// The nodes that have processors, if each processor is in one of them; or else a single one.
fn nodes(files: &Files<'_>, online: &[usize], notes: &mut Vec<String>) -> Vec<NumaNode> {
    let node = |id| {
        let mut processors = list_in(files, &format!("system/node/node{id}/cpulist"))?;
        processors.retain(|processor| online.binary_search(processor).is_ok());
        Some(NumaNode { id, processors })
    };
    let ids = list_in(files, "system/node/online");
    let nodes: Option<Vec<NumaNode>> = ids.and_then(|ids| ids.into_iter().map(node).collect());
    let why = match nodes {
        None => "are not shown",
        Some(mut nodes) => {
            nodes.retain(|node| !node.processors.is_empty());
            let lists = nodes.iter().flat_map(|node| &node.processors);
            let mut all: Vec<usize> = lists.copied().collect();
            all.sort_unstable();
            if all == online {
                return nodes;
            }
            "do not hold each processor once"
        }
    };
    notes.push(format!(
        "the NUMA nodes {why}: all processors are taken for one"
    ));
    vec![NumaNode {
        id: 0,
        processors: online.to_vec(),
    }]
}

/// The distance of each node from each. A node's file has one for each node that is online, with
/// processors or without.
fn distances(files: &Files<'_>, nodes: &[NumaNode], notes: &mut Vec<String>) -> Vec<Vec<u8>> {
    if nodes.len() == 1 {
        return vec![vec![10]];
    }
    let online = list_in(files, "system/node/online").unwrap_or_default();
    let row = |node: &NumaNode| {
        let text = files.text(&format!("system/node/node{}/distance", node.id))?;
        let all: Option<Vec<usize>> = text.split_whitespace().map(parse_number).collect();
        let all = all.filter(|all| all.len() == online.len())?;
        let of = |node: &NumaNode| {
            let place = online.binary_search(&node.id).ok()?;
            Some(u8::try_from(all[place]).unwrap_or(u8::MAX))
        };
        nodes.iter().map(of).collect()
    };
    let rows: Option<Vec<Vec<u8>>> = nodes.iter().map(row).collect();
    rows.unwrap_or_else(|| {
        notes.push(format!(
            "the distances of the NUMA nodes are not shown: each is taken for {REMOTE}"
        ));
        vec![vec![REMOTE; nodes.len()]; nodes.len()]
    })
}

/// The kinds of cores, the fastest first.
fn classes(files: &Files<'_>, online: &[usize], notes: &mut Vec<String>) -> Vec<CoreClass> {
    // The perf devices of the kinds; the last are Intel's low-power E cores.
    let types = ["cpu_core", "cpu_atom", "cpu_lowpower"];
    let lists = types.map(|name| files.text(&format!("{name}/cpus")));
    if lists.iter().any(Option::is_some) {
        let lists = lists.iter().flatten().map(|text| {
            let mut list = parse_list(text).unwrap_or_default();
            list.retain(|id| online.binary_search(id).is_ok());
            list
        });
        let lists: Vec<_> = lists.filter(|list| !list.is_empty()).collect();
        let mut all = lists.concat();
        all.sort_unstable();
        if all == online {
            let class = |processors| CoreClass { processors };
            return lists.into_iter().map(class).collect();
        }
        notes.push("the types of cores do not hold each processor once: not used".to_owned());
    }
    for file in ["cpu_capacity", "cpufreq/cpuinfo_max_freq"] {
        let of = |&id| Some((number_in(files, &format!("system/cpu/cpu{id}/{file}"))?, id));
        let ranked: Option<Vec<_>> = online.iter().map(of).collect();
        if let Some(classes) = ranked.map(by_rank).filter(|classes| classes.len() > 1) {
            return classes;
        }
    }
    vec![CoreClass {
        processors: online.to_vec(),
    }]
}

/// Divides the processors into classes where their capacity falls below nine tenths of the highest
/// of the class: cores of one kind may differ by some percent, because some bear more heat.
fn by_rank(mut ranked: Vec<(usize, usize)>) -> Vec<CoreClass> {
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    let mut classes: Vec<CoreClass> = Vec::new();
    let mut highest = usize::MAX;
    for (capacity, id) in ranked {
        if classes.is_empty() || capacity < highest / 10 * 9 {
            classes.push(CoreClass {
                processors: Vec::new(),
            });
            highest = capacity;
        }
        let class = classes.last_mut().expect("there is one");
        class.processors.push(id);
    }
    for class in &mut classes {
        class.processors.sort_unstable();
    }
    classes
}
