//! Runs a program within a time limit, with its output in files.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use wait_timeout::ChildExt as _;

use crate::hung;
use crate::steps::Line;

/// How a program ended, and what it wrote to its standard output.
#[derive(Debug)]
pub struct Ended {
    /// `None` if it was stopped at the limit.
    pub status: Option<ExitStatus>,
    /// The time from start to end.
    pub time: Duration,
    /// Its standard output.
    pub output: String,
}

impl Ended {
    /// The failure, if any.
    pub fn failure(&self) -> Option<String> {
        match self.status {
            Some(status) if status.success() => None,
            Some(status) => Some(status.to_string()),
            None => Some(format!("it did not end within {} s", self.time.as_secs())),
        }
    }
}

/// Runs `command` for at most `limit`, then stops it and the processes that it started. Its output
/// goes to the file `log`, and so do its errors, unless there is another file for them.
///
/// # Errors
///
/// Fails if it cannot be started or the files cannot be written.
pub fn run(
    command: &mut Command,
    log: &Path,
    errors: Option<&Path>,
    limit: Duration,
) -> anyhow::Result<Ended> {
    let open = |path: &Path| {
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| File::create(path))
            .with_context(|| format!("could not write {}", path.display()))
    };
    let output = open(log)?;
    let errors = match errors {
        Some(path) => open(path)?,
        None => output
            .try_clone()
            .with_context(|| format!("could not write {}", log.display()))?,
    };
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .with_context(|| format!("could not start {}", Line(command)))?;
    let status = child.wait_timeout(limit)?;
    if status.is_none() {
        hung::kill(&hung::family(child.id()));
        child.wait()?;
    }
    let time = start.elapsed();
    let output = fs::read(log).with_context(|| format!("could not read {}", log.display()))?;
    Ok(Ended {
        status,
        time,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn output_and_failure_are_both_told() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("new/cargo.log");
        let errors = log.with_extension("err");
        let mut good = Command::new(env!("CARGO"));
        let good = run(good.arg("--version"), &log, Some(&errors), HOUR).unwrap();
        assert!(good.failure().is_none() && good.output.starts_with("cargo "));
        let mut bad = Command::new(env!("CARGO"));
        let bad = run(bad.arg("no such command"), &log, Some(&errors), HOUR).unwrap();
        assert!(bad.failure().is_some() && bad.output.is_empty());
        assert!(fs::metadata(&errors).unwrap().len() > 0);
        let mut bad = Command::new(env!("CARGO"));
        let bad = run(bad.arg("no such command"), &log, None, HOUR).unwrap();
        assert!(bad.output.contains("no such command"));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_never_ends_is_stopped_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let mut endless = Command::new("sh");
        endless
            .args(["-c", r#"(sleep 3600) > "$0" & wait"#])
            .arg(&pipe);
        let log = folder.path().join("log");
        let ended = thread::spawn(move || run(&mut endless, &log, None, Duration::from_secs(2)));
        // The pipe ends when no process holds it.
        assert!(fs::read(pipe).unwrap().is_empty());
        let failure = ended.join().unwrap().unwrap().failure();
        assert!(failure.unwrap().contains("did not end within"));
    }
}
