//! A project's packages, from cargo, and the patches that cargo does not use, from its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use cargo_metadata::semver::Version;
use cargo_metadata::{CargoOpt, Error, Metadata, MetadataCommand};
use heist_run::usage::Usage;
use serde::de::DeserializeOwned;
use serde::Deserialize;

/// The package that rayon runs on, and that heist has a stand-in for.
pub(super) const RAYON_CORE: &str = "rayon-core";

/// The package with the iterators, which heist has another in the place of.
pub(super) const RAYON: &str = "rayon";

/// All that the judgement rests on.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The graph of the whole workspace, with all features and for all platforms.
    pub(super) metadata: Metadata,
    /// The patches of rayon-core and rayon that `Cargo.lock` lists as unused.
    pub(super) unused: Vec<UnusedPatch>,
    /// The patches of either that cargo ignores.
    pub(super) unheeded: Vec<Unheeded>,
}

/// A package that a patch offers and that the graph has no place for.
#[derive(Debug, Deserialize)]
pub(super) struct UnusedPatch {
    pub(super) name: String,
    pub(super) version: Version,
}

/// A patch in a manifest where cargo ignores it.
#[derive(Debug)]
pub(super) struct Unheeded {
    pub(super) manifest: PathBuf,
    /// The package that it would replace.
    pub(super) name: &'static str,
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
        command
            .features(CargoOpt::AllFeatures)
            .other_options(["--locked", "--quiet"].map(String::from));
        let metadata = command.exec().map_err(|error| match error {
            Error::Io(error) => no_cargo(&command.cargo_command(), &error),
            error => failed(error.to_string()),
        })?;
        let lock = metadata.workspace_root.join("Cargo.lock");
        Ok(Self {
            unused: read(lock.as_std_path(), unused_patches).map_err(failed)?,
            unheeded: unheeded_patches(&metadata).map_err(failed)?,
            metadata,
        })
    }
}

/// The patches of rayon-core and rayon that a `Cargo.lock` lists as unused.
pub(super) fn unused_patches(lock: Lock) -> Vec<UnusedPatch> {
    let mut unused = lock.patch.unused;
    unused.retain(|patch| [RAYON_CORE, RAYON].contains(&&*patch.name));
    unused
}

/// Those of rayon-core and rayon that a manifest patches, by that name or another.
pub(super) fn patched(manifest: Manifest) -> Vec<&'static str> {
    let entries: Vec<_> = manifest.patch.into_values().flatten().collect();
    let is_patched = |package: &&str| {
        entries.iter().any(|(name, entry)| {
            let renamed = entry.get("package").and_then(toml::Value::as_str);
            renamed.unwrap_or(name) == *package
        })
    };
    let packages = [RAYON_CORE, RAYON];
    packages.into_iter().filter(is_patched).collect()
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

/// The error that cargo cannot be started, by this command.
fn no_cargo(command: &Command, error: &io::Error) -> Usage {
    Usage(format!(
        "could not start {:?}, which knows what a project is built from: {error}; heist doctor \
         takes the program that the variable CARGO names, or else the `cargo` on PATH",
        command.get_program()
    ))
}

fn find_manifest(path: &Path) -> Result<PathBuf, Usage> {
    let manifest = match path.is_dir() {
        true => path.join("Cargo.toml"),
        false => path.to_owned(),
    };
    let why = match std::path::absolute(&manifest) {
        Ok(absolute) if absolute.is_file() && !absolute.ends_with("Cargo.toml") => {
            format!("the name of {} is another", absolute.display())
        }
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
fn unheeded_patches(metadata: &Metadata) -> Result<Vec<Unheeded>, String> {
    let root = metadata.workspace_root.join("Cargo.toml");
    let local = metadata.packages.iter().filter(|it| it.source.is_none());
    let mut unheeded = Vec::new();
    for package in local.filter(|package| package.manifest_path != root) {
        let path = package.manifest_path.as_std_path();
        unheeded.extend(read(path, patched)?.into_iter().map(|name| Unheeded {
            manifest: path.to_owned(),
            name,
        }));
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
