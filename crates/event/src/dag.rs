//! The DAG of a run: its strands, and which came behind which, as a process writes it at its end
//! when `HEIST_DAG` is set.
//!
//! It is JSON that is written by hand, because the recorded program writes it, and is to carry no
//! library for that. Times are whole nanoseconds.

use std::io::{self, Write};

use crate::json::Json;

/// The strands of one process.
///
/// A node is a strand, or several of one site that ran one after the other or in forks too short
/// to be worth more, or, without work, a point behind several others.
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
///
/// // Two strands behind a first one, and the point behind both.
/// let strand = |work, before| Node { work, span: work, before, ..Node::default() };
/// let nodes = vec![strand(10, [0, 0]), strand(30, [1, 0]), strand(40, [1, 0]), strand(0, [2, 3])];
/// let dag = Dag { nodes, ..Dag::default() };
/// assert_eq!((dag.work(), dag.span()), (80, Some(50)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dag {
    /// The version of heist.
    pub heist: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The number of the process.
    pub pid: u32,
    /// The workers of its largest pool.
    pub workers: usize,
    /// From its start to its end.
    pub wall_ns: u64,
    /// The part of that in which no worker of any pool had a job.
    pub outside_ns: u64,
    /// The work that is missing, because there was no room for more nodes.
    pub dropped_ns: u64,
    /// The names and kinds of sites.
    pub sites: Vec<(String, String)>,
    /// All nodes. They are numbered from 1.
    pub nodes: Vec<Node>,
    /// More nodes that come before others: the earlier one, and the later.
    pub edges: Vec<(u32, u32)>,
}

/// A node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The place of its site among the sites.
    pub site: u16,
    /// Its work.
    pub work: i64,
    /// The longest path in it.
    pub span: i64,
    /// The numbers of the nodes that come before it; 0 is none.
    pub before: [u32; 2],
}

impl Dag {
    /// The version of the form that is written.
    pub const VERSION: u32 = 1;

    /// The work of all nodes, or the largest number if it is more.
    #[must_use]
    pub fn work(&self) -> i64 {
        let works = self.nodes.iter().map(|node| node.work);
        works.fold(0, i64::saturating_add)
    }

    /// The longest path; `None` if some path has no end, or leads to a node that is not there.
    #[must_use]
    pub fn span(&self) -> Option<i64> {
        let after = self.after()?;
        let mut begins = vec![0_i64; self.nodes.len() + 1];
        let mut longest = 0;
        for at in after.order()? {
            let end = begins[at as usize].saturating_add(self.nodes[at as usize - 1].span);
            longest = longest.max(end);
            for &later in after.of(at) {
                let begin = &mut begins[later as usize];
                *begin = end.max(*begin);
            }
        }
        Some(longest)
    }

    /// The numbers of all nodes, each behind all that come before it; `None` as in
    /// [`span`](Self::span).
    #[must_use]
    pub fn order(&self) -> Option<Vec<u32>> {
        self.after()?.order()
    }

    /// The nodes that come right behind each; `None` if one is not there.
    #[must_use]
    pub fn after(&self) -> Option<After> {
        let own = (1_u32..).zip(&self.nodes).flat_map(|(at, node)| {
            let before = node.before.into_iter().filter(|&before| before != 0);
            before.map(move |before| (before, at))
        });
        let edges = || own.clone().chain(self.edges.iter().copied());
        let mut starts = vec![0_u32; self.nodes.len() + 2];
        for (before, at) in edges() {
            let nodes = 1..=self.nodes.len() as u32;
            if !nodes.contains(&before) || !nodes.contains(&at) {
                return None;
            }
            starts[before as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let (mut all, mut next) = (vec![0; starts[starts.len() - 1] as usize], starts.clone());
        for (before, at) in edges() {
            let place = &mut next[before as usize];
            all[*place as usize] = at;
            *place += 1;
        }
        Some(After { starts, all })
    }

    /// Writes it as JSON. A node is a list: the place of its site, its work, its span, and the
    /// numbers of the nodes before it.
    ///
    /// # Errors
    ///
    /// Fails if `out` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_event::dag::{Dag, Node};
    ///
    /// let node = Node { site: 0, work: 7, span: 5, before: [0, 0] };
    /// let mut file = Vec::new();
    /// Dag { nodes: vec![node], ..Dag::default() }.write(&mut file)?;
    /// assert!(String::from_utf8_lossy(&file).contains("[0, 7, 5]"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut head = Json::default();
        head.object(|json| {
            json.number("heist_dag", Self::VERSION);
            json.text("heist", &self.heist);
            json.texts("command", &self.command);
            json.number("pid", self.pid);
            json.number("workers", self.workers);
            json.number("wall_ns", self.wall_ns);
            json.number("outside_ns", self.outside_ns);
            json.number("dropped_ns", self.dropped_ns);
            json.array("sites", &self.sites, |json, (name, kind)| {
                json.text("name", name);
                json.text("kind", kind);
            });
        });
        let head = head.unfinished();
        write!(out, "{head},\n  \"nodes\": [")?;
        for (n, node) in self.nodes.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let Node {
                site, work, span, ..
            } = node;
            write!(out, "{comma}\n    [{site}, {work}, {span}")?;
            for before in node.before.iter().filter(|before| **before != 0) {
                write!(out, ", {before}")?;
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"],\n  \"edges\": [")?;
        for (n, (before, at)) in self.edges.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(out, "{comma}\n    [{before}, {at}]")?;
        }
        out.write_all(b"]\n}\n")
    }
}

/// The nodes that come right behind each node, in the order of their numbers where the nodes
/// themselves say so, and then those of the edges.
#[derive(Clone, Debug)]
pub struct After {
    starts: Vec<u32>,
    all: Vec<u32>,
}

impl After {
    /// Those behind the node of this number.
    ///
    /// # Panics
    ///
    /// Panics if there is no such node.
    #[must_use]
    pub fn of(&self, at: u32) -> &[u32] {
        let at = at as usize;
        &self.all[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// How many nodes come right before each, by its number; that of 0 means nothing.
    #[must_use]
    pub fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.starts.len() - 1];
        self.all.iter().for_each(|&at| waits[at as usize] += 1);
        waits
    }

    /// The numbers of all nodes, each behind all that come before it; `None` if there is a circle.
    #[must_use]
    pub fn order(&self) -> Option<Vec<u32>> {
        let mut waits = self.waits();
        let mut order: Vec<u32> = (1..waits.len() as u32)
            .filter(|&at| waits[at as usize] == 0)
            .collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for &later in self.of(at) {
                waits[later as usize] -= 1;
                if waits[later as usize] == 0 {
                    order.push(later);
                }
            }
        }
        (order.len() + 1 == waits.len()).then_some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(before: &[[u32; 2]], edges: &[(u32, u32)]) -> Dag {
        let node = |&before: &[u32; 2]| Node {
            work: 1,
            span: 1,
            before,
            ..Node::default()
        };
        Dag {
            nodes: before.iter().map(node).collect(),
            edges: edges.to_vec(),
            ..Dag::default()
        }
    }

    #[test]
    fn nodes_come_in_an_order_in_which_each_is_behind_those_before_it() {
        let dag = chain(&[[2, 0], [0, 0], [1, 4], [0, 0]], &[(4, 1)]);
        assert_eq!(dag.order(), Some(vec![2, 4, 1, 3]));
        assert_eq!((dag.work(), dag.span()), (4, Some(3)));
        let after = dag.after().unwrap();
        assert_eq!(after.of(4), [3, 1]);
        assert_eq!(chain(&[], &[]).span(), Some(0));
    }

    #[test]
    fn a_circle_and_a_node_that_is_not_there_have_no_span() {
        for (before, edges) in [
            (&[[2, 0], [1, 0]][..], &[][..]),
            (&[[1, 0]], &[]),
            (&[[0, 0], [1, 0]], &[(2, 1)]),
            (&[[3, 0], [0, 0]], &[]),
            (&[[0, 0]], &[(1, 2)]),
            (&[[0, 0]], &[(0, 1)]),
        ] {
            assert_eq!(chain(before, edges).span(), None, "{before:?} {edges:?}");
        }
    }
}
