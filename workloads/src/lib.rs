//! Recursions and their kernels, written once for `heist run` and the benchmark.
//!
//! A recursion is generic over a [`Join`], so that the serial program and every runtime execute
//! the same code. This package depends on no runtime.

#![forbid(unsafe_code)]

mod fib;
mod join;
mod merge;
mod nqueens;

pub use fib::fib;
pub use join::{Join, Sequential};
pub use merge::Merge;
pub use nqueens::Board;
