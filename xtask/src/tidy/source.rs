//! Rules for source files: one door to concurrency, pure policies, explained orderings, sorts that
//! inline what compares, nothing unfinished.

use std::collections::BTreeMap;

use super::modules::Modules;
use super::repository::{has_word, numbered, File, Repository, Violation};
use super::rust::{Facts, NamedPath, STRONG};

/// The only crate that may name what [`CONCURRENCY`] lists.
const DOOR: &str = "crates/sync/";
/// The folders of pure decisions.
const POLICIES: [&str; 2] = ["crates/core/src/policy", "crates/cluster/src/planner"];

/// Names that no model can observe, so that they must go through that crate.
const CONCURRENCY: [&[&str]; 12] = [
    &["std", "sync", "atomic"],
    &["core", "sync", "atomic"],
    &["std", "thread"],
    &["std", "cell", "UnsafeCell"],
    &["core", "cell", "UnsafeCell"],
    // The system calls: futex, membarrier, fork.
    &["libc"],
    &["rustix", "thread"],
    &["rustix", "process"],
    &["rustix", "runtime"],
    &["windows_sys"],
    &["loom"],
    &["shuttle"],
];

/// Those of them that may be named in code for tests only: threads that are no part of a model, and
/// the tools that run models.
const TESTS_MAY_NAME: [&[&str]; 3] = [&["std", "thread"], &["loom"], &["shuttle"]];

/// Names that a decision must not depend on: it is a plain function of plain data.
const IMPURE: [&[&str]; 5] = [
    &["std", "thread"],
    &["heist_sync"],
    &["std", "io"],
    &["std", "fs"],
    &["std", "env"],
];
const CLOCKS: [&str; 2] = ["Instant", "SystemTime"];

/// The crates that consist of protocols: each ordering has a name there.
pub(crate) const NAMED: [&str; 5] = [
    "crates/sync/src/",
    "crates/deque/src/",
    "crates/core/src/",
    "crates/par/src/",
    "crates/futures/src/",
];
/// The files that implement the names, whose own orderings need none.
const NAMING: &str = "crates/sync/src/fault.rs";
/// The first word of a name that belongs to a test, which no command plants.
pub(crate) const TESTS_OWN: &str = "test.";
/// The most lines between an ordering and the end of the comment above it.
const COMMENT_REACH: usize = 6;

/// Endings of the files that are searched for [`UNFINISHED`].
const CODE: [&str; 8] = [
    ".rs", ".toml", ".sh", ".c", ".cpp", ".h", ".java", ".ci/run",
];

// Written in two halves, or this file would violate its own rule.
const UNFINISHED: [&str; 7] = [
    concat!("dbg", "!"),
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("todo", "!"),
    concat!("unimplemented", "!"),
    // With a reason it is fine: `#[ignore = "…"]` says who runs it instead.
    concat!("#[ig", "nore]"),
];

/// Words that are no argument for the soundness of unsafe code.
const NO_ARGUMENT: [&str; 4] = ["obvious", "obviously", "untriaged", "trust"];

pub(super) fn check(repository: &Repository, modules: &Modules<'_>, found: &mut Vec<Violation>) {
    for (path, facts) in &modules.facts {
        let Some(file) = repository.file(path) else {
            continue;
        };
        let in_crate = crate_source(path);
        if in_crate && !path.starts_with(DOOR) {
            check_door(file, facts, modules.is_test_only(path), found);
        }
        if in_crate && *path != NAMING {
            check_orderings(file, facts, modules.is_test_only(path), found);
        }
        if in_crate {
            check_sorts(file, facts, found);
        }
        let is_policy = POLICIES
            .iter()
            .filter_map(|policy| path.strip_prefix(policy))
            .any(|rest| rest == ".rs" || rest.starts_with('/'));
        if is_policy {
            check_policy(file, facts, found);
        }
    }
    check_names(repository, modules, found);
    for file in &repository.files {
        if CODE.iter().any(|ending| file.path.ends_with(ending)) {
            check_unfinished(file, found);
        }
    }
}

/// True for `crates/NAME/src/..`.
fn crate_source(path: &str) -> bool {
    let mut names = path.split('/');
    names.next() == Some("crates") && names.nth(1) == Some("src")
}

fn check_door(file: &File, facts: &Facts, test_only: bool, found: &mut Vec<Violation>) {
    for path in &facts.paths {
        let Some(banned) = first_match(path, &CONCURRENCY) else {
            continue;
        };
        if (test_only || path.in_test) && TESTS_MAY_NAME.contains(&banned) {
            continue;
        }
        let named = banned.join("::");
        found.push(file.violation(
            path.line,
            format!(
                "`{named}` is named outside of {DOOR}; use what heist_sync offers in its place, \
                 so that models see it"
            ),
        ));
    }
}

/// A closure behind a reference is not inlined into the sort, which then takes some times as long.
fn check_sorts(file: &File, facts: &Facts, found: &mut Vec<Violation>) {
    for line in &facts.sorts_by_name {
        found.push(file.violation(
            *line,
            "a sort is given the name of a closure, which it may not inline; write a closure \
             that calls it: `|a, b| compare(a, b)`",
        ));
    }
}

fn check_policy(file: &File, facts: &Facts, found: &mut Vec<Violation>) {
    for path in &facts.paths {
        let names_clock = path.segments.iter().any(|name| CLOCKS.contains(&&**name));
        if names_clock || first_match(path, &IMPURE).is_some() {
            let named = path.segments.join("::");
            found.push(file.violation(
                path.line,
                format!(
                    "`{named}` is named in a policy, which decides by its arguments alone; pass \
                     in what it needs as a value"
                ),
            ));
        }
    }
}

/// Each ordering above Relaxed has a comment near it, and a name where protocols are.
fn check_orderings(file: &File, facts: &Facts, test_only: bool, found: &mut Vec<Violation>) {
    let wants_a_name = !test_only && NAMED.iter().any(|folder| file.path.starts_with(folder));
    let lines: Vec<&str> = file.text.lines().collect();
    let is_variant = |path: &NamedPath| match path.segments.as_slice() {
        [.., kind, name] => kind == "Ordering" && (STRONG.contains(&&**name) || name == "*"),
        _ => false,
    };
    // Bare names are orderings only where they are imported.
    let imports_variants = facts
        .paths
        .iter()
        .any(|path| path.in_use && is_variant(path));
    for path in facts.paths.iter().filter(|path| !path.in_use) {
        let is_bare = match path.segments.as_slice() {
            [name] => imports_variants && STRONG.contains(&&**name),
            _ => false,
        };
        if !is_bare && !is_variant(path) {
            continue;
        }
        let ordering = path.segments.last().map_or("", |name| name);
        if wants_a_name && !path.in_test && !path.has_a_name {
            found.push(file.violation(
                path.line,
                format!(
                    "the ordering {ordering} has no name; write it through `heist_sync::fault`, \
                     so that `cargo xtask mutate` can weaken it"
                ),
            ));
        }
        let from = path.line.saturating_sub(COMMENT_REACH + 1);
        let near = &lines[from..path.line.min(lines.len())];
        if !near
            .iter()
            .any(|line| line.contains("//") || line.contains("/*"))
        {
            found.push(file.violation(
                path.line,
                format!(
                    "the ordering {ordering} has no comment on its line or the {COMMENT_REACH} \
                     above; say which function it pairs with and why"
                ),
            ));
        }
    }
}

/// The name of an ordering stands once, and says to which protocol it belongs.
fn check_names(repository: &Repository, modules: &Modules<'_>, found: &mut Vec<Violation>) {
    let mut known = BTreeMap::new();
    for (path, facts) in &modules.facts {
        let Some(file) = repository.file(path) else {
            continue;
        };
        let is_named = NAMED.iter().any(|folder| path.starts_with(folder));
        for fault in facts.faults.iter().filter(|_| is_named) {
            let name = &fault.name;
            let protocol = name.split('.').next().unwrap_or_default();
            if name.starts_with(TESTS_OWN) {
                continue;
            }
            let mut places = path.split('/').filter(|place| *place != "src");
            if !places.any(|place| place.trim_end_matches(".rs") == protocol) {
                found.push(file.violation(
                    fault.line,
                    format!(
                        "the name `{name}` does not begin with its protocol; begin it with the \
                         name of this file or its folder and a dot"
                    ),
                ));
            }
            if let Some(place) = known.insert(name, format!("{path}:{}", fault.line)) {
                found.push(file.violation(
                    fault.line,
                    format!("the name `{name}` is taken, at {place}; give each ordering its own"),
                ));
            }
        }
    }
}

fn check_unfinished(file: &File, found: &mut Vec<Violation>) {
    for (number, line) in numbered(&file.text) {
        for mark in UNFINISHED {
            if has_word(line, mark) {
                found.push(file.violation(
                    number,
                    format!("`{mark}` marks something unfinished; finish it or delete it"),
                ));
            }
        }
        if let Some((_, argument)) = line.split_once("SAFETY:") {
            let argument = argument.to_lowercase();
            for word in NO_ARGUMENT.iter().filter(|word| has_word(&argument, word)) {
                found.push(file.violation(
                    number,
                    format!("`{word}` is no safety argument; answer each obligation"),
                ));
            }
        }
    }
}

/// The first of the `banned` paths that `path` is or goes into.
fn first_match<'a>(path: &NamedPath, banned: &'a [&'a [&'a str]]) -> Option<&'a [&'a str]> {
    banned.iter().copied().find(|banned| {
        let goes_into = path.segments.len() > banned.len() || path.in_use || banned.len() > 1;
        goes_into && path.segments.len() >= banned.len() && {
            let mut pairs = path.segments.iter().zip(*banned);
            pairs.all(|(name, banned)| name == banned)
        }
    })
}
