//! The models of the protocols: loom explores every interleaving of small scripts, shuttle
//! schedules whole operations at random.
//!
//! The models of a crate are its files `tests/loom_*.rs` and `tests/shuttle_*.rs`, and
//! the unit tests under `cfg(all(test, heist_loom))` and `cfg(all(test, heist_shuttle))`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use walkdir::WalkDir;

use crate::build::{flags, target_folder};
use crate::steps::{Outcome, Runner};

/// Adds the models to a run: one step for loom, one for shuttle.
///
/// # Errors
///
/// Fails if the crates cannot be read or the report cannot be written.
pub fn add_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let root = runner.root();
    for tool in ["loom", "shuttle"] {
        let models = Models::find(&root, tool)?;
        if models.packages.is_empty() {
            // Passing without a model would be a silent loss.
            runner.step(tool, |_| {
                Ok(Outcome::Failed(format!("no crate has a model for {tool}")))
            })?;
        } else {
            runner.command(tool, &mut models.test_command(&root, tool))?;
        }
    }
    Ok(())
}

/// The models for one tool.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Models {
    /// The packages that have such models.
    packages: Vec<String>,
    in_test_files: bool,
    in_unit_tests: bool,
}

impl Models {
    pub(crate) fn find(root: &Path, tool: &str) -> anyhow::Result<Self> {
        let mut models = Self::default();
        let unit_tests = format!("cfg(all(test, heist_{tool}))");
        let crates = WalkDir::new(root.join("crates")).sort_by_file_name();
        for folder in crates.min_depth(1).max_depth(1) {
            let folder = folder?.into_path();
            let is_model = |file: &PathBuf| {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(&format!("{tool}_")) && name.ends_with(".rs")
            };
            let in_test_files = rust_files(&folder.join("tests"))?.iter().any(is_model);
            let mut in_unit_tests = false;
            for file in rust_files(&folder.join("src"))? {
                in_unit_tests |= read(&file)?.contains(&unit_tests);
            }
            if in_test_files || in_unit_tests {
                models.packages.push(package(&folder.join("Cargo.toml"))?);
                models.in_test_files |= in_test_files;
                models.in_unit_tests |= in_unit_tests;
            }
        }
        Ok(models)
    }

    /// Tests all packages at once: one by one, cargo would build what they share
    /// anew for each, because each asks for other features.
    pub(crate) fn test_command(&self, root: &Path, tool: &str) -> Command {
        let mut command = Command::new("cargo");
        command
            .current_dir(root)
            .env("RUSTFLAGS", flags(&format!("--cfg heist_{tool}")))
            // The models are slow enough to need optimisation, and check more with assertions.
            .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
            .args(["test", "--release", "--target-dir"])
            .arg(target_folder(root, tool))
            .args(["--features", &format!("heist-sync/{tool}")]);
        for package in &self.packages {
            command.args(["--package", package]);
        }
        if self.in_unit_tests {
            command.arg("--lib");
        }
        if self.in_test_files {
            command.args(["--test", &format!("{tool}_*")]);
        }
        command
    }
}

fn package(manifest: &Path) -> anyhow::Result<String> {
    let table = read(manifest)?.parse::<toml::Table>().ok();
    table
        .and_then(|table| Some(table.get("package")?.get("name")?.as_str()?.to_owned()))
        .with_context(|| format!("{} names no package", manifest.display()))
}

/// The Rust files below the folder, sorted; none if there is no such folder.
pub(crate) fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if folder.exists() {
        for entry in WalkDir::new(folder).sort_by_file_name() {
            let path = entry?.into_path();
            files.extend(
                path.extension()
                    .is_some_and(|it| it == "rs")
                    .then_some(path),
            );
        }
    }
    Ok(files)
}

pub(crate) fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_models_if_its_tests_are_named_so() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("crates/a/Cargo.toml", "[package]\nname = \"heist-a\"\n");
        write("crates/a/tests/loom_a.rs", "");
        write("crates/b/Cargo.toml", "[package]\nname = \"heist-b\"\n");
        write("crates/b/tests/stress.rs", "");
        write(
            "crates/b/src/x/mod.rs",
            "#[cfg(all(test, heist_loom))]\nmod model;",
        );
        write("crates/c/src/lib.rs", "");
        let models = Models::find(root.path(), "loom").unwrap();
        assert_eq!(models.packages, ["heist-a", "heist-b"]);
        assert!(models.in_test_files && models.in_unit_tests);
        assert_eq!(
            Models::find(root.path(), "shuttle").unwrap(),
            Models::default()
        );
    }
}
