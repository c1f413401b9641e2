//! Parallel loops that find their own grain.
//!
//! One loop so far: [`parallel_for`](parallel_for()) over a range of indices.
//!
//! # Examples
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let sum = AtomicU64::new(0);
//! heist_par::parallel_for(0..1_000_000, |part| {
//!     let part: u64 = part.map(|i| i as u64).sum();
//!     sum.fetch_add(part, Ordering::Relaxed);
//! });
//! assert_eq!(sum.into_inner(), 499_999_500_000);
//! ```

#![forbid(unsafe_code)]

mod parallel_for;

pub use parallel_for::parallel_for;
