//! The sum over a linked binary tree in memory: little work per join, and
//! every node a load.

use std::hint::black_box;

use crate::node::{build, Tree};
use crate::peer::{ByValue, ForkJoin};
use crate::{measure, Request};

/// Measures one walk over a tree of `levels` levels; a unit is one node.
pub(crate) fn run<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    run_on(request, |root| {
        peer.install(|context| sum::<P>(context, root))
    })
}

/// As [`run`], on a peer with a body of its own.
pub(crate) fn run_by_value<P: ByValue>(peer: &mut P, request: &Request) -> Result<(), String> {
    run_on(request, |root| peer.sum(root))
}

fn run_on(request: &Request, mut sum: impl FnMut(&Tree) -> u64) -> Result<(), String> {
    let levels = request.size("levels")?;
    let root = build(levels, &mut 1);
    let nodes = (1 << levels) - 1;
    let outcome = request.repeat(|| measure::sample(nodes, || sum(black_box(&root))));
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
fn sum<P: ForkJoin>(context: &mut P::Context<'_>, node: &Tree) -> u64 {
    let Some(node) = node else { return 0 };
    let (left, right) = P::join(
        context,
        |context| sum::<P>(context, &node.left),
        |context| sum::<P>(context, &node.right),
    );
    node.value + left + right
}
