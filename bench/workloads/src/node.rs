//! A linked binary tree in memory.

/// A tree that may be empty.
pub type Tree = Option<Box<Node>>;

/// A number, and the trees below it.
#[derive(Debug)]
pub struct Node {
    /// The number.
    pub value: u64,
    /// Of the nodes behind this one, the first half.
    pub left: Tree,
    /// The second half.
    pub right: Tree,
}

/// A full tree of `levels` levels, numbered and laid out in preorder.
pub(crate) fn build(levels: u64, next: &mut u64) -> Tree {
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
