//! Runs steps one after the other, each with its name, time and result, and a table at the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use wait_timeout::ChildExt as _;

use crate::hung;

/// Runs steps regardless of earlier failures.
#[derive(Debug)]
pub struct Runner<'a, W> {
    root: PathBuf,
    out: &'a mut W,
    /// The folder for the output of commands; without one it goes to ours.
    logs: Option<PathBuf>,
    /// The time that one command may take, and the moment at which all have to have ended.
    limits: Option<(Duration, Instant)>,
    steps: Vec<Step>,
    /// How often a test was skipped, by its reason; known from logs only.
    tests_skipped: BTreeMap<String, usize>,
    since: Instant,
}

/// The words with which a test says that it cannot run here. Rust's harness counts it as passed.
pub const TEST_SKIPPED: &str = "test skipped: ";

/// The exit code for "skipped", as in automake's tests.
const SKIPPED: u8 = 77;

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Passed,
    /// The first line of what is wrong.
    Failed(String),
    /// Not run, for this reason.
    Skipped(String),
}

#[derive(Debug)]
struct Step {
    name: String,
    time: Duration,
    outcome: Outcome,
}

impl<'a, W: Write> Runner<'a, W> {
    /// A runner whose commands start in `root` and whose report goes to `out`.
    pub fn new(root: &Path, out: &'a mut W) -> Self {
        Self {
            root: root.to_owned(),
            out,
            logs: None,
            limits: None,
            steps: Vec::new(),
            tests_skipped: BTreeMap::new(),
            since: Instant::now(),
        }
    }

    /// Keeps what each command prints in a file of this folder; the report has the part that tells
    /// why a command failed. A log of 100,000 lines hides that from its reader.
    #[must_use]
    pub fn with_logs(mut self, folder: PathBuf) -> Self {
        self.logs = Some(folder);
        self
    }

    /// Stops a command that takes longer than `each`, or is still running when `all` has passed
    /// since now, with everything it started; the report tells where it hung. A limit from
    /// outside would end the report with it.
    #[must_use]
    pub fn with_limits(mut self, each: Duration, all: Duration) -> Self {
        self.limits = Some((each, Instant::now() + all));
        self
    }

    /// Runs two lists of steps beside each other. The report of the second, which should rather
    /// wait than compute, comes behind that of the first; what its commands print is kept in
    /// `target/ci` if there is no other folder for that.
    ///
    /// # Errors
    ///
    /// Fails if either list fails, after both have ended.
    pub fn beside(
        &mut self,
        first: impl FnOnce(&mut Self) -> anyhow::Result<()>,
        second: impl FnOnce(&mut Runner<'_, Vec<u8>>) -> anyhow::Result<()> + Send,
    ) -> anyhow::Result<()> {
        let mut report = Vec::new();
        let mut other = Runner {
            root: self.root.clone(),
            out: &mut report,
            logs: Some(match &self.logs {
                Some(logs) => logs.clone(),
                None => self.root.join("target/ci"),
            }),
            limits: self.limits,
            steps: Vec::new(),
            tests_skipped: BTreeMap::new(),
            since: self.since,
        };
        let (first, second) = thread::scope(|scope| {
            let second = scope.spawn(|| second(&mut other));
            (first(self), second.join())
        });
        let (steps, tests_skipped) = (other.steps, other.tests_skipped);
        self.out.write_all(&report)?;
        self.steps.extend(steps);
        for (reason, count) in tests_skipped {
            *self.tests_skipped.entry(reason).or_default() += count;
        }
        first?;
        second.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The folder in which commands start.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// Runs a program; its output goes where ours goes, or to a file of the logs' folder.
    ///
    /// # Errors
    ///
    /// Fails only if the report cannot be written.
    pub fn command(&mut self, name: &str, command: &mut Command) -> io::Result<()> {
        command.current_dir(&self.root);
        let log = self.logs.as_ref().map(|folder| log_path(folder, name));
        let limit = self.limits.map(|(each, end)| {
            let left = end.saturating_duration_since(Instant::now());
            each.min(left)
        });
        let mut log_text = String::new();
        self.step(name, |out| {
            writeln!(out, "{}", Line(command))?;
            out.flush()?;
            if let Some(log) = &log {
                let file = create(log)?;
                command.stdout(file.try_clone()?).stderr(file);
            }
            let outcome = match status_within(limit, command, out) {
                Ok(Some(status)) if status.success() => Outcome::Passed,
                Ok(Some(status)) if status.code() == Some(SKIPPED.into()) => {
                    Outcome::Skipped("it says above why".to_owned())
                }
                Ok(Some(status)) => {
                    Outcome::Failed(format!("{} of: {}", end(status), Line(command)))
                }
                Ok(None) => Outcome::Failed(format!("no end within the limit: {}", Line(command))),
                Err(error) => {
                    Outcome::Failed(format!("could not start {}: {error}", Line(command)))
                }
            };
            if let Some(log) = &log {
                log_text = String::from_utf8_lossy(&fs::read(log)?).into_owned();
                if outcome != Outcome::Passed {
                    writeln!(out, "{}", excerpt(&log_text))?;
                    writeln!(out, "All of it: {}", log.display())?;
                }
            }
            Ok(outcome)
        })?;
        for (_, reason) in log_text
            .lines()
            .filter_map(|line| line.split_once(TEST_SKIPPED))
        {
            *self.tests_skipped.entry(reason.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// Runs a step of our own.
    ///
    /// # Errors
    ///
    /// Fails only if the report cannot be written.
    pub fn step(
        &mut self,
        name: &str,
        run: impl FnOnce(&mut W) -> io::Result<Outcome>,
    ) -> io::Result<()> {
        let clock = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        writeln!(self.out, "\n== {clock} {name}")?;
        let start = Instant::now();
        let outcome = run(self.out)?;
        let time = start.elapsed();
        writeln!(self.out, "== {name}: {outcome} ({})", seconds(time))?;
        self.steps.push(Step {
            name: name.to_owned(),
            time,
            outcome,
        });
        Ok(())
    }

    /// Notes a step that is not run.
    ///
    /// # Errors
    ///
    /// Fails only if the report cannot be written.
    pub fn skip(&mut self, name: &str, reason: &str) -> io::Result<()> {
        self.step(name, |_| Ok(Outcome::Skipped(reason.to_owned())))
    }

    /// Prints a table of the steps, the longest first, how many tests were skipped and why, and the
    /// steps that failed. Returns whether none did.
    ///
    /// # Errors
    ///
    /// Fails only if the report cannot be written.
    pub fn finish(mut self) -> io::Result<bool> {
        let width = self.steps.iter().map(|step| step.name.len()).max();
        let width = width.unwrap_or(0).max("total".len());
        // Some have run beside others.
        let total = self.since.elapsed();
        self.steps.sort_by_key(|step| Reverse(step.time));
        writeln!(self.out)?;
        for step in &self.steps {
            let (name, time, outcome) = (&step.name, seconds(step.time), &step.outcome);
            writeln!(self.out, "{name:width$}  {time:>9}  {outcome}")?;
        }
        writeln!(self.out, "{:width$}  {:>9}", "total", seconds(total))?;
        let count: usize = self.tests_skipped.values().sum();
        if count > 0 {
            writeln!(
                self.out,
                "\ntests skipped: {count}, counted as passed above"
            )?;
        }
        for (reason, count) in &self.tests_skipped {
            writeln!(self.out, "{count:5}  {reason}")?;
        }
        let has_failed = |step: &&Step| matches!(step.outcome, Outcome::Failed(_));
        let failed: Vec<&str> = self
            .steps
            .iter()
            .filter(has_failed)
            .map(|step| &*step.name)
            .collect();
        if !failed.is_empty() {
            writeln!(self.out, "\nfailed: {}", failed.join(", "))?;
        }
        Ok(failed.is_empty())
    }
}

impl Outcome {
    /// Passed, or failed for a reason that has been printed.
    #[must_use]
    pub fn of(passed: bool) -> Self {
        match passed {
            true => Self::Passed,
            false => Self::Failed("see above".to_owned()),
        }
    }

    /// The exit code of a program that does one step, as [`Runner::command`] reads it.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Passed => ExitCode::SUCCESS,
            Self::Failed(_) => ExitCode::FAILURE,
            Self::Skipped(_) => SKIPPED.into(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed(what) => write!(f, "FAILED, {what}"),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

/// A command as one would type it, with the variables it sets.
#[derive(Debug)]
pub struct Line<'a>(pub &'a Command);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.0.get_envs() {
            if let Some(value) = value {
                write!(f, "{}={} ", name.to_string_lossy(), quoted(value))?;
            }
        }
        f.write_str(&quoted(self.0.get_program()))?;
        for argument in self.0.get_args() {
            write!(f, " {}", quoted(argument))?;
        }
        Ok(())
    }
}

/// A word as a shell reads it.
#[must_use]
pub fn quoted(word: &std::ffi::OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_=./:,+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Runs a program, and says how it ended; `None` if it had to be stopped at the limit.
fn status_within(
    limit: Option<Duration>,
    command: &mut Command,
    out: &mut impl Write,
) -> io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let Some(limit) = limit else {
        return child.wait().map(Some);
    };
    let status = child.wait_timeout(limit)?;
    if status.is_none() {
        let family = hung::family(child.id());
        hung::report(&family, out)?;
        hung::kill(&family);
        child.kill()?;
        child.wait()?;
    }
    Ok(status)
}

/// The file for the output of one step.
fn log_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}.log", name.replace([' ', '/'], "-")))
}

fn create(path: &Path) -> io::Result<fs::File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::File::create(path)
}

/// The lines of a log that tell why a program failed, each with those after it, and the last ones.
fn excerpt(log: &str) -> String {
    const FOLLOWING: usize = 3;
    const TELLING: usize = 120;
    const LAST: usize = 40;
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(LAST);
    let mut kept = Vec::new();
    let mut until = 0;
    for (number, line) in lines[..last].iter().enumerate() {
        if ["panicked at", "FAILED", "error:", "error["]
            .iter()
            .any(|mark| line.contains(mark))
        {
            until = number + FOLLOWING;
        }
        if number < until && kept.len() < TELLING {
            kept.push(*line);
        }
    }
    if last > 0 {
        kept.push("[..]");
    }
    kept.extend(&lines[last..]);
    kept.join("\n")
}

fn end(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn report(run: impl FnOnce(&mut Runner<'_, Vec<u8>>)) -> (bool, String) {
        let mut out = Vec::new();
        let mut runner = Runner::new(Path::new("."), &mut out);
        run(&mut runner);
        let passed = runner.finish().unwrap();
        (passed, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_failure_does_not_hide_the_steps_after_it() {
        let (passed, text) = report(|runner| {
            let rain = || Ok(Outcome::Failed("it rains".into()));
            runner.step("first", |_| rain()).unwrap();
            runner.step("second", |_| Ok(Outcome::Passed)).unwrap();
            runner.step("third", |_| rain()).unwrap();
        });
        assert!(!passed);
        assert!(text.contains("== second: passed"), "{text}");
        assert!(text.ends_with("\nfailed: first, third\n"), "{text}");
    }

    #[test]
    fn two_lists_of_steps_run_beside_each_other_and_both_are_reported() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (passed, text) = report(|runner| {
            let waits = |runner: &mut Runner<'_, Vec<u8>>| {
                runner.step("waits", |_| {
                    receiver.recv().unwrap();
                    Ok(Outcome::Passed)
                })?;
                Ok(())
            };
            let sends = |runner: &mut Runner<'_, Vec<u8>>| {
                runner.step("sends", |_| {
                    sender.send(()).unwrap();
                    Ok(Outcome::Failed("it rains".into()))
                })?;
                Ok(())
            };
            runner.beside(waits, sends).unwrap();
        });
        assert!(!passed);
        let (waits, sends) = (text.find("== waits: passed"), text.find("== sends: FAILED"));
        assert!(waits.is_some() && waits < sends, "{text}");
        assert!(text.ends_with("\nfailed: sends\n"), "{text}");
    }

    #[test]
    fn the_table_begins_with_the_longest_step() {
        let (_, text) = report(|runner| {
            runner.skip("short", "no time").unwrap();
            let wait = |_: &mut Vec<u8>| {
                thread::sleep(Duration::from_millis(20));
                Ok(Outcome::Passed)
            };
            runner.step("long", wait).unwrap();
        });
        let (_, table) = text.rsplit_once("\n\n").unwrap();
        let names: Vec<&str> = table
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(names, ["long", "short", "total"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_may_say_that_it_has_nothing_to_do() {
        let (passed, text) = report(|runner| {
            let mut program = Command::new("sh");
            runner
                .command("probe", program.args(["-c", "exit 77"]))
                .unwrap();
        });
        assert!(passed);
        assert!(
            text.contains("== probe: skipped: it says above why"),
            "{text}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn tests_that_say_they_were_skipped_are_counted_by_their_reason() {
        let folder = tempfile::tempdir().unwrap();
        let mut out = Vec::new();
        let mut runner = Runner::new(Path::new("."), &mut out).with_logs(folder.path().into());
        let say = |script: &str| {
            let mut program = Command::new("sh");
            program.args(["-c", &script.replace("SKIPPED", TEST_SKIPPED)]);
            program
        };
        // A harness with one thread has begun the line.
        let first = "echo 'SKIPPEDno Ray' >&2; printf 'test a ... '; echo 'SKIPPEDno Slurm'";
        runner.command("first", &mut say(first)).unwrap();
        let beside = |runner: &mut Runner<'_, Vec<u8>>| {
            Ok(runner.command("third", &mut say("echo 'SKIPPEDno Ray'; exit 1"))?)
        };
        let second =
            |runner: &mut Runner<'_, Vec<u8>>| Ok(runner.command("second", &mut say("true"))?);
        runner.beside(second, beside).unwrap();
        assert!(!runner.finish().unwrap());
        let text = String::from_utf8(out).unwrap();
        let counts =
            "\ntests skipped: 3, counted as passed above\n    2  no Ray\n    1  no Slurm\n";
        assert!(text.contains(counts), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn a_log_is_kept_and_its_telling_part_printed() {
        let folder = tempfile::tempdir().unwrap();
        let script = "seq 1000; echo 'thread main panicked at x.rs'; echo 'the reason'; \
                      seq 2000 3000; echo the end >&2";
        let mut out = Vec::new();
        let mut runner = Runner::new(Path::new("."), &mut out).with_logs(folder.path().join("a/b"));
        let mut good = Command::new("sh");
        let mut bad = Command::new("sh");
        runner
            .command("good one", good.args(["-c", script]))
            .unwrap();
        runner
            .command("bad", bad.args(["-c", &format!("{script}; exit 3")]))
            .unwrap();
        assert!(!runner.finish().unwrap());
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().count();
        assert!(lines < 70, "{text}");
        assert_eq!(text.matches("the reason\n").count(), 1, "{text}");
        assert!(text.contains("\n3000\nthe end\n"), "{text}");
        let log = fs::read_to_string(folder.path().join("a/b/good-one.log")).unwrap();
        assert!(
            log.contains("\n700\n") && log.ends_with("the end\n"),
            "{log}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_command_without_an_end_is_stopped_with_what_it_started() {
        let mut out = Vec::new();
        let limit = Duration::from_secs(3);
        let mut runner = Runner::new(Path::new("."), &mut out).with_limits(limit, 10 * limit);
        let mut endless = Command::new("sh");
        endless.args(["-c", "tail -f /dev/null & tail -f /dev/null"]);
        runner.command("endless", &mut endless).unwrap();
        assert!(!runner.finish().unwrap());
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("FAILED, no end within the limit: "), "{text}");
        let hung: Vec<&str> = text
            .lines()
            .filter(|line| line.split(' ').nth(1) == Some("tail"))
            .collect();
        assert_eq!(hung.len(), 2, "{text}");
        for line in hung {
            let process = line.split(' ').next().unwrap();
            let is_there = || {
                let stat = fs::read_to_string(format!("/proc/{process}/stat"));
                stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
            };
            // A signal takes its time.
            let start = Instant::now();
            while is_there() && start.elapsed() < Duration::from_secs(60) {
                thread::yield_now();
            }
            assert!(!is_there(), "{line}");
        }
    }

    #[test]
    fn a_skipped_step_does_not_fail_the_run() {
        let (passed, text) = report(|runner| runner.skip("asan", "no linker").unwrap());
        assert!(passed);
        assert!(text.contains("skipped: no linker"), "{text}");
    }

    #[test]
    fn a_command_that_fails_or_does_not_start_is_named_as_one_would_type_it() {
        let (passed, text) = report(|runner| {
            let mut cargo = Command::new(env!("CARGO"));
            cargo
                .arg("no such command")
                .env("LEVEL", "1 2")
                .stderr(Stdio::null());
            runner.command("cargo", &mut cargo).unwrap();
        });
        assert!(!passed);
        assert!(text.contains("exit code 101 of: LEVEL='1 2' "), "{text}");
        assert!(text.contains(" 'no such command'\n"), "{text}");

        let (passed, text) = report(|runner| {
            let mut absent = Command::new("./no-such-program");
            runner.command("absent", &mut absent).unwrap();
        });
        assert!(!passed);
        assert!(
            text.contains("could not start ./no-such-program: "),
            "{text}"
        );
    }
}
