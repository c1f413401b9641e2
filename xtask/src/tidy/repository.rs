//! The files of the repository as the rules see them, and violations.

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
    /// The fault, and how to mend it.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what } = self;
        write!(f, "{path}:{line}: {what}")
    }
}

/// The files of the repository, without what git and cargo keep for themselves.
#[derive(Debug, Default)]
pub(super) struct Repository {
    pub(super) files: Vec<File>,
}

#[derive(Debug)]
pub(super) struct File {
    /// Counted from the root, with `/` between names.
    pub(super) path: String,
    /// Invalid UTF-8 is replaced.
    pub(super) text: String,
}

impl Repository {
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
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

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files whose path ends in `suffix`.
    pub(super) fn ending<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a File> {
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(suffix))
    }

    /// The names of the folders directly in `folder`, which is empty or ends in `/`.
    pub(super) fn folders(&self, folder: &str) -> Vec<&str> {
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
    pub(super) fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }

    /// The path without the last name: empty, or ending in `/`.
    pub(super) fn folder(&self) -> &str {
        &self.path[..self.path.rfind('/').map_or(0, |slash| slash + 1)]
    }
}

/// The lines of the text with their numbers, counted from 1.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

/// True if `word` stands in `text` on its own: where it begins or ends with a
/// letter, digit or underscore, no other follows on that side.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_inside = |char: char| char.is_alphanumeric() || char == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let begins = !word.starts_with(is_inside) || !before.ends_with(is_inside);
        let ends = !word.ends_with(is_inside) || !after.starts_with(is_inside);
        begins && ends
    })
}
