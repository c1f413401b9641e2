//! Where rayon's unit tests find what they reach from inside of it, with the package in its place.
//!
//! This file is the root of a generated package. The tests come beside it as they were published,
//! and so do rayon's consumers for `collect` and `find_first`, its macros for delegation and its
//! sort, which have tests of their own: they speak the plumbing, and here it is ours.

#![allow(hidden_glob_reexports, dead_code, unused_imports, reason = "as the originals have it")]

extern crate rayon as rayon_core;

pub use rayon::*;

#[cfg(test)]
include!("send_ptr.rs");

#[cfg(test)]
#[macro_use]
mod delegate;
#[cfg(test)]
mod iter {
    use self::plumbing::*;
    pub use rayon::iter::*;
    use std::collections::LinkedList;

    mod collect;
    mod find_first_last;
    mod fold_chunks;
    mod fold_chunks_with;
    mod test;

    mod unzip {
        use super::plumbing::Consumer;
        use super::IndexedParallelIterator;

        pub(super) fn unzip_indexed<I, A, B, CA, CB>(_: I, _: CA, _: CB) -> (CA::Result, CB::Result)
        where
            I: IndexedParallelIterator<Item = (A, B)>,
            CA: Consumer<A>,
            CB: Consumer<B>,
        {
            unreachable!("the tests of `collect` unzip nothing")
        }
    }
}
#[cfg(test)]
mod range;
#[cfg(test)]
mod range_inclusive;
#[cfg(test)]
mod slice {
    pub use rayon::slice::*;

    mod sort;
    mod test;
}
