//! Counts the nodes of a tree whose shape is not known in advance.
//!
//! The binomial tree of the Unbalanced Tree Search benchmark: the root has many
//! children, every other node has eight with a probability just below one
//! eighth, and none otherwise. Subtrees differ by orders of magnitude.

use std::io;
use std::ops::Range;

use super::contract::{Fact, Flag, Profile, Setup, Size, Workload};
use crate::strategy::{Bag, Pieces, Serial};

/// How many children a node has that has any.
const CHILDREN: u32 = 8;

/// How often a node has children: 0.124875, so that a subtree has 1,000 nodes
/// on average.
const FERTILE_PER_MILLION: u64 = 124_875;

/// How often a node's name is hashed to get its state: what the benchmark calls
/// its granularity.
const HASH_PASSES: u32 = 4;

/// The bag form makes nodes up to this depth tasks of their own.
const BAG_DEPTH: u32 = 6;

pub(crate) struct Uts {
    root: Node,
    root_children: u32,
}

impl Workload for Uts {
    const PROFILE: Profile = Profile {
        name: "uts",
        about: "Counts an unbalanced tree whose nodes are derived by hashing",
        tasks: "a node down to depth 6, with its subtree there; to stealing every join is one",
        size: Some(Size {
            what: "children of the root, each the root of 1,000 nodes on average",
            default: 2_000,
            accepted: 1..=100_000,
        }),
        flags: &[Flag::Seed],
    };

    type Scratch = ();
    type Output = Count;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        Ok(Self {
            root: Node {
                state: *blake3::hash(&setup.seed.to_le_bytes()).as_bytes(),
                depth: 0,
            },
            root_children: u32::try_from(setup.size)?,
        })
    }

    fn input(&self) -> String {
        format!(
            "an unbalanced tree, with {} children of the root",
            self.root_children
        )
    }

    fn fresh(&self) {}

    fn serial(&self, (): (), serial: &mut Serial<'_>) -> Count {
        serial.item(
            || "the tree".to_owned(),
            || {
                let children = (0..self.root_children).map(|index| count(self.root.child(index)));
                children.fold(Count::of(&self.root, self.root_children), Count::plus)
            },
        )
    }

    fn bagged(&self, (): (), bag: &mut Bag<'_>) -> io::Result<Count> {
        let children = (0..self.root_children).map(|index| self.root.child(index));
        let counts = bag.run(
            children.collect(),
            |node| {
                format!(
                    "node {:02x}{:02x} at depth {}",
                    node.state[0], node.state[1], node.depth
                )
            },
            |node, sum: &mut Count, push| {
                if node.depth > BAG_DEPTH {
                    *sum = sum.plus(count(node));
                } else {
                    let children = node.children();
                    *sum = sum.plus(Count::of(&node, children));
                    push.extend((0..children).map(|index| node.child(index)));
                }
            },
        )?;
        let root = Count::of(&self.root, self.root_children);
        Ok(counts.into_iter().fold(root, Count::plus))
    }

    fn stealing(&self, (): (), _: Pieces<'_>) -> Count {
        let below = joined_children(&self.root, 0..self.root_children);
        Count::of(&self.root, self.root_children).plus(below)
    }

    fn facts(&self, output: &Count) -> Vec<Fact> {
        vec![
            Fact::new("nodes", output.nodes),
            Fact::new("leaves", output.leaves),
            Fact::new("depth_max", u64::from(output.depth_max)),
        ]
    }
}

/// Findings about a part of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    nodes: u64,
    leaves: u64,
    depth_max: u32,
}

impl Count {
    /// A node alone.
    fn of(node: &Node, children: u32) -> Self {
        Self {
            nodes: 1,
            leaves: u64::from(children == 0),
            depth_max: node.depth,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            leaves: self.leaves + other.leaves,
            depth_max: self.depth_max.max(other.depth_max),
        }
    }
}

/// A node: everything below it follows from its state.
struct Node {
    state: [u8; blake3::OUT_LEN],
    depth: u32,
}

impl Node {
    fn child(&self, index: u32) -> Self {
        let mut name = [0; blake3::OUT_LEN + 4];
        name[..blake3::OUT_LEN].copy_from_slice(&self.state);
        name[blake3::OUT_LEN..].copy_from_slice(&index.to_le_bytes());
        let once = *blake3::hash(&name).as_bytes();
        let further = 1..HASH_PASSES;
        Self {
            state: further.fold(once, |state, _| *blake3::hash(&state).as_bytes()),
            depth: self.depth + 1,
        }
    }

    /// How many children it has, unless it is the root.
    fn children(&self) -> u32 {
        let draw = self.state[..8].try_into().map_or(0, u64::from_le_bytes);
        let fertile = draw < u64::MAX / 1_000_000 * FERTILE_PER_MILLION;
        if fertile {
            CHILDREN
        } else {
            0
        }
    }
}

fn count(node: Node) -> Count {
    let children = node.children();
    let below = (0..children).map(|index| count(node.child(index)));
    below.fold(Count::of(&node, children), Count::plus)
}

fn joined(node: &Node) -> Count {
    let children = node.children();
    let below = joined_children(node, 0..children);
    Count::of(node, children).plus(below)
}

fn joined_children(parent: &Node, indices: Range<u32>) -> Count {
    match indices.len() {
        0 => Count::default(),
        1 => joined(&parent.child(indices.start)),
        _ => {
            let middle = indices.start + (indices.end - indices.start) / 2;
            let (left, right) = heist::join(
                || joined_children(parent, indices.start..middle),
                || joined_children(parent, middle..indices.end),
            );
            left.plus(right)
        }
    }
}
