//! An HTTP service that makes small pictures of a large one, in parallel.
//!
//! Workers of heist do both, in a pool each: they serve the sockets as futures, and compute the
//! pictures by parallel iterators. `picture` and `answer` know no runtime, so that the benchmark
//! can run them on tokio and rayon as well.

#![forbid(unsafe_code)]

pub mod answer;
mod parallel;
pub mod picture;
pub mod server;
