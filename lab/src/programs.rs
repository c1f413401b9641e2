//! Published programs, unmodified, on rayon and on heist: their own tests, equal results, times.
//!
//! A recipe in `compat/programs` names the package; of each three copies are prepared: on real
//! rayon, on rayon over heist's core, and on heist's iterators. A test that fails on real rayon
//! too is no fault of heist's; one that fails on heist only is.

mod job;
mod own_tests;
mod recipe;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use anyhow::Context;
use xtask::build;
use xtask::machine;

use crate::published::{set_runtime, unpack, Runtime};
use job::{Driver, SIDES};
use own_tests::OwnTests;
use recipe::Recipe;
use report::{Findings, Report};

/// Which programs, and what to do with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The programs by name; all without.
    names: Vec<String>,
    /// Leave out the programs' own tests.
    #[arg(long)]
    no_tests: bool,
    /// How often the job is timed on each side; 0 leaves it out.
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// Keep the report as `compat/programs/record/DATE-NAME.md`.
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

/// Where a driver runs, in the folder of its package: what it makes for itself stays there.
const KEPT: &str = "kept";

/// Runs the programs, and returns whether no test failed on heist only and all results agree.
///
/// # Errors
///
/// Fails if a recipe cannot be read or the report cannot be written; a program that cannot be
/// fetched or built is reported and counts as failed.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let folder = root.join("compat/programs");
    let recipes = recipe::read(&folder, &args.names)?;
    anyhow::ensure!(
        !args.no_tests || args.rounds > 0,
        "--no-tests with --rounds 0 leaves nothing to do; leave out one of them"
    );
    let record = match &args.record {
        Some(name) => Some(machine::new_record(&folder.join("record"), name)?),
        None => None,
    };
    let work = build::target_folder(root, "programs");
    let runtimes = [
        Runtime::default(),
        Runtime::core(root),
        Runtime::iterators(root),
    ];
    let sides = std::array::from_fn(|at| Side {
        name: SIDES[at],
        runtime: runtimes[at].clone(),
        work: work.clone(),
    });
    let mut report = Report::new();
    for (recipe, driver) in recipes {
        writeln!(out, "\n== {} {}", recipe.name, recipe.version)?;
        out.flush()?;
        let mut findings = Findings::default();
        if let Err(error) = examine(&recipe, &driver, &sides, args, &mut findings) {
            findings.error = Some(format!("{error:#}"));
        }
        write!(out, "{findings}")?;
        out.flush()?;
        report.add(recipe, findings);
    }
    writeln!(out, "\n{}", report.table())?;
    if let Some(path) = record {
        machine::write_record(&path, root, &report.record())?;
        writeln!(out, "recorded in {}", path.display())?;
    }
    Ok(report.passed())
}

/// Finds out about one program; what is known when an error occurs stays in `findings`.
fn examine(
    recipe: &Recipe,
    driver: &Path,
    sides: &[Side; 3],
    args: &Args,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    if !args.no_tests && !recipe.tests.is_empty() {
        let packages = Side::prepare(sides, &recipe.features, |side| {
            unpack(&recipe.name, &recipe.version, &side.folder())
        })?;
        let features = recipe.features.join(",");
        let mut arguments = vec!["--release", "--features", &features];
        if !recipe.default_features {
            arguments.push("--no-default-features");
        }
        arguments.extend(recipe.tests.iter().map(String::as_str));
        for (side, package) in sides.iter().zip(&packages) {
            let logs = side.logs(recipe);
            let tests = OwnTests::run(package, &side.target(), &arguments, &logs)?;
            findings.tests.push(tests);
        }
    }
    if args.rounds > 0 {
        let folders = Side::drivers(sides, recipe, driver)?;
        let mut drivers = Vec::new();
        for (side, folder) in sides.iter().zip(&folders) {
            drivers.push(Driver {
                program: side.build(recipe, folder)?,
                folder: folder.join(KEPT),
                logs: side.logs(recipe),
            });
        }
        findings.rounds = Some(job::run(&drivers, args.rounds)?);
    }
    Ok(())
}

/// One of the runtimes, with the folder of all that runs on it.
struct Side {
    name: &'static str,
    runtime: Runtime,
    /// The folder of all sides.
    work: PathBuf,
}

impl Side {
    fn folder(&self) -> PathBuf {
        self.work.join(self.name)
    }

    /// Where cargo builds; what programs and sides have in common is built once.
    fn target(&self) -> PathBuf {
        self.work.join("target")
    }

    fn logs(&self, recipe: &Recipe) -> PathBuf {
        self.folder().join("logs").join(&recipe.name)
    }

    /// The program of a job is called after its side as well: all lie in one folder.
    fn driver_name(&self, recipe: &Recipe) -> String {
        format!("driver-{}-on-{}", recipe.name, self.name)
    }

    /// Writes the package of the driver on every side.
    fn drivers(sides: &[Self; 3], recipe: &Recipe, driver: &Path) -> anyhow::Result<Vec<PathBuf>> {
        Self::prepare(sides, &[], |side| {
            let name = side.driver_name(recipe);
            let folder = side.folder().join(&name);
            write_driver(&folder, &recipe.driver_manifest(&name), driver)
                .with_context(|| format!("could not write the driver in {}", folder.display()))?;
            Ok(folder)
        })
    }

    /// Makes a package on every side and sets what it runs on. The versions that are found for
    /// rayon hold for all.
    fn prepare(
        sides: &[Self; 3],
        features: &[String],
        make: impl Fn(&Self) -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for side in sides {
            let folder = make(side)?;
            if let Some(first) = folders.first() {
                fs::copy(first.join("Cargo.lock"), folder.join("Cargo.lock"))
                    .context("could not copy the versions found for rayon")?;
            }
            set_runtime(&folder, &side.runtime, features)?;
            folders.push(folder);
        }
        Ok(folders)
    }

    /// Builds the driver in `folder`, and returns the program.
    fn build(&self, recipe: &Recipe, folder: &Path) -> anyhow::Result<PathBuf> {
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--release", "--target-dir"])
            .arg(self.target())
            .current_dir(folder);
        let status = cargo.status().context("could not start cargo")?;
        anyhow::ensure!(
            status.success(),
            "the driver in {} does not build; see cargo's messages above",
            folder.display()
        );
        let name = format!(
            "{}{}",
            self.driver_name(recipe),
            std::env::consts::EXE_SUFFIX
        );
        Ok(self.target().join("release").join(name))
    }
}

/// Writes the package of a driver. Files that an earlier version kept go.
fn write_driver(folder: &Path, manifest: &str, driver: &Path) -> io::Result<()> {
    let source = folder.join("src");
    fs::create_dir_all(&source)?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let (main, text) = (source.join("main.rs"), fs::read(driver)?);
    if fs::read(&main).is_ok_and(|present| present == text) {
        // Cargo would build it again if it were written again.
        return Ok(());
    }
    match fs::remove_dir_all(folder.join(KEPT)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::write(&main, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_kept_stays_until_the_driver_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (package, driver) = (folder.path().join("package"), folder.path().join("a.rs"));
        let kept = package.join(KEPT).join("input");
        fs::write(&driver, "fn main() {}").unwrap();
        write_driver(&package, "", &driver).unwrap();
        fs::create_dir_all(&kept).unwrap();
        write_driver(&package, "", &driver).unwrap();
        assert!(kept.exists());
        fs::write(&driver, "fn main() { }").unwrap();
        write_driver(&package, "", &driver).unwrap();
        assert!(!kept.exists());
    }
}
