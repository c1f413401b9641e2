//! Rules for prose in comments and documents: the beginnings of sentences, the width of lines, the
//! names of crates that a reader meets.

use super::modules::Modules;
use super::repository::{numbered, File, Repository, Violation};

/// The words that may not begin a sentence.
const OPENERS: [&str; 6] = ["What", "Who", "Whose", "Nobody", "Whoever", "Whatever"];
const WIDTH: usize = 100;
/// The crates that users know as `heist`.
const INNER: [&str; 2] = ["heist_core::", "heist_par::"];

pub(super) fn check(repository: &Repository, modules: &Modules<'_>, found: &mut Vec<Violation>) {
    for file in &repository.files {
        // Records stay as they were written.
        if file.path.split('/').any(|name| name == "record") {
            continue;
        }
        let mark = match file.path.rsplit(['.', '/']).next() {
            Some("rs" | "js" | "mjs") => "//",
            Some("toml" | "sh" | "py" | "run") => "#",
            Some("md") => "",
            _ => continue,
        };
        let facts = modules.facts.get(&*file.path);
        let literals = facts.map_or(&[][..], |facts| &facts.literals);
        let mut reader = Reader::default();
        for (number, line) in numbered(&file.text) {
            let in_literal = |(first, last): &(usize, usize)| (*first..=*last).contains(&number);
            let comment = match literals.iter().any(in_literal) {
                true => None,
                false => comment(line, mark),
            };
            let Some((text, is_doc)) = comment else {
                reader = Reader::default();
                continue;
            };
            let mut report = |what: String| found.push(file.violation(number, what));
            if is_doc && file.path.contains("/src/") && file.path.starts_with("crates/") {
                check_names(text, &mut report);
            }
            reader.read(file, line, text, is_doc, &mut report);
        }
    }
}

/// The text of a comment, and whether it is documentation.
fn comment<'a>(line: &'a str, mark: &str) -> Option<(&'a str, bool)> {
    let line = line.trim();
    let Some(text) = line.strip_prefix(mark) else {
        let is_plain = mark == "//" && !line.contains('"');
        let (_, text) = line.split_once(" // ").filter(|_| is_plain)?;
        return Some((text, false));
    };
    match text.strip_prefix(['/', '!']).filter(|_| mark == "//") {
        Some(text) => Some((text.trim(), true)),
        None => Some((text.trim(), false)),
    }
}

fn check_names(text: &str, report: &mut dyn FnMut(String)) {
    for name in INNER.iter().filter(|name| text.contains(**name)) {
        report(format!(
            "documentation names `{name}`, which users do not know; write `heist::`"
        ));
    }
}

/// A position in a text.
#[derive(Debug, Default)]
struct Reader {
    /// The preceding line of the same comment.
    before: String,
    in_code: bool,
}

impl Reader {
    fn read(
        &mut self,
        file: &File,
        line: &str,
        text: &str,
        is_doc: bool,
        report: &mut dyn FnMut(String),
    ) {
        let before = std::mem::replace(&mut self.before, text.to_owned());
        let is_fence = text.starts_with("```");
        self.in_code ^= is_fence;
        if self.in_code || is_fence {
            return;
        }
        let is_table = text.starts_with('|');
        let is_link = ["http", "](", "]: "].iter().any(|mark| line.contains(mark));
        if line.chars().count() > WIDTH && !is_table && !is_link {
            report(format!("the line is wider than {WIDTH} columns; wrap it"));
        }
        // The table of old names and new ones.
        if is_table && file.path == "CHANGELOG.md" {
            return;
        }
        let begins = before.is_empty()
            || before.ends_with(['.', ':', '!', '?'])
            || text.starts_with(['|', '-', '*', '#']);
        let is_mark = |char: char| "-*|>#. ".contains(char) || char.is_ascii_digit();
        let first = begins.then(|| text.trim_start_matches(is_mark));
        let later = text
            .match_indices(['.', '!', '?', ':', '|'])
            .map(|(at, _)| &text[at + 1..]);
        let later = later.filter(|rest| rest.starts_with(' '));
        let later = later.map(|rest| rest.trim_start().trim_start_matches("**"));
        for sentence in first.into_iter().chain(later) {
            let word = sentence.split(|char: char| !char.is_alphanumeric()).next();
            if word.is_some_and(|word| OPENERS.contains(&word)) {
                let start: String = sentence.chars().take(40).collect();
                report(format!(
                    "a sentence begins with `{start}`; begin it with its subject, or with a verb"
                ));
            }
        }
        let word = text.trim_end_matches(['.', '!', '?']);
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        if is_doc && before.is_empty() && word != text && word.chars().all(is_word) {
            report(format!(
                "`{text}` is all that the documentation says; say more, or nothing"
            ));
        }
    }
}
