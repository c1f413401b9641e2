//! Rules for manifests: the direction of dependencies, a reason for each, no peers in
//! heist and its programs.

use super::repository::{numbered, File, Repository, Violation};

const MAP: &str = "ARCHITECTURE.md";
/// The part of the map with the table of which of our crates each crate may use.
const DIRECTION: &str = "## Direction";
/// The folders whose crates are not in it: workspaces of their own, and programs that show how the
/// public ones are used.
const FREE: [&str; 3] = ["bench/", "fuzz/", "examples/"];

/// Crates that all tests may use besides: the door, through which models go, and the facade, whose
/// names the examples show.
const TESTS_MAY_USE: [&str; 2] = ["sync", "heist"];

/// Other runtimes, with which the benchmark compares.
const PEERS: [&str; 9] = [
    "rayon",
    "rayon-core",
    "chili",
    "forte",
    "tokio",
    "async-executor",
    "orx-parallel",
    "paralight",
    "fork_union",
];

/// Where peers may be named: the benchmark, the tests against rayon's own, and programs that show
/// heist and tokio's sockets together.
const PEERS_MAY_BE_IN: [&str; 4] = ["bench/", "compat/", "examples/", "book/"];

pub(super) fn check(repository: &Repository, found: &mut Vec<Violation>) {
    let map = repository.file(MAP).map_or("", |map| &*map.text);
    let direction = direction(map);
    for manifest in repository.ending("Cargo.toml") {
        match dependencies(manifest) {
            Ok(dependencies) => {
                check_direction(manifest, &dependencies, &direction, found);
                check_reasons(manifest, &dependencies, found);
                check_peers(manifest, &dependencies, found);
            }
            Err(error) => found.push(
                manifest.violation(1, format!("the manifest cannot be read ({error}); mend it")),
            ),
        }
    }
}

/// The rows of the table: a crate, and those that it may use.
fn direction(map: &str) -> Vec<(&str, Vec<&str>)> {
    let lines = map.lines().skip_while(|line| *line != DIRECTION).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| line.strip_prefix('|')?.split_once('|'));
    rows.flat_map(|(crates, used)| {
        let used: Vec<&str> = used.split('`').skip(1).step_by(2).collect();
        let crates = crates.split('`').skip(1).step_by(2);
        crates.map(move |name| (name, used.clone()))
    })
    .collect()
}

/// One entry of a table of dependencies.
#[derive(Debug)]
struct Dependency {
    /// `dependencies`, `dev-dependencies` or `build-dependencies`.
    kind: String,
    /// The package's name, whatever the entry calls it.
    package: String,
    line: usize,
    /// True for a crate of this repository.
    is_local: bool,
    /// True if the workspace describes it.
    is_inherited: bool,
    /// True if a comment is on the line or the one above.
    has_reason: bool,
}

fn check_direction(
    manifest: &File,
    dependencies: &[Dependency],
    direction: &[(&str, Vec<&str>)],
    found: &mut Vec<Violation>,
) {
    let folder = manifest.path.strip_suffix("/Cargo.toml");
    let is_free = FREE.iter().any(|folder| manifest.path.starts_with(folder));
    let Some(folder) = folder.filter(|_| !is_free) else {
        return;
    };
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let Some((_, may_use)) = direction.iter().find(|(known, _)| *known == name) else {
        found.push(manifest.violation(
            1,
            format!("nothing says what `{name}` may depend on; add it to `{DIRECTION}` in {MAP}"),
        ));
        return;
    };
    for dependency in dependencies {
        let Some(used) = our_crate(dependency) else {
            continue;
        };
        let for_tests = dependency.kind == "dev-dependencies" && TESTS_MAY_USE.contains(&used);
        if !may_use.contains(&used) && !for_tests {
            let allowed = match may_use.is_empty() {
                true => "nothing of ours".to_owned(),
                false => format!("only {}", may_use.join(", ")),
            };
            found.push(manifest.violation(
                dependency.line,
                format!(
                    "`{name}` must not depend on `{used}`: it may use {allowed}; move what it \
                     needs, or change `{DIRECTION}` in {MAP} first"
                ),
            ));
        }
    }
}

/// The name in the table of one of our packages: `core` for `heist-core`.
fn our_crate(dependency: &Dependency) -> Option<&str> {
    let package = &*dependency.package;
    let is_ours = dependency.is_local || package == "heist";
    package
        .strip_prefix("heist-")
        .or_else(|| is_ours.then_some(package))
}

fn check_reasons(manifest: &File, dependencies: &[Dependency], found: &mut Vec<Violation>) {
    for dependency in dependencies {
        if !dependency.is_local && !dependency.is_inherited && !dependency.has_reason {
            found.push(manifest.violation(
                dependency.line,
                format!(
                    "the dependency `{}` has no reason; say in a comment above or behind it what \
                     it is for",
                    dependency.package
                ),
            ));
        }
    }
}

fn check_peers(manifest: &File, dependencies: &[Dependency], found: &mut Vec<Violation>) {
    let may_be_here = |folder: &&str| manifest.path.starts_with(*folder);
    if PEERS_MAY_BE_IN.iter().any(may_be_here) {
        return;
    }
    for dependency in dependencies {
        if PEERS.contains(&&*dependency.package) {
            found.push(manifest.violation(
                dependency.line,
                format!(
                    "the peer `{}` must stay out of heist and its programs; depend on it in one of {}",
                    dependency.package,
                    PEERS_MAY_BE_IN.join(", ")
                ),
            ));
        }
    }
}

/// The entries of all tables of dependencies, in the order of lines.
fn dependencies(manifest: &File) -> Result<Vec<Dependency>, toml::de::Error> {
    let whole: toml::Table = manifest.text.parse()?;
    let mut dependencies: Vec<Dependency> = Vec::new();
    let mut section: Vec<String> = Vec::new();
    let mut known: Vec<(Vec<String>, String)> = Vec::new();
    let mut above = "";
    for (number, line) in numbered(&manifest.text) {
        let mut entry = None;
        if line.starts_with('[') {
            section = header(line);
            // The form [dependencies.NAME].
            if let [before @ .., kind, name] = section.as_slice() {
                if is_kind(kind) && !before.last().is_some_and(|last| is_kind(last)) {
                    let table = [before, std::slice::from_ref(kind)].concat();
                    entry = Some((table, name.clone()));
                }
            }
        } else if section.last().is_some_and(|kind| is_kind(kind)) {
            entry = key(line).map(|name| (section.clone(), name));
        }
        if let Some((table, name)) = entry {
            let value = lookup(&whole, &table).and_then(|table| table.get(&name));
            let is_new = !known.contains(&(table.clone(), name.clone()));
            if let (Some(value), true) = (value, is_new) {
                let says = |key: &str| value.get(key);
                let package = says("package").and_then(toml::Value::as_str);
                dependencies.push(Dependency {
                    kind: table.last().cloned().unwrap_or_default(),
                    package: package.unwrap_or(&name).to_owned(),
                    line: number,
                    is_local: says("path").is_some(),
                    is_inherited: says("workspace").is_some(),
                    has_reason: has_comment(line) || above.trim_start().starts_with('#'),
                });
                known.push((table, name));
            }
        }
        above = line;
    }
    Ok(dependencies)
}

fn is_kind(name: &str) -> bool {
    ["dependencies", "dev-dependencies", "build-dependencies"].contains(&name)
}

/// The names in a header such as `[target.'cfg(unix)'.dependencies]`.
fn header(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    // A header is a manifest of its own: nested tables with one key each.
    let mut level = line.parse::<toml::Table>().ok();
    while let Some((name, value)) = level.and_then(|table| table.into_iter().next()) {
        names.push(name);
        level = match value {
            toml::Value::Table(table) => Some(table),
            _ => None,
        };
    }
    names
}

/// The name that a line such as `name = ..` or `name.workspace = true` begins with.
fn key(line: &str) -> Option<String> {
    let (name, _) = line.split_once(['=', '.'])?;
    let name = name.trim().trim_matches('"');
    let is_name = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

fn lookup<'a>(whole: &'a toml::Table, names: &[String]) -> Option<&'a toml::Table> {
    names
        .iter()
        .try_fold(whole, |table, name| table.get(name)?.as_table())
}

/// True if a `#` stands outside of strings.
fn has_comment(line: &str) -> bool {
    let mut quote = None;
    for char in line.chars() {
        match (quote, char) {
            (None, '#') => return true,
            (None, '"' | '\'') => quote = Some(char),
            (Some(open), _) if open == char => quote = None,
            _ => {}
        }
    }
    false
}
