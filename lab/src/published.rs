//! Published packages, unpacked and prepared to run on real rayon or on what stands in for it.
//!
//! Cargo does the fetching, so its configuration (mirrors, proxies, offline) applies, and the
//! copies that it keeps in its own folders are never touched.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use anyhow::Context;

/// The version of rayon-core that both runtimes have: the stand-in calls itself that, so
/// real rayon is held to it as well.
pub(crate) const RAYON_CORE: &str = "1.13.0";

/// The version of rayon that our package calls itself.
pub(crate) const RAYON: &str = "1.12.0";

/// Files at the top of cargo's copy that are no part of ours. Without the lock file, cargo takes
/// the newest versions that fit, as it does for users of the package.
const LEFT_OUT: [&str; 2] = [".cargo-ok", "Cargo.lock"];

/// Our stand-ins for packages under a program's parallel work, each with the package's name and
/// our folder. Without any the program is on real rayon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runtime(pub(crate) Vec<(&'static str, PathBuf)>);

impl Runtime {
    /// Rayon's iterators on heist's workers.
    pub(crate) fn core(root: &Path) -> Self {
        Self(vec![("rayon-core", root.join("compat/rayon-core"))])
    }

    /// Heist's iterators and workers.
    pub(crate) fn iterators(root: &Path) -> Self {
        let Self(mut patches) = Self::core(root);
        patches.push(("rayon", root.join("compat/rayon")));
        Self(patches)
    }
}

/// Unpacks the package `name` at exactly `version` into `folder/NAME-VERSION`, and returns
/// that path. A copy that is there already is replaced.
pub(crate) fn unpack(name: &str, version: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    fetch(name, version, folder)?;
    let label = format!("{name}-{version}");
    let source = unpacked_by_cargo(&label)?;
    let copy = folder.join(&label);
    copy_folder(&source, &copy)
        .with_context(|| format!("could not copy {} to {}", source.display(), copy.display()))?;
    Ok(copy)
}

/// Lets cargo fetch the package `name` at exactly `version`, as the dependency of an empty
/// package below `folder`, and returns the path of that.
pub(crate) fn fetch(name: &str, version: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let label = format!("{name}-{version}");
    let scratch = folder.join("fetch").join(&label);
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
    );
    write(&scratch.join("Cargo.toml"), &manifest)?;
    write(&scratch.join("src/lib.rs"), "")?;
    // Not `metadata`: it passes over packages without a library.
    run_cargo(&scratch, &["fetch", "--quiet"])
        .with_context(|| format!("could not fetch {name} at version {version}"))?;
    Ok(scratch)
}

/// Makes the package in `folder` a workspace of its own that runs on `runtime`, and checks
/// with cargo that this took effect: of a patch that it does not use cargo only warns.
///
/// `features` are those with which rayon becomes a dependency. Of a `Cargo.lock` that lies
/// there, only the entry of rayon-core changes.
pub(crate) fn set_runtime(
    folder: &Path,
    runtime: &Runtime,
    features: &[String],
) -> anyhow::Result<()> {
    let path = folder.join("Cargo.toml");
    let manifest =
        fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let patched = with_runtime(&manifest, runtime)
        .with_context(|| format!("could not prepare {}", path.display()))?;
    write(&path, &patched)?;
    let mut versions = vec![("rayon-core", RAYON_CORE)];
    // Some programs rest on rayon-core alone.
    let lock = fs::read_to_string(folder.join("Cargo.lock")).unwrap_or_default();
    let has_rayon = lock.contains("name = \"rayon\"\n");
    if has_rayon && runtime.0.iter().any(|&(name, _)| name == "rayon") {
        versions.push(("rayon", RAYON));
    }
    for (name, version) in versions {
        run_cargo(folder, &["update", "--quiet", name, "--precise", version]).with_context(
            || {
                format!(
                    "could not settle on {name} {version} in {}",
                    folder.display()
                )
            },
        )?;
    }
    let features = features.join(",");
    let metadata = run_cargo(
        folder,
        &["metadata", "--format-version=1", "--features", &features],
    )
    .with_context(|| format!("could not resolve {}", path.display()))?;
    verify(&metadata, runtime).with_context(|| {
        format!(
            "{} does not run on what it was prepared for",
            path.display()
        )
    })
}

/// The manifest with what `runtime` needs appended.
fn with_runtime(manifest: &str, runtime: &Runtime) -> anyhow::Result<String> {
    let table: toml::Table = manifest.parse().context("the manifest is no TOML")?;
    let mut text = manifest.to_owned();
    if !table.contains_key("workspace") {
        text.push_str("\n[workspace]\n");
    }
    if !runtime.0.is_empty() {
        // Cargo strips patches from what it publishes, so a second table can only be ours.
        anyhow::ensure!(
            !table.contains_key("patch"),
            "the manifest has a table [patch] already"
        );
        text.push_str("\n[patch.crates-io]\n");
    }
    for (name, folder) in &runtime.0 {
        // A string of TOML, quotes and backslashes included.
        let folder = toml::Value::from(&*folder.to_string_lossy());
        text.push_str(&format!("{name} = {{ path = {folder} }}\n"));
    }
    Ok(text)
}

/// Looks in what `cargo metadata` says for where rayon-core comes from, and each package that
/// has a stand-in. Rayon itself may be absent.
fn verify(metadata: &[u8], runtime: &Runtime) -> anyhow::Result<()> {
    let metadata: serde_json::Value = serde_json::from_slice(metadata)
        .context("`cargo metadata` answered with something that is no JSON")?;
    let from_registry = ("rayon-core", format!("\"{RAYON_CORE}\" of the registry"));
    let patched = |(name, folder): &(&'static str, PathBuf)| {
        (*name, folder.join("Cargo.toml").display().to_string())
    };
    let mut wanted: Vec<_> = runtime.0.iter().map(patched).collect();
    if wanted.is_empty() {
        wanted.push(from_registry);
    }
    for (name, wanted) in wanted {
        let packages = metadata["packages"].as_array();
        let found: Vec<String> = packages
            .into_iter()
            .flatten()
            .filter(|package| package["name"] == name)
            .map(|package| match package["source"].as_str() {
                Some(_) => format!("{} of the registry", package["version"]),
                None => package["manifest_path"].as_str().unwrap_or("").to_owned(),
            })
            .collect();
        let may_be_absent = name != "rayon-core" && found.is_empty();
        anyhow::ensure!(
            found == [wanted.as_str()] || may_be_absent,
            "{name} should be {wanted} alone, but cargo resolves it to {found:?}; the program \
             must ask for a rayon that accepts rayon-core {RAYON_CORE}"
        );
    }
    Ok(())
}

/// Where cargo has unpacked a package that it fetched.
fn unpacked_by_cargo(label: &str) -> anyhow::Result<PathBuf> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => std::env::home_dir()
            .context("could not find cargo's folder: neither CARGO_HOME nor a home is set")?
            .join(".cargo"),
    };
    let sources = home.join("registry/src");
    let registries =
        fs::read_dir(&sources).with_context(|| format!("could not list {}", sources.display()))?;
    for registry in registries {
        let package = registry?.path().join(label);
        // Cargo leaves this mark when it has unpacked everything.
        if package.join(".cargo-ok").is_file() {
            return Ok(package);
        }
    }
    anyhow::bail!(
        "cargo has fetched {label}, but it is in no folder of {}",
        sources.display()
    )
}

/// Replaces `to` by a copy of the folder `from`, with the times of the files, so that cargo
/// does not build again what it has built.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry?;
        let target = to.join(entry.path().strip_prefix(from)?);
        let is_ours =
            entry.depth() != 1 || !LEFT_OUT.contains(&&*entry.file_name().to_string_lossy());
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target)?;
        } else if is_ours {
            let metadata = entry.metadata()?;
            let mut file = fs::File::create(&target)?;
            io::copy(&mut fs::File::open(entry.path())?, &mut file)?;
            file.set_modified(metadata.modified()?)?;
            file.set_permissions(metadata.permissions())?;
        }
    }
    Ok(())
}

/// Runs cargo in `folder` and returns what it prints.
fn run_cargo(folder: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("cargo")
        .args(arguments)
        .current_dir(folder)
        // Where versions are free, take those that this compiler can build.
        .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")
        .output()
        .context("could not start cargo")?;
    anyhow::ensure!(
        output.status.success(),
        "`cargo {}` failed in {}:\n{}",
        arguments.join(" "),
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

/// Writes a file, and the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .with_context(|| format!("could not write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_gains_only_what_the_runtime_needs() {
        let alone = "[package]\nname = \"a\"\n";
        assert_eq!(
            with_runtime(alone, &Runtime::default()).unwrap(),
            "[package]\nname = \"a\"\n\n[workspace]\n"
        );
        let stand_in = Runtime(vec![("rayon-core", "/with \"quotes\"/core".into())]);
        let text = with_runtime("[workspace]\n", &stand_in).unwrap();
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(
            table["patch"]["crates-io"]["rayon-core"]["path"].as_str(),
            Some("/with \"quotes\"/core")
        );
    }

    #[test]
    fn a_copy_replaces_the_one_before_and_keeps_times_but_no_lock_file() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        write(&from.join("src/lib.rs"), "new").unwrap();
        write(&from.join("Cargo.lock"), "old versions").unwrap();
        write(&from.join("tests/data/Cargo.lock"), "needed").unwrap();
        write(&to.join("left/over.rs"), "").unwrap();
        copy_folder(&from, &to).unwrap();
        let modified = |folder: &Path| {
            let metadata = fs::metadata(folder.join("src/lib.rs")).unwrap();
            metadata.modified().unwrap()
        };
        assert_eq!(modified(&from), modified(&to));
        assert!(!to.join("Cargo.lock").exists() && !to.join("left").exists());
        assert!(to.join("tests/data/Cargo.lock").exists());
    }

    #[test]
    fn a_second_patch_is_refused() {
        let stand_in = Runtime::core(Path::new("/repo"));
        let once = with_runtime("", &stand_in).unwrap();
        let error = with_runtime(&once, &stand_in).unwrap_err();
        assert!(error.to_string().contains("[patch]"), "{error}");
    }

    #[test]
    fn a_patch_that_cargo_did_not_use_is_noticed() {
        let stand_in = Runtime(vec![("rayon-core", "/repo/core".into())]);
        let iterators = Runtime(vec![
            ("rayon-core", "/repo/core".into()),
            ("rayon", "/repo/rayon".into()),
        ]);
        let registry = br#"{"packages": [
            {"name": "rayon-core", "version": "1.13.0", "source": "registry+x", "manifest_path": "/r/Cargo.toml"}]}"#;
        let local = br#"{"packages": [
            {"name": "rayon", "version": "1.12.0", "source": "registry+x", "manifest_path": "/s/Cargo.toml"},
            {"name": "rayon-core", "version": "1.13.0", "source": null, "manifest_path": "/repo/core/Cargo.toml"}]}"#;
        let none = br#"{"packages": []}"#;
        verify(registry, &Runtime::default()).unwrap();
        verify(local, &stand_in).unwrap();
        let core = br#"{"packages": [
            {"name": "rayon-core", "version": "1.13.0", "source": null, "manifest_path": "/repo/core/Cargo.toml"}]}"#;
        verify(core, &iterators).unwrap();
        for (metadata, runtime) in [
            (&registry[..], &stand_in),
            (local, &Runtime::default()),
            (local, &iterators),
            (none, &stand_in),
            (none, &Runtime::default()),
        ] {
            let error = verify(metadata, runtime).unwrap_err().to_string();
            assert!(error.contains("cargo resolves it to"), "{error}");
        }
    }
}
