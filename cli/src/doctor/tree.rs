//! Reads the files in which Linux describes the machine, and remembers unreadable ones.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The folder that holds `proc` and `sys`: `/`, or a made-up machine in a test.
///
/// A file that does not exist is no error: kernels differ in what they show. A
/// file that exists and makes no sense is, and ends up in [`Tree::unreadable`].
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    unreadable: Vec<Unreadable>,
}

/// A file that exists but could not be read or understood.
#[derive(Debug, Serialize)]
pub(crate) struct Unreadable {
    /// The file, counted from the root of the tree.
    pub(crate) path: String,
    /// The reason.
    pub(crate) why: String,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            unreadable: Vec::new(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The result of `parse` on the file's text, trimmed; `None` if there is no such file, or if
    /// it is unreadable, which is remembered.
    ///
    /// `path` starts with a slash, as it would on the machine itself.
    pub(crate) fn parse<T>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let parsed = match fs::read(self.root.join(path.trim_start_matches('/'))) {
            // Paths in mount tables may be in any encoding; what matters here is ASCII.
            Ok(bytes) => parse(String::from_utf8_lossy(&bytes).trim()),
            Err(error) if is_absence(error.kind()) => return None,
            Err(error) => Err(error.to_string()),
        };
        match parsed {
            Ok(value) => Some(value),
            Err(why) => {
                self.add_unreadable(path, why);
                None
            }
        }
    }

    /// The whole number that the file holds.
    pub(crate) fn number(&mut self, path: &str) -> Option<u64> {
        self.parse(path, parse_number)
    }

    /// The numbers N of the folder's entries that are called `prefixN`, ascending.
    pub(crate) fn numbered(&mut self, folder: &str, prefix: &str) -> Vec<u32> {
        let entries = match fs::read_dir(self.root.join(folder.trim_start_matches('/'))) {
            Ok(entries) => entries,
            Err(error) if is_absence(error.kind()) => return Vec::new(),
            Err(error) => {
                self.add_unreadable(folder, error.to_string());
                return Vec::new();
            }
        };
        let mut numbers = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => numbers.extend(
                    entry
                        .file_name()
                        .to_str()
                        .and_then(|name| name.strip_prefix(prefix)?.parse::<u32>().ok()),
                ),
                Err(error) => self.add_unreadable(folder, error.to_string()),
            }
        }
        numbers.sort_unstable();
        numbers
    }

    /// Remembers a file that contradicts the others.
    pub(crate) fn add_unreadable(&mut self, path: &str, why: String) {
        self.unreadable.push(Unreadable {
            path: path.to_owned(),
            why,
        });
    }

    /// Everything that was unreadable so far.
    pub(crate) fn into_unreadable(self) -> Vec<Unreadable> {
        self.unreadable
    }
}

/// A whole number, or a sentence about what was found in its place.
pub(crate) fn parse_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("expected a whole number, found {}", excerpt(text)))
}

/// The text in quotes, cut where it gets long.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
