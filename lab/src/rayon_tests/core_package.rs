//! Two packages made out of the published rayon-core: one with its tests, one with its
//! documentation.
//!
//! Neither is committed: they are written below `target` from what cargo has fetched.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cut;
use crate::published::write;

/// Tests that use private parts of the original and cannot be compiled against the public
/// API: what replaces each, and why.
pub(super) const REPLACED: [(&str, &str, &str); 2] = [
    (
        "workers_stop",
        "a_pool_that_did_work_ends_when_its_handle_goes",
        "it waits through the private field `registry` for the workers to end; ours waits for \
         their exit handlers",
    ),
    (
        "sleeper_stop",
        "a_pool_that_sleeps_ends_when_its_handle_goes",
        "as above",
    ),
];

/// The dependencies of the original's tests, by its published manifest.
const TEST_DEPENDENCIES: &str = "\
[dev-dependencies]
crossbeam-utils = \"0.8.0\"
rand = \"0.9\"
rand_xorshift = \"0.4\"
scoped-tls = \"1.0\"
libc = \"0.2\"
";

/// The original's own dependencies: its documentation lies in code that must compile.
const OWN_DEPENDENCIES: &str = "\
crossbeam-deque = \"0.8.1\"
crossbeam-utils = \"0.8.0\"
";

/// Writes the package with the unit and integration tests of the original.
pub(super) fn write_tests(
    original: &Path,
    stand_in: &Path,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    write_manifest(folder, "core-tests", "", "", stand_in)?;
    write(
        &folder.join("src/lib.rs"),
        include_str!("../../shims/core_tests.rs"),
    )?;
    for module in ["broadcast", "join", "scope", "spawn", "thread_pool", ""] {
        let file = Path::new("src").join(module).join("test.rs");
        let replaced = REPLACED.map(|(test, ..)| test);
        let text = cut::without_functions(&read(&original.join(&file))?, &replaced);
        write(&folder.join(file), &text)?;
    }
    for entry in list(&original.join("tests"))? {
        let name = entry.file_name().unwrap_or_default();
        write(&folder.join("tests").join(name), &read(&entry)?)?;
    }
    Ok(folder.to_owned())
}

/// Writes the package whose documentation is that of the original. The examples name
/// `rayon_core`, and that is the stand-in; the code around them is called otherwise.
pub(super) fn write_docs(
    original: &Path,
    stand_in: &Path,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let library = "[lib]\nname = \"original\"\n\n";
    write_manifest(folder, "core-docs", library, OWN_DEPENDENCIES, stand_in)?;
    copy_source(original, folder)?;
    Ok(folder.to_owned())
}

/// Copies the folder `src` of a package.
pub(crate) fn copy_source(original: &Path, folder: &Path) -> anyhow::Result<()> {
    let source = original.join("src");
    for entry in walkdir::WalkDir::new(&source) {
        let entry = entry.with_context(|| format!("could not walk {}", source.display()))?;
        if entry.file_type().is_file() {
            let below = entry.path().strip_prefix(original)?;
            write(&folder.join(below), &read(entry.path())?)?;
        }
    }
    Ok(())
}

fn write_manifest(
    folder: &Path,
    name: &str,
    library: &str,
    dependencies: &str,
    stand_in: &Path,
) -> anyhow::Result<()> {
    // A package there may be of another version.
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("could not remove {}", folder.display()))?;
    }
    // A string of TOML, quotes and backslashes included.
    let path = toml::Value::from(&*stand_in.to_string_lossy());
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         {library}[dependencies]\nrayon-core = {{ path = {path} }}\n{dependencies}\n\
         {TEST_DEPENDENCIES}\n[workspace]\n"
    );
    write(&folder.join("Cargo.toml"), &manifest)
}

/// The paths in a folder.
pub(crate) fn list(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let reading = || format!("could not list {}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        paths.push(entry.with_context(reading)?.path());
    }
    Ok(paths)
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}
