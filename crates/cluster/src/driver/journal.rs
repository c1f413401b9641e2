//! The events of a driver in a file, a line of JSON each, written by a thread of its own.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use heist_sync::thread::{self, JoinHandle};

use crate::error::ClusterErrorKind;
use crate::event::ClusterEvent;
use crate::private;

/// The most lines that wait for the disk. Further ones are left out, and counted.
const LINES_MAX: usize = 1 << 13;

/// The writer's queue for the file `events.jsonl` of a folder. When this is dropped, all is
/// written.
#[derive(Debug)]
pub(super) struct Journal {
    /// `None` when nothing more is to be written.
    lines: Option<SyncSender<Vec<u8>>>,
    left_out: u64,
    thread: Option<JoinHandle<()>>,
}

impl Journal {
    /// Opens the file. With more than `bytes_max` it becomes `events.1.jsonl`, in place of an older
    /// one, and another is begun.
    pub(super) fn open(folder: &Path, bytes_max: u64) -> Result<Self, ClusterErrorKind> {
        let path = folder.join("events.jsonl");
        let failed = |error: io::Error| {
            ClusterErrorKind::Store(format!("could not open {}: {error}", path.display()))
        };
        private::make(folder).map_err(failed)?;
        let writer = Writer::open(path.clone(), bytes_max).map_err(failed)?;
        let (lines, waiting) = mpsc::sync_channel(LINES_MAX);
        let thread = thread::Builder::new()
            .name("heist-cluster-events".to_owned())
            .spawn(move || writer.run(&waiting))
            .map_err(failed)?;
        Ok(Self {
            lines: Some(lines),
            left_out: 0,
            thread: Some(thread),
        })
    }

    /// Adds a line; never waits.
    pub(super) fn write(&mut self, event: &ClusterEvent) {
        let Some(lines) = &self.lines else {
            return;
        };
        let Ok(mut line) = serde_json::to_vec(event) else {
            return complain("an event cannot be written as JSON");
        };
        line.push(b'\n');
        match lines.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.left_out += 1,
            // The writer has printed why.
            Err(TrySendError::Disconnected(_)) => self.lines = None,
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.lines = None;
        if self.left_out > 0 {
            let left_out = self.left_out;
            complain(&format!(
                "the disk was too slow for {left_out} events, which are not written"
            ));
        }
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "heist-cluster: {what}");
}

/// The file, on the thread that writes it.
#[derive(Debug)]
struct Writer {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl Writer {
    fn open(path: PathBuf, bytes_max: u64) -> io::Result<Self> {
        let mut options = private::options();
        let mut file = options.create(true).read(true).append(true).open(&path)?;
        mend(&mut file)?;
        Ok(Self {
            bytes: file.metadata()?.len(),
            file,
            path,
            bytes_max,
        })
    }

    fn run(mut self, lines: &Receiver<Vec<u8>>) {
        for line in lines {
            if let Err(error) = self.write(&line) {
                let path = self.path.display();
                return complain(&format!(
                    "could not write an event to {path}, no more are written: {error}"
                ));
            }
        }
    }

    /// One write for each line, so that a reader sees whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            fs::rename(&self.path, self.path.with_file_name("events.1.jsonl"))?;
            *self = Self::open(self.path.clone(), self.bytes_max)?;
        }
        self.bytes += line.len() as u64;
        self.file.write_all(line)
    }
}

/// Ends the last line of a file, which a crash may have torn.
fn mend(file: &mut File) -> io::Result<()> {
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    match last {
        [b'\n'] => Ok(()),
        _ => file.write_all(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;

    #[test]
    fn a_journal_goes_on_behind_a_torn_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events.jsonl");
        fs::write(&path, "{\"at_ms\":1,\"ev").expect("it is written");
        let event = ClusterEvent::new(EventKind::Ended);
        let mut journal = Journal::open(folder.path(), 1 << 20).expect("a journal");
        journal.write(&event);
        drop(journal);
        let text = fs::read_to_string(&path).expect("it is there");
        let line = text.lines().nth(1).expect("a line of its own");
        assert_eq!(serde_json::from_str::<ClusterEvent>(line).ok(), Some(event));
    }

    #[test]
    fn a_file_that_is_full_makes_room_for_another_and_one_older_stays() {
        const BYTES_MAX: u64 = 1000;
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = Journal::open(folder.path(), BYTES_MAX).expect("a journal");
        for pid in 0..1000 {
            let backend = "local".to_owned();
            journal.write(&ClusterEvent::new(EventKind::Connected { backend, pid }));
        }
        drop(journal);
        let mut pids = Vec::new();
        for name in ["events.1.jsonl", "events.jsonl"] {
            let text = fs::read_to_string(folder.path().join(name)).expect("it is there");
            assert!(text.len() as u64 <= BYTES_MAX && text.ends_with('\n'));
            for line in text.lines() {
                let event: ClusterEvent = serde_json::from_str(line).expect("a whole line");
                let EventKind::Connected { pid, .. } = event.what else {
                    panic!("{line}");
                };
                pids.push(pid);
            }
        }
        let newest: Vec<_> = (1000 - pids.len() as u32..1000).collect();
        assert_eq!(pids, newest, "the newest of them, each once and in order");
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 2);
    }
}
