//! The files that describe a machine, in a folder or recorded, and the lists in them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::rc::Rc;

/// The most that is read of a file in a folder; the kernel's lists for ten thousand processors are
/// a fraction.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files below `sys/devices` of some machine.
#[derive(Debug)]
pub(super) enum Files<'a> {
    Folder(&'a Path),
    /// Many files may share a value.
    Recorded(BTreeMap<String, Rc<str>>),
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
                let value: Rc<str> = value.into();
                for id in parse_list(list).unwrap_or_default() {
                    files.insert(format!("{before}{id}{after}"), Rc::clone(&value));
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
                files.insert(path.to_owned(), value.into());
            }
        }
        Self::Recorded(files)
    }

    /// The text of the file, if it is there and can be read. A folder may come from anywhere: a
    /// pipe in it, at which nobody writes, is no file, and neither is an endless device.
    pub(super) fn text(&self, path: &str) -> Option<Rc<str>> {
        match self {
            Self::Folder(root) => {
                let path = root.join(path);
                if !fs::metadata(&path).ok()?.is_file() {
                    return None;
                }
                let mut bytes = Vec::new();
                let file = File::open(path).ok()?;
                file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
                let is_whole = bytes.len() as u64 <= FILE_BYTES_MAX;
                is_whole.then(|| String::from_utf8_lossy(&bytes).trim().into())
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

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    /// A line of a mebibyte would else become 64 GiB.
    #[test]
    fn files_that_share_a_line_share_its_value() {
        let files = Files::recorded("cpu{0-65535}/x = a value");
        let of = |id| files.text(&format!("cpu{id}/x")).expect("it is recorded");
        assert!(Rc::ptr_eq(&of(0), &of(65_535)));
    }
}
