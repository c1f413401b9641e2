//! Running a program within a limit of time, with what it prints kept in files.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use wait_timeout::ChildExt;

use crate::steps::Line;

/// How a program ended, and what it wrote to its standard output.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Why it did not end well: its exit status, or that it was stopped.
    pub(crate) failure: Option<String>,
    pub(crate) output: String,
}

/// Runs `command` for at most `limit`; its output goes to the file `log`, its errors to
/// one beside it whose name ends in `.err`.
///
/// # Errors
///
/// Fails if it cannot be started or the files cannot be written.
pub(crate) fn run(command: &mut Command, log: &Path, limit: Duration) -> anyhow::Result<Ended> {
    let errors = log.with_extension("err");
    let open = |path: &Path| {
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| File::create(path))
            .with_context(|| format!("could not write {}", path.display()))
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(open(log)?)
        .stderr(open(&errors)?)
        .spawn()
        .with_context(|| format!("could not start {}", Line(command)))?;
    let failure = match child.wait_timeout(limit)? {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("{status}; its errors are in {}", errors.display())),
        None => {
            child.kill()?;
            child.wait()?;
            Some(format!("it did not end within {} s", limit.as_secs()))
        }
    };
    let output = fs::read(log).with_context(|| format!("could not read {}", log.display()))?;
    Ok(Ended {
        failure,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_failure_are_both_told() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("new/cargo.log");
        let hour = Duration::from_secs(3600);
        let mut good = Command::new(env!("CARGO"));
        let good = run(good.arg("--version"), &log, hour).unwrap();
        assert!(good.failure.is_none() && good.output.starts_with("cargo "));
        let mut bad = Command::new(env!("CARGO"));
        let bad = run(bad.arg("no such command"), &log, hour).unwrap();
        assert!(bad.failure.unwrap().contains("cargo.err"));
        assert!(fs::metadata(log.with_extension("err")).unwrap().len() > 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_never_ends_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let mut endless = Command::new("tail");
        endless.args(["-f", "/dev/null"]);
        let limit = Duration::from_millis(1);
        let ended = run(&mut endless, &folder.path().join("log"), limit).unwrap();
        assert!(ended.failure.unwrap().contains("did not end within"));
    }
}
