//! The project's own chores, as a library so that they can be tested.
//!
//! - [`tidy`]: rules about the source that no compiler checks.
//! - [`model`]: the models of the protocols, under loom and shuttle.
//! - [`mutate`]: orderings weakened one at a time, and which model notices.
//! - [`targets`]: the libraries on other systems.
//! - [`rayon_tests`]: rayon's own tests on the stand-in.
//! - [`rayon_iterators`]: rayon's own tests of iterators on heist.
//! - [`coverage`]: how much of rayon's public iterators heist has.
//! - [`published`]: published packages, prepared to run on rayon or on the stand-in.
//! - [`programs`]: published programs on rayon and on heist, with times.
//! - [`libtest`]: test programs, run with a deadline.
//! - [`instructions`]: what a join and a spawn cost, in instructions.
//! - [`soak`]: everything mixed for minutes or hours, with delays.
//! - [`sanitize`]: tests under the compiler's sanitizers.
//! - `cluster` (on Linux): test clusters of real engines on one machine.
//! - [`ci`]: everything a change must pass, cheapest first.
//!
//! Each runs as `cargo xtask NAME`.

#![forbid(unsafe_code)]

pub mod ci;
// It stands on what only Linux has: a whole network of loopback addresses, `/proc`, namespaces.
#[cfg(target_os = "linux")]
pub mod cluster;
pub mod coverage;
mod cut;
pub mod fuzz;
pub mod instructions;
pub mod libtest;
mod machine;
pub mod model;
pub mod mutate;
mod process;
pub mod programs;
pub mod published;
pub mod rayon_iterators;
pub mod rayon_tests;
pub mod sanitize;
pub mod soak;
pub mod steps;
pub mod targets;
pub mod tidy;

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The root of the repository: the nearest folder from the present one upwards
/// that holds this package.
///
/// # Errors
///
/// Fails outside of the repository.
pub fn repository_root() -> anyhow::Result<PathBuf> {
    let here = std::env::current_dir().context("could not find out the current folder")?;
    here.ancestors()
        .find(|folder| folder.join("xtask/Cargo.toml").is_file())
        .map(Path::to_owned)
        .with_context(|| format!("{} is not inside the repository of heist", here.display()))
}
