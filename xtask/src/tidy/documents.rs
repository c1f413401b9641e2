//! Rules for documents: the changelog names the version, the map names every folder.

use super::{has_word, Repository, Violation};

const CHANGELOG: &str = "CHANGELOG.md";
const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(repository: &Repository, found: &mut Vec<Violation>) {
    if let Some(text) = text_of(repository, CHANGELOG, found) {
        match version(repository) {
            Some(version) if has_word(text, &version) => {}
            Some(version) => found.push(missing(
                CHANGELOG,
                &format!("the present version, {version}, is not here; add a section for it"),
            )),
            None => found.push(missing(
                "Cargo.toml",
                "there is no [workspace.package] version; the changelog follows it",
            )),
        }
    }
    if let Some(text) = text_of(repository, MAP, found) {
        let crates = repository.folders("crates/");
        for folder in crates.into_iter().chain(repository.folders("")) {
            if !names_folder(text, folder) {
                found.push(missing(
                    MAP,
                    &format!("the folder `{folder}` is not on the map; say what it is for"),
                ));
            }
        }
    }
}

fn text_of<'a>(
    repository: &'a Repository,
    path: &str,
    found: &mut Vec<Violation>,
) -> Option<&'a str> {
    let file = repository.file(path);
    if file.is_none() {
        found.push(missing(path, "the file does not exist; write it"));
    }
    file.map(|file| &*file.text)
}

fn missing(path: &str, what: &str) -> Violation {
    Violation {
        path: path.to_owned(),
        line: 1,
        what: what.to_owned(),
    }
}

fn version(repository: &Repository) -> Option<String> {
    let manifest: toml::Table = repository.file("Cargo.toml")?.text.parse().ok()?;
    let package = manifest.get("workspace")?.get("package")?;
    Some(package.get("version")?.as_str()?.to_owned())
}

/// True if the text names the folder as one: `name/` or in backticks.
fn names_folder(text: &str, folder: &str) -> bool {
    let is_inside = |char: char| char.is_alphanumeric() || "_-.".contains(char);
    text.match_indices(folder).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + folder.len()..]);
        let is_code = before.ends_with('`') && after.starts_with('`');
        is_code || (after.starts_with('/') && !before.ends_with(is_inside))
    })
}
