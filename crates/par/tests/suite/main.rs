//! The tests of parallel loops, iterators and algorithms, in one program that is linked once.

mod adaptors;
mod algorithms;
mod beyond_rayon;
mod bridge;
mod collect;
mod consumers;
mod folds;
mod generators;
mod indexed;
mod loops;
mod pieces;
mod pipeline;
mod pipelines;
mod reductions;
mod sources;
mod strings;
mod totals;
