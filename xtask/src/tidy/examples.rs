//! A rule for documentation: each public item has an example, or says which item has it.

use super::modules::Modules;
use super::repository::{has_word, numbered, File, Repository, Violation};

/// The folders whose public items the rule is about.
const FOLDERS: [&str; 2] = ["crates/cluster/src/", "crates/heist/src/"];
const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "fn"];

pub(super) fn check(repository: &Repository, modules: &Modules<'_>, found: &mut Vec<Violation>) {
    for path in modules.facts.keys() {
        let is_checked = FOLDERS.iter().any(|folder| path.starts_with(folder));
        let file = repository.file(path);
        if let Some(file) = file.filter(|_| is_checked && !modules.is_test_only(path)) {
            check_file(file, found);
        }
    }
}

fn check_file(file: &File, found: &mut Vec<Violation>) {
    let examples = examples(&file.text);
    // The lines above an item: its documentation and its attributes.
    let mut above: Vec<&str> = Vec::new();
    for (number, line) in numbered(&file.text) {
        let text = line.trim_start();
        let Some((kind, name)) = public(text).filter(|_| line.len() - text.len() <= 4) else {
            above.push(text);
            if text.is_empty() {
                above.clear();
            }
            continue;
        };
        let called = [".", "::"].map(|mark| format!("{mark}{name}"));
        let is_called = called.iter().any(|call| has_word(&examples, call));
        let has_own = |line: &&str| line.starts_with("/// ```") || line.contains("example");
        let is_method = kind == "fn" && line.len() > text.len();
        let is_hidden = above.contains(&"#[doc(hidden)]");
        if !(is_hidden || above.iter().any(has_own) || is_method && is_called) {
            found.push(file.violation(
                number,
                format!(
                    "`{name}` has no example; write one, or say which item has it (`[..] has an \
                     example`)"
                ),
            ));
        }
        above.clear();
    }
}

/// The kind and the name of the public item that a line declares.
fn public(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("pub ")?;
    let mut words = line.split_whitespace();
    let kind = words.find(|word| !["const", "async", "unsafe"].contains(word))?;
    let name = words.next()?.split(['(', '<', ';', ':']).next()?;
    KINDS.contains(&kind).then_some((kind, name))
}

/// The code of all examples of a file.
fn examples(text: &str) -> String {
    let docs = text.lines().map(str::trim_start);
    let docs = docs.filter(|line| line.starts_with("///") || line.starts_with("//!"));
    let mut in_code = false;
    let code = docs.filter(|line| {
        in_code ^= line[3..].trim_start().starts_with("```");
        in_code
    });
    code.collect()
}
