//! An unbalanced tree of the kind of UTS, binomial: the root has many children,
//! every other node has four or none, by a draw from its own state.

use std::hint::black_box;

use crate::peer::ForkJoin;
use crate::rng::{mix, GOLDEN};
use crate::{measure, Request};

/// How many children a node has that has any.
const BRANCHES: u64 = 4;

/// Measures one count of the tree's nodes; a unit is one node.
pub(crate) fn run<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let roots = request.size("roots")?;
    let shape = Shape {
        seed: request.size("seed")?,
        // Out of 2^32, that a node below the root has children.
        odds: request.size("odds")?,
    };
    let units = peer.install(|context| count_root::<P>(context, shape, roots));
    request.repeat(|| {
        measure::sample(units, || {
            // The serial compiler would count once for all samples.
            peer.install(|context| count_root::<P>(context, shape, black_box(roots)))
        })
    })
}

#[derive(Clone, Copy)]
struct Shape {
    seed: u64,
    odds: u64,
}

fn count_root<P: ForkJoin>(context: &mut P::Context<'_>, shape: Shape, roots: u64) -> u64 {
    1 + children::<P>(context, shape.odds, mix(shape.seed), 0, roots)
}

fn node<P: ForkJoin>(context: &mut P::Context<'_>, odds: u64, state: u64) -> u64 {
    if state >> 32 < odds {
        1 + children::<P>(context, odds, state, 0, BRANCHES)
    } else {
        1
    }
}

/// The nodes at and below the children `low..high` of the node `parent`.
#[inline(never)]
fn children<P: ForkJoin>(
    context: &mut P::Context<'_>,
    odds: u64,
    parent: u64,
    low: u64,
    high: u64,
) -> u64 {
    if high - low == 1 {
        let state = mix(parent.wrapping_add((low + 1).wrapping_mul(GOLDEN)));
        return node::<P>(context, odds, state);
    }
    let middle = low + (high - low) / 2;
    let (a, b) = P::join(
        context,
        |context| children::<P>(context, odds, parent, low, middle),
        |context| children::<P>(context, odds, parent, middle, high),
    );
    a + b
}
