//! Rule for tests that cannot run everywhere: one that lacks a tool or a facility says so before it
//! returns, in a line that the harness does not keep to itself and that the gate counts.

use super::modules::Modules;
use super::repository::{File, Repository, Violation};
use super::rust::Facts;
use crate::steps::TEST_SKIPPED;

/// The word that the lines before an early return have: in the text that says it, in the name of
/// the function that does, or in the reason why nothing is left out.
const SAID: &str = "skipped";

pub(super) fn check(repository: &Repository, modules: &Modules<'_>, found: &mut Vec<Violation>) {
    for (path, facts) in &modules.facts {
        if let Some(file) = repository.file(path) {
            check_file(file, facts, found);
        }
    }
}

fn check_file(file: &File, facts: &Facts, found: &mut Vec<Violation>) {
    let lines: Vec<&str> = file.text.lines().collect();
    for (number, line) in (1..).zip(&lines) {
        if line.contains("ln!(") && line.contains(TEST_SKIPPED) {
            found.push(file.violation(
                number,
                "the harness keeps this line to itself, or writes into it; hand standard error \
                 all of it at once, with `write_all`",
            ));
        }
    }
    for &(first, last) in &facts.functions {
        let above = lines[..first - 1].iter().rev();
        let mut above = above.take_while(|line| line.trim_start().starts_with("#["));
        if !above.any(|line| line.trim() == "#[test]") {
            continue;
        }
        let body = indent(lines[first - 1]) + INDENT;
        // Where the statement begins in which a line stands.
        let mut statement = first;
        for number in first + 1..last {
            let line = lines[number - 1];
            if indent(line) == body && !line.trim_start().starts_with(['}', ')', '.']) {
                statement = number;
            }
            let is_early = indent(line) <= body + INDENT && leaves(line);
            let so_far = &lines[statement - 1..number];
            if is_early && !so_far.iter().any(|line| line.contains(SAID)) {
                found.push(file.violation(
                    number,
                    format!(
                        "a test ends early here, and counts as passed; write `{TEST_SKIPPED}REASON` \
                         to standard error first, or give what says it a name with `{SAID}`"
                    ),
                ));
            }
        }
    }
}

const INDENT: usize = 4;

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// True for a line that returns without a value, or with that of printing something.
fn leaves(line: &str) -> bool {
    let line = line.trim();
    ["return;", "return eprintln!"]
        .iter()
        .any(|start| line.starts_with(start))
        || ["{ return };", "=> return,"]
            .iter()
            .any(|end| line.ends_with(end))
}
