//! A rule for documentation: each public item has an example, or says which item has it.
//!
//! A method may be in the example of its type, unless it can fail: its own example shows when.

use super::modules::Modules;
use super::repository::{has_word, numbered, File, Repository, Violation};

/// The folders whose public items the rule is about.
const FOLDERS: [&str; 5] = [
    "crates/cluster/src/",
    "crates/core/src/",
    "crates/futures/src/",
    "crates/heist/src/",
    "crates/par/src/",
];
/// The parts of them that users do not see.
const HIDDEN: [&str; 6] = [
    "crates/core/src/insight/",
    "crates/core/src/ops/hosting.rs",
    "crates/core/src/policy/",
    "crates/par/src/foreign.rs",
    "crates/par/src/integer.rs",
    "crates/par/src/part/",
];
/// The marks of documentation that has an example, or leads to the item that has it.
const LEADS: [&str; 4] = ["```", "example", "see [", "See ["];
const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "fn"];

pub(super) fn check(repository: &Repository, modules: &Modules<'_>, found: &mut Vec<Violation>) {
    for path in modules.facts.keys() {
        let is_in = |folder: &&str| path.starts_with(*folder);
        let is_checked = FOLDERS.iter().any(is_in) && !HIDDEN.iter().any(is_in);
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
        let docs = above.iter().filter_map(|line| line.strip_prefix("///"));
        let docs: String = docs.collect();
        let leads = LEADS.iter().any(|lead| docs.contains(lead));
        let can_fail = above.contains(&"/// # Errors");
        let is_method = kind == "fn" && line.len() > text.len() && !can_fail;
        let is_hidden = above
            .iter()
            .any(|line| *line == "#[doc(hidden)]" || line.contains("unnameable_types"));
        if !(is_hidden || leads || is_method && is_called) {
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
