//! The models of the protocols: loom explores every interleaving of small scripts, shuttle
//! schedules whole operations at random.
//!
//! The models of a crate are its files `tests/loom_*.rs` and `tests/shuttle_*.rs`, and
//! the unit tests under `cfg(all(test, heist_loom))` and `cfg(all(test, heist_shuttle))`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use crate::steps::{Line, Outcome, Runner};

/// Tests with this in their name plant faults themselves, one after the other.
const SELF_PLANTING: &str = "planted_fault";

/// What a comment near a fault says if it is known that no model can notice it.
const KNOWN_SURVIVOR: &str = "no model notices";
/// How far above the fault that comment may stand.
const COMMENT_REACH: usize = 8;

/// Adds the models to a run: one step for loom, one for shuttle.
///
/// # Errors
///
/// Fails if the crates cannot be read or the report cannot be written.
pub fn add_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let root = runner.root();
    for tool in ["loom", "shuttle"] {
        let models = Models::find(&root, tool)?;
        if models.packages.is_empty() {
            // Passing without a model would be a silent loss.
            runner.step(tool, |_| {
                Ok(Outcome::Failed(format!("no crate has a model for {tool}")))
            })?;
        } else {
            runner.command(tool, &mut models.test_command(&root, tool))?;
        }
    }
    Ok(())
}

/// Plants each named fault in turn, and says which model notices it.
///
/// Returns false if a fault is noticed by none, unless a comment near it says
/// that and why `no model notices`.
///
/// # Errors
///
/// Fails if the models do not build or the report cannot be written.
pub fn mutants(root: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let faults = faults(root)?;
    let programs = build_models(root, out)?;
    let width = faults
        .iter()
        .map(|fault| fault.name.len())
        .max()
        .unwrap_or(0);
    let mut caught = 0;
    let mut known = 0;
    for fault in &faults {
        write!(out, "{:width$}  ", fault.name)?;
        out.flush()?;
        let start = Instant::now();
        let mut verdict = Verdict::Unreached;
        for program in &programs {
            verdict = verdict.or(run_with_fault(program, &fault.name)?);
            if matches!(verdict, Verdict::Caught(_)) {
                break;
            }
        }
        let text = match &verdict {
            Verdict::Caught(model) => format!("caught by {model}"),
            Verdict::Unreached => "NOT REACHED by any model".to_owned(),
            Verdict::Survived if fault.is_known_survivor => {
                "survives, as the comment there explains".to_owned()
            }
            Verdict::Survived => format!(
                "SURVIVES: {} stands without a model; add one, or a comment that says why \
                 {KNOWN_SURVIVOR} it",
                fault.place
            ),
        };
        writeln!(out, "{text} ({:.1} s)", start.elapsed().as_secs_f64())?;
        caught += usize::from(matches!(verdict, Verdict::Caught(_)));
        known += usize::from(fault.is_known_survivor && verdict == Verdict::Survived);
    }
    writeln!(
        out,
        "{caught} of {} faults caught, {known} explained",
        faults.len()
    )?;
    Ok(caught + known == faults.len() && !faults.is_empty())
}

/// A name that stands at an ordering or a fence.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    name: String,
    /// File and line of its first mention.
    place: String,
    is_known_survivor: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The name of the model.
    Caught(String),
    Survived,
    Unreached,
}

impl Verdict {
    /// The stronger of the two: one model that catches is enough.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (caught @ Self::Caught(_), _) | (_, caught @ Self::Caught(_)) => caught,
            (Self::Survived, _) | (_, Self::Survived) => Self::Survived,
            (Self::Unreached, Self::Unreached) => Self::Unreached,
        }
    }
}

fn run_with_fault(program: &Path, fault: &str) -> anyhow::Result<Verdict> {
    // One test at a time, so that the output names the test in which a program dies.
    let output = Command::new(program)
        .args(["--nocapture", "--test-threads=1", "--skip", SELF_PLANTING])
        .env("HEIST_FAULT", fault)
        .output()
        .with_context(|| format!("could not start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    Ok(
        if !errors.contains(&format!("planted fault reached: {fault}")) {
            Verdict::Unreached
        } else if output.status.success() {
            Verdict::Survived
        } else {
            Verdict::Caught(first_failure(&text).to_owned())
        },
    )
}

/// The first test of a run that is not reported as passed.
fn first_failure(text: &str) -> &str {
    text.lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "))
        .find(|(_, result)| *result != "ok")
        .map_or("a model without a name", |(name, _)| name)
}

/// Builds the models of loom, and returns the programs.
fn build_models(root: &Path, out: &mut impl Write) -> anyhow::Result<Vec<PathBuf>> {
    let mut command = Models::find(root, "loom")?.test_command(root, "loom");
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    writeln!(out, "{}", Line(&command))?;
    out.flush()?;
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    anyhow::ensure!(output.status.success(), "the models do not build");
    let mut programs = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value =
            serde_json::from_str(line).with_context(|| format!("cargo wrote {line:?}"))?;
        programs.extend(message["executable"].as_str().map(PathBuf::from));
    }
    Ok(programs)
}

/// A folder for what is built with one set of flags; a shared one would be
/// rebuilt whenever the flags change.
pub(crate) fn target_folder(root: &Path, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join(name)
}

/// `RUSTFLAGS` with `more` behind what the caller has set.
pub(crate) fn flags(more: &str) -> String {
    let present = std::env::var("RUSTFLAGS").unwrap_or_default();
    format!("{present} {more}").trim_start().to_owned()
}

/// Where the models for one tool are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Models {
    /// The packages that have some.
    packages: Vec<String>,
    in_test_files: bool,
    in_unit_tests: bool,
}

impl Models {
    fn find(root: &Path, tool: &str) -> anyhow::Result<Self> {
        let mut models = Self::default();
        let unit_tests = format!("cfg(all(test, heist_{tool}))");
        for folder in entries(&root.join("crates"))? {
            let is_model = |file: &PathBuf| {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(&format!("{tool}_")) && name.ends_with(".rs")
            };
            let in_test_files = entries(&folder.join("tests"))?.iter().any(is_model);
            let mut in_unit_tests = false;
            for file in rust_files(&folder.join("src"))? {
                in_unit_tests |= read(&file)?.contains(&unit_tests);
            }
            if in_test_files || in_unit_tests {
                models.packages.push(package(&folder.join("Cargo.toml"))?);
                models.in_test_files |= in_test_files;
                models.in_unit_tests |= in_unit_tests;
            }
        }
        Ok(models)
    }

    /// Tests all packages at once: one by one, cargo would build what they share
    /// anew for each, because each asks for other features.
    fn test_command(&self, root: &Path, tool: &str) -> Command {
        let mut command = Command::new("cargo");
        command
            .current_dir(root)
            .env("RUSTFLAGS", flags(&format!("--cfg heist_{tool}")))
            // The models are slow enough to need optimisation, and check more with assertions.
            .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
            .args(["test", "--release", "--target-dir"])
            .arg(target_folder(root, tool))
            .args(["--features", &format!("heist-sync/{tool}")]);
        for package in &self.packages {
            command.args(["--package", package]);
        }
        if self.in_unit_tests {
            command.arg("--lib");
        }
        if self.in_test_files {
            command.args(["--test", &format!("{tool}_*")]);
        }
        command
    }
}

fn package(manifest: &Path) -> anyhow::Result<String> {
    let table = read(manifest)?.parse::<toml::Table>().ok();
    table
        .and_then(|table| Some(table.get("package")?.get("name")?.as_str()?.to_owned()))
        .with_context(|| format!("{} names no package", manifest.display()))
}

/// The faults named in the crates, in the order of files and lines. The door
/// itself names none but in its own tests.
fn faults(root: &Path) -> anyhow::Result<Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    for folder in entries(&root.join("crates"))? {
        if folder.ends_with("sync") {
            continue;
        }
        for file in rust_files(&folder.join("src"))? {
            let path = file.strip_prefix(root).unwrap_or(&file);
            for fault in faults_in(&read(&file)?, &path.display().to_string()) {
                if !faults.iter().any(|known| known.name == fault.name) {
                    faults.push(fault);
                }
            }
        }
    }
    Ok(faults)
}

fn faults_in(text: &str, path: &str) -> Vec<Fault> {
    const CALLS: [&str; 5] = ["ordering(", "fence(", "planted(", "light(", "heavy("];
    // Comments vanish and lines stay, so that a call may go over several.
    let code: Vec<&str> = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .collect();
    let code = code.join("\n");
    let mut starts: Vec<usize> = CALLS
        .iter()
        .flat_map(|call| code.match_indices(call).map(|(at, _)| at + call.len()))
        .collect();
    starts.sort_unstable();
    let lines: Vec<&str> = text.lines().collect();
    let fault_at = |start: usize| {
        let (name, _) = code[start..]
            .trim_start()
            .strip_prefix('"')?
            .split_once('"')?;
        let line = code[..start].matches('\n').count();
        let near = &lines[line.saturating_sub(COMMENT_REACH)..=line];
        Some(Fault {
            name: name.to_owned(),
            place: format!("{path}:{}", line + 1),
            is_known_survivor: near
                .iter()
                .filter_map(|line| line.split_once("//"))
                .any(|(_, comment)| comment.to_lowercase().contains(KNOWN_SURVIVOR)),
        })
    };
    starts.into_iter().filter_map(fault_at).collect()
}

/// The Rust files below the folder, sorted.
fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in entries(folder)? {
        if entry.is_dir() {
            files.extend(rust_files(&entry)?);
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            files.push(entry);
        }
    }
    Ok(files)
}

/// The entries of the folder, sorted; none if there is no such folder.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            entries.push(entry?.path());
        }
        entries.sort();
        Ok(entries)
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.with_context(|| format!("could not list {}", folder.display())),
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_by_name_with_the_line_of_the_call() {
        let text = "fn f() {\n    // fault::fence(\"in.a.comment\")\n    \
                    let order = fault::ordering(\n        \"a.b\",\n        Ordering::Release,\n    );\n    \
                    // No model notices a weaker order: the lock orders already.\n    \
                    barrier.light(\"c.d\");\n}\n";
        let faults = faults_in(text, "x.rs");
        let found: Vec<_> = faults
            .iter()
            .map(|fault| (&*fault.name, &*fault.place, fault.is_known_survivor))
            .collect();
        assert_eq!(found, [("a.b", "x.rs:3", false), ("c.d", "x.rs:8", true)]);
    }

    #[test]
    fn one_model_that_catches_is_enough() {
        let caught = || Verdict::Caught("model".to_owned());
        assert_eq!(Verdict::Unreached.or(Verdict::Survived), Verdict::Survived);
        assert_eq!(Verdict::Survived.or(caught()), caught());
        assert_eq!(caught().or(Verdict::Unreached), caught());
    }

    #[test]
    fn a_crate_has_models_if_its_tests_are_named_so() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("crates/a/Cargo.toml", "[package]\nname = \"heist-a\"\n");
        write("crates/a/tests/loom_a.rs", "");
        write("crates/b/Cargo.toml", "[package]\nname = \"heist-b\"\n");
        write("crates/b/tests/stress.rs", "");
        write(
            "crates/b/src/x/mod.rs",
            "#[cfg(all(test, heist_loom))]\nmod model;",
        );
        write("crates/c/src/lib.rs", "");
        let models = Models::find(root.path(), "loom").unwrap();
        assert_eq!(models.packages, ["heist-a", "heist-b"]);
        assert!(models.in_test_files && models.in_unit_tests);
        assert_eq!(
            Models::find(root.path(), "shuttle").unwrap(),
            Models::default()
        );
    }

    #[test]
    fn the_test_that_fails_or_kills_the_program_is_named() {
        let failed = "running 2 tests\ntest a ... ok\ntest m::b ... FAILED\ntest c ... ok\n";
        assert_eq!(first_failure(failed), "m::b");
        assert_eq!(first_failure("test a ... ok\ntest m::b ... "), "m::b");
    }
}
