//! The runs of one test under schedules, each in a process of its own.
//!
//! A deadlock ends its process, and what a test leaves in statics and in pools would make the next
//! run another one: so each run has a process. It is the program of the present test, which its
//! harness, libtest or one with the same flags, is asked to run this test of.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use heist_sync::process::kill_group;
use heist_sync::Futex;

use super::inside::{self, Course, FILES, NOTES, SAID, SCHEDULE, VARIABLE};
use super::DEADLOCK;

/// The pause between two looks at a process.
const PAUSE: Duration = Duration::from_micros(500);

/// The most that is shown of what a failed test said.
const LINES_SHOWN: usize = 30;
const BYTES_SHOWN: u64 = 1 << 16;

/// The most that a run may say: it is kept in a file.
const SAID_MAX: u64 = 1 << 26;

/// How the words for a deadlock begin, which is told at the end of what a run says.
const IS_DEADLOCK: &str = "a deadlock";

/// The folder of a check whose process has gone is removed if it is older than this: it may be that
/// of a process in another container, with the same folder for temporary files.
const FOLDER_AGE: Duration = Duration::from_secs(60 * 60);
const FOLDER: &str = "heist-check-";

/// Variables that a run must not have from here: the first two exclude a schedule, and the others
/// are about time, which a schedule does not know.
const TAKEN_AWAY: [&str; 4] = ["HEIST_PROFILE", "HEIST_DAG", "HEIST_STALL", "HEIST_LIVE"];

/// A test of this program.
pub(super) struct Test<'a> {
    pub(super) name: &'a str,
    /// The call of the check.
    pub(super) place: &'static Location<'static>,
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
        let _ = fs::remove_file(self.notes());
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
        remove_old_folders(&env::temp_dir());
        loop {
            let nth = {
                let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
                *folders += 1;
                *folders
            };
            let folder = env::temp_dir().join(format!("{FOLDER}{}-{nth}", process::id()));
            match fs::create_dir(&folder) {
                // Of an earlier process with this number, where somebody may want to repeat a
                // failure.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let folder = folder.display();
                    return Err(format!("cannot make the folder {folder}: {error}"));
                }
                Ok(()) => {
                    return Ok(Self {
                        test,
                        program,
                        folder,
                    })
                }
            }
        }
    }

    fn schedule(&self) -> PathBuf {
        self.folder.join(SCHEDULE)
    }

    fn said(&self) -> PathBuf {
        self.folder.join(SAID)
    }

    fn notes(&self) -> PathBuf {
        self.folder.join(NOTES)
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
        let _ = fs::remove_file(self.notes());
        let mut command = Command::new(&self.program);
        command
            .args(arguments(self.test.name))
            .env("HEIST_SCHEDULE", schedule)
            .env("HEIST_SCHEDULE_FILE", self.schedule())
            .env(VARIABLE, inside::value(&self.folder))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        if let Some(workers) = self.test.workers {
            command.env("HEIST_NUM_THREADS", workers.to_string());
        }
        give_own_group(&mut command);
        for variable in TAKEN_AWAY {
            command.env_remove(variable);
        }
        let status = self
            .wait(command)
            .map_err(|error| format!("cannot run {}: {error}", self.program.display()))?;
        let notes = fs::read_to_string(self.notes()).unwrap_or_default();
        let ended = self.judge(status, inside::course(&notes, self.test.place));
        let ended = ended.ok_or_else(|| self.no_such_test())?;
        if ended == Ended::Well && fs::remove_file(self.schedule()).is_err() {
            return Err(format!(
                "a run of the test `{}` had no schedule, so that nothing was checked: it made no \
                 pool of heist",
                self.test.name
            ));
        }
        Ok(ended)
    }

    /// `None` if the harness has not run the test.
    ///
    /// A closure that has returned has passed, whatever the harness says of the test: one with
    /// `#[should_panic]` has failed then. Likewise one that has not returned has not passed.
    fn judge(&self, status: Status, course: Course) -> Option<Ended> {
        let status = match status {
            Status::Late => {
                let seconds = self.test.limit.as_secs_f64();
                let how = format!("it went on for {seconds} s, and was killed");
                return Some(Ended::Badly(how));
            }
            Status::Loud => {
                let mib = SAID_MAX >> 20;
                let how = format!("it wrote {mib} MiB to standard error, and was killed");
                return Some(Ended::Badly(how));
            }
            Status::Ended(status) => status,
        };
        Some(match (status.code(), course) {
            (Some(DEADLOCK), _) => Ended::Badly(format!("{IS_DEADLOCK}, {status}")),
            (Some(_), Course::Returned) => Ended::Well,
            (Some(0), Course::NotBegun) => return None,
            (Some(0), Course::Begun) => Ended::Badly(format!(
                "it ended with {status} before its closure had returned, by a panic that the test \
                 expects, or by `exit`"
            )),
            _ => Ended::Badly(status.to_string()),
        })
    }

    fn no_such_test(&self) -> String {
        format!(
            "the harness of {} has no test `{}` that comes to the check at {}; accepted is a check \
             that a function with #[test] calls itself, on its own thread, of a closure that stands \
             there: `check(|| function())` in the place of `check(function)`",
            self.program.display(),
            self.test.name,
            self.test.place
        )
    }

    fn wait(&self, mut command: Command) -> io::Result<Status> {
        let begun = Instant::now();
        let mut child = command.spawn()?;
        let said = self.said();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Status::Ended(status));
            }
            let is_late = begun.elapsed() > self.test.limit;
            let is_loud = || fs::metadata(&said).is_ok_and(|file| file.len() > SAID_MAX);
            if is_late || is_loud() {
                kill_group(child.id());
                child.kill()?;
                child.wait()?;
                return Ok(if is_late { Status::Late } else { Status::Loud });
            }
            Futex::new(0).wait_timeout(0, PAUSE);
        }
    }

    /// The failure under this schedule, for people. The recorded one is kept.
    pub(super) fn keep(&self, schedule: &str, how: &str) -> String {
        let name = self.test.name;
        let mut text = format!("`{name}` fails under HEIST_SCHEDULE={schedule}: {how}\n");
        for line in last_lines(&self.said(), !how.starts_with(IS_DEADLOCK)) {
            let _ = writeln!(text, "  {line}");
        }
        let workers = self.test.workers.map(|workers| workers.to_string());
        let workers = workers.or_else(|| env::var("HEIST_NUM_THREADS").ok());
        let workers = workers.unwrap_or_default();
        let program = format!("{} {}", typed(&self.program), arguments(name).join(" "));
        let file = self.schedule();
        if !file.exists() {
            let _ = write!(
                text,
                "It has recorded no schedule, as it had made no pool of heist. The same again:\n  \
                 HEIST_NUM_THREADS={workers} HEIST_SCHEDULE={schedule} {program}"
            );
            return text;
        }
        let file = typed(&file);
        let _ = write!(
            text,
            "Its schedule is in {file}. The same again, and the search for a shorter one:\n  \
             HEIST_NUM_THREADS={workers} HEIST_SCHEDULE=replay:{file} {program}\n  \
             heist schedule shrink --workers {workers} {file} -- {program}"
        );
        text
    }
}

/// Makes it the first of a group of processes, so that all that it starts can be ended with it. If
/// this process is ended, by a signal to its own group for example, the other one notices.
#[cfg(unix)]
fn give_own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn give_own_group(_: &mut Command) {}

/// How a process ended.
enum Status {
    Ended(ExitStatus),
    /// It was killed: it took too long.
    Late,
    /// It was killed: it said too much.
    Loud,
}

/// Removes what checks have left that were killed, with the processes that they had made.
fn remove_old_folders(temporary: &Path) {
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| {
            let (process, _) = name.strip_prefix(FOLDER)?.split_once('-')?;
            process.parse::<u32>().ok()
        });
        let folder = entry.path();
        let is_gone = |process: u32| !Path::new("/proc").join(process.to_string()).exists();
        // A schedule alone is that of a failure, which somebody may want to repeat.
        let age = |path| fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
        let is_old = || age(folder.join(SAID)).is_some_and(|age| age > FOLDER_AGE);
        if process.is_some_and(is_gone) && is_old() {
            for file in FILES {
                let _ = fs::remove_file(folder.join(file));
            }
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The flags by which a harness runs one test, on its main thread.
fn arguments(test: &str) -> [&str; 5] {
    let threads = "--test-threads=1";
    ["--exact", test, "--include-ignored", "--nocapture", threads]
}

/// The end of a file, line by line; with `from_panic` from the first panic in it, if that is told
/// there: backtraces are long.
fn last_lines(file: &Path, from_panic: bool) -> Vec<String> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES_SHOWN)))?;
        file.take(BYTES_SHOWN).read_to_end(&mut bytes)
    });
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(LINES_SHOWN);
    let panic = lines.iter().position(|line| line.contains("panicked at "));
    let first = panic.filter(|_| from_panic).unwrap_or(last).min(last);
    match read {
        Ok(_) => {
            let shown = &lines[first..lines.len().min(first + LINES_SHOWN)];
            shown.iter().map(ToString::to_string).collect()
        }
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
