//! A rule for the drawing of the tree on the map: each file and folder that it names is there, and
//! none of a crate is missing.

use super::repository::{numbered, File, Repository, Violation};

const MAP: &str = "ARCHITECTURE.md";
const FENCE: &str = "```";
/// The endings of names that mean a file or a folder.
const ENDINGS: [&str; 5] = [".rs", ".md", ".js", ".py", "/"];
/// The folder of the crates, whose sources are all drawn.
const CRATES: &str = "crates/";
/// The folder in which a task spends its time: here the files of folders are drawn as well.
const IN_FULL: &str = "crates/core/src/";

pub(super) fn check(repository: &Repository, found: &mut Vec<Violation>) {
    let Some(map) = repository.file(MAP) else {
        return;
    };
    let mut lines = numbered(&map.text).skip_while(|(_, line)| *line != FENCE);
    let Some((start, _)) = lines.next() else {
        return;
    };
    let mut drawing = Drawing {
        repository,
        folders: vec![(0, String::new())],
        named: Vec::new(),
    };
    for (number, line) in lines.take_while(|(_, line)| *line != FENCE) {
        for name in drawing.read(line) {
            found.push(map.violation(number, format!("`{name}` is not there; take it away")));
        }
    }
    for path in drawing.missing() {
        found.push(map.violation(
            start,
            format!("`{path}` is not in the drawing; say in its crate's lines what it is for"),
        ));
    }
}

struct Drawing<'a> {
    repository: &'a Repository,
    /// The folders around the present line, with their indentation.
    folders: Vec<(usize, String)>,
    /// The paths that were named so far.
    named: Vec<String>,
}

impl Drawing<'_> {
    /// Notes the names in a line, and returns those that are not there.
    fn read<'a>(&mut self, line: &'a str) -> Vec<&'a str> {
        let text = line.trim_start();
        let indent = line.len() - text.len() + 1;
        self.folders.retain(|(outer, _)| *outer < indent);
        let names = text.split_whitespace().enumerate().map(|(at, word)| {
            let word = word.trim_matches(|char| ",:;()`".contains(char));
            (at, word.trim_end_matches(&['.', ')'][..]))
        });
        let is_name = |word: &str| ENDINGS.iter().any(|ending| word.ends_with(ending));
        let mut missing = Vec::new();
        for (at, name) in names.filter(|(_, word)| is_name(word)) {
            match self.find(name) {
                Some(path) => {
                    if at == 0 && name.ends_with('/') {
                        self.folders.push((indent, path.clone()));
                    }
                    self.named.push(path);
                }
                None => missing.push(name),
            }
        }
        missing
    }

    /// The path of a name: anywhere in the innermost folder, or directly in one around it.
    fn find(&self, name: &str) -> Option<String> {
        let (innermost, around) = self.folders.split_last()?;
        let inside = self.paths(&innermost.1, name).filter_map(|path| {
            let before = path.strip_suffix(name)?;
            (before.is_empty() || before.ends_with('/')).then_some(path)
        });
        let nearest = inside.min_by_key(|path| path.len()).map(str::to_owned);
        nearest.or_else(|| {
            let direct = around.iter().rev().map(|(_, folder)| (folder, name));
            let mut direct = direct.filter_map(|(folder, name)| {
                let path = format!("{folder}{name}");
                let mut paths = self.paths(folder, name);
                paths.any(|there| there == path).then_some(path)
            });
            direct.next()
        })
    }

    /// The files in the folder, each cut off behind the name if that is a folder's.
    fn paths<'a>(&'a self, folder: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
        let files = self.repository.files.iter().map(|file| &*file.path);
        let files = files.filter(move |path| path.starts_with(folder));
        files.filter_map(move |path| {
            let inside = &path[folder.len()..];
            match name.ends_with('/') {
                true => {
                    let at = format!("/{inside}").find(&format!("/{name}"))?;
                    Some(&path[..folder.len() + at + name.len()])
                }
                false => Some(path),
            }
        })
    }

    /// The files and folders that ought to be drawn and are not. A file beside its folder is drawn
    /// with it.
    fn missing(&self) -> Vec<&str> {
        let is_named = |path: &str| self.named.iter().any(|named| named == path);
        let files = self.repository.ending(".rs").map(|file: &File| &*file.path);
        let mut missing: Vec<&str> = files
            .filter_map(|path| {
                let inside = path.strip_prefix(CRATES)?;
                let (_, inside) = inside.split_once("/src/")?;
                let root = path.len() - inside.len();
                let depth = inside.matches('/').count();
                let is_drawn = depth == 0 || depth == 1 && path.starts_with(IN_FULL);
                let path = match inside.find('/').filter(|_| !is_drawn) {
                    Some(slash) => &path[..=root + slash],
                    None => path,
                };
                let stem = path.trim_end_matches(".rs");
                let is_known = ["lib", "main", "tests", "model"]
                    .iter()
                    .any(|name| stem.trim_end_matches('/').ends_with(&format!("/{name}")));
                let pair = match stem.strip_suffix('/') {
                    Some(stem) => format!("{stem}.rs"),
                    None => format!("{stem}/"),
                };
                (!is_known && !is_named(path) && !is_named(&pair)).then_some(path)
            })
            .collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }
}
