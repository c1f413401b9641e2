//! The parallel iterators that `picture` uses; the benchmark puts rayon's in their place.

pub(crate) use heist::prelude::*;
