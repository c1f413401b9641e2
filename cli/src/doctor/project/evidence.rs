//! A project's packages, from cargo, and the patches that cargo does not use, from its files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::semver::Version;
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};
use serde::de::DeserializeOwned;
use serde::Deserialize;

use crate::Usage;

/// The package that rayon runs on, and that heist has a stand-in for.
pub(super) const RAYON_CORE: &str = "rayon-core";

/// All that the judgement rests on.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The graph of the whole workspace, with all features and for all platforms.
    pub(super) metadata: Metadata,
    /// The patches of rayon-core that `Cargo.lock` lists as unused.
    pub(super) unused: Vec<UnusedPatch>,
    /// The manifests with a patch of rayon-core that cargo ignores.
    pub(super) unheeded: Vec<PathBuf>,
}

/// A package that a patch offers and that the graph has no place for.
#[derive(Debug, Deserialize)]
pub(super) struct UnusedPatch {
    name: String,
    pub(super) version: Version,
}

impl Evidence {
    /// Asks cargo about the project at `path`, a manifest or a folder.
    ///
    /// Cargo is told to leave `Cargo.lock` alone, and one that is missing or out
    /// of date is an error: what a build uses is settled only once cargo has
    /// written that file.
    pub(super) fn collect(path: &Path) -> Result<Self, Usage> {
        let manifest = find_manifest(path)?;
        let failed = |why: String| {
            Usage(format!(
                "could not find out what {} is built from: {}\nAccepted is a project that cargo \
                 understands, with an up-to-date Cargo.lock: heist doctor leaves the project as \
                 it is. If only that file is missing or out of date, `cargo update --workspace` \
                 brings it up to date",
                manifest.display(),
                why.trim_end()
            ))
        };
        let mut command = MetadataCommand::new();
        command.manifest_path(&manifest);
        // There, cargo finds the configuration that a build of the project finds.
        if let Some(folder) = manifest.parent() {
            command.current_dir(folder);
        }
        let metadata = command
            .features(CargoOpt::AllFeatures)
            .other_options(["--locked", "--quiet"].map(String::from))
            .exec()
            .map_err(|error| failed(error.to_string()))?;
        let lock = metadata.workspace_root.join("Cargo.lock");
        Ok(Self {
            unused: read(lock.as_std_path(), unused_patches).map_err(failed)?,
            unheeded: unheeded_patches(&metadata).map_err(failed)?,
            metadata,
        })
    }
}

/// The patches of rayon-core that a `Cargo.lock` lists as unused.
pub(super) fn unused_patches(lock: Lock) -> Vec<UnusedPatch> {
    let mut unused = lock.patch.unused;
    unused.retain(|patch| patch.name == RAYON_CORE);
    unused
}

/// Whether a manifest patches rayon-core, by that name or another.
pub(super) fn has_patch(manifest: Manifest) -> bool {
    let entries = manifest.patch.into_values().flatten();
    entries.into_iter().any(|(name, entry)| {
        let package = entry.get("package").and_then(toml::Value::as_str);
        package.unwrap_or(&name) == RAYON_CORE
    })
}

/// The part of a `Cargo.lock` that is of interest.
#[derive(Debug, Deserialize)]
pub(super) struct Lock {
    #[serde(default)]
    patch: LockedPatches,
}

#[derive(Debug, Default, Deserialize)]
struct LockedPatches {
    #[serde(default)]
    unused: Vec<UnusedPatch>,
}

/// The part of a `Cargo.toml` that is of interest: patches by source and name.
#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    #[serde(default)]
    patch: BTreeMap<String, BTreeMap<String, toml::Value>>,
}

fn find_manifest(path: &Path) -> Result<PathBuf, Usage> {
    let manifest = match path.is_dir() {
        true => path.join("Cargo.toml"),
        false => path.to_owned(),
    };
    let why = match std::path::absolute(&manifest) {
        Ok(absolute) if absolute.is_file() => return Ok(absolute),
        Ok(absolute) => format!("there is no file {}", absolute.display()),
        Err(error) => error.to_string(),
    };
    Err(Usage(format!(
        "could not find the project {path:?}: {why}; --manifest accepts a Cargo.toml or the \
         folder that holds it"
    )))
}

/// Cargo applies the patches of the workspace's root only; this checks the other manifests in the
/// project.
fn unheeded_patches(metadata: &Metadata) -> Result<Vec<PathBuf>, String> {
    let root = metadata.workspace_root.join("Cargo.toml");
    let local = metadata.packages.iter().filter(|it| it.source.is_none());
    let mut unheeded = Vec::new();
    for package in local.filter(|package| package.manifest_path != root) {
        let path = package.manifest_path.as_std_path();
        if read(path, has_patch)? {
            unheeded.push(path.to_owned());
        }
    }
    Ok(unheeded)
}

fn read<F: DeserializeOwned, T>(path: &Path, look: impl FnOnce(F) -> T) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let file = text.and_then(|text| toml::from_str(&text).map_err(|error| error.to_string()));
    match file {
        Ok(file) => Ok(look(file)),
        Err(error) => Err(format!("could not read {}: {error}", path.display())),
    }
}
