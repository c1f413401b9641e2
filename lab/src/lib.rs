//! Laboratories: long experiments that a change may need, and that nothing else does.
//!
//! - `cluster` (on Linux): test clusters of real backends on one machine.
//! - [`programs`]: published programs on rayon and on heist, with times.
//! - [`rayon_tests`]: rayon's own tests on the stand-in.
//! - [`rayon_iterators`]: rayon's own tests of iterators on heist.
//! - [`coverage`]: how much of rayon's public iterators heist has.
//! - [`instructions`]: the cost of a join and of a spawn, in instructions.
//!
//! Each runs as `cargo lab NAME`. Below them lie [`published`] packages, prepared to run on rayon
//! or on the stand-in, and [`libtest`], test programs with a deadline.

#![forbid(unsafe_code)]

// It stands on what only Linux has: a whole network of loopback addresses, `/proc`, namespaces.
#[cfg(target_os = "linux")]
pub mod cluster;
pub mod coverage;
mod cut;
pub mod instructions;
pub mod libtest;
pub mod programs;
pub mod published;
pub mod rayon_iterators;
pub mod rayon_tests;
