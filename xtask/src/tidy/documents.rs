//! Rules for documents: the changelog names the version, the map names every folder, the map and
//! the book name only files that are there, lines of dependencies packages that are there.

use super::repository::{has_word, numbered, File, Repository, Violation};

const CHANGELOG: &str = "CHANGELOG.md";
const MAP: &str = "ARCHITECTURE.md";
const BOOK: &str = "book/src/";

/// The endings by which the map means a path, if there is a slash in it.
const PATH_ENDINGS: [&str; 5] = [".rs", ".md", ".js", ".py", "/"];

/// The name that documents give the folder of this repository, seen from a program beside it.
const BESIDE: &str = "../heist/";

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
        // Behind it, names are named without being explained.
        let text = text.split("\n## Direction").next().unwrap_or(text);
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
    if let Some(map) = repository.file(MAP) {
        check_paths(repository, map, found);
    }
    for document in repository.ending(".md") {
        if document.path.starts_with(BOOK) {
            check_paths(repository, document, found);
        }
        check_dependencies(repository, document, found);
    }
}

/// Each path in backticks exists, from the root or from the folder or the sources of a crate.
fn check_paths(repository: &Repository, map: &File, found: &mut Vec<Violation>) {
    let is_there = |path: &str| match path.ends_with('/') {
        true => repository
            .files
            .iter()
            .any(|file| file.path.starts_with(path)),
        false => repository.file(path).is_some(),
    };
    for (number, line) in numbered(&map.text) {
        for path in line.split('`').skip(1).step_by(2) {
            let is_path = PATH_ENDINGS.iter().any(|ending| path.ends_with(ending));
            let Some((room, rest)) = path.split_once('/').filter(|_| is_path) else {
                continue;
            };
            let places = [
                path.to_owned(),
                format!("crates/{path}"),
                format!("crates/{room}/src/{rest}"),
            ];
            if !path.contains(['{', '*', ' ']) && !places.iter().any(|path| is_there(path)) {
                found.push(map.violation(
                    number,
                    format!("`{path}` is not there; name it from the root, or from its crate"),
                ));
            }
        }
    }
}

/// Each dependency in a block of TOML that lies in this repository is there, under its name.
fn check_dependencies(repository: &Repository, document: &File, found: &mut Vec<Violation>) {
    let mut block: Option<(usize, String)> = None;
    for (number, line) in numbered(&document.text) {
        match (&mut block, line.trim_end()) {
            (None, "```toml") => block = Some((number, String::new())),
            (None, _) => {}
            (Some((start, text)), "```") => {
                match text.parse() {
                    Ok(table) => check_table(repository, &table, &mut |what| {
                        found.push(document.violation(*start, what));
                    }),
                    Err(error) => found.push(document.violation(
                        *start,
                        format!(
                            "the block is no TOML ({error}); mend it, or call it something else"
                        ),
                    )),
                }
                block = None;
            }
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
}

fn check_table(repository: &Repository, table: &toml::Table, report: &mut dyn FnMut(String)) {
    for (key, value) in table {
        let Some(value) = value.as_table() else {
            continue;
        };
        let path = value.get("path").and_then(toml::Value::as_str);
        let Some(folder) = path.and_then(|path| path.strip_prefix(BESIDE)) else {
            check_table(repository, value, report);
            continue;
        };
        let package = value.get("package").and_then(toml::Value::as_str);
        let package = package.unwrap_or(key);
        if name_of(repository, folder).as_deref() != Some(package) {
            report(format!(
                "the dependency `{key}` names the package {package} in {folder}, which is not there"
            ));
        }
    }
}

/// The name of the package in a folder of the repository.
fn name_of(repository: &Repository, folder: &str) -> Option<String> {
    let manifest: toml::Table = repository
        .file(&format!("{folder}/Cargo.toml"))?
        .text
        .parse()
        .ok()?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
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
