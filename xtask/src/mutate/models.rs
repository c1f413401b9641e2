//! The models for a mutant, each in a process of its own.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::build::target_folder;
use crate::libtest;
use crate::model::Models;
use crate::process::{self, Ended};
use crate::steps::Line;

/// With this in `HEIST_FAULT` a program breaks nothing and lists the names that it passes.
const SURVEY: &str = "survey";
/// The line by which a program reports a name that it passes, also with a fault planted.
const REACHED: &str = "fault reached: ";

/// The time limit of a model without a fault.
const SURVEY_LIMIT: Duration = Duration::from_secs(900);
/// The least time, and the multiple of its usual time, after which a model counts as kept from
/// ending by a mutant.
const LEAST: Duration = Duration::from_secs(60);
const PATIENCE: u32 = 8;

/// A test of a program that was built for loom.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    program: PathBuf,
    /// The name of the program as cargo knows it, two colons, and that of the test.
    pub(crate) name: String,
    /// The name of the test.
    test: String,
}

/// A model without a fault.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) model: Model,
    pub(crate) time: Duration,
    /// The names that it passes.
    pub(crate) reaches: BTreeSet<String>,
}

/// The reaction of a model to a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It noticed, and said this.
    Failed(String),
    Passed,
    /// It did not end within this time.
    Endless(Duration),
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Builds the programs with the models, and lists their tests.
pub(crate) fn build(root: &Path, out: &mut impl std::io::Write) -> anyhow::Result<Vec<Model>> {
    let mut command = Models::find(root, "loom")?.test_command(root, "loom");
    writeln!(out, "{}", Line(&command))?;
    out.flush()?;
    let mut models = Vec::new();
    for program in libtest::programs(&mut command, root)? {
        models.extend(libtest::list(&program)?.into_iter().map(|test| Model {
            program: program.path.clone(),
            name: format!("{}::{test}", program.name),
            test,
        }));
    }
    Ok(models)
}

/// Runs all tests without a fault, and returns those that pass a name, quickest first.
pub(crate) fn survey(root: &Path, models: &[Model]) -> anyhow::Result<Vec<Surveyed>> {
    let mut surveyed = Vec::new();
    for model in models {
        let ended = model.run(root, SURVEY, SURVEY_LIMIT)?;
        if let Some(failure) = ended.failure() {
            anyhow::bail!("{model} fails without a fault: {failure}");
        }
        let reaches: BTreeSet<String> = reached(&ended.output).map(str::to_owned).collect();
        if !reaches.is_empty() {
            surveyed.push(Surveyed {
                model: model.clone(),
                time: ended.time,
                reaches,
            });
        }
    }
    surveyed.sort_by_key(|surveyed| surveyed.time);
    Ok(surveyed)
}

impl Surveyed {
    /// Runs the model with a fault.
    pub(crate) fn try_fault(&self, root: &Path, fault: &str) -> anyhow::Result<Answer> {
        self.model
            .try_fault(root, fault, LEAST.max(self.time * PATIENCE))
    }
}

impl Model {
    /// Runs the model with a fault, for as long as any model may take.
    pub(crate) fn try_once(&self, root: &Path, fault: &str) -> anyhow::Result<Answer> {
        self.try_fault(root, fault, LEAST)
    }

    fn try_fault(&self, root: &Path, fault: &str, limit: Duration) -> anyhow::Result<Answer> {
        let ended = self.run(root, fault, limit)?;
        let name = fault.split(':').next().unwrap_or(fault);
        Ok(match ended.status {
            None => Answer::Endless(limit),
            Some(status) if status.success() => Answer::Passed,
            Some(status) if reached(&ended.output).any(|reached| reached == name) => {
                Answer::Failed(complaint(&ended.output).unwrap_or_else(|| status.to_string()))
            }
            Some(status) => anyhow::bail!("{self} fails with {fault}, and not for it: {status}"),
        })
    }

    fn run(&self, root: &Path, fault: &str, limit: Duration) -> anyhow::Result<Ended> {
        let log = target_folder(root, "loom").join("mutants");
        let log = log.join(format!("{}.log", fault.replace(':', "-")));
        let mut command = Command::new(&self.program);
        command
            .args([&*self.test, "--exact", "--nocapture", "--test-threads=1"])
            .env("HEIST_FAULT", fault);
        process::run(&mut command, &log, None, limit)
    }
}

fn reached(output: &str) -> impl Iterator<Item = &str> {
    // The name of the test stands before it on the same line.
    output
        .lines()
        .filter_map(|line| Some(line.split_once(REACHED)?.1))
}

/// The first line of a panic's message.
fn complaint(output: &str) -> Option<String> {
    /// Longer ones list loom's threads.
    const MOST: usize = 80;
    let mut lines = output.lines();
    lines.find(|line| line.contains("panicked at"))?;
    let said = lines.next()?.trim().trim_end_matches('.');
    let end = said.find("; ").or(said.find(". ")).unwrap_or(said.len());
    Some(said[..end].chars().take(MOST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_panic_and_the_names_that_were_reached_are_found_in_the_output() {
        let output = "running 1 test\ntest a ... fault reached: a.b\nfault reached: c.d\n\n\
                      thread 'a' (7) panicked at loom/src/rt/path.rs:1:2:\n\
                      deadlock; threads = [(Id(0), Blocked)]\nthread 'a' panicked at x.rs:1:2:\nagain\n";
        assert_eq!(reached(output).collect::<Vec<_>>(), ["a.b", "c.d"]);
        assert_eq!(complaint(output).as_deref(), Some("deadlock"));
        assert_eq!(complaint("test a ... ok"), None);
    }
}
