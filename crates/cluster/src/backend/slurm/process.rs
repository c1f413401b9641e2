//! A worker that srun runs on some node, told through srun's input, answering on its output.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use heist_sync::thread::{self, JoinHandle};
use heist_sync::Mutex;

use super::log::Speaker;
use super::site::Site;
use crate::backend::link::{Closing, End, Link};
use crate::log::lines::{harmless, Lines};
use crate::log::tail::Tail;
use crate::log::{LogOrigin, Logs};
use crate::planner::NodeId;
use crate::protocol::environment::WORKER_VARIABLE;

/// The script that runs on the node: it reports its node, and makes way for the worker. The output
/// of functions is for people and goes to stderr; answers alone go to stdout.
const SCRIPT: &str = r#"exec 3>&1 1>&2
echo "$SLURM_JOB_ID $SLURMD_NODENAME" >&3
HEIST_CLUSTER_NODE=$SLURMD_NODENAME exec "$@""#;

/// How many of srun's last lines are kept for messages.
const LINES_KEPT: usize = 4;

/// The ends of a task of which srun tells that are its own doing, as it calls them.
const CRASHES: [&str; 8] = [
    "Aborted",
    "Bad system call",
    "Bus error",
    "Exited with exit code",
    "Floating point exception",
    "Illegal instruction",
    "Segmentation fault",
    "Trace/breakpoint trap",
];

/// A worker on some node.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) link: Arc<Link>,
    pub(super) node: NodeId,
    pub(super) slurm_job: u64,
    speaker: Arc<Speaker>,
    srun: Arc<Srun>,
}

/// The `srun` of a worker.
#[derive(Debug)]
pub(super) struct Srun {
    /// None when it has ended.
    child: Mutex<Option<Child>>,
    /// Why it is made to end, if it is.
    sentence: OnceLock<String>,
    /// The stream on which the worker is to say where it is; None once it has.
    awaited: Mutex<Option<UnixStream>>,
}

impl Srun {
    /// Ends it, and the wait for a worker that has said nothing yet, because of `sentence`.
    pub(super) fn kill(&self, sentence: String) {
        self.sentence.get_or_init(|| sentence);
        if let Some(child) = self.child.lock().as_mut() {
            // It may have ended, which is what is wanted.
            let _ = child.kill();
        }
        if let Some(awaited) = self.awaited.lock().as_ref() {
            // It has a helper, which holds the other end as well.
            let _ = awaited.shutdown(Shutdown::Both);
        }
    }

    /// Waits for its end, and says why that was.
    fn ended(&self, errors: Option<JoinHandle<Said>>) -> End {
        // Its words are at their end when it is, unless somebody else holds them.
        let errors = errors.filter(|_| self.sentence.get().is_none());
        let said = errors.and_then(|errors| errors.join().ok());
        let status = self.child.lock().take().map(|mut child| child.wait());
        if let Some(sentence) = self.sentence.get() {
            let (why, is_own_doing) = (sentence.clone(), false);
            return End { why, is_own_doing };
        }
        let said = said.unwrap_or_default();
        let code = match &status {
            Some(Ok(status)) => status.code(),
            _ => None,
        };
        let why = match status {
            _ if !said.by_srun.is_empty() => said.by_srun,
            Some(Ok(status)) => format!("srun ended with {status}"),
            Some(Err(error)) => format!("srun cannot be waited for: {error}"),
            None => "srun has ended".to_owned(),
        };
        // A worker has one call at a time.
        let is_own_doing = is_crash(&why, code);
        match is_own_doing {
            true => End {
                why: said.by_worker.shown_behind(why),
                is_own_doing,
            },
            false => End { why, is_own_doing },
        }
    }
}

/// True if srun tells that the task ended by itself, and nobody made it end: it says so, unless it
/// is late, and it ends with the code of the task, which for a signal is 128 and its number.
fn is_crash(said: &str, code: Option<i32>) -> bool {
    let mut ends = said.split(": task 0: ").skip(1);
    let is_crash = |end: &str| CRASHES.iter().any(|crash| end.starts_with(crash));
    // Illegal instruction, trap, abort, bus error, arithmetic, segmentation, forbidden call.
    ends.any(is_crash) || matches!(code, Some(132..=136 | 139 | 159))
}

/// The output that came by srun.
#[derive(Debug, Default)]
struct Said {
    /// Slurm's own last lines.
    by_srun: String,
    by_worker: Tail,
}

impl Process {
    /// From now on it prints for this one.
    pub(super) fn speaks_for(&self, origin: &Arc<LogOrigin>) {
        self.speaker.speaks_for(origin);
    }

    /// Lets it end, and with it the allocation.
    pub(super) fn close(&self) {
        self.link.close();
    }

    /// Waits for the end of what its functions print, which comes when it has ended, but not beyond
    /// this time.
    pub(super) fn hear_out(&self, deadline: Instant) {
        self.speaker.wait_for_end(deadline);
    }

    /// Ends its `srun` and the connection, because of `sentence`.
    pub(super) fn kill(&self, sentence: String) {
        self.srun.kill(sentence.clone());
        // Its helper holds the streams as well.
        self.link.end(sentence);
    }
}

/// Has Slurm start a worker, and waits until it runs somewhere; `on_begin` gets what can end the
/// wait. When the worker ends, `on_close` is told what srun said.
///
/// # Errors
///
/// Returns the output of srun if it does not begin.
pub(super) fn start(
    site: &Site,
    mut srun: Command,
    on_begin: impl FnOnce(Arc<Srun>),
    on_close: impl FnOnce(String) + Send + 'static,
) -> Result<Process, String> {
    let streams =
        UnixStream::pair().and_then(|(ours, theirs)| Ok((ours.try_clone()?, ours, theirs)));
    let (awaited, mut output, theirs) =
        streams.map_err(|error| format!("there is no stream for srun: {error}"))?;
    set_up(&mut srun, site, theirs);
    let mut child = site
        .guard
        .spawn(&mut srun)
        .map_err(|error| format!("srun could not be run: {error}"))?;
    // It holds the other end of the stream.
    drop(srun);
    let input = child.stdin.take();
    let speaker = Arc::new(Speaker::default());
    let words = |errors| listen(errors, site.logs.clone(), Arc::clone(&speaker));
    let errors = child.stderr.take().and_then(|errors| words(errors).ok());
    let srun = Arc::new(Srun {
        child: Mutex::new(Some(child)),
        sentence: OnceLock::new(),
        awaited: Mutex::new(Some(awaited)),
    });
    on_begin(Arc::clone(&srun));
    let (Some((slurm_job, node)), Some(input)) = (greeting(&mut output), input) else {
        return Err(srun.ended(errors).why);
    };
    *srun.awaited.lock() = None;
    let name = format!("the worker on {node} (Slurm job {slurm_job})");
    speaker.node.get_or_init(|| node.clone());
    let ending = Arc::clone(&srun);
    let closed = move |closing: Closing| {
        beside(move || {
            let end = ending.ended(errors);
            on_close(end.why.clone());
            closing.tell(&end);
        });
    };
    let link = Link::open(&site.poller, name, output, input, site.limits, closed);
    // Without it the input is closed, and the worker ends.
    let link = link.map_err(|error| format!("its connection cannot be waited for: {error}"))?;
    Ok(Process {
        link,
        node,
        slurm_job,
        speaker,
        srun,
    })
}

/// Says what `srun` is to run, and where that answers.
fn set_up(srun: &mut Command, site: &Site, answers: UnixStream) {
    srun.arg(format!("--job-name={}", site.name))
        // Otherwise srun waits for the ends of lines.
        .args([
            "--unbuffered",
            "--quiet",
            "--kill-on-bad-exit=1",
            "--mpi=none",
        ])
        .args(["sh", "-c", SCRIPT, "sh"])
        .arg(&site.program)
        .args(&site.arguments)
        .env(WORKER_VARIABLE, "/dev/fd/3")
        .stdin(Stdio::piped())
        .stdout(OwnedFd::from(answers))
        .stderr(Stdio::piped());
}

/// Does what may wait for a process, on a thread of its own, or else here.
fn beside(work: impl FnOnce() + Send + 'static) {
    fn run(work: &Mutex<Option<impl FnOnce()>>) {
        let work = work.lock().take();
        work.into_iter().for_each(|work| work());
    }
    let work = Arc::new(Mutex::new(Some(work)));
    let beside = Arc::clone(&work);
    let spawned = thread::Builder::new()
        .name("heist-cluster-srun".to_owned())
        .spawn(move || run(&beside));
    if spawned.is_err() {
        run(&work);
    }
}

/// The script's first line; none if it did not run. No byte behind it is read.
fn greeting(output: &mut impl Read) -> Option<(u64, NodeId)> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        output.read_exact(&mut byte).ok()?;
        line.extend(byte);
    }
    let line = String::from_utf8(line).ok()?;
    let (slurm_job, node) = line.trim().split_once(' ')?;
    Some((slurm_job.parse().ok()?, NodeId::from(node)))
}

/// Passes on what functions print, and returns what was said last.
fn listen(
    mut errors: impl Read + Send + 'static,
    logs: Logs,
    speaker: Arc<Speaker>,
) -> io::Result<JoinHandle<Said>> {
    let listening = move || {
        let (mut lines, mut said) = (Lines::default(), VecDeque::new());
        let mut by_worker = Tail::default();
        let mut take = |line: &[u8], goes_on| {
            if !line.starts_with(b"srun: ") && !line.starts_with(b"slurmstepd") {
                by_worker.take(line);
                by_worker.take(b"\n");
                return speaker.say(&logs, line, goes_on);
            }
            said.push_back(harmless(line));
            if said.len() > LINES_KEPT {
                said.pop_front();
            }
        };
        let mut buffer = [0; 1 << 12];
        loop {
            match errors.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(bytes) => lines.take(&buffer[..bytes], &mut take),
            }
        }
        lines.rest(take);
        speaker.ends();
        Said {
            by_srun: said.make_contiguous().join("; "),
            by_worker,
        }
    };
    thread::Builder::new()
        .name("heist-cluster-srun".to_owned())
        .spawn(listening)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_crashed_is_told_from_one_that_was_ended() {
        for crash in [
            "Aborted",
            "Aborted (core dumped)",
            "Exited with exit code 7",
        ] {
            assert!(is_crash(
                &format!("srun: error: n1: task 0: {crash}"),
                Some(1)
            ));
        }
        for end in [
            "srun: error: n1: task 0: Killed",
            "srun: error: n1: task 0: Terminated",
            "srun: error: Node failure on n1; srun: error: Aborted",
        ] {
            assert!(!is_crash(end, Some(137)), "{end}");
        }
        assert!(is_crash("srun ended", Some(134)), "SIGABRT");
    }
}
