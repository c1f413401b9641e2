//! The parallel iterators that `picture` uses: here those of rayon.

pub(crate) use rayon::prelude::*;
