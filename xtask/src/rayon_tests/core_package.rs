//! Two packages made out of the published rayon-core: one with its tests, one with its documentation.
//!
//! Neither is committed: they are written below `target` from what cargo has fetched.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

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

/// What the original's tests depend on, by its published manifest.
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
        let text = without_replaced(&read(&original.join(&file))?);
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
    let source = original.join("src");
    for entry in walkdir::WalkDir::new(&source) {
        let entry = entry.with_context(|| format!("could not walk {}", source.display()))?;
        if entry.file_type().is_file() {
            let below = entry.path().strip_prefix(original)?;
            write(&folder.join(below), &read(entry.path())?)?;
        }
    }
    Ok(folder.to_owned())
}

fn write_manifest(
    folder: &Path,
    name: &str,
    library: &str,
    dependencies: &str,
    stand_in: &Path,
) -> anyhow::Result<()> {
    // What was there may be of another version.
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

/// The text without the functions that are replaced.
fn without_replaced(text: &str) -> String {
    let mut kept = String::new();
    // Attributes and blank lines belong to the item that follows.
    let mut pending = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        if inside {
            inside = line.trim_end() != "}";
            continue;
        }
        if line.starts_with("#[") {
            pending.push_str(line);
            continue;
        }
        inside = REPLACED
            .iter()
            .any(|(test, ..)| line.starts_with(&format!("fn {test}()")));
        if !inside {
            kept.push_str(&pending);
            kept.push_str(line);
        }
        pending.clear();
    }
    kept + &pending
}

fn list(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let reading = || format!("could not list {}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        paths.push(entry.with_context(reading)?.path());
    }
    Ok(paths)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_replaced_tests_are_cut_out_with_their_attributes() {
        let text = "use a;\n\n#[test]\n#[cfg(unix)]\nfn workers_stop() {\n    {\n    }\n}\n\n\
                    #[test]\nfn stays() {\n}\n\n#[test]\nfn sleeper_stop() {\n}\n";
        let kept = without_replaced(text);
        assert_eq!(kept, "use a;\n\n\n#[test]\nfn stays() {\n}\n\n");
    }
}
