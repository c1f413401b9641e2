//! How Slurm is reached here, and which nodes it has.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_sync::Mutex;

use super::command::{command, output};
use super::guard::Guard;
use crate::backend::poller::Poller;
use crate::backend::{Needs, Node, Placement};
use crate::error::BackendError;
use crate::log::Logs;
use crate::planner::NodeId;
use crate::protocol::environment::OBJECTS_VARIABLE;
use crate::protocol::fingerprint::{Build, Fingerprint};
use crate::protocol::needs::{there_are, wanted};
use crate::protocol::Limits;

/// How long an answer about the nodes is good.
const NODES_KEPT: Duration = Duration::from_secs(1);

/// The settings that all parts of the backend share.
#[derive(Debug)]
pub(super) struct Site {
    /// The name in Slurm of all workers of this connection.
    pub(super) name: String,
    pub(super) guard: Guard,
    pub(super) partition: Option<String>,
    /// For srun and sbatch, as the user wishes.
    pub(super) extra: Vec<String>,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) fingerprint: Fingerprint,
    pub(super) build: Arc<Build>,
    pub(super) limits: Limits,
    /// How long a process may show no sign of life.
    pub(super) silence: Duration,
    pub(super) logs: Logs,
    /// Speaks to the workers for calls.
    pub(super) poller: Arc<Poller>,
    /// Of jobs, a folder each.
    pub(super) jobs: PathBuf,
    /// Of shared data.
    pub(super) objects: PathBuf,
    /// Variables that work is given beside the usual ones.
    pub(super) variables: Vec<String>,
    pub(super) nodes: Mutex<Option<(Instant, Vec<Node>)>>,
}

impl Site {
    /// srun or sbatch, with what both need. All of their environment goes to the node.
    pub(super) fn placing(&self, program: &str, cpus: u32, needs: &Needs) -> Command {
        let mut command = command(program);
        command
            .args(["--nodes=1", "--ntasks=1", "--export=ALL"])
            .arg(format!("--cpus-per-task={cpus}"));
        if needs.memory_bytes > 0 {
            let mib = needs.memory_bytes.div_ceil(1 << 20);
            command.arg(format!("--mem={mib}M"));
        }
        if !needs.named.is_empty() {
            let named = needs.named.iter();
            let named: Vec<_> = named
                .map(|(name, count)| format!("{name}:{count}"))
                .collect();
            command.arg(format!("--gres={}", named.join(",")));
        }
        if let Some(partition) = &self.partition {
            command.arg(format!("--partition={partition}"));
        }
        command
            .args(&self.extra)
            .env(OBJECTS_VARIABLE, &self.objects);
        for name in &self.variables {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// The nodes of the partition, as they were a second ago at most.
    pub(super) fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        if let Some((at, nodes)) = &*self.nodes.lock() {
            if at.elapsed() < NODES_KEPT {
                return Ok(nodes.clone());
            }
        }
        let mut sinfo = command("sinfo");
        sinfo.args(["--noheader", "--Node", "--format=%P|%N|%c|%m|%T|%G"]);
        let text = output(&mut sinfo).map_err(BackendError::lost)?;
        let nodes = parse(&text, self.partition.as_deref())?;
        *self.nodes.lock() = Some((Instant::now(), nodes.clone()));
        Ok(nodes)
    }

    /// Why there never is as much as is wanted, if no node has so many of a resource.
    pub(super) fn lacks(&self, cpus: &dyn fmt::Display, needs: &Needs) -> Option<BackendError> {
        let nodes = self.known_nodes();
        // Slurm itself knows best how much memory it gives away.
        let named = Needs::new(0, &needs.named);
        if nodes.is_empty() || nodes.iter().any(|node| named.times(&node.needs()) > 0) {
            return None;
        }
        let has: Vec<_> = nodes.iter().map(|node| (node, node.needs())).collect();
        let has = has
            .iter()
            .map(|(node, has)| (&node.id as _, &node.cpus as _, has));
        let (wanted, there) = (wanted(cpus, needs), there_are(has));
        Some(BackendError::impossible(format!(
            "{wanted} were wanted of Slurm; there are {there}"
        )))
    }

    /// The nodes, as they were when Slurm was asked last.
    pub(super) fn known_nodes(&self) -> Vec<Node> {
        let known = self.nodes.lock();
        known
            .as_ref()
            .map(|(_, nodes)| nodes.clone())
            .unwrap_or_default()
    }

    /// Whether a node can be called so. Slurm takes some other signs for lists and patterns of
    /// names, and then waits for ever for one node that is all of these.
    pub(super) fn may_have(node: &NodeId) -> bool {
        let is_sign = |sign: char| sign.is_alphanumeric() || "-_.".contains(sign);
        node.as_str().chars().all(is_sign)
    }

    /// The error of work for a node that does not exist.
    pub(super) fn has_none(&self, wanted: &NodeId) -> BackendError {
        no_node(wanted, &self.known_nodes())
    }

    /// The nodes that are left out so that work runs where `placement` wants it. They are
    /// named, in place of the one that is meant, because Slurm lets that be changed later.
    pub(super) fn others(&self, placement: &Placement) -> Result<Vec<String>, BackendError> {
        let Some(wanted) = &placement.node else {
            return Ok(Vec::new());
        };
        let nodes = self.nodes()?;
        if nodes.iter().all(|node| node.id != *wanted) {
            if !placement.is_pinned {
                return Ok(Vec::new());
            }
            return Err(no_node(wanted, &nodes));
        }
        let others = nodes.into_iter().filter(|node| node.id != *wanted);
        Ok(others.map(|node| node.id.to_string()).collect())
    }
}

fn no_node(wanted: &NodeId, nodes: &[Node]) -> BackendError {
    let names: Vec<_> = nodes.iter().map(|node| node.id.to_string()).collect();
    let names = names.join(", ");
    BackendError::impossible(format!("it was to run on {wanted}; the nodes are {names}"))
}

/// Reads the output of sinfo: a line for each node and partition; the default partition has a star.
fn parse(text: &str, partition: Option<&str>) -> Result<Vec<Node>, BackendError> {
    let mut found = Vec::new();
    for line in text.lines() {
        let fields: Vec<_> = line.split('|').map(str::trim).collect();
        let read = || {
            let [of, name, cpus, memory_mib, state, gres] = fields[..] else {
                return None;
            };
            let mut node = Node::new(NodeId::from(name), f64::from(cpus.parse::<u32>().ok()?));
            node.memory_bytes = memory_mib.parse::<u64>().ok()? << 20;
            node.is_alive = lives(state);
            node.resources = resources(gres);
            Some((of, node))
        };
        let Some((of, node)) = read() else {
            return Err(BackendError::lost(format!(
                "sinfo said {line:?}; a partition, a node, its processors, MiB, state and generic \
                 resources were expected, with a bar between"
            )));
        };
        let is_meant = match partition {
            Some(names) => names
                .split(',')
                .any(|name| name == of.trim_end_matches('*')),
            None => of.ends_with('*'),
        };
        if is_meant && found.iter().all(|other: &Node| other.id != node.id) {
            found.push(node);
        }
    }
    Ok(found)
}

/// Reads a list such as `gpu:a100:2(S:0-1),disk:1`, of which the kinds are left out.
fn resources(gres: &str) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    // Commas may stand in brackets.
    let outside = |part| match str::split_once(part, ')') {
        Some((_, rest)) => rest,
        None => part,
    };
    let outside: String = gres.split('(').map(outside).collect();
    for one in outside.split(',') {
        let mut parts = one.split(':');
        let (name, last) = (parts.next().unwrap_or_default(), parts.next_back());
        // One without a number is there once.
        let count = last.and_then(|last| last.parse().ok()).unwrap_or(1);
        if !name.is_empty() {
            *found.entry(name.to_owned()).or_default() += count;
        }
    }
    found
}

/// Whether Slurm gives work to a node in this state, now or once there is room. A star
/// behind it says that the node does not answer; other signs are about its power.
fn lives(state: &str) -> bool {
    let name = state.trim_end_matches(|sign: char| !sign.is_ascii_lowercase());
    let lives = [
        "idle",
        "mixed",
        "allocated",
        "completing",
        "reserved",
        "planned",
    ];
    lives.contains(&name) && !state.contains('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_are_those_of_the_partition() {
        let text = "low*|n1|2|4000|idle|(null)\nlow*|n2|4|8000|down*|\nbig|n2|4|8000|mixed|gpu:1\n";
        let names = |partition| {
            let nodes = parse(text, partition).expect("nodes");
            nodes
                .iter()
                .map(|node| (node.id.to_string(), node.cpus, node.is_alive))
                .collect::<Vec<_>>()
        };
        let n2 = |is_alive| ("n2".to_owned(), 4.0, is_alive);
        assert_eq!(names(None), [("n1".to_owned(), 2.0, true), n2(false)]);
        assert_eq!(names(Some("big")), [n2(true)]);
        assert!(parse("low*|n1|two|4000|idle|", None).is_err());
    }

    #[test]
    fn generic_resources_are_counted_by_name() {
        let of = |pairs: &[(&str, u32)]| -> BTreeMap<String, u32> {
            let pairs = pairs
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count));
            pairs.collect()
        };
        assert_eq!(resources("(null)"), of(&[]));
        assert_eq!(resources(""), of(&[]));
        assert_eq!(resources("gpu:2"), of(&[("gpu", 2)]));
        let kinds = "gpu:a100:2(S:0,1),gpu:k80:1(S:0-1),disk";
        assert_eq!(resources(kinds), of(&[("gpu", 3), ("disk", 1)]));
    }

    #[test]
    fn a_node_that_does_not_answer_is_not_alive() {
        for state in ["idle", "mixed", "allocated", "completing", "idle~"] {
            assert!(lives(state), "{state}");
        }
        for state in ["down", "down*", "idle*", "drained", "draining", "unknown"] {
            assert!(!lives(state), "{state}");
        }
    }
}
