//! The table against the sources: every variable that is read is in it, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{INTERNAL, KNOWN, PREFIX};

/// Where programs that users run come from.
const ROOMS: [&str; 4] = ["crates", "cli", "compat/rayon-core", "examples"];
/// The project's own chores. They set much for other programs; only what is heist's own counts.
const CHORES: [&str; 2] = ["lab", "xtask"];

/// A source file.
struct Source {
    text: String,
    /// It may read any variable.
    is_for_users: bool,
}

/// Every source file, this program's doctor aside.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let doctor = root.join("cli").join("src").join("doctor");
    let mut sources = Vec::new();
    for room in ROOMS.into_iter().chain(CHORES) {
        let files = walkdir::WalkDir::new(root.join(room)).into_iter();
        for file in files.filter_entry(|entry| entry.path() != doctor) {
            let path = file.expect("a readable folder").into_path();
            let is_source = path.extension().is_some_and(|it| it == "rs" || it == "py");
            if is_source {
                sources.push(Source {
                    text: fs::read_to_string(path).expect("text"),
                    is_for_users: !CHORES.contains(&room),
                });
            }
        }
    }
    assert!(sources.len() > 100, "the sources are beside this package");
    sources
}

/// The variables of heist's own that are named anywhere in the source, and others that stand
/// in quotation marks in one that reads the environment.
fn variables(source: &Source) -> BTreeSet<&str> {
    let text = &*source.text;
    let is_inside = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let words = text.split(|char| !is_inside(char));
    let ours = words.filter(|word| word.len() > PREFIX.len() && word.starts_with(PREFIX));
    let reads = ["env::var", "os.environ", "os.getenv"];
    let reads = source.is_for_users && reads.iter().any(|call| text.contains(call));
    let quoted = text.split('"').filter(|quoted| {
        let first = quoted.split('_').next().unwrap_or("");
        reads
            && quoted.len() > first.len()
            && first.len() > 1
            && first.bytes().all(|byte| byte.is_ascii_uppercase())
            && quoted.chars().all(is_inside)
    });
    // Cargo tells its own variables to what it builds and runs.
    let quoted = quoted.filter(|name| !name.starts_with("CARGO_"));
    ours.chain(quoted).collect()
}

#[test]
fn names_are_found_where_they_are_used_and_where_they_are_only_mentioned() {
    let found = |text: &str, is_for_users| {
        let source = Source {
            text: text.to_owned(),
            is_for_users,
        };
        variables(&source).into_iter().collect::<Vec<_>>().join(" ")
    };
    let reads = "let a = std::env::var(\"FOLDER_OF_MINE\"); // HEIST_OTHER, \"NOT THIS_ONE\"";
    assert_eq!(found(reads, true), "FOLDER_OF_MINE HEIST_OTHER");
    assert_eq!(found(reads, false), "HEIST_OTHER");
    assert_eq!(found("const NAME: &str = \"SOME_NAME\";", true), "");
}

#[test]
fn every_variable_that_is_read_anywhere_is_listed() {
    let sources = sources();
    let mut found: BTreeSet<&str> = sources.iter().flat_map(variables).collect();
    for listed in KNOWN
        .map(|it| it.name)
        .iter()
        .chain(&INTERNAL.map(|it| it.name))
    {
        found.remove(listed);
    }
    assert!(
        found.is_empty(),
        "add these to KNOWN or, with the reason, to INTERNAL: {found:?}"
    );
}

#[test]
fn what_is_listed_is_listed_once_and_is_still_named_in_the_sources() {
    let sources = sources();
    let mut seen = BTreeSet::new();
    for listed in KNOWN
        .map(|it| it.name)
        .iter()
        .chain(&INTERNAL.map(|it| it.name))
    {
        assert!(seen.insert(*listed), "{listed} is listed twice");
        let is_named = sources.iter().any(|source| source.text.contains(listed));
        assert!(is_named, "nothing reads {listed} any more; take it out");
    }
}
