//! Rules for how a Rust file is laid out: the order of its imports, its length and that of its
//! functions, an argument for each unsafe site, and crates without one.

use super::modules::Modules;
use super::repository::{File, Repository, Violation};
use super::rust::{Facts, Import};

/// The most lines of a file, and of a function from its name to its last brace.
const LONGEST_FILE: usize = 600;
const LONGEST_FUNCTION: usize = 60;
/// The mark before the reason of an exception, above a function or in the head of a file.
const EXCEPTION: &str = "// Long: ";
const HEAD: usize = 40;
/// The crates in which unsafe code may be; every other one forbids it.
const UNSAFE: [&str; 7] = [
    "crates/sync/",
    "crates/deque/",
    "crates/core/",
    "crates/par/",
    "crates/futures/",
    "crates/cluster/",
    "bench/workloads/",
];
const FORBID: &str = "#![forbid(unsafe_code)]";
/// How many lines may stand between the argument and its unsafe site.
const ARGUMENT_REACH: usize = 3;

/// Unsafe blocks, functions, traits and impls, and how many of them have no argument.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnsafeSites {
    pub(super) all: usize,
    pub(super) unargued: usize,
}

pub(super) fn check(
    repository: &Repository,
    modules: &Modules<'_>,
    found: &mut Vec<Violation>,
) -> UnsafeSites {
    let mut sites = UnsafeSites::default();
    for root in modules
        .trees
        .keys()
        .filter_map(|path| repository.file(path))
    {
        let is_program = root.path.split('/').any(|name| name == "src");
        let may_be_unsafe = UNSAFE.iter().any(|folder| root.path.starts_with(folder));
        if is_program && !may_be_unsafe && !root.text.contains(FORBID) {
            found.push(root.violation(
                1,
                format!("this crate has no unsafe code; say so in its root: `{FORBID}`"),
            ));
        }
    }
    for (path, facts) in &modules.facts {
        let Some(file) = repository.file(path) else {
            continue;
        };
        let lines: Vec<&str> = file.text.lines().collect();
        check_imports(file, facts, &lines, found);
        check_lengths(file, facts, &lines, found);
        for &line in &facts.unsafe_sites {
            sites.all += 1;
            if !has_argument(&lines[..line]) {
                sites.unargued += 1;
                found.push(file.violation(
                    line,
                    "this unsafe site has no argument; begin it with `// SAFETY:`, or tell the \
                     caller's duties under `# Safety`",
                ));
            }
        }
    }
    sites
}

/// Groups of `use` come in one order, a blank line between them.
fn check_imports(file: &File, facts: &Facts, lines: &[&str], found: &mut Vec<Violation>) {
    for pair in facts.imports.windows(2) {
        let [above, below] = pair else { continue };
        let between = lines.get(above.last_line..below.first_line - 1);
        let between = between.unwrap_or_default();
        let is_code = |line: &&str| !line.is_empty() && !line.trim_start().starts_with("#[");
        if above.is_public || below.is_public || between.iter().any(is_code) {
            continue;
        }
        let (Some(first), Some(second)) = (group(above, facts), group(below, facts)) else {
            continue;
        };
        let is_apart = between.iter().any(|line| line.is_empty());
        let what = if first > second {
            "this group of imports belongs further up"
        } else if first < second && !is_apart {
            "a group of imports begins here without a blank line"
        } else if first == second && is_apart && between.len() == 1 {
            "a blank line divides a group of imports"
        } else {
            continue;
        };
        found.push(file.violation(
            below.first_line,
            format!("{what}; first std, then other crates, then this one, a blank line between"),
        ));
    }
}

/// The place of an import in the order; `None` for one that begins with a module of this file.
fn group(import: &Import, facts: &Facts) -> Option<usize> {
    match &*import.head {
        "std" | "core" | "alloc" => Some(0),
        "crate" | "super" | "self" => Some(2),
        head if facts.modules.iter().any(|module| module.name == head) => None,
        _ => Some(1),
    }
}

fn check_lengths(file: &File, facts: &Facts, lines: &[&str], found: &mut Vec<Violation>) {
    let has_reason = |line: &&str| line.trim_start().starts_with(EXCEPTION);
    let mut head = lines.iter().take(HEAD);
    if lines.len() > LONGEST_FILE && !head.any(has_reason) {
        found.push(file.violation(
            1,
            format!(
                "the file has {} lines; divide it by subjects, or say in its head why it cannot \
                 be (`{EXCEPTION}REASON.`)",
                lines.len()
            ),
        ));
    }
    for &(first, last) in &facts.functions {
        let length = last + 1 - first;
        let above = lines[..first - 1].iter().rev();
        let mut above = above.take_while(|line| !line.is_empty() && !line.ends_with(['}', '{']));
        if length > LONGEST_FUNCTION && !above.any(has_reason) {
            found.push(file.violation(
                first,
                format!(
                    "the function has {length} lines; divide it, or say above it why it cannot \
                     be (`{EXCEPTION}REASON.`)"
                ),
            ));
        }
    }
}

/// True if the last of the lines, or a comment close above it, argues for its safety. The duties of
/// a function do not argue for a block in it.
fn has_argument(lines: &[&str]) -> bool {
    let mut code = 0;
    let is_block = lines.last().is_some_and(|line| line.contains("unsafe {"));
    let mut lines = lines.iter().rev().map(|line| line.trim_start());
    lines.any(|line| {
        code += usize::from(!line.starts_with("//"));
        code <= ARGUMENT_REACH + 1
            && (line.contains("SAFETY:") || !is_block && line.contains("# Safety"))
    })
}
