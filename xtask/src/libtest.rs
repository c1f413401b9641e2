//! Test programs: builds them, runs each with a deadline, and reads its results.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use crate::process;

/// A test program that cargo has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name of its target: of the library, or of a file in `tests`.
    pub name: String,
    /// True for the tests inside of the library or program.
    pub is_unit: bool,
    /// Where cargo has put it.
    pub path: PathBuf,
    /// The folder of its package, in which cargo would start it.
    pub folder: PathBuf,
}

/// The results of a test program, by the names of its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Tests that passed.
    pub passed: Vec<String>,
    /// Tests that failed.
    pub failed: Vec<String>,
    /// Tests that are not run unless one asks for them.
    pub ignored: Vec<String>,
    /// Tests that had not ended when the program did.
    pub unfinished: Vec<String>,
    /// How the program ended, if not as it should: a signal, or the deadline.
    pub broken: Option<String>,
    /// True if it was stopped at the deadline.
    pub timed_out: bool,
    /// How long it ran.
    pub time: Duration,
    /// Its output.
    pub output: String,
}

impl Results {
    /// True if every test that was run passed, and there was one.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        let bad = self.failed.len() + self.unfinished.len();
        bad == 0 && self.broken.is_none() && !self.passed.is_empty()
    }

    /// All tests that the program has.
    #[must_use]
    pub fn count(&self) -> usize {
        let lists = [&self.passed, &self.failed, &self.ignored, &self.unfinished];
        lists.into_iter().map(Vec::len).sum()
    }

    /// Reads the lines `test NAME ... ok`.
    fn read(output: String) -> Self {
        let mut results = Self::default();
        for line in output.lines() {
            let said = line.strip_prefix("test ");
            let Some((name, outcome)) = said.and_then(|line| line.rsplit_once(" ... ")) else {
                continue;
            };
            // `should panic` and `compile fail` stand behind the name.
            let name = name.strip_suffix(" - should panic").unwrap_or(name);
            let name = name.strip_suffix(" - compile fail").unwrap_or(name);
            let name = name.strip_suffix(" - compile").unwrap_or(name).to_owned();
            match outcome.split([',', ' ']).next() {
                Some("ok") => results.passed.push(name),
                Some("ignored") => results.ignored.push(name),
                _ => results.failed.push(name),
            }
        }
        results.output = output;
        results
    }
}

/// Builds the test programs of the package in `folder`, in the order of cargo.
///
/// # Errors
///
/// Fails if cargo does.
pub fn build(folder: &Path, target: &Path, arguments: &[&str]) -> anyhow::Result<Vec<Program>> {
    let mut command = Command::new("cargo");
    command
        .arg("test")
        .args(arguments)
        .arg("--target-dir")
        .arg(target)
        .current_dir(folder)
        // A published package is built once; incremental data would only fill the disk.
        .env("CARGO_INCREMENTAL", "0")
        // Enough for a backtrace, and a third less to compile.
        .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    programs(&mut command, folder)
}

/// The programs that a `cargo test` builds for packages in `folder`, in the order of cargo.
///
/// # Errors
///
/// Fails if cargo does.
pub fn programs(command: &mut Command, folder: &Path) -> anyhow::Result<Vec<Program>> {
    let output = command
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    anyhow::ensure!(
        output.status.success(),
        "the tests in {} do not build; see cargo's messages above",
        folder.display()
    );
    let mut programs = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line)
            .with_context(|| format!("could not read cargo's message {line}"))?;
        if message["profile"]["test"] != true {
            continue;
        }
        if let Some(path) = message["executable"].as_str() {
            programs.push(Program {
                name: message["target"]["name"].as_str().unwrap_or("").to_owned(),
                is_unit: message["target"]["kind"][0] != "test",
                path: path.into(),
                folder: folder.to_owned(),
            });
        }
    }
    Ok(programs)
}

/// Runs a test program, and stops it at the deadline. Its output goes to the file `log`.
///
/// # Errors
///
/// Fails if it cannot be started or the log cannot be written.
pub fn run(program: &Program, deadline: Duration, log: &Path) -> anyhow::Result<Results> {
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.folder)
        // Set as cargo would; here it may be that of this package.
        .env("CARGO_MANIFEST_DIR", &program.folder);
    let mut results = run_command(&mut command, deadline, log)?;
    if results.broken.is_some() {
        let seen: BTreeSet<&String> = [&results.passed, &results.failed, &results.ignored]
            .into_iter()
            .flatten()
            .collect();
        let tests = list(program)?.into_iter();
        results.unfinished = tests.filter(|test| !seen.contains(test)).collect();
    }
    Ok(results)
}

/// Runs the documentation tests of the package in `folder`.
///
/// # Errors
///
/// As [`run`].
pub fn run_doc_tests(
    folder: &Path,
    target: &Path,
    deadline: Duration,
    log: &Path,
) -> anyhow::Result<Results> {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--doc", "--target-dir"])
        .arg(target)
        .current_dir(folder);
    run_command(&mut command, deadline, log)
}

fn run_command(command: &mut Command, deadline: Duration, log: &Path) -> anyhow::Result<Results> {
    let ended = process::run(command, log, None, deadline)?;
    let failure = ended.failure();
    let mut results = Results::read(ended.output);
    results.time = ended.time;
    results.timed_out = ended.status.is_none();
    // Libtest and cargo end with 101 when a test has failed; the rest is a crash.
    let is_failed_test = ended.status.and_then(|status| status.code()) == Some(101);
    results.broken = match results.failed.is_empty() {
        false if is_failed_test => None,
        _ => failure,
    };
    Ok(results)
}

/// The names of a program's tests.
///
/// # Errors
///
/// Fails if it cannot be started.
pub fn list(program: &Program) -> anyhow::Result<Vec<String>> {
    let output = Command::new(&program.path)
        .args(["--list", "--format", "terse"])
        .current_dir(&program.folder)
        .output()
        .with_context(|| format!("could not start {}", program.path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(tests.map(str::to_owned).collect())
}

/// The head of a table of suites.
///
/// # Errors
///
/// Fails if it cannot be written.
pub fn write_head(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:34} {:>6} {:>6} {:>7} {:>8}",
        "suite", "passed", "failed", "ignored", "time"
    )
}

/// One line for a suite that passed; what is wrong with one that did not.
///
/// # Errors
///
/// Fails if it cannot be written.
pub fn write_line(out: &mut impl Write, suite: &str, results: &Results) -> io::Result<()> {
    writeln!(
        out,
        "{suite:34} {:>6} {:>6} {:>7} {:>6.1} s",
        results.passed.len(),
        results.failed.len() + results.unfinished.len(),
        results.ignored.len(),
        results.time.as_secs_f64()
    )?;
    if results.all_passed() {
        return Ok(());
    }
    if let Some(broken) = &results.broken {
        writeln!(out, "  the program did not end well: {broken}")?;
    }
    for test in &results.failed {
        writeln!(out, "  failed: {test}")?;
    }
    for test in &results.unfinished {
        writeln!(out, "  not ended: {test}")?;
    }
    writeln!(out, "  it said:")?;
    for line in last_lines(&results.output, 40) {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

fn last_lines(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let skip = text.lines().count().saturating_sub(count);
    text.lines().skip(skip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_by_name() {
        let text = "\nrunning 5 tests\ntest a::b ... ok\ntest c - should panic ... ok\n\
            test d ... FAILED\ntest e ... ignored, takes long\n\
            test src/lib.rs - x (line 3) - compile fail ... ok\n\nfailures:\n";
        let results = Results::read(text.to_owned());
        assert_eq!(results.passed, ["a::b", "c", "src/lib.rs - x (line 3)"]);
        assert_eq!(results.failed, ["d"]);
        assert_eq!(results.ignored, ["e"]);
        assert!(!results.all_passed());
    }

    #[test]
    fn no_test_at_all_is_no_success() {
        assert!(!Results::read("running 0 tests\n".to_owned()).all_passed());
    }

    #[test]
    fn what_is_wrong_with_a_suite_is_said_by_name() {
        let results = Results {
            passed: vec!["a".into()],
            failed: vec!["b".into()],
            unfinished: vec!["c".into()],
            broken: Some("stopped after 1 s".into()),
            output: "first\nlast\n".into(),
            ..Results::default()
        };
        let mut out = Vec::new();
        write_line(&mut out, "suite", &results).unwrap();
        let text = String::from_utf8(out).unwrap();
        for part in ["failed: b", "not ended: c", "stopped after 1 s", "last"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(results.count(), 3);
    }

    fn shell(script: &str, deadline: Duration) -> Results {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("logs/sh.txt");
        run_command(Command::new("sh").args(["-c", script]), deadline, &log).unwrap()
    }

    #[test]
    #[cfg(unix)]
    fn a_program_that_does_not_end_is_stopped_and_what_it_said_is_kept() {
        let results = shell(
            "echo 'test a ... ok'; exec sleep 1000",
            Duration::from_millis(300),
        );
        assert!(results.timed_out);
        assert!(results.broken.is_some());
        assert_eq!(results.passed, ["a"]);
        assert!(!results.all_passed());
    }

    #[test]
    #[cfg(unix)]
    fn a_crash_is_told_from_a_failed_test() {
        let minute = Duration::from_secs(60);
        let failed = shell("echo 'test a ... FAILED'; exit 101", minute);
        assert_eq!((failed.broken, failed.failed.len()), (None, 1));
        let crashed = shell("echo 'test a ... ok'; kill -ABRT $$", minute);
        assert!(crashed.broken.is_some() && !crashed.timed_out);
        assert!(!crashed.all_passed());
    }
}
