//! Where rayon's unit tests of iterators find what they reach from inside of it.
//!
//! This file is the root of a generated package. The tests come beside it as
//! they were published; what they reach as `crate::` is our public API.

#![allow(hidden_glob_reexports, reason = "the modules with the tests are named as ours")]

extern crate rayon as rayon_core;

pub use rayon::*;

#[cfg(test)]
mod iter {
    pub use rayon::iter::*;
    use std::collections::LinkedList;

    mod fold_chunks;
    mod fold_chunks_with;
    mod test;
}
#[cfg(test)]
mod range;
#[cfg(test)]
mod range_inclusive;
#[cfg(test)]
mod slice {
    mod test;
}
