//! The sum over a linked binary tree in memory: little work per join, and
//! every node a load.

use std::hint::black_box;

use crate::peer::ForkJoin;
use crate::{measure, Request};

struct Node {
    value: u64,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}

/// A full tree of `levels` levels, numbered and laid out in preorder.
fn build(levels: u64, next: &mut u64) -> Option<Box<Node>> {
    if levels == 0 {
        return None;
    }
    // The node comes before its children in memory, as in a tree that was read from a file.
    let mut node = Box::new(Node {
        value: *next,
        left: None,
        right: None,
    });
    *next += 1;
    node.left = build(levels - 1, next);
    node.right = build(levels - 1, next);
    Some(node)
}

/// Measures one walk over a tree of `levels` levels; a unit is one node.
pub(crate) fn run<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let levels = request.size("levels")?;
    let root = build(levels, &mut 1);
    let nodes = (1 << levels) - 1;
    let outcome = request.repeat(|| {
        measure::sample(nodes, || {
            peer.install(|context| sum::<P>(context, black_box(&root)))
        })
    });
    // The process ends next; freeing millions of nodes one by one would cost seconds.
    Box::leak(Box::new(root));
    outcome
}

/// Measures `walks` walks back to back inside the pool; a unit is one node.
pub(crate) fn run_small<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let levels = request.size("levels")?;
    let walks = request.size("walks")?;
    let root = build(levels, &mut 1);
    let units = ((1 << levels) - 1) * walks;
    request.repeat(|| {
        measure::sample(units, || {
            peer.install(|context| {
                (0..walks)
                    .map(|_| sum::<P>(context, black_box(&root)))
                    .sum()
            })
        })
    })
}

#[inline(never)]
fn sum<P: ForkJoin>(context: &mut P::Context<'_>, node: &Option<Box<Node>>) -> u64 {
    let Some(node) = node else { return 0 };
    let (left, right) = P::join(
        context,
        |context| sum::<P>(context, &node.left),
        |context| sum::<P>(context, &node.right),
    );
    node.value + left + right
}
