//! The sum over a binary tree in memory: by a join per node, and by rayon's own
//! walk over trees.

use heist_bench_workloads::rng::mix;
use heist_bench_workloads::Request;
use rayon::prelude::*;

use crate::demo::Demo;
use crate::join::{Join, Parallel, Sequential};

struct Node {
    value: u64,
    children: Option<Box<[Node; 2]>>,
}

/// By a join per node.
pub(crate) struct Sum {
    root: Node,
}

/// By rayon's walk, which takes the nodes in any order.
pub(crate) struct Walk {
    root: Node,
}

impl Demo for Sum {
    type Output = u64;

    fn new(request: &Request) -> Result<Self, String> {
        let root = Node::new(request.size("levels")?, 1);
        Ok(Self { root })
    }

    fn serial(&self) -> u64 {
        self.root.sum::<Sequential>()
    }

    fn parallel(&self) -> u64 {
        self.root.sum::<Parallel>()
    }

    fn checksum(output: u64) -> u64 {
        output
    }
}

impl Demo for Walk {
    type Output = u64;

    fn new(request: &Request) -> Result<Self, String> {
        let root = Node::new(request.size("levels")?, 1);
        Ok(Self { root })
    }

    fn serial(&self) -> u64 {
        self.root.sum::<Sequential>()
    }

    fn parallel(&self) -> u64 {
        rayon::iter::walk_tree(&self.root, Node::children)
            .map(|node| node.value)
            .reduce(|| 0, u64::wrapping_add)
    }

    fn checksum(output: u64) -> u64 {
        output
    }
}

impl Node {
    /// A full tree; the root has the given number, the children of `n` have `2n` and `2n + 1`.
    fn new(levels: u64, number: u64) -> Self {
        let children = || [0, 1].map(|side| Self::new(levels - 1, 2 * number + side));
        Self {
            value: mix(number),
            children: (levels > 1).then(|| Box::new(children())),
        }
    }

    /// Takes a reference to a reference, because a node of the walk is one.
    fn children<'n>(self: &&'n Self) -> impl DoubleEndedIterator<Item = &'n Self> {
        self.children.as_deref().into_iter().flatten()
    }

    fn sum<J: Join>(&self) -> u64 {
        let Some(children) = &self.children else {
            return self.value;
        };
        let [left, right] = &**children;
        let (a, b) = J::join(|| left.sum::<J>(), || right.sum::<J>());
        self.value.wrapping_add(a).wrapping_add(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn all_forms_add_every_node_once() {
        let expected = (1..1 << 10).fold(0, |sum: u64, number| sum.wrapping_add(mix(number)));
        assert_eq!(agreed::<Sum>("levels=10").1, expected);
        assert_eq!(agreed::<Walk>("levels=10").1, expected);
    }
}
