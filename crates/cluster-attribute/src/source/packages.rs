//! The packages of which a package consists that lie in folders of their own, and their files.

use std::fs;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

/// A package in a folder.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// Its manifest, its build script and what lies below `src`, or beside the library's root
    /// where the manifest names another.
    pub(super) files: Vec<PathBuf>,
}

/// The package in `folder`, and all that it needs and names by a path, directly or not.
pub(super) fn of(folder: &Path) -> Vec<Package> {
    let mut found: Vec<Package> = Vec::new();
    let mut open = vec![(folder.to_owned(), true)];
    while let Some((folder, is_first)) = open.pop() {
        let folder = fs::canonicalize(&folder).unwrap_or(folder);
        if found.iter().any(|package| package.folder == folder) {
            continue;
        }
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        // Cargo does not build what it cannot read.
        let manifest = parse(&text).unwrap_or_default();
        let named = named(&manifest, &folder, is_first);
        open.extend(named.into_iter().map(|folder| (folder, false)));
        found.push(Package {
            name: name(&manifest, &folder),
            files: files(&manifest, &folder),
            folder,
        });
    }
    found
}

fn parse(text: &str) -> Option<DeTable<'_>> {
    DeTable::parse(text).ok().map(toml::Spanned::into_inner)
}

fn table<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

fn text<'a>(table: &'a DeTable<'_>, key: &str) -> Option<&'a str> {
    table.get(key)?.get_ref().as_str()
}

fn name(manifest: &DeTable<'_>, folder: &Path) -> String {
    let named = table(manifest, "package").and_then(|package| text(package, "name"));
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    named.map_or_else(|| folder.into_owned(), str::to_owned)
}

/// The folders that the dependencies in `manifest` name; with those of the tests if
/// `has_tests`, because functions of tests can be remote too.
fn named(manifest: &DeTable<'_>, folder: &Path, has_tests: bool) -> Vec<PathBuf> {
    let mut kinds = vec!["dependencies", "build-dependencies"];
    if has_tests {
        kinds.push("dev-dependencies");
    }
    let targets = table(manifest, "target").into_iter().flatten();
    let targets = targets.filter_map(|(_, target)| target.get_ref().as_table());
    let lists = std::iter::once(manifest).chain(targets);
    let lists = lists.flat_map(|list| kinds.iter().filter_map(|kind| table(list, kind)));
    let dependencies: Vec<_> = lists
        .flatten()
        .filter_map(|(name, wanted)| Some((name.get_ref().as_ref(), wanted.get_ref().as_table()?)))
        .collect();
    let own = dependencies
        .iter()
        .filter_map(|(_, wanted)| text(wanted, "path"));
    let mut folders: Vec<_> = own.map(|path| folder.join(path)).collect();
    let is_shared = |wanted: &DeTable<'_>| {
        let value = wanted.get("workspace").map(toml::Spanned::get_ref);
        matches!(value, Some(DeValue::Boolean(true)))
    };
    let shared = dependencies.iter().filter(|(_, wanted)| is_shared(wanted));
    let shared: Vec<_> = shared.map(|(name, _)| *name).collect();
    folders.extend(of_workspace(folder, &shared));
    folders
}

/// The folders that the workspace around `folder` names for these dependencies, and those that
/// stand in for packages of registries.
fn of_workspace(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    for root in folder.ancestors() {
        let text_of_root = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
        let manifest = parse(&text_of_root).unwrap_or_default();
        let Some(workspace) = table(&manifest, "workspace") else {
            continue;
        };
        let shared = table(workspace, "dependencies").into_iter().flatten();
        let shared = shared.filter(|(name, _)| names.contains(&name.get_ref().as_ref()));
        let patches = table(&manifest, "patch").into_iter().flatten();
        let patches = patches.filter_map(|(_, patch)| patch.get_ref().as_table());
        return shared
            .chain(patches.flatten())
            .filter_map(|(_, wanted)| text(wanted.get_ref().as_table()?, "path"))
            .map(|path| root.join(path))
            .collect();
    }
    Vec::new()
}

fn files(manifest: &DeTable<'_>, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&folder.join("src"), &mut files);
    let library = table(manifest, "lib").and_then(|library| text(library, "path"));
    if let Some(beside) = library.and_then(|path| Path::new(path).parent()) {
        let is_new = !beside.starts_with("src");
        let is_folder = !beside.as_os_str().is_empty();
        if is_new && is_folder {
            collect(&folder.join(beside), &mut files);
        }
    }
    let package = table(manifest, "package");
    let script = package.and_then(|package| text(package, "build"));
    let single = ["Cargo.toml", script.unwrap_or("build.rs")]
        .into_iter()
        .chain(library);
    for path in single.map(|path| folder.join(path)) {
        if path.is_file() && !files.contains(&path) {
            files.push(path);
        }
    }
    files
}

/// The files below `folder`, but for hidden ones and those of other packages.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    // The compiler cannot read either what cannot be read here.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_hidden {
            continue;
        }
        if !path.is_dir() {
            files.push(path);
        } else if !path.join("Cargo.toml").is_file() {
            collect(&path, files);
        }
    }
}
