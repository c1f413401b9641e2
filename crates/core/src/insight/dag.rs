//! The DAG of a run: which strand came behind which (`HEIST_DAG`).
//!
//! Each meter has a recorder, which gives every strand that ends a *node*. A path carries the node
//! that it has come to, so that whoever begins or goes on there knows what comes before. A join of
//! which nothing was stolen lies in one piece at the end of its worker's nodes: if it is shorter
//! than the *floor* it becomes a single node, as in the DAG Recorder of Huynh, Thain, Pericas and
//! Taura (VPA 2015). So the time that a program works bounds the number of nodes.
//!
//! Jobs that are spawned by themselves are nodes however short they are. All recorders share the
//! room for nodes and edges; one that finds none forgets what it has, and counts its work only.

use std::sync::{Mutex, PoisonError};

use heist_event::dag;

use crate::insight::site::SiteId;

/// The name of a node: the number of its recorder, how often that has been emptied, and its place
/// there from 1.
pub(crate) type NodeId = u64;

/// The beginning of the program, before all nodes.
pub(crate) const BEGINNING: NodeId = 0;

/// The work below which a join becomes one node, if it can.
pub(crate) const FLOOR_NS: u64 = 5_000;

/// The floor doubles each time that all recorders have room for so many nodes and edges more.
const DOUBLES_AFTER: usize = 1 << 19;

/// The most nodes and edges of all recorders together. A file of so many is read.
const ENTRIES_MAX: usize = 1 << 23;

/// A recorder gets room for an eighth of what it has, within these bounds.
const ROOM_MORE: (usize, usize) = (64, 4096);

/// The room that recorders have got, in nodes and edges.
static GIVEN: Mutex<usize> = Mutex::new(0);

/// Among so many nodes at the end strands of one site come together.
const TOGETHER: usize = 4;

/// How far the place reaches in the name of a node, and how far the times that its recorder has
/// been emptied.
const PLACE_BITS: u32 = 32;
const EMPTIED_BITS: u32 = 40;

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
    /// A job that has begun before, and ends late, comes behind nodes that are no longer there.
    emptied: u8,
    nodes: Vec<Node>,
    /// Nodes that come before others which were made without knowing them: later, earlier.
    edges: Vec<(NodeId, NodeId)>,
    /// The nodes before this place stay as they are. Those from there on are a chain.
    fixed: usize,
    /// How often something was told to others about a node.
    told: u64,
    /// The work of all strands.
    work: i64,
    /// How many nodes and edges there may be.
    room: usize,
    /// How often the floor has doubled.
    doubled: usize,
    /// There was no room for one. Then there are none.
    is_full: bool,
    /// The work of sites, while a join becomes a node; else empty.
    parts: Vec<(SiteId, i64)>,
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
            emptied: 0,
            nodes: Vec::new(),
            edges: Vec::new(),
            fixed: 0,
            told: 0,
            work: 0,
            room: 0,
            doubled: 0,
            is_full: false,
            parts: Vec::new(),
        }
    }

    /// The names of its nodes, without their places.
    fn name(&self) -> NodeId {
        self.number << EMPTIED_BITS | u64::from(self.emptied) << PLACE_BITS
    }

    /// The name of the last node.
    fn last(&self) -> NodeId {
        self.name() | self.nodes.len() as u64
    }

    fn floor(&self, floor: i64) -> i64 {
        floor << self.doubled
    }

    /// True if there is room for one more node or edge.
    fn has_room(&mut self) -> bool {
        if !self.is_full && self.nodes.len() + self.edges.len() < self.room {
            return true;
        }
        self.is_full = self.is_full || !self.get_room();
        if self.is_full {
            (self.nodes, self.edges) = (Vec::new(), Vec::new());
        }
        !self.is_full
    }

    #[cold]
    fn get_room(&mut self) -> bool {
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        let more = (self.room / 8).clamp(ROOM_MORE.0, ROOM_MORE.1);
        if *given + more > ENTRIES_MAX {
            return false;
        }
        *given += more;
        self.room += more;
        self.doubled = *given / DOUBLES_AFTER;
        true
    }

    /// Gives nodes and edges away, and their room back.
    fn empty(&mut self) -> (Vec<Node>, Vec<(NodeId, NodeId)>) {
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        *given -= std::mem::take(&mut self.room);
        (self.doubled, self.fixed, self.is_full) = (0, 0, false);
        self.emptied = self.emptied.wrapping_add(1);
        // The nodes since a mark are gone.
        self.told += 1;
        let nodes = std::mem::take(&mut self.nodes);
        (nodes, std::mem::take(&mut self.edges))
    }

    fn push(&mut self, node: Node) -> NodeId {
        if !self.has_room() {
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
        if self.has_room() {
            self.edges.push((point, node));
        }
        // A strand that begins there is no part of it.
        self.fixed = self.nodes.len();
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
        if self.is_full || self.told != mark.told || work >= self.floor(floor) {
            return None;
        }
        let mut parts = std::mem::take(&mut self.parts);
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
        for (n, (site, part)) in parts.drain(..).enumerate() {
            let its = match n + 1 == count {
                true => span_left,
                false => span * part / work.max(1),
            };
            span_left -= its;
            at = self.strand(at, site, (part, its), floor);
        }
        self.parts = parts;
        Some(at)
    }
}

/// The nodes and edges of all these recorders, which are empty then, as data with the times in
/// their own unit; or, if there was no room for them all, none of them, and all work.
pub(crate) fn take(
    recorders: &mut [impl std::ops::DerefMut<Target = Recorder>],
) -> (dag::Dag, Option<i64>) {
    let is_full = recorders.iter().any(|recorder| recorder.is_full);
    let work = recorders.iter().map(|recorder| recorder.work).sum();
    let mut starts = vec![0; recorders.len() + 1];
    for (n, recorder) in recorders.iter().enumerate() {
        starts[n + 1] = starts[n] + recorder.nodes.len();
    }
    let names: Vec<NodeId> = recorders.iter().map(|recorder| recorder.name()).collect();
    let number = |id: NodeId| {
        let (recorder, place) = ((id >> EMPTIED_BITS) as usize, id as u32);
        match id != BEGINNING && names[recorder - 1] | u64::from(place) == id {
            true => starts[recorder - 1] as u32 + place,
            false => 0,
        }
    };
    let mut dag = dag::Dag::default();
    for recorder in recorders {
        let (nodes, edges) = recorder.empty();
        if is_full {
            continue;
        }
        dag.nodes.extend(nodes.into_iter().map(|node| dag::Node {
            site: node.site,
            work: node.work,
            span: node.span,
            before: node.before.map(number),
        }));
        let edges = edges.into_iter();
        let edges = edges.map(|(later, earlier)| (number(earlier), number(later)));
        dag.edges
            .extend(edges.filter(|&(earlier, later)| earlier != 0 && later != 0));
    }
    (dag, is_full.then_some(work))
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    /// No other test of this process records.
    static RECORDS: Mutex<()> = Mutex::new(());

    /// A worker that was kept from its processor when the call had ended: its last strand, of no
    /// work, is in the DAG of the next call, behind nodes of the first.
    #[test]
    fn a_strand_that_ends_late_comes_behind_nothing() {
        let _records = RECORDS.lock();
        let mut recorders = [Recorder::new(1), Recorder::new(2)];
        let late = (0..3).fold(BEGINNING, |before, site| {
            recorders[0].strand(before, site, (9, 9), 0)
        });
        let mark = recorders[0].mark();
        take(&mut recorders.each_mut());
        assert_eq!(recorders[0].collapse(&mark, late, 0, 50), None);
        recorders[0].strand(late, 0, (0, 0), 0);
        let node = recorders[1].strand(BEGINNING, 0, (1, 1), 0);
        recorders[1].reach(node, late, 0);
        recorders[1].reach(late, node, 0);
        let (dag, _) = take(&mut recorders.each_mut());
        assert_eq!(
            (dag.nodes.len(), dag.edges.len(), dag.span()),
            (2, 0, Some(1))
        );
    }

    #[test]
    fn a_recorder_without_room_forgets_all_and_says_how_much_work_that_was() {
        let _records = RECORDS.lock();
        let mut recorders = [Recorder::new(1), Recorder::new(2)];
        recorders[1].strand(BEGINNING, 0, (9, 9), 0);
        let recorder = &mut recorders[0];
        let mut point = BEGINNING;
        // An edge has its room as well; without work nothing else would tell.
        for _ in 0..ENTRIES_MAX {
            let node = recorder.strand(BEGINNING, 0, (0, 0), 0);
            point = recorder.reach(point, node, 0);
        }
        assert!(recorder.is_full, "{}", recorder.nodes.len());
        assert_eq!(recorder.nodes.capacity() + recorder.edges.capacity(), 0);
        let mark = recorder.mark();
        let node = recorder.strand(point, 0, (1, 1), 50);
        assert_eq!(recorder.collapse(&mark, point, 1, 50), None);
        recorder.behind(node, point, 0);
        let (dag, missing) = take(&mut recorders.each_mut());
        assert_eq!((dag, missing), (dag::Dag::default(), Some(10)));
        // Their room is free again.
        recorders[0].strand(BEGINNING, 0, (1, 1), 0);
        assert_eq!(*GIVEN.lock().unwrap(), ROOM_MORE.0);
        let (dag, missing) = take(&mut recorders.each_mut());
        assert_eq!((dag.nodes.len(), missing), (1, None));
    }
}
