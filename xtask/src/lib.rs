//! The project's own chores, as a library so that they can be tested.
//!
//! - [`ci`]: everything that a change must pass, cheapest first.
//! - [`tidy`]: rules about the source that no compiler checks.
//! - [`model`]: the models of the protocols, under loom and shuttle.
//! - [`mutate`]: orderings weakened one at a time, and which model notices.
//! - [`targets`]: the libraries on other systems, and by their oldest compilers.
//! - [`sanitize`] and [`miri`]: tests under sanitizers, and in an interpreter.
//! - [`soak`] and [`fuzz`]: everything mixed for minutes or hours, pipelines that a fuzzer chooses.
//! - [`book`] and [`newcomer`]: the book's pages and links, and its first chapter replayed.
//!
//! Each runs as `cargo xtask NAME`. Below them lie [`steps`], [`hung`], [`process`],
//! [`libtest`], [`machine`] and [`build`], on which `cargo lab` stands too.

#![forbid(unsafe_code)]

pub mod book;
pub mod build;
pub mod ci;
pub mod fuzz;
pub mod hung;
pub mod libtest;
pub mod machine;
pub mod miri;
pub mod model;
pub mod mutate;
pub mod newcomer;
pub mod process;
pub mod release;
pub mod sanitize;
pub mod soak;
pub mod steps;
pub mod targets;
pub mod tidy;
pub mod workflow;

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
