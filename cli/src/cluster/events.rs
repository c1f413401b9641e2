//! Follows the event file of a run.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use heist_cluster::event::{ClusterEvent, EventKind};
use heist_run::terminal::harmless;

/// Reads the events of a run, from the first to the newest.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    file: File,
    /// An incomplete last line.
    rest: Vec<u8>,
    /// How many lines were not understood.
    pub(super) not_understood: u64,
}

impl Reader {
    /// Opens the file at `path`, preceded by the rotated one, if there is one.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let older = File::open(path.with_extension("1.jsonl"));
        let file = older.or_else(|_| File::open(path));
        let file = file.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            rest: Vec::new(),
            not_understood: 0,
        })
    }

    /// The file at the path, if it is a new one.
    fn newer(&self) -> io::Result<Option<File>> {
        let id = |file: &File| file.metadata().map(|data| (data.dev(), data.ino()));
        let newer = match File::open(&self.path) {
            // Another is about to be begun.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            newer => newer?,
        };
        Ok((id(&newer)? != id(&self.file)?).then_some(newer))
    }

    /// The events since the last time.
    pub(super) fn read(&mut self) -> io::Result<Vec<ClusterEvent>> {
        self.file.read_to_end(&mut self.rest)?;
        // The file may have become the older one.
        while let Some(newer) = self.newer()? {
            self.file.read_to_end(&mut self.rest)?;
            self.file = newer;
            self.file.read_to_end(&mut self.rest)?;
        }
        let whole = self.rest.iter().rposition(|&byte| byte == b'\n');
        let lines: Vec<u8> = self.rest.drain(..whole.map_or(0, |end| end + 1)).collect();
        let mut events = Vec::new();
        for line in lines.split(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(event) => events.push(event),
                Err(_) if line.is_empty() => {}
                Err(_) => self.not_understood += 1,
            }
        }
        Ok(events)
    }
}

/// The line that tells an event to people, with the time since the run began. Strings in it
/// come from elsewhere and do nothing to a terminal.
pub(super) fn line(event: &ClusterEvent, began_ms: u64) -> String {
    let at_s = event.at_ms.saturating_sub(began_ms) as f64 / 1e3;
    let mut text = event.what.to_string();
    if let EventKind::MoveBegan {
        expected: Some(expected),
        ..
    } = &event.what
    {
        // It begins with the same names.
        text = expected.to_string();
    }
    format!("{at_s:8.1} s  {}", harmless(&text))
}

/// True unless the event is a measurement or a refusal to move.
pub(super) fn is_notable(what: &EventKind) -> bool {
    !matches!(
        what,
        EventKind::Usage { .. } | EventKind::Checkpoint { .. } | EventKind::Decided { .. }
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_line_is_read_once_it_is_whole_and_a_strange_one_is_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events.jsonl");
        let mut file = File::create(&path).expect("a file");
        let mut reader = Reader::open(&path).expect("the file");
        let event = ClusterEvent::new(EventKind::Ended);
        let line = serde_json::to_string(&event).expect("JSON");
        let (head, tail) = line.split_at(10);
        file.write_all(head.as_bytes()).expect("written");
        assert_eq!(reader.read().expect("read"), []);
        writeln!(file, "{tail}\n{{\"at_ms\":1,\"event\":\"unheard_of\"}}").expect("written");
        assert_eq!(reader.read().expect("read"), [event]);
        assert_eq!(reader.not_understood, 1);
    }

    #[test]
    fn a_reader_goes_on_in_the_file_that_follows() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, older) = ("events.jsonl", "events.1.jsonl");
        let [path, older] = [path, older].map(|name| folder.path().join(name));
        let event = ClusterEvent::new(EventKind::Ended);
        let line = serde_json::to_string(&event).expect("JSON") + "\n";
        let write = |path: &Path| std::fs::write(path, &line).expect("written");
        write(&older);
        write(&path);
        let mut reader = Reader::open(&path).expect("the files");
        assert_eq!(reader.read().expect("read").len(), 2);
        assert_eq!(reader.read().expect("read"), []);
        std::fs::rename(&path, &older).expect("renamed");
        assert_eq!(reader.read().expect("read"), []);
        write(&path);
        assert_eq!(reader.read().expect("read"), [event]);
    }

    #[test]
    fn control_characters_are_spelt_out() {
        assert_eq!(harmless("\u{1b}[31mred\n"), "\\u{1b}[31mred\\n");
        assert_eq!(harmless("größer → 3"), "größer → 3");
    }
}
