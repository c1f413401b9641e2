//! The files that describe a machine, in a folder or recorded, and the lists in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files below `sys/devices` of some machine.
#[derive(Debug)]
pub(super) enum Files<'a> {
    Folder(&'a Path),
    Recorded(BTreeMap<String, String>),
}

impl Files<'_> {
    /// The files whose values are recorded there; [`Topology::read`](super::Topology::read)
    /// describes the form. A line of another form counts as a missing file.
    pub(super) fn recorded(text: &str) -> Self {
        let mut files = BTreeMap::new();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for (path, value) in lines.filter_map(|line| line.split_once('=')) {
            let (path, value) = (path.trim(), value.trim());
            let mut add = |before: &str, list: &str, after: &str, value: &str| {
                for id in parse_list(list).unwrap_or_default() {
                    files.insert(format!("{before}{id}{after}"), value.to_owned());
                }
            };
            if let Some((before, after)) = path.split_once('@') {
                value
                    .split_whitespace()
                    .for_each(|list| add(before, list, after, list));
            } else if let Some((before, (list, after))) = path
                .split_once('{')
                .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
            {
                add(before, list, after, value);
            } else {
                files.insert(path.to_owned(), value.to_owned());
            }
        }
        Self::Recorded(files)
    }

    /// The text of the file, if it is there and can be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self {
            Self::Folder(root) => {
                let bytes = fs::read(root.join(path)).ok()?;
                Some(String::from_utf8_lossy(&bytes).trim().to_owned())
            }
            Self::Recorded(files) => files.get(path).cloned(),
        }
    }
}

/// A set of numbers as the kernel writes it, such as `0-3,8`: ascending, each once. `None` if it is
/// not of that form, or has more numbers than any machine has processors.
pub(super) fn parse_list(text: &str) -> Option<Vec<usize>> {
    const LARGEST: usize = 65_535;
    let mut list = Vec::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (parse_number(first)?, parse_number(last)?);
        if first > last || last > LARGEST || list.len() > LARGEST {
            return None;
        }
        list.extend(first..=last);
    }
    list.sort_unstable();
    list.dedup();
    Some(list)
}

/// A whole number; no sign.
pub(super) fn parse_number(text: &str) -> Option<usize> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_digits)
}
