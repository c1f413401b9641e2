//! The folder of a job: what the driver and the attempts at the job write down for each other.
//!
//! README.md beside this file has the protocol.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::protocol::fingerprint::Fingerprint;
use crate::protocol::trace::Trace;
use crate::protocol::{self, Answer, Frame, FrameReader, Limits};
use crate::{private, whole_file};

/// Which run of a job this is: how often it was submitted to Slurm, and how often Slurm has
/// requeued it since. A later one is greater.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct Attempt {
    pub(crate) submission: u32,
    pub(crate) restarts: u32,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.submission, self.restarts)
    }
}

/// The task of an attempt; written by the driver only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) job: u64,
    pub(crate) kind: String,
    pub(crate) fingerprint: Fingerprint,
    /// The youngest attempt that the driver knows of. Older ones are to end.
    pub(crate) attempt: Attempt,
    /// The driver's epoch for that one.
    pub(crate) epoch: u32,
    pub(crate) threads: u32,
    pub(crate) checkpoint_every_ms: u64,
    /// Slurm's number; none before it was submitted.
    pub(crate) slurm_job: Option<u64>,
    /// The first submission of this job and build. Files of older ones are not its own.
    pub(crate) first_submission: u32,
    /// The place in a trace of whoever submitted the job.
    #[serde(default)]
    pub(crate) trace: Option<Trace>,
}

/// The kinds of files of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has its state and runs; where.
    Running,
    /// The use of resources by its process, written again and again.
    Usage,
    /// A state, with a number that grows.
    Checkpoint,
    /// The state in which it paused; its last word.
    Paused,
    /// The result, or why there is none; its last word.
    Over,
    /// The driver wants it to pause.
    PauseWanted,
    /// The driver wants its state.
    SnapshotWanted,
}

const KINDS: [(Kind, &str); 7] = [
    (Kind::Running, "running"),
    (Kind::Usage, "usage"),
    (Kind::Checkpoint, "checkpoint"),
    (Kind::Paused, "paused"),
    (Kind::Over, "over"),
    (Kind::PauseWanted, "pause-wanted"),
    (Kind::SnapshotWanted, "snapshot-wanted"),
];

/// The name of a file: `KIND.SUBMISSION.RESTARTS.NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) kind: Kind,
    pub(crate) attempt: Attempt,
    /// Of a checkpoint; otherwise 0.
    pub(crate) number: u64,
}

impl Name {
    pub(crate) fn new(kind: Kind, attempt: Attempt) -> Self {
        Self {
            kind,
            attempt,
            number: 0,
        }
    }

    pub(crate) fn checkpoint(attempt: Attempt, number: u64) -> Self {
        Self {
            number,
            ..Self::new(Kind::Checkpoint, attempt)
        }
    }

    /// None if the file is none of an attempt's, or not whole yet.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let word = parts.next()?;
        let (kind, _) = KINDS.into_iter().find(|(_, name)| *name == word)?;
        let attempt = Attempt {
            submission: parts.next()?.parse().ok()?,
            restarts: parts.next()?.parse().ok()?,
        };
        let number = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self {
            kind,
            attempt,
            number,
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = KINDS
            .iter()
            .find_map(|(kind, word)| (*kind == self.kind).then_some(*word));
        let (word, number) = (word.unwrap_or_default(), self.number);
        write!(f, "{word}.{}.{number}", self.attempt)
    }
}

/// The folder of one job.
#[derive(Clone, Debug)]
pub(crate) struct JobFolder(PathBuf);

impl JobFolder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Empties it.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        private::make(&self.0)
    }

    /// The task of the attempt; none if the driver has not written it.
    pub(crate) fn start(&self) -> io::Result<Option<Start>> {
        match fs::read(self.0.join(START)) {
            Ok(json) => Ok(Some(serde_json::from_slice(&json)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn write_start(&self, start: &Start) -> io::Result<()> {
        whole_file::write(&self.0, START, true, |file| {
            Ok(serde_json::to_writer_pretty(file, start)?)
        })
    }

    /// The files of attempts.
    pub(crate) fn names(&self) -> io::Result<Vec<Name>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            names.extend(entry?.file_name().to_str().and_then(Name::parse));
        }
        Ok(names)
    }

    pub(crate) fn read(&self, name: Name) -> io::Result<Frame> {
        let file = File::open(self.0.join(name.to_string()))?;
        let read = FrameReader::new(BufReader::new(file), Limits::default()).read();
        read.map_err(io::Error::other)
    }

    /// The answer of a worker that a file holds.
    pub(crate) fn answer(&self, name: Name) -> io::Result<(Answer, Vec<u8>)> {
        let frame = self.read(name)?;
        let answer = frame.understand().map_err(io::Error::other)?;
        Ok((answer, frame.payload))
    }

    /// Writes what must survive the machine.
    pub(crate) fn write(&self, name: Name, frame: &Frame) -> io::Result<()> {
        whole_file::write(&self.0, &name.to_string(), true, |file| {
            protocol::write_frame(file, &frame.header, &frame.payload)
        })
    }

    /// Writes what nobody misses after an accident.
    pub(crate) fn show(&self, name: Name, frame: &Frame) -> io::Result<()> {
        whole_file::write(&self.0, &name.to_string(), false, |file| {
            protocol::write_frame(file, &frame.header, &frame.payload)
        })
    }

    /// Writes what is written again and again, or else marks the file as changed, which works on a
    /// full disk, too.
    pub(crate) fn beat(&self, name: Name, frame: &Frame) {
        if self.show(name, frame).is_err() {
            let path = self.0.join(name.to_string());
            let file = private::options().create(true).append(true).open(path);
            // There will be another beat.
            let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        }
    }

    /// When a file was written or marked last, by the clock of its disk.
    pub(crate) fn changed_at(&self, name: Name) -> io::Result<SystemTime> {
        // Nodes that share a folder look anew at what they open.
        let file = File::open(self.0.join(name.to_string()))?;
        file.metadata()?.modified()
    }

    pub(crate) fn has(&self, name: Name) -> bool {
        self.0.join(name.to_string()).exists()
    }

    /// Removes a file; it may be gone already.
    pub(crate) fn remove(&self, name: Name) {
        let _ = fs::remove_file(self.0.join(name.to_string()));
    }

    /// The state of the latest attempt that has left one, from this submission on. Others may
    /// remove files meanwhile.
    pub(crate) fn newest_state(&self, first_submission: u32) -> io::Result<Option<Vec<u8>>> {
        let mut states: Vec<_> = self
            .names()?
            .into_iter()
            .filter(|name| matches!(name.kind, Kind::Checkpoint | Kind::Paused))
            .filter(|name| name.attempt.submission >= first_submission)
            .collect();
        // An attempt pauses after its checkpoints.
        states.sort_by_key(|name| (name.attempt, name.kind == Kind::Paused, name.number));
        let mut states = states.into_iter().rev();
        Ok(states.find_map(|name| self.answer(name).ok().map(|(_, state)| state)))
    }
}

const START: &str = "start.json";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Outcome;

    fn state(progress: f64, state: &[u8]) -> Frame {
        let outcome = Outcome::Snapshot { progress };
        Frame::new(&Answer { id: 0, outcome }, state.to_vec())
    }

    fn attempt(submission: u32, restarts: u32) -> Attempt {
        Attempt {
            submission,
            restarts,
        }
    }

    #[test]
    fn the_newest_state_is_that_of_the_latest_attempt() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = JobFolder::new(folder.path().to_owned());
        folder.clear().expect("an empty folder");
        assert_eq!(folder.newest_state(1).expect("list"), None);
        let write = |name, bytes: &[u8]| {
            folder.write(name, &state(0.5, bytes)).expect("write");
            folder.newest_state(1).expect("list").expect("a state")
        };
        assert_eq!(write(Name::checkpoint(attempt(1, 0), 9), b"a"), b"a");
        assert_eq!(write(Name::checkpoint(attempt(1, 0), 10), b"b"), b"b");
        assert_eq!(write(Name::new(Kind::Paused, attempt(1, 0)), b"c"), b"c");
        assert_eq!(write(Name::checkpoint(attempt(1, 1), 1), b"d"), b"d");
        assert_eq!(write(Name::checkpoint(attempt(1, 0), 11), b"late"), b"d");
        assert_eq!(write(Name::checkpoint(attempt(2, 0), 1), b"e"), b"e");
        let another = folder.newest_state(3).expect("list");
        assert_eq!(another, None, "what an earlier job left is not taken");
    }

    #[test]
    fn a_torn_state_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = JobFolder::new(folder.path().to_owned());
        folder
            .write(Name::checkpoint(attempt(1, 0), 1), &state(0.1, b"whole"))
            .expect("write");
        let torn = state(0.2, b"torn").to_bytes();
        let name = Name::checkpoint(attempt(1, 0), 2).to_string();
        fs::write(folder.path().join(name), &torn[..torn.len() - 1]).expect("write");
        let found = folder.newest_state(1).expect("list");
        assert_eq!(found.as_deref(), Some(b"whole".as_slice()));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for (kind, _) in KINDS {
            let name = Name {
                kind,
                attempt: attempt(3, 14),
                number: 15,
            };
            assert_eq!(Name::parse(&name.to_string()), Some(name));
            assert_eq!(Name::parse(&format!("{name}.new")), None);
        }
    }
}
