//! The output of functions and jobs on the nodes of Slurm, on its way to the driver.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use heist_sync::{Condvar, Mutex};

use super::batch::LOG;
use crate::backend::StartSpec;
use crate::log::lines::Lines;
use crate::log::{LogOrigin, Logs};
use crate::planner::{JobId, NodeId};
use crate::protocol::job_folder::JobFolder;
use crate::protocol::trace::Trace;

/// How much of a job's output is read at once; what is left comes the next time, if there is one.
const READ_BYTES_MAX: u64 = 1 << 18;

/// The calls for which a worker speaks, one after the other. Lines and answers come by different
/// ways, so a line may be taken for one of the next call.
#[derive(Debug, Default)]
pub(super) struct Speaker {
    pub(super) node: OnceLock<NodeId>,
    origin: Mutex<Option<Arc<LogOrigin>>>,
    /// Whether all that it says has come.
    is_silent: Mutex<bool>,
    changed: Condvar,
}

impl Speaker {
    /// From now on, for this one.
    pub(super) fn speaks_for(&self, origin: &Arc<LogOrigin>) {
        *self.origin.lock() = Some(Arc::clone(origin));
    }

    pub(super) fn say(&self, logs: &Logs, line: &[u8], goes_on: bool) {
        let unknown = NodeId::from("a node of Slurm");
        let node = self.node.get().unwrap_or(&unknown);
        let origin = self.origin.lock().clone();
        logs.say(node, origin.as_slice(), line, goes_on);
    }

    /// Nothing more comes.
    pub(super) fn ends(&self) {
        *self.is_silent.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until all has come that it says, but not beyond this time.
    pub(super) fn wait_for_end(&self, deadline: Instant) {
        let mut is_silent = self.is_silent.lock();
        while !*is_silent {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            is_silent = self.changed.wait_timeout(is_silent, left);
        }
    }
}

/// The output of a job, which all its attempts add to a file in its folder.
#[derive(Debug)]
pub(super) struct JobLog {
    path: PathBuf,
    job: JobId,
    trace: Option<Trace>,
    /// How much of it was passed on.
    read: u64,
    lines: Lines,
}

impl JobLog {
    /// From here on: for what is there already there was another driver.
    pub(super) fn new(folder: &JobFolder, spec: &StartSpec) -> Self {
        let path = folder.path().join(LOG);
        Self {
            read: path.metadata().map_or(0, |data| data.len()),
            path,
            job: JobId::from(spec.name.as_str()),
            trace: spec.trace,
            lines: Lines::default(),
        }
    }

    /// Passes on what has come, as the words of that attempt.
    pub(super) fn pass_on(&mut self, logs: &Logs, node: &NodeId, epoch: u32, is_last: bool) {
        let (job, trace) = (self.job.clone(), self.trace);
        let origin = [Arc::new(LogOrigin::Job { job, epoch, trace })];
        let mut say = |line: &[u8], goes_on| logs.say(node, &origin, line, goes_on);
        // It comes with the first word, and can perhaps be read the next time.
        while let Ok(bytes) = tail(&self.path, self.read) {
            self.read += bytes.len() as u64;
            self.lines.take(&bytes, &mut say);
            if !is_last || bytes.is_empty() {
                break;
            }
        }
        if is_last {
            self.lines.rest(say);
        }
    }
}

fn tail(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::log::LogLine;

    #[test]
    fn what_a_job_prints_is_told_once_and_not_what_was_there_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(LOG);
        std::fs::write(&path, "old\n").expect("it is written");
        let (sender, told) = mpsc::channel();
        let logs = Logs::new(Some(Box::new(move |line: &LogLine| {
            sender.send(line.to_string()).expect("the test waits");
        })));
        let mut log = JobLog {
            read: 4,
            job: JobId::from("sum"),
            trace: None,
            lines: Lines::default(),
            path: path.clone(),
        };
        let node = NodeId::from("n1");
        log.pass_on(&logs, &node, 0, false);
        std::fs::write(&path, "old\none\ntw").expect("it is written");
        log.pass_on(&logs, &node, 0, false);
        std::fs::write(&path, "old\none\ntwo\nend").expect("it is written");
        log.pass_on(&logs, &node, 1, true);
        let long = [b"x".repeat(READ_BYTES_MAX as usize), b"\nlast".to_vec()].concat();
        let mut more = std::fs::read(&path).expect("it is read");
        more.extend(long);
        std::fs::write(&path, more).expect("it is written");
        log.pass_on(&logs, &node, 1, true);
        logs.close();
        let mut told: Vec<_> = told.try_iter().collect();
        assert_eq!(told.pop().as_deref(), Some("[n1 job sum, attempt 1] last"));
        told.truncate(3);
        let of = |attempt, text| format!("[n1 job sum, attempt {attempt}] {text}");
        assert_eq!(told, [of(0, "one"), of(1, "two"), of(1, "end")]);
    }
}
