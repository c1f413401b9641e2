//! Rules about the source that no compiler checks.
//!
//! | rules | where |
//! |---|---|
//! | concurrency only through `heist-sync`; pure policies; a comment and a name at each ordering; sorts that inline what compares; nothing unfinished | `source` |
//! | the direction of dependencies; a reason for each; rivals only in the benchmark | `manifest` |
//! | every file of a `src` folder belongs to a module tree | `modules` |
//! | the changelog names the version, the map every folder, lines of dependencies packages that are there | `documents` |
//!
//! A violation says where it is, what it is, and how to mend it.

mod documents;
mod manifest;
mod modules;
pub(crate) mod rust;
pub(crate) mod source;

use std::fmt;
use std::path::Path;

use anyhow::Context;

/// Something in the repository that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, counted from the root of the repository.
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and how to mend it.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what } = self;
        write!(f, "{path}:{line}: {what}")
    }
}

/// All violations, one a line, and how many there are.
#[derive(Debug)]
pub struct Summary<'a>(pub &'a [Violation]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in self.0 {
            writeln!(f, "{violation}")?;
        }
        match self.0.len() {
            0 => write!(f, "tidy: no violation"),
            1 => write!(f, "tidy: 1 violation"),
            count => write!(f, "tidy: {count} violations"),
        }
    }
}

/// The violations in the repository at `root`, in the order of files and lines.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub fn check(root: &Path) -> anyhow::Result<Vec<Violation>> {
    let repository = Repository::read(root)?;
    let mut violations = Vec::new();
    let modules = modules::check(&repository, &mut violations);
    source::check(&repository, &modules, &mut violations);
    manifest::check(&repository, &mut violations);
    documents::check(&repository, &mut violations);
    violations.sort();
    violations.dedup();
    Ok(violations)
}

/// The files of the repository, without what git and cargo keep for themselves.
#[derive(Debug, Default)]
struct Repository {
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    /// Counted from the root, with `/` between names.
    path: String,
    /// Bytes that are no text are replaced.
    text: String,
}

impl Repository {
    fn read(root: &Path) -> anyhow::Result<Self> {
        let walk = walkdir::WalkDir::new(root)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry| {
                // Cargo marks a folder of build results with such a file.
                entry.file_name() != ".git" && !entry.path().join("CACHEDIR.TAG").is_file()
            });
        let mut files = Vec::new();
        for entry in walk {
            let entry = entry.context("could not walk the repository")?;
            if !entry.file_type().is_file() {
                continue;
            }
            let path = entry.path().strip_prefix(root)?;
            let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
            let bytes = std::fs::read(entry.path())
                .with_context(|| format!("could not read {}", path.display()))?;
            files.push(File {
                path: names.join("/"),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
        Ok(Self { files })
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files whose path ends in `suffix`.
    fn ending<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a File> {
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(suffix))
    }

    /// The names of the folders directly in `folder`, which is empty or ends in `/`.
    fn folders(&self, folder: &str) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .files
            .iter()
            .filter_map(|file| Some(file.path.strip_prefix(folder)?.split_once('/')?.0))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl File {
    fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }

    /// The path without the last name: empty, or ending in `/`.
    fn folder(&self) -> &str {
        &self.path[..self.path.rfind('/').map_or(0, |slash| slash + 1)]
    }
}

/// The lines of the text with their numbers, counted from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// True if `word` stands in `text` on its own: where it begins or ends with a
/// letter, digit or underscore, no other follows on that side.
fn has_word(text: &str, word: &str) -> bool {
    let is_inside = |char: char| char.is_alphanumeric() || char == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let begins = !word.starts_with(is_inside) || !before.ends_with(is_inside);
        let ends = !word.ends_with(is_inside) || !after.starts_with(is_inside);
        begins && ends
    })
}

#[cfg(test)]
mod tests;
