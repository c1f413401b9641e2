//! Parallel iterators: chains of operations over a collection, run by all workers.

mod collect;
mod indexed;
mod into;
mod parallel;
mod parts;
pub mod plumbing;

pub use either::Either;
#[expect(deprecated, reason = "rayon has it still")]
pub use heist_par::iter::repeatn;
pub use heist_par::iter::{
    empty, once, repeat, repeat_n, split, walk_tree, walk_tree_postfix, walk_tree_prefix, Empty,
    IterBridge, MultiZip, Once, ParallelBridge, Repeat, RepeatN, Split, WalkTree, WalkTreePostfix,
    WalkTreePrefix,
};
pub use indexed::IndexedParallelIterator;
pub use into::{
    IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelDrainFull, ParallelDrainRange,
};
pub use parallel::{
    Chain, Chunks, Cloned, Copied, Enumerate, ExponentialBlocks, Filter, FilterMap, FlatMap,
    FlatMapIter, Flatten, FlattenIter, Fold, FoldChunks, FoldChunksWith, FoldWith,
    FromParallelIterator, Inspect, Interleave, InterleaveShortest, Intersperse,
    IntoParallelIterator, Map, MapInit, MapWith, MaxLen, MinLen, PanicFuse, ParallelExtend,
    ParallelIterator, Positions, Rev, Skip, SkipAny, SkipAnyWhile, StepBy, Take, TakeAny,
    TakeAnyWhile, TryFold, TryFoldWith, UniformBlocks, Update, WhileSome, Zip, ZipEq,
};
