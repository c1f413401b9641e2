//! The jobs of a driver on disk, so that another driver can resume them.
//!
//! A store is a folder. Each job has a folder in it: `job.json` and its copy say what it is,
//! `checkpoint` has its newest state, and `over` its result once it is over. A file is written
//! under another name, flushed to disk and renamed, so that there is always a whole one. A file
//! that is damaged all the same is renamed to end in `.damaged`, and the other jobs go on. The lock
//! on `driver.lock` ends with the process that holds it. Jobs are known by their numbers; a name
//! may be used again once the job that had it is over, and then stands for the latest job.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::thread::{self, JoinHandle};
use serde::{Deserialize, Serialize};

use super::messages::Checkpoint;
use crate::error::{ClusterErrorKind, RemoteError};
use crate::planner::JobId;
use crate::protocol::clock::unix_ms;
use crate::remote::job_options::JobOptions;
use crate::{private, sealed_file, whole_file};

/// The content of `job.json`: which job this is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) job: u64,
    pub(crate) kind: String,
    pub(crate) version: u32,
    pub(crate) options: JobOptions,
    /// The position among the jobs of its store, which the store assigns, since numbers of jobs are
    /// random. Older stores have none.
    #[serde(default)]
    pub(crate) place: u64,
}

/// The header in front of a state.
#[derive(Debug, Serialize, Deserialize)]
struct CheckpointHeader {
    epoch: u32,
    progress: f64,
    at_ms: u64,
}

/// A job that another driver began and did not end.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished {
    pub(crate) description: Description,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) age_ms: u64,
}

/// A folder that this process alone writes to.
pub(crate) struct Store {
    folder: PathBuf,
    /// The lock is held as long as this is open.
    _lock: File,
    /// The position of the next job.
    place: AtomicU64,
    writer: Writer,
    say: Say,
}

/// Tells people of a problem.
type Say = Arc<dyn Fn(String) + Send + Sync>;

/// Writes in the background, in order.
struct Writer {
    sender: Option<Sender<Change>>,
    thread: Option<JoinHandle<()>>,
}

enum Change {
    Checkpoint {
        job: u64,
        checkpoint: Checkpoint,
    },
    Over {
        job: u64,
        result: JobResult,
        then: Box<dyn FnOnce(JobResult, Stored) + Send>,
    },
}

/// The outcome of writing a result to disk.
pub(crate) type Stored = Result<(), String>;

/// How a job ended.
pub(crate) type JobResult = Result<Vec<u8>, RemoteError>;

impl Store {
    /// Opens, or makes, the store in `folder`.
    ///
    /// # Errors
    ///
    /// Says why it cannot be used: another driver uses it, or a file cannot be read.
    pub(crate) fn open(
        folder: &Path,
        say: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<Self, ClusterErrorKind> {
        let say: Say = Arc::new(say);
        let failed = |what: &str, path: &Path, error: io::Error| {
            ClusterErrorKind::Store(format!("could not {what} {}: {error}", path.display()))
        };
        private::make(folder).map_err(|error| failed("make the store", folder, error))?;
        let path = folder.join("driver.lock");
        let lock = private::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&path);
        let lock = lock.map_err(|error| failed("open", &path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(ClusterErrorKind::Store(format!(
                "the store {} is in use by another driver; choose another folder or end that one",
                folder.display()
            )))
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path, error)),
        }
        let writer = Writer::start(folder.to_owned(), Arc::clone(&say));
        let writer =
            writer.map_err(|error| failed("start a thread that writes to", folder, error))?;
        let mut store = Self {
            folder: folder.to_owned(),
            _lock: lock,
            place: AtomicU64::new(1),
            writer,
            say,
        };
        let jobs = store.jobs()?;
        let places = jobs.iter().map(|(_, description)| description.place);
        let last = places.max().unwrap_or_default();
        store.place = AtomicU64::new(last.saturating_add(1));
        Ok(store)
    }

    /// The jobs that are not over. Their drivers are gone, since this one has the lock.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read. Jobs whose files are damaged are left out.
    pub(crate) fn unfinished(&self) -> Result<Vec<Unfinished>, ClusterErrorKind> {
        let mut found = Vec::new();
        for (folder, description) in self.jobs()? {
            let path = folder.join("checkpoint");
            if folder.join("over").exists() || is_set_aside(&path) {
                continue;
            }
            let (header, state): (CheckpointHeader, _) = match sealed_file::read(&path) {
                Ok(read) => read,
                Err(error) => {
                    self.set_aside(&path, &error);
                    continue;
                }
            };
            found.push(Unfinished {
                description,
                age_ms: unix_ms().saturating_sub(header.at_ms),
                checkpoint: Checkpoint {
                    epoch: header.epoch,
                    progress: header.progress,
                    state: Arc::new(state),
                },
            });
        }
        found.sort_by_key(|unfinished| unfinished.description.job);
        Ok(found)
    }

    /// Notes a new job with its first state, before it begins.
    ///
    /// # Errors
    ///
    /// Says what could not be written.
    pub(crate) fn add(
        &self,
        description: &Description,
        checkpoint: &Checkpoint,
    ) -> Result<(), ClusterErrorKind> {
        // Only the order matters: who has the name of another comes after its end.
        let place = self.place.fetch_add(1, Ordering::Relaxed);
        let description = &Description {
            place,
            ..description.clone()
        };
        let folder = job_folder(&self.folder, description.job);
        let added = private::make(&folder).and_then(|()| {
            write_checkpoint(&folder, checkpoint)?;
            // A reader that finds this finds the state as well.
            for name in [COPY, DESCRIPTION] {
                whole_file::write(&folder, name, true, |file| {
                    Ok(serde_json::to_writer(file, description)?)
                })?;
            }
            Ok(())
        });
        added.map_err(|error| {
            let (id, folder) = (&description.options.id, folder.display());
            ClusterErrorKind::Store(format!("could not note job {id} in {folder}: {error}"))
        })
    }

    /// Queues a checkpoint to be written.
    pub(crate) fn keep(&self, job: u64, checkpoint: Checkpoint) {
        self.writer.send(Change::Checkpoint { job, checkpoint });
    }

    /// Queues the end of a job to be written, and calls `then` once it is on disk, or cannot be.
    pub(crate) fn close(
        &self,
        job: u64,
        result: JobResult,
        then: impl FnOnce(JobResult, Stored) + Send + 'static,
    ) {
        let then = Box::new(then);
        self.writer.send(Change::Over { job, result, then });
    }

    /// The end of the last job of this name, if it has ended and its result is not damaged.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read, or the last job cannot be determined.
    pub(crate) fn result(
        &self,
        id: &JobId,
    ) -> Result<Option<(Description, JobResult)>, ClusterErrorKind> {
        let mut named = self.jobs()?;
        named.retain(|(_, description)| description.options.id == *id);
        named.sort_by_key(|(_, description)| description.place);
        let Some((folder, description)) = named.pop() else {
            return Ok(None);
        };
        if named
            .last()
            .is_some_and(|(_, before)| before.place == description.place)
        {
            let store = self.folder.display();
            return Err(ClusterErrorKind::Store(format!(
                "several jobs in the store {store} are called {id}, and it was written before \
                 the order of jobs was noted; take the folders of the others away"
            )));
        }
        let path = folder.join("over");
        if !path.exists() {
            return Ok(None);
        }
        match sealed_file::read::<Option<RemoteError>>(&path) {
            Ok((error, payload)) => Ok(Some((description, error.map_or(Ok(payload), Err)))),
            Err(error) => {
                self.set_aside(&path, &error);
                Ok(None)
            }
        }
    }

    /// Renames a damaged file, and reports it. The folder stays, so that an older job of its name
    /// is not taken for the last one.
    fn set_aside(&self, path: &Path, error: &str) {
        let place = set_aside_at(path);
        let done = match fs::rename(path, &place) {
            Ok(()) => format!("it is set aside as {}", place.display()),
            Err(error) => format!("it cannot be set aside: {error}"),
        };
        let path = path.display();
        (self.say)(format!("{path} is damaged: {error}; {done}"));
    }

    /// All jobs, with their folders.
    fn jobs(&self) -> Result<Vec<(PathBuf, Description)>, ClusterErrorKind> {
        let folders = self.folders()?.into_iter();
        let described = |folder: PathBuf| match describe(&folder) {
            Ok(description) => Some((folder, description)),
            Err(error) => {
                self.set_aside(&folder.join(DESCRIPTION), &error);
                None
            }
        };
        Ok(folders.filter_map(described).collect())
    }

    /// The folders of all jobs.
    fn folders(&self) -> Result<Vec<PathBuf>, ClusterErrorKind> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|error| bad(&self.folder, error))? {
            let folder = entry.map_err(|error| bad(&self.folder, error))?.path();
            if folder.join(DESCRIPTION).exists() {
                found.push(folder);
            }
        }
        Ok(found)
    }
}

/// Says which job a folder has.
const DESCRIPTION: &str = "job.json";
/// Says the same. A store of old has none.
const COPY: &str = "job.copy.json";

/// The description of the job in a folder: of the two copies, one that can be read; if both can,
/// they are the same.
fn describe(folder: &Path) -> Result<Description, String> {
    let read = |name| fs::read(folder.join(name)).map_err(|error| error.to_string());
    let understand = |json: &[u8]| {
        let description = serde_json::from_slice::<Description>(json);
        description.map_err(|error| error.to_string())
    };
    match (read(DESCRIPTION), read(COPY)) {
        (Ok(first), Ok(copy)) => match (understand(&first), understand(&copy)) {
            (Ok(_), Ok(_)) if first != copy => Err(format!("{COPY} says something else")),
            (first, copy) => first.or(copy),
        },
        (first, copy) => understand(&first.or(copy)?),
    }
}

/// The name under which a damaged file is set aside.
fn set_aside_at(path: &Path) -> PathBuf {
    let mut place = path.as_os_str().to_owned();
    place.push(".damaged");
    PathBuf::from(place)
}

fn is_set_aside(path: &Path) -> bool {
    !path.exists() && set_aside_at(path).exists()
}

impl Writer {
    fn start(folder: PathBuf, say: Say) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("heist-cluster-store".to_owned())
            .spawn(move || {
                for write in receiver {
                    let (job, written) = match write {
                        Change::Checkpoint { job, checkpoint } => (
                            job,
                            write_checkpoint(&job_folder(&folder, job), &checkpoint),
                        ),
                        Change::Over { job, result, then } => {
                            let closed = close(&job_folder(&folder, job), &result);
                            let stored = closed.as_ref().map_err(ToString::to_string);
                            then(result, stored.copied());
                            (job, closed)
                        }
                    };
                    if let Err(error) = written {
                        let folder = job_folder(&folder, job);
                        say(format!("could not write to {}: {error}", folder.display()));
                    }
                }
            })?;
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    fn send(&self, write: Change) {
        if let Some(sender) = &self.sender {
            // The thread reads until the sender is dropped.
            let _ = sender.send(write);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

fn job_folder(folder: &Path, job: u64) -> PathBuf {
    folder.join(format!("job-{job:016x}"))
}

fn bad(path: &Path, error: impl std::fmt::Display) -> ClusterErrorKind {
    ClusterErrorKind::Store(format!("could not read {}: {error}", path.display()))
}

fn write_checkpoint(folder: &Path, checkpoint: &Checkpoint) -> io::Result<()> {
    let header = CheckpointHeader {
        epoch: checkpoint.epoch,
        progress: checkpoint.progress,
        at_ms: unix_ms(),
    };
    sealed_file::write(folder, "checkpoint", &header, &checkpoint.state)
}

/// Notes that a job is over, and removes its state, which is no longer needed.
fn close(folder: &Path, result: &JobResult) -> io::Result<()> {
    let payload = result.as_deref().unwrap_or_default();
    sealed_file::write(folder, "over", &result.as_ref().err(), payload)?;
    match fs::remove_file(folder.join("checkpoint")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "store/tests.rs"]
mod tests;
