//! The DAG of a run: which strand came behind which (`HEIST_DAG`).
//!
//! Each meter has a recorder, which gives every strand that ends a *node*. A path carries the node
//! that it has come to, so that whoever begins or goes on there knows what comes before. A join of
//! which nothing was stolen lies in one piece at the end of its worker's nodes: if it is shorter
//! than the *floor* it becomes a single node, as in the DAG Recorder of Huynh, Thain, Pericas and
//! Taura (VPA 2015). So the time that a program works bounds the number of nodes.

use heist_event::dag;

use crate::insight::site::SiteId;

/// The name of a node: the number of its recorder, and its place there from 1.
pub(crate) type NodeId = u64;

/// The beginning of the program, before all nodes.
pub(crate) const BEGINNING: NodeId = 0;

/// The work below which a join becomes one node, if it can.
pub(crate) const FLOOR_NS: u64 = 5_000;

/// The floor doubles each time that a recorder has so many nodes more.
const DOUBLES_AFTER: usize = 1 << 18;

/// The most nodes of a recorder.
const NODES_MAX: usize = 1 << 22;

/// Among so many nodes at the end strands of one site come together.
const TOGETHER: usize = 4;

/// How far the place reaches in the name of a node.
const PLACE_BITS: u32 = 32;

#[derive(Clone, Copy)]
struct Node {
    site: SiteId,
    work: i64,
    span: i64,
    before: [NodeId; 2],
}

/// The nodes of one meter.
pub(crate) struct Recorder {
    /// From 1.
    number: u64,
    nodes: Vec<Node>,
    /// Nodes that come before others which were made without knowing them: later, earlier.
    edges: Vec<(NodeId, NodeId)>,
    /// The nodes before this place stay as they are. Those from there on are a chain.
    fixed: usize,
    /// How often something was told to others about a node.
    told: u64,
    /// The work of all strands.
    work: i64,
    /// That of those for which there was no room.
    dropped: i64,
}

/// The state of a recorder at a fork.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark {
    nodes: usize,
    fixed: usize,
    told: u64,
    work: i64,
}

impl Recorder {
    /// The recorder of this number, from 1.
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number: number as u64,
            nodes: Vec::new(),
            edges: Vec::new(),
            fixed: 0,
            told: 0,
            work: 0,
            dropped: 0,
        }
    }

    /// The name of the last node.
    fn last(&self) -> NodeId {
        self.number << PLACE_BITS | self.nodes.len() as u64
    }

    fn floor(&self, floor: i64) -> i64 {
        floor << (self.nodes.len() / DOUBLES_AFTER)
    }

    fn push(&mut self, node: Node) -> NodeId {
        if self.nodes.len() == NODES_MAX {
            self.dropped += node.work;
            return node.before[0];
        }
        self.nodes.push(node);
        self.last()
    }

    /// A strand of this site has ended, which began behind a node. Gives its own.
    pub(crate) fn strand(
        &mut self,
        before: NodeId,
        site: SiteId,
        (work, span): (i64, i64),
        floor: i64,
    ) -> NodeId {
        self.work += work;
        let floor = self.floor(floor);
        if before == self.last() {
            let from = self.fixed.max(self.nodes.len().saturating_sub(TOGETHER));
            let chain = &mut self.nodes[from..];
            let all: i64 = chain.iter().map(|node| node.work).sum();
            let same = chain.iter_mut().find(|node| node.site == site);
            if let Some(node) = same.filter(|_| all + work < floor) {
                node.work += work;
                node.span += span;
                return before;
            }
        } else {
            self.fixed = self.nodes.len();
        }
        self.push(Node {
            site,
            work,
            span,
            before: [before, BEGINNING],
        })
    }

    /// Another thread, or another job, may begin or go on behind the last node.
    pub(crate) fn tell(&mut self) {
        self.told += 1;
        self.fixed = self.nodes.len();
    }

    /// The node behind both.
    pub(crate) fn behind(&mut self, one: NodeId, other: NodeId, site: SiteId) -> NodeId {
        self.tell();
        match (one, other) {
            (BEGINNING, node) | (node, BEGINNING) => node,
            (one, other) if one == other => one,
            _ => self.push(Node {
                site,
                work: 0,
                span: 0,
                before: [one, other],
            }),
        }
    }

    /// A job has come to this node before whoever waits goes on at `point`, which is made if there
    /// is none. Gives the point.
    pub(crate) fn reach(&mut self, point: NodeId, node: NodeId, site: SiteId) -> NodeId {
        self.tell();
        let point = match point {
            BEGINNING => self.push(Node {
                site,
                work: 0,
                span: 0,
                before: [BEGINNING; 2],
            }),
            point => point,
        };
        // A strand that begins there is no part of it.
        self.fixed = self.nodes.len();
        self.edges.push((point, node));
        point
    }

    /// A fork is about to run.
    pub(crate) fn mark(&mut self) -> Mark {
        let mark = Mark {
            nodes: self.nodes.len(),
            fixed: self.fixed,
            told: self.told,
            work: self.work,
        };
        self.fixed = self.nodes.len();
        mark
    }

    /// Makes one node, or one for each site, of what came since the mark, if that is short and
    /// nobody else knows a node of it. Its path is so long, behind `start`. Gives the last node.
    pub(crate) fn collapse(
        &mut self,
        mark: &Mark,
        start: NodeId,
        span: i64,
        floor: i64,
    ) -> Option<NodeId> {
        let work = self.work - mark.work;
        if self.told != mark.told || work >= self.floor(floor) {
            return None;
        }
        let mut parts: Vec<(SiteId, i64)> = Vec::with_capacity(TOGETHER);
        for node in self.nodes.drain(mark.nodes..) {
            match parts.iter_mut().find(|(site, _)| *site == node.site) {
                Some((_, sum)) => *sum += node.work,
                None => parts.push((node.site, node.work)),
            }
        }
        self.fixed = mark.fixed;
        self.work = mark.work;
        let (mut at, mut span_left) = (start, span);
        let count = parts.len();
        for (n, (site, part)) in parts.into_iter().enumerate() {
            let its = match n + 1 == count {
                true => span_left,
                false => span * part / work.max(1),
            };
            span_left -= its;
            at = self.strand(at, site, (part, its), floor);
        }
        Some(at)
    }
}

/// The nodes and edges of all these recorders, which are empty then, as data with the times in
/// their own unit; and the work that is missing.
pub(crate) fn take(
    recorders: &mut [impl std::ops::DerefMut<Target = Recorder>],
) -> (dag::Dag, i64) {
    let mut starts = vec![0; recorders.len() + 1];
    for (n, recorder) in recorders.iter().enumerate() {
        starts[n + 1] = starts[n] + recorder.nodes.len();
    }
    let number = |id: NodeId| match id {
        BEGINNING => 0,
        id => {
            let (recorder, place) = ((id >> PLACE_BITS) as usize, id as u32);
            starts[recorder - 1] as u32 + place
        }
    };
    let (mut dag, mut dropped) = (dag::Dag::default(), 0);
    for recorder in recorders {
        dag.nodes
            .extend(recorder.nodes.drain(..).map(|node| dag::Node {
                site: node.site,
                work: node.work,
                span: node.span,
                before: node.before.map(number),
            }));
        let edges = recorder.edges.drain(..);
        let known = edges.filter(|&(later, earlier)| later != BEGINNING && earlier != BEGINNING);
        dag.edges
            .extend(known.map(|(later, earlier)| (number(earlier), number(later))));
        dropped += std::mem::take(&mut recorder.dropped);
        recorder.fixed = 0;
    }
    (dag, dropped)
}
