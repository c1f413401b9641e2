//! Running one step after the other: each with its name, time and result, a table at the end.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Runs steps until one fails; the steps after that are only noted as not run.
#[derive(Debug)]
pub struct Runner<'a, W> {
    root: PathBuf,
    out: &'a mut W,
    steps: Vec<Step>,
    failed: bool,
}

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
            steps: Vec::new(),
            failed: false,
        }
    }

    /// The folder in which commands start.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// Runs a program; its output goes where ours goes.
    ///
    /// # Errors
    ///
    /// Fails only if the report cannot be written.
    pub fn command(&mut self, name: &str, command: &mut Command) -> io::Result<()> {
        let root = self.root.clone();
        self.step(name, |out| {
            writeln!(out, "{}", Line(command))?;
            out.flush()?;
            Ok(match command.current_dir(root).status() {
                Ok(status) if status.success() => Outcome::Passed,
                Ok(status) => Outcome::Failed(format!("{} of: {}", end(status), Line(command))),
                Err(error) => {
                    Outcome::Failed(format!("could not start {}: {error}", Line(command)))
                }
            })
        })
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
        let (time, outcome) = if self.failed {
            let reason = "an earlier step failed".to_owned();
            (Duration::ZERO, Outcome::Skipped(reason))
        } else {
            writeln!(self.out, "\n== {name}")?;
            let start = Instant::now();
            let outcome = run(self.out)?;
            let time = start.elapsed();
            writeln!(self.out, "== {name}: {outcome} ({})", seconds(time))?;
            (time, outcome)
        };
        self.failed |= matches!(outcome, Outcome::Failed(_));
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

    /// Prints the table, and returns whether no step failed.
    ///
    /// # Errors
    ///
    /// Fails only if the report cannot be written.
    pub fn finish(self) -> io::Result<bool> {
        let width = self.steps.iter().map(|step| step.name.len()).max();
        let width = width.unwrap_or(0);
        writeln!(self.out)?;
        let mut total = Duration::ZERO;
        for Step {
            name,
            time,
            outcome,
        } in &self.steps
        {
            total += *time;
            writeln!(self.out, "{name:width$}  {:>9}  {outcome}", seconds(*time))?;
        }
        writeln!(self.out, "{:width$}  {:>9}", "total", seconds(total))?;
        let failure = self
            .steps
            .iter()
            .find(|step| matches!(step.outcome, Outcome::Failed(_)));
        if let Some(step) = failure {
            writeln!(
                self.out,
                "\nstopped at the step {}: {}",
                step.name, step.outcome
            )?;
        }
        Ok(!self.failed)
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

pub(crate) fn quoted(word: &std::ffi::OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_=./:,+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
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
    use super::*;
    use std::process::Stdio;

    fn report(run: impl FnOnce(&mut Runner<'_, Vec<u8>>)) -> (bool, String) {
        let mut out = Vec::new();
        let mut runner = Runner::new(Path::new("."), &mut out);
        run(&mut runner);
        let passed = runner.finish().unwrap();
        (passed, String::from_utf8(out).unwrap())
    }

    #[test]
    fn nothing_runs_after_the_first_failure() {
        let (passed, text) = report(|runner| {
            runner.step("first", |_| Ok(Outcome::Passed)).unwrap();
            runner
                .step("second", |_| Ok(Outcome::Failed("it rains".into())))
                .unwrap();
            runner.step("third", |_| panic!("it must not run")).unwrap();
        });
        assert!(!passed);
        assert!(
            text.contains("third       0.0 s  skipped: an earlier step failed\n"),
            "{text}"
        );
        assert!(
            text.ends_with("stopped at the step second: FAILED, it rains\n"),
            "{text}"
        );
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
