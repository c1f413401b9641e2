//! One run of the program that is profiled.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use heist_run::usage::Usage;

use crate::ending::{last_words, Ending};
use crate::signals::Signals;

/// The most that is shown of what a failed program said.
const LINES_SHOWN: usize = 12;

/// A small profile has as many.
const PROBE_BYTES: usize = 1 << 14;

/// A run to be made.
pub(super) struct Child<'a> {
    /// The program and its arguments.
    pub(super) command: &'a [OsString],
    pub(super) workers: u64,
    /// The path of the profile, without its ending.
    pub(super) name: PathBuf,
    pub(super) stdin: Option<&'a Path>,
    pub(super) show_output: bool,
    /// True if the DAG is recorded, in the place of a profile.
    pub(super) records: bool,
}

/// A run that is over.
pub(super) struct Finished {
    pub(super) ending: Ending,
    /// Where its profile, or its DAG, is, if it wrote one.
    pub(super) profile: PathBuf,
    /// Where its standard error is, if nobody saw it.
    said: Option<PathBuf>,
}

impl Child<'_> {
    /// Runs the program to its end, which a signal may hasten.
    pub(super) fn run(&self, signals: &mut Signals) -> anyhow::Result<Finished> {
        let (variable, other, ending) = match self.records {
            false => ("HEIST_PROFILE", "HEIST_DAG", "json"),
            true => ("HEIST_DAG", "HEIST_PROFILE", "dag.json"),
        };
        let profile = self.name.with_extension(ending);
        // That of the run before must not pass for one of this.
        if profile.exists() {
            std::fs::remove_file(&profile).context("cannot remove the last profile")?;
        }
        let program = &self.command[0];
        let mut command = Command::new(program);
        command
            .args(&self.command[1..])
            .env(variable, &self.name)
            .env_remove(other)
            .env("HEIST_NUM_THREADS", self.workers.to_string())
            .stdin(self.open_stdin()?);
        let said = self.name.with_extension("stderr");
        if self.show_output {
            // Standard output is for the report.
            command.stdout(Stdio::from(io::stderr()));
        } else {
            let file = File::create(&said).context("cannot make a file for standard error")?;
            command.stdout(Stdio::null()).stderr(file);
        }
        let started = command.spawn();
        let mut started = started
            .map_err(|error| Usage(format!("cannot start `{}`: {error}", program.display())))?;
        let status = signals.wait_for(&mut started);
        let status = status.with_context(|| format!("cannot wait for `{}`", program.display()))?;
        let said = Some(said).filter(|_| !self.show_output);
        Ok(Finished {
            ending: Ending::of(status),
            profile,
            said,
        })
    }

    fn open_stdin(&self) -> Result<Stdio, Usage> {
        let Some(path) = self.stdin else {
            return Ok(Stdio::null());
        };
        let refused = |why: String| {
            let accepted = "accepted is a file that each run can read from its begin";
            Usage(format!(
                "cannot read --stdin {}: {why}; {accepted}",
                path.display()
            ))
        };
        if is_fifo(path) {
            return Err(refused(
                "it is a FIFO, which only one run could read".to_owned(),
            ));
        }
        if path.is_dir() {
            return Err(refused("it is a folder".to_owned()));
        }
        let file = File::open(path).map_err(|error| refused(error.to_string()))?;
        Ok(file.into())
    }
}

fn is_fifo(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
}

impl Finished {
    /// The end of what the program said on standard error, if nobody has seen it.
    pub(super) fn last_words(&self) -> Option<String> {
        last_words(self.said.as_ref()?, LINES_SHOWN)
    }

    /// The line in which the program says why it could not write what it was asked for.
    pub(super) fn why_not(&self) -> Option<String> {
        let said = self.last_words()?;
        let line = said
            .lines()
            .rev()
            .find_map(|line| line.trim().strip_prefix("heist: could not write "))?;
        Some(format!("it could not write {line}"))
    }

    /// The error of a file beside the profile, if none can be written: nor could the program.
    pub(super) fn no_room(&self) -> Option<io::Error> {
        let probe = self.profile.with_extension("probe");
        let written = std::fs::write(&probe, [0; PROBE_BYTES]);
        let _ = std::fs::remove_file(&probe);
        written.err()
    }
}
