//! The runs of one test under schedules, each in a process of its own.
//!
//! A deadlock ends its process, and what a test leaves in statics and in pools would make the next
//! run another one: so each run has a process. It is the program of the present test, which its
//! harness, libtest or one with the same flags, is asked to run this test of.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use heist_sync::Futex;

use super::DEADLOCK;

/// The pause between two looks at a process.
const PAUSE: Duration = Duration::from_micros(500);

/// The most that is shown of what a failed test said.
const LINES_SHOWN: usize = 30;
const BYTES_SHOWN: u64 = 1 << 14;

/// Variables that a run must not have from here: the first two exclude a schedule, and the others
/// are about time, which a schedule does not know.
const TAKEN_AWAY: [&str; 4] = ["HEIST_PROFILE", "HEIST_DAG", "HEIST_STALL", "HEIST_LIVE"];

/// A test of this program.
pub(super) struct Test<'a> {
    pub(super) name: &'a str,
    /// The workers of its pools; `None` if the environment says it.
    pub(super) workers: Option<usize>,
    pub(super) limit: Duration,
}

/// How a run has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    /// In words.
    Badly(String),
}

/// Runs a test again and again. Its files are gone when this is, unless they are kept.
pub(super) struct Trials<'a> {
    test: &'a Test<'a>,
    program: PathBuf,
    folder: PathBuf,
}

impl Drop for Trials<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.said());
        // Fails if the schedule is kept.
        let _ = fs::remove_dir(&self.folder);
    }
}

impl<'a> Trials<'a> {
    /// # Errors
    ///
    /// Says why this test cannot be run in other processes.
    pub(super) fn new(test: &'a Test<'a>) -> Result<Self, String> {
        // Of `std`, which makes statics under the model checkers, too.
        static FOLDERS: std::sync::Mutex<u64> = std::sync::Mutex::new(0);
        if test.name == "main" {
            return Err(
                "heist::schedule::check was called by `main`; accepted is a function with \
                 #[test]. `heist schedule search` does the same for a program"
                    .to_owned(),
            );
        }
        let program = env::current_exe()
            .map_err(|error| format!("cannot find the program of this test: {error}"))?;
        let nth = {
            let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
            *folders += 1;
            *folders
        };
        let folder = env::temp_dir().join(format!("heist-check-{}-{nth}", process::id()));
        fs::create_dir(&folder)
            .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
        Ok(Self {
            test,
            program,
            folder,
        })
    }

    fn schedule(&self) -> PathBuf {
        self.folder.join("schedule")
    }

    fn said(&self) -> PathBuf {
        self.folder.join("said")
    }

    /// Runs the test under this schedule.
    ///
    /// # Errors
    ///
    /// Says why it did not run, or not under a schedule.
    pub(super) fn run(&self, schedule: &str) -> Result<Ended, String> {
        let said = self.said();
        let file = File::create(&said)
            .map_err(|error| format!("cannot make {}: {error}", said.display()))?;
        let mut command = Command::new(&self.program);
        command
            .args(arguments(self.test.name))
            .env("HEIST_SCHEDULE", schedule)
            .env("HEIST_SCHEDULE_FILE", self.schedule())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        if let Some(workers) = self.test.workers {
            command.env("HEIST_NUM_THREADS", workers.to_string());
        }
        for variable in TAKEN_AWAY {
            command.env_remove(variable);
        }
        let status = self
            .wait(command)
            .map_err(|error| format!("cannot run {}: {error}", self.program.display()))?;
        let ended = match status {
            None => {
                let seconds = self.test.limit.as_secs_f64();
                Ended::Badly(format!("it went on for {seconds} s, and was killed"))
            }
            Some(status) if status.success() => Ended::Well,
            Some(status) if status.code() == Some(DEADLOCK) => {
                Ended::Badly(format!("a deadlock, {status}"))
            }
            Some(status) => Ended::Badly(status.to_string()),
        };
        if ended == Ended::Well && fs::remove_file(self.schedule()).is_err() {
            return Err(format!(
                "a run of the test `{}` had no schedule, so that nothing was checked: it made no \
                 pool of heist, or the harness has no test of this name",
                self.test.name
            ));
        }
        Ok(ended)
    }

    /// `None` if it was killed, because it took too long.
    fn wait(&self, mut command: Command) -> std::io::Result<Option<ExitStatus>> {
        let begun = Instant::now();
        let mut child = command.spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if begun.elapsed() > self.test.limit {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            Futex::new(0).wait_timeout(0, PAUSE);
        }
    }

    /// The failure under this schedule, for people. The recorded one is kept.
    pub(super) fn keep(&self, schedule: &str, how: &str) -> String {
        let name = self.test.name;
        let mut text = format!("`{name}` fails under HEIST_SCHEDULE={schedule}: {how}\n");
        for line in last_lines(&self.said()) {
            let _ = writeln!(text, "  {line}");
        }
        let file = self.schedule();
        if !file.exists() {
            text.push_str("It has recorded no schedule: it made no pool of heist before.");
            return text;
        }
        let workers = self.test.workers.map(|workers| workers.to_string());
        let workers = workers.or_else(|| env::var("HEIST_NUM_THREADS").ok());
        let workers = workers.unwrap_or_default();
        let (file, program) = (typed(&file), typed(&self.program));
        let program = format!("{program} {}", arguments(name).join(" "));
        let _ = write!(
            text,
            "Its schedule is in {file}. The same again, and the search for a shorter one:\n  \
             HEIST_NUM_THREADS={workers} HEIST_SCHEDULE=replay:{file} {program}\n  \
             heist schedule shrink --workers {workers} {file} -- {program}"
        );
        text
    }
}

/// The flags by which a harness runs one test, on its main thread.
fn arguments(test: &str) -> [&str; 5] {
    let threads = "--test-threads=1";
    ["--exact", test, "--include-ignored", "--nocapture", threads]
}

/// The end of a file, line by line.
fn last_lines(file: &Path) -> Vec<String> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES_SHOWN)))?;
        file.take(BYTES_SHOWN).read_to_end(&mut bytes)
    });
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let first = lines.len().saturating_sub(LINES_SHOWN);
    match read {
        Ok(_) => lines[first..].iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("(its standard error cannot be read: {error})")],
    }
}

/// A path as a shell reads it.
fn typed(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
    if path.chars().all(is_plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_typed_so_that_a_shell_reads_it_as_it_was() {
        assert_eq!(typed(Path::new("/tmp/a-1.b")), "/tmp/a-1.b");
        assert_eq!(typed(Path::new("/tmp/it's here")), r"'/tmp/it'\''s here'");
    }
}
