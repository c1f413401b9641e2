//! One run of a program under a schedule, and how it ended.

use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use heist_event::schedule::DEFAULT;
use heist_run::limited;
use heist_run::usage::Usage;
use tempfile::TempDir;

use super::deadlock::Deadlock;
use super::deviations::{Schedule, BYTES_MAX};
use super::program::Program;
use crate::ending::{last_words, Ending};
use crate::signals::Signals;

/// The code with which heist ends a program in which nothing can run any more.
const DEADLOCK: i32 = 86;

/// The most that is shown of what a failed program said.
const LINES_SHOWN: usize = 20;

/// The most of what a program says in which its first panic is looked for.
const SAID_MAX: u64 = 1 << 24;

/// Variables that a run must not have from here: the first two exclude a schedule, and the others
/// are about time, which a schedule does not know.
const TAKEN_AWAY: [&str; 4] = ["HEIST_PROFILE", "HEIST_DAG", "HEIST_STALL", "HEIST_LIVE"];

/// Runs a program again and again. Its files are gone when this is.
pub(super) struct Trials<'a> {
    program: &'a Program,
    folder: TempDir,
    signals: Signals,
}

/// A run that is over.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) outcome: Outcome,
    /// The schedule that it recorded, if it started a pool.
    pub(super) schedule: Option<Schedule>,
    /// The end of what it said on standard error.
    pub(super) words: Option<String>,
}

/// How a run ended. Two with the same outcome have ended likewise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    end: End,
    /// The place in the source of the first panic that was told.
    panic: Option<String>,
    /// If nothing could run any more, who waits for what.
    deadlock: Option<Deadlock>,
}

/// A signal to end has come, and the run that it met is over.
#[derive(Debug)]
pub(super) struct Interrupted(pub(super) i32);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signal to end has come")
    }
}

impl Error for Interrupted {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ended(Ending),
    /// It was killed after so many seconds.
    Late(u64),
}

impl<'a> Trials<'a> {
    pub(super) fn new(program: &'a Program) -> anyhow::Result<Self> {
        let signals = Signals::listen()?;
        let folder = tempfile::tempdir().context("cannot make a folder for the schedules")?;
        Ok(Self {
            program,
            folder,
            signals,
        })
    }

    /// Runs the program by the schedule without a deviation.
    pub(super) fn with_default(&mut self) -> anyhow::Result<Trial> {
        self.run(DEFAULT)
    }

    /// Runs the program with this seed, of priorities if there is a depth.
    pub(super) fn with_seed(&mut self, seed: u64, depth: Option<u64>) -> anyhow::Result<Trial> {
        match depth {
            None => self.run(&format!("random:{seed}")),
            Some(depth) => self.run(&format!("pct:{seed}:d={depth}")),
        }
    }

    /// Runs the program by this schedule.
    pub(super) fn replay(&mut self, schedule: &Schedule) -> anyhow::Result<Trial> {
        let file = self.path("replayed");
        fs::write(&file, schedule.text()).context("cannot write the schedule of a run")?;
        let name = file.to_str();
        let name = name.context("the folder for temporary files has a name that is no text")?;
        self.run(&format!("replay:{name}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&mut self, schedule: &str) -> anyhow::Result<Trial> {
        let (recorded, said) = (self.path("recorded"), self.path("said"));
        // That of the run before must not pass for one of this.
        match fs::remove_file(&recorded) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).context("cannot remove the schedule of the last run");
            }
            _ => {}
        }
        let name = &self.program.command[0];
        let mut command = Command::new(name);
        command
            .args(&self.program.command[1..])
            .env("HEIST_SCHEDULE", schedule)
            .env("HEIST_SCHEDULE_FILE", &recorded)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&said).context("cannot make a file for standard error")?)
            // So that a limit ends a program that a script or cargo has started, too.
            .process_group(0);
        let (variable, workers) = self.program.workers()?;
        command.env(variable, workers.to_string());
        for variable in TAKEN_AWAY {
            command.env_remove(variable);
        }
        let started = command.spawn();
        let mut started = started
            .map_err(|error| Usage(format!("cannot start `{}`: {error}", name.display())))?;
        let status = self.signals.wait_within(&mut started, self.program.limit());
        let status = status.with_context(|| format!("cannot wait for `{}`", name.display()))?;
        if let Some(signal) = self.signals.first() {
            return Err(Interrupted(signal).into());
        }
        let end = status.map_or(End::Late(self.program.limit), |status| {
            End::Ended(Ending::of(status))
        });
        let mut first = Vec::new();
        let read = File::open(&said).and_then(|said| said.take(SAID_MAX).read_to_end(&mut first));
        read.context("cannot read what the program said")?;
        let text = String::from_utf8_lossy(&first);
        let is_deadlock = end == End::Ended(Ending::Code(DEADLOCK));
        let outcome = Outcome {
            end,
            panic: place_of_panic(&text),
            deadlock: Deadlock::told(&text).filter(|_| is_deadlock),
        };
        let schedule = match limited::read_text(&recorded, BYTES_MAX) {
            Ok(text) => Schedule::parse(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        let schedule = schedule.map_err(|why| {
            anyhow::anyhow!("the schedule that `{}` recorded: {why}", name.display())
        })?;
        Ok(Trial {
            outcome,
            schedule,
            words: last_words(&said, LINES_SHOWN),
        })
    }
}

impl Trial {
    /// The error of a run that cannot be repeated.
    pub(super) fn has_no_schedule(&self, name: &str) -> anyhow::Error {
        anyhow::anyhow!(
            "{name} {}, and recorded no schedule: it ended before it had a pool of heist, has \
             none, or lost the variable HEIST_SCHEDULE_FILE on the way. `heist doctor --manifest \
             PROJECT` says whether a project is on heist",
            self.outcome
        )
    }
}

/// The place in the source that the first message of a panic names.
fn place_of_panic(said: &str) -> Option<String> {
    let (_, after) = said.split_once(" panicked at ")?;
    let line = after.lines().next()?;
    Some(line.trim_end_matches(':').to_owned())
}

impl Outcome {
    pub(super) fn is_failure(&self) -> bool {
        self.end != End::Ended(Ending::Code(0))
    }

    /// True if it may be the same fault as the other, of which it may show less.
    pub(super) fn is_likewise(&self, other: &Self) -> bool {
        let deadlock = match (&self.deadlock, &other.deadlock) {
            (Some(here), Some(there)) => here.is_within(there),
            (here, there) => here == there,
        };
        deadlock && (self.end, &self.panic) == (other.end, &other.panic)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end {
            End::Ended(ending) => write!(f, "{ending}")?,
            End::Late(limit) => write!(f, "went on for {limit} s, and was killed")?,
        }
        if let Some(deadlock) = &self.deadlock {
            write!(f, ", {deadlock}")?;
        }
        if let Some(place) = self.panic.as_ref().filter(|_| self.is_failure()) {
            write!(
                f,
                ", after a panic at {}",
                heist_run::terminal::harmless(place)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_panic_is_told_apart_by_its_place() {
        let said =
            "a\nthread 'x' (7) panicked at src/a.rs:3:5:\nb\nthread 'y' panicked at c:1:1:\n";
        assert_eq!(place_of_panic(said).as_deref(), Some("src/a.rs:3:5"));
        assert_eq!(place_of_panic("nothing"), None);
    }

    #[test]
    fn an_outcome_says_whether_it_was_a_deadlock() {
        let outcome = |end, panic: Option<&str>| Outcome {
            end,
            panic: panic.map(str::to_owned),
            deadlock: None,
        };
        let by_itself = outcome(End::Ended(Ending::Code(86)), None);
        assert_eq!(by_itself.to_string(), "ended with exit code 86");
        let deadlock = Outcome {
            deadlock: Some(Deadlock::default()),
            ..by_itself.clone()
        };
        assert_eq!(deadlock.to_string(), "ended with exit code 86, a deadlock");
        assert!(deadlock.is_likewise(&deadlock) && !by_itself.is_likewise(&deadlock));
        let panic = outcome(End::Ended(Ending::Code(101)), Some("a.rs:1:2"));
        assert_eq!(
            panic.to_string(),
            "ended with exit code 101, after a panic at a.rs:1:2"
        );
        assert!(outcome(End::Late(5), None).is_failure());
        // It caught its panic.
        assert!(!outcome(End::Ended(Ending::Code(0)), Some("a.rs:1:2")).is_failure());
    }
}
