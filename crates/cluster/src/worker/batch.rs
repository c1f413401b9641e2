//! A worker that is a batch job: it runs one attempt at one job, and speaks through files.
//!
//! The README.md of the backend that uses Slurm has the protocol.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use heist_sync::thread;
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;

use super::answer::worker;
use crate::protocol::job_folder::{Attempt, JobFolder, Kind, Name, Start};
use crate::protocol::{Answer, Ask, Frame, JobOutcome, Outcome, Request};
use crate::remote::context;

/// How often the process says what it has used, and looks for what is wanted of it.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// The exit code with which Slurm puts a job aside to be released, if it is told so.
const PAUSED_CODE: i32 = 85;

/// An event while the attempt runs.
enum Happened {
    Signal,
    Begun(Frame),
    Snapshot(Frame),
    Ended(Frame),
}

/// Runs the attempt that the rest of the variable speaks of, and returns the exit code.
pub(super) fn run(what: &str) -> io::Result<i32> {
    let parsed = what
        .split_once(':')
        .and_then(|(submission, folder)| Some((submission.parse().ok()?, PathBuf::from(folder))));
    let (submission, path) = parsed.ok_or_else(|| {
        io::Error::other(format!(
            "{what:?} is no batch job; a number and a folder were expected"
        ))
    })?;
    // Slurm sets it once it has requeued a job.
    let restarts = std::env::var("SLURM_RESTART_COUNT").unwrap_or_else(|_| "0".to_owned());
    let restarts = restarts.parse().map_err(|_| {
        io::Error::other(format!(
            "SLURM_RESTART_COUNT is {restarts:?}, which is no number"
        ))
    })?;
    let attempt = Attempt {
        submission,
        restarts,
    };
    let folder = JobFolder::new(path);
    let missing =
        |what: &str| io::Error::other(format!("there is no {what} in {}", folder.path().display()));
    let start = folder.start()?.ok_or_else(|| missing("start.json"))?;
    if start.attempt > attempt {
        return Ok(superseded(attempt, start.attempt));
    }
    let is_over = |name: &Name| name.kind == Kind::Over && name.attempt.submission == submission;
    if folder.names()?.iter().any(is_over) {
        // The one before has ended, and Slurm did not notice.
        return Ok(0);
    }
    let state = folder
        .newest_state(start.first_submission)?
        .ok_or_else(|| missing("state"))?;
    // Slurm's own restarts count on from what the driver knows.
    let epoch = start.epoch + (attempt.restarts - start.attempt.restarts);
    let (sender, receiver) = mpsc::channel();
    Running {
        folder,
        attempt,
        start,
        epoch,
        sender,
        has_begun: false,
        checkpoints: 0,
        snapshot_at: Instant::now(),
        is_snapshot_asked: false,
        is_pausing: false,
    }
    .run(state, &receiver)
}

/// Ends an attempt whose answers are no longer wanted.
fn superseded(attempt: Attempt, by: Attempt) -> i32 {
    complain(&format!(
        "attempt {attempt} ends, because there is attempt {by}"
    ));
    0
}

struct Running {
    folder: JobFolder,
    attempt: Attempt,
    start: Start,
    epoch: u32,
    sender: Sender<Happened>,
    /// Whether it has said where it runs.
    has_begun: bool,
    /// How many were written.
    checkpoints: u64,
    /// When the last one was asked for.
    snapshot_at: Instant,
    is_snapshot_asked: bool,
    is_pausing: bool,
}

impl Running {
    fn run(mut self, state: Vec<u8>, receiver: &Receiver<Happened>) -> io::Result<i32> {
        let mut signals = Signals::new([SIGUSR1])?;
        let sender = self.sender.clone();
        thread::Builder::new()
            .name("heist-cluster-signal".to_owned())
            .spawn(move || {
                for _ in signals.forever() {
                    // It is heard until the process ends.
                    let _ = sender.send(Happened::Signal);
                }
            })?;
        let (job, epoch) = (self.start.job, self.epoch);
        let kind = self.start.kind.clone();
        let cpus = self.start.threads;
        let start = Ask::Start {
            job,
            epoch,
            kind,
            cpus,
            trace: self.start.trace,
        };
        self.ask(start, state, Happened::Ended)?;
        self.ask(Ask::Await { job, epoch }, Vec::new(), Happened::Begun)?;
        let mut looked_at = None::<Instant>;
        loop {
            let left =
                looked_at.map_or(Duration::ZERO, |at| HEARTBEAT.saturating_sub(at.elapsed()));
            match receiver.recv_timeout(left) {
                Ok(Happened::Ended(frame)) => return self.end(&frame),
                Ok(Happened::Begun(frame)) => self.begun(&frame),
                Ok(Happened::Snapshot(frame)) => self.keep(&frame),
                Ok(Happened::Signal) | Err(RecvTimeoutError::Timeout) => {
                    looked_at = Some(Instant::now());
                    if let Some(code) = self.look()? {
                        return Ok(code);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => unreachable!("one sender is here"),
            }
        }
    }

    /// Has the worker of this process answer a request, on a thread of its own.
    fn ask(&self, ask: Ask, payload: Vec<u8>, answered: fn(Frame) -> Happened) -> io::Result<()> {
        let request = self.request(ask);
        let sender = self.sender.clone();
        thread::Builder::new()
            .name("heist-cluster-job".to_owned())
            .spawn(move || {
                let answer = worker().answer_request(request, payload);
                // It is heard until the process ends.
                let _ = sender.send(answered(answer));
            })
            .map(drop)
    }

    /// The answer to a request that does not wait.
    fn ask_now(&self, ask: Ask) -> Frame {
        worker().answer_request(self.request(ask), Vec::new())
    }

    fn request(&self, ask: Ask) -> Request {
        Request {
            id: 0,
            fingerprint: self.start.fingerprint,
            ask,
        }
    }

    fn name(&self, kind: Kind) -> Name {
        Name::new(kind, self.attempt)
    }

    fn begun(&mut self, answer: &Frame) {
        if let Some(Outcome::Done) = outcome(answer) {
            self.say_where();
        }
    }

    fn say_where(&mut self) {
        self.has_begun = true;
        let node = Frame::new(&context::node(), Vec::new());
        if let Err(error) = self.folder.show(self.name(Kind::Running), &node) {
            complain(&format!("could not say that the job runs: {error}"));
        }
    }

    /// Does what is due, and says with which code the process is to end, if it is.
    fn look(&mut self) -> io::Result<Option<i32>> {
        let (job, epoch) = (self.start.job, self.epoch);
        if let Ok(Some(start)) = self.folder.start() {
            if start.attempt > self.attempt {
                return Ok(Some(superseded(self.attempt, start.attempt)));
            }
        }
        if !self.is_pausing && self.folder.has(self.name(Kind::PauseWanted)) {
            // If it has not begun yet, it is asked again.
            let answer = self.ask_now(Ask::Pause { job, epoch });
            self.is_pausing = matches!(outcome(&answer), Some(Outcome::Done));
        }
        let wish = self.name(Kind::SnapshotWanted);
        let is_wanted = self.folder.has(wish);
        let every = Duration::from_millis(self.start.checkpoint_every_ms);
        if (is_wanted || self.snapshot_at.elapsed() >= every) && !self.is_snapshot_asked {
            self.folder.remove(wish);
            self.is_snapshot_asked = true;
            self.snapshot_at = Instant::now();
            self.ask(Ask::Snapshot { job, epoch }, Vec::new(), Happened::Snapshot)?;
        }
        self.folder.beat(
            self.name(Kind::Usage),
            &self.ask_now(Ask::Usage { with_family: false }),
        );
        Ok(None)
    }

    /// Brings a state to safety. If that fails, an accident costs more work.
    fn keep(&mut self, answer: &Frame) {
        self.is_snapshot_asked = false;
        // Otherwise the job has not begun, or is over.
        if let Some(Outcome::Snapshot { .. }) = outcome(answer) {
            let number = self.checkpoints + 1;
            match self
                .folder
                .write(Name::checkpoint(self.attempt, number), answer)
            {
                Ok(()) => {
                    self.checkpoints = number;
                    // The one before may be read at this moment.
                    let old = Name::checkpoint(self.attempt, number.saturating_sub(2));
                    if old.number > 0 {
                        self.folder.remove(old);
                    }
                }
                Err(error) => complain(&format!("could not write a checkpoint: {error}")),
            }
        }
    }

    /// Writes down how it ended.
    fn end(&mut self, answer: &Frame) -> io::Result<i32> {
        if !self.has_begun {
            // The end of a short job is heard before its beginning. Without a node the driver could
            // not tell from where its lines come.
            self.say_where();
        }
        let (kind, code) = match outcome(answer) {
            Some(Outcome::Job(JobOutcome::Paused { .. })) => (Kind::Paused, PAUSED_CODE),
            Some(Outcome::Job(JobOutcome::Finished)) => (Kind::Over, 0),
            _ => (Kind::Over, 1),
        };
        self.folder.write(self.name(kind), answer)?;
        Ok(code)
    }
}

fn outcome(answer: &Frame) -> Option<Outcome> {
    let answer = answer.understand::<Answer>();
    answer.ok().map(|answer| answer.outcome)
}

/// Goes to the log of the batch job.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "heist-cluster: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::fingerprint::Fingerprint;

    #[test]
    fn a_job_that_ends_before_it_is_heard_to_begin_says_where_it_ran() {
        let path = tempfile::tempdir().expect("a folder");
        let folder = JobFolder::new(path.path().to_owned());
        let attempt = Attempt {
            submission: 1,
            restarts: 0,
        };
        let mut running = Running {
            folder: folder.clone(),
            attempt,
            start: Start {
                job: 1,
                kind: String::new(),
                fingerprint: Fingerprint::of_this_program(),
                attempt,
                epoch: 0,
                threads: 1,
                checkpoint_every_ms: 1000,
                slurm_job: None,
                first_submission: 1,
                trace: None,
            },
            epoch: 0,
            sender: mpsc::channel().0,
            has_begun: false,
            checkpoints: 0,
            snapshot_at: Instant::now(),
            is_snapshot_asked: false,
            is_pausing: false,
        };
        let outcome = Outcome::Job(JobOutcome::Finished);
        let answer = Frame::new(&Answer { id: 0, outcome }, Vec::new());
        assert_eq!(running.end(&answer).expect("it is written"), 0);
        for kind in [Kind::Running, Kind::Over] {
            assert!(folder.has(Name::new(kind, attempt)), "{kind:?}");
        }
    }
}
