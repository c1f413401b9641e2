//! Parallel iterators that need no collection.

mod multizip;
mod once;
mod repeat;
mod splitter;
mod walk_tree;

pub use multizip::MultiZip;
pub use once::{empty, once, Empty, Once};
#[expect(deprecated, reason = "for programs that still use it")]
pub use repeat::repeatn;
pub use repeat::{repeat, repeat_n, Repeat, RepeatN};
pub use splitter::{split, Split};
pub use walk_tree::{
    walk_tree, walk_tree_postfix, walk_tree_prefix, WalkTree, WalkTreePostfix, WalkTreePrefix,
};
