//! Two packages made out of the published rayon in which `rayon` is one of ours: its tests, its
//! documentation.
//!
//! Neither is committed: they are written below `target` from what cargo has fetched.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::cut;
use crate::published::write;
use crate::rayon_tests::core_package::{copy_source, list, read};

/// The package that stands for `rayon` in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum On {
    /// The package in rayon's place.
    Rayon,
    /// The crate heist.
    Heist,
}

impl On {
    /// The folder below `target` in which it is built.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Rayon => "rayon-in-place",
            Self::Heist => "rayon-iterators",
        }
    }

    /// How many unit and integration tests there must be: those of the published package without
    /// those that are left out.
    pub(super) fn counts(self) -> (usize, usize) {
        match self {
            Self::Rayon => (214, 113),
            Self::Heist => (187, 73),
        }
    }

    /// Files of tests that are left out, and why.
    pub(super) fn left_out(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Rayon => &[],
            Self::Heist => &LEFT_OUT,
        }
    }

    /// Tests that are cut out of their files, and why.
    pub(super) fn cut_out(
        self,
    ) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
        let more: &[_] = match self {
            Self::Rayon => &[],
            Self::Heist => &CUT_OUT_OF_HEIST,
        };
        CUT_OUT.iter().chain(more)
    }

    /// The manifest's lines that name it.
    fn dependency(self, root: &Path) -> String {
        // Strings of TOML, quotes and backslashes included.
        let path = |below: &str| toml::Value::from(&*root.join(below).to_string_lossy());
        match self {
            Self::Rayon => format!(
                "[patch.crates-io]\nrayon-core = {{ path = {} }}\n\n\
                 [dependencies]\nrayon = {{ path = {} }}\n",
                path("compat/rayon-core"),
                path("compat/rayon")
            ),
            Self::Heist => format!(
                "[dependencies]\nrayon = {{ package = \"heist\", path = {} }}\n",
                path("crates/heist")
            ),
        }
    }

    /// Copies rayon's own consumers and macros, which speak its plumbing and so run on ours, and
    /// writes the root of the crate.
    fn write_root(self, original: &Path, folder: &Path) -> anyhow::Result<()> {
        let root = match self {
            Self::Rayon => include_str!("../../shims/rayon_in_place.rs"),
            Self::Heist => include_str!("../../shims/rayon_iterators.rs"),
        };
        write(&folder.join("src/lib.rs"), root)?;
        if self == Self::Heist {
            return Ok(());
        }
        for file in OF_THE_ORIGINAL {
            write(&folder.join(file), &read(&original.join(file))?)?;
        }
        let path = original.join("src/lib.rs");
        let text = read(&path)?;
        let start = text.find("\nstruct SendPtr");
        let start = start.with_context(|| format!("{} has no SendPtr", path.display()))?;
        write(&folder.join("src/send_ptr.rs"), &text[start..])
    }
}

/// Files with tests of rayon's own consumers, macros and sort, and what these tests need.
const OF_THE_ORIGINAL: [&str; 7] = [
    "src/delegate.rs",
    "src/iter/collect/consumer.rs",
    "src/iter/collect/mod.rs",
    "src/iter/collect/test.rs",
    "src/iter/find_first_last/mod.rs",
    "src/iter/find_first_last/test.rs",
    "src/slice/sort.rs",
];

/// Files of tests that are left out where there is no plumbing.
const LEFT_OUT: [(&str, &str); 6] = [
    (
        "tests/named-threads.rs",
        "it counts on a caller from outside only waiting; with us it takes part, under its own name",
    ),
    ("tests/producer_split_at.rs", PLUMBING),
    ("src/delegate.rs", PLUMBING),
    ("src/iter/collect/test.rs", PLUMBING),
    ("src/iter/find_first_last/test.rs", PLUMBING),
    ("src/slice/sort.rs", PRIVATE),
];

/// Tests that are cut out where there is no plumbing.
const CUT_OUT_OF_HEIST: [(&str, &str, &str); 2] = [
    (
        "src/iter/test.rs",
        "check_indices_after_enumerate_split",
        PLUMBING,
    ),
    ("src/iter/test.rs", "check_drops", PLUMBING),
];

/// Tests that are cut out in both cases.
const CUT_OUT: [(&str, &str, &str); 6] = [
    (
        "src/iter/test.rs",
        "count_repeat_n_clones",
        "it counts the clones that come from rayon's own choice of where to split",
    ),
    (
        "src/iter/test.rs",
        "fold_is_full",
        "it counts on a split although no worker asks for one; ours may fold all in one part",
    ),
    ("src/range.rs", "check_range_split_at_overflow", PRIVATE),
    ("src/range.rs", "test_i128_len_doesnt_overflow", PRIVATE),
    (
        "tests/octillion.rs",
        "fold_find_any_octillion_flat",
        "it counts on splits inside of `flat_map` that nobody asks for; ours folds until a worker is hungry",
    ),
    (
        "tests/iter_panic.rs",
        "iter_panic_fuse",
        "it counts on all other items being taken after a panic; ours ends as soon as it can",
    ),
];

const PLUMBING: &str = "it drives rayon's plumbing by hand, in whose place heist has its own";
const PRIVATE: &str = "it looks into private parts of rayon's";

/// The files with unit tests, and what stands before the tests of those that hold more.
const UNIT: [(&str, Option<&str>); 6] = [
    ("src/iter/test.rs", None),
    ("src/iter/fold_chunks.rs", Some("use super::*;\n")),
    ("src/iter/fold_chunks_with.rs", Some("use super::*;\n")),
    ("src/range.rs", Some("use crate::iter::*;\n")),
    ("src/range_inclusive.rs", Some("use crate::iter::*;\n")),
    ("src/slice/test.rs", None),
];

/// Writes the package with the unit and integration tests, and returns the names of the latter.
pub(super) fn write_tests(
    original: &Path,
    on: On,
    root: &Path,
    folder: &Path,
) -> anyhow::Result<Vec<String>> {
    check_files(original)?;
    write_manifest(original, folder, &on.dependency(root), false)?;
    on.write_root(original, folder)?;
    for (file, head) in UNIT {
        let text = read(&original.join(file))?;
        let text = match head {
            Some(head) => format!("{head}\n{}", cut::tests_at_the_end(&text)),
            None => text,
        };
        write(&folder.join(file), &cut_down(on, file, &text))?;
    }
    let mut names = Vec::new();
    for path in list(&original.join("tests"))? {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let file = format!("tests/{name}.rs");
        if on.left_out().iter().all(|(left_out, _)| *left_out != file) {
            write(&folder.join(&file), &cut_down(on, &file, &read(&path)?))?;
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The text of a file without the tests that are cut out.
fn cut_down(on: On, file: &str, text: &str) -> String {
    let cut_out = on.cut_out().filter(|(of, ..)| *of == file);
    let cut_out: Vec<&str> = cut_out.map(|(_, test, _)| *test).collect();
    cut::without_functions(text, &cut_out)
}

/// Writes the package whose documentation is that of the original. The examples name `rayon`,
/// and that is our crate; the code around them is called otherwise.
pub(super) fn write_docs(
    original: &Path,
    on: On,
    root: &Path,
    folder: &Path,
) -> anyhow::Result<()> {
    write_manifest(original, folder, &on.dependency(root), true)?;
    copy_source(original, folder)
}

/// Checks that no file of the original has tests of which we do not know.
fn check_files(original: &Path) -> anyhow::Result<()> {
    for entry in walkdir::WalkDir::new(original.join("src")) {
        let entry = entry?;
        let file = entry.path().strip_prefix(original)?;
        let run = UNIT.iter().map(|(name, _)| *name);
        let is_known = run
            .chain(OF_THE_ORIGINAL)
            .any(|name| file == Path::new(name));
        anyhow::ensure!(
            is_known || !entry.file_type().is_file() || !read(entry.path())?.contains("#[test]"),
            "{} has tests, but it is not among the files to run",
            file.display()
        );
    }
    Ok(())
}

/// Writes a manifest in which `rayon` is what `dependency` says, and what tests need is as in the
/// original's; `as_original` if its code is compiled as well.
fn write_manifest(
    original: &Path,
    folder: &Path,
    dependency: &str,
    as_original: bool,
) -> anyhow::Result<()> {
    // A package there may be of another version.
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("could not remove {}", folder.display()))?;
    }
    let path = original.join("Cargo.toml");
    let original = read(&path)?;
    let manifest = manifest(&original, dependency, as_original)
        .with_context(|| format!("could not use {}", path.display()))?;
    write(&folder.join("Cargo.toml"), &manifest)
}

fn manifest(original: &str, dependency: &str, as_original: bool) -> anyhow::Result<String> {
    let original: toml::Table = original.parse()?;
    let (name, library, kept) = match as_original {
        true => (
            "rayon-docs",
            "[lib]\nname = \"original\"\n\n",
            &["dependencies", "dev-dependencies"][..],
        ),
        false => ("rayon-iterators", "", &["dev-dependencies"][..]),
    };
    let part = |name: &str| {
        let part = original.get(name).cloned();
        part.with_context(|| format!("it has no table {name}"))
    };
    let package = part("package")?;
    let edition = package.get("edition").context("it names no edition")?;
    let mut text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = {edition}\n\n{library}\
         [workspace]\n\n{dependency}"
    );
    for name in kept {
        let part = toml::Table::from_iter([((*name).to_owned(), part(name)?)]);
        text.push_str(&format!("\n{part}"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = "[package]\nname = \"rayon\"\nedition = \"2021\"\n\n\
        [dependencies.either]\nversion = \"1\"\n\n[dev-dependencies.rand]\nversion = \"0.9\"\n";

    fn parsed(on: On, as_original: bool) -> toml::Table {
        let dependency = on.dependency(Path::new("/with \"quotes\""));
        manifest(ORIGINAL, &dependency, as_original)
            .unwrap()
            .parse()
            .unwrap()
    }

    #[test]
    fn tests_have_our_crate_as_rayon_and_the_originals_helpers() {
        let manifest = parsed(On::Heist, false);
        let rayon = &manifest["dependencies"]["rayon"];
        assert_eq!(rayon["package"].as_str(), Some("heist"));
        assert_eq!(
            rayon["path"].as_str(),
            Some("/with \"quotes\"/crates/heist")
        );
        assert_eq!(manifest["dependencies"].get("either"), None);
        assert_eq!(
            manifest["dev-dependencies"]["rand"]["version"].as_str(),
            Some("0.9")
        );
        assert_eq!(manifest["package"]["edition"].as_str(), Some("2021"));
    }

    #[test]
    fn documentation_has_what_the_originals_code_needs_as_well() {
        let manifest = parsed(On::Rayon, true);
        assert_eq!(manifest["lib"]["name"].as_str(), Some("original"));
        assert_eq!(
            manifest["dependencies"]["either"]["version"].as_str(),
            Some("1")
        );
        assert_eq!(
            manifest["dependencies"]["rayon"]["path"].as_str(),
            Some("/with \"quotes\"/compat/rayon")
        );
        assert_eq!(
            manifest["patch"]["crates-io"]["rayon-core"]["path"].as_str(),
            Some("/with \"quotes\"/compat/rayon-core")
        );
    }

    #[test]
    fn a_file_with_tests_that_nobody_listed_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("src/range.rs"), "#[test]\nfn a() {}\n").unwrap();
        check_files(folder.path()).unwrap();
        write(&folder.path().join("src/new.rs"), "#[test]\nfn a() {}\n").unwrap();
        let error = check_files(folder.path()).unwrap_err().to_string();
        assert!(error.contains("new.rs has tests"), "{error}");
    }
}
