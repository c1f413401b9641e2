//! How much of rayon's iterators heist has: names, methods and implementations, by their paths.
//!
//! The compiler expands the macros of both, so that names which only a macro defines count
//! too. The names at rayon's root are rayon-core's, and not counted here.

mod header;
mod report;
mod surface;
#[cfg(test)]
mod tests;
mod world;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use xtask::build;

use crate::published;
use crate::published::RAYON;
use report::{Report, LEAST_PERCENT};
use surface::{surface, Entry};
use world::World;

/// The use of the result.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Fail if the record is stale or the share too small.
    #[arg(long)]
    check: bool,
    /// Write the record.
    #[arg(long, conflicts_with = "check")]
    write: bool,
}

/// Where the record is.
const RECORD: &str = "crates/heist/COVERAGE.md";

/// Compares the two, and returns whether all is well with what was asked.
///
/// # Errors
///
/// Fails if rayon cannot be fetched, a compiler refuses either of them, or a file cannot be
/// read or written.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let report = Report::new(&rayons(root)?, &ours(root)?);
    let text = report.to_string();
    if !args.check && !args.write {
        write!(out, "{text}")?;
        return Ok(true);
    }
    writeln!(out, "{}", report.summary())?;
    let record = root.join(RECORD);
    if args.write {
        published::write(&record, &text)?;
        writeln!(out, "wrote {RECORD}")?;
    }
    let is_fresh = fs::read_to_string(&record).is_ok_and(|recorded| recorded == text);
    if !is_fresh {
        let remedy = "`cargo lab coverage --write` renews it";
        writeln!(out, "FAILED: {RECORD} is stale; {remedy}")?;
    }
    let is_enough = report.reaches(LEAST_PERCENT);
    if !is_enough {
        writeln!(out, "FAILED: it should be {LEAST_PERCENT} % at least")?;
    }
    Ok(is_fresh && is_enough)
}

fn rayons(root: &Path) -> anyhow::Result<BTreeSet<Entry>> {
    let folder = build::target_folder(root, "coverage");
    let user = published::fetch("rayon", RAYON, &folder)?;
    let mut world = World::default();
    world.add("rayon", &expanded(&user, "rayon", &folder.join("target"))?)?;
    Ok(surface(&world, "rayon"))
}

fn ours(root: &Path) -> anyhow::Result<BTreeSet<Entry>> {
    let target = build::target_folder(root, "coverage").join("target");
    let mut world = World::default();
    for (package, name) in [("heist", "heist"), ("heist-par", "heist_par")] {
        world.add(name, &expanded(root, package, &target)?)?;
    }
    Ok(surface(&world, "heist"))
}

/// The source of a library with all its macros expanded, as one text.
fn expanded(folder: &Path, package: &str, target: &Path) -> anyhow::Result<String> {
    let output = Command::new("cargo")
        .args([
            "rustc",
            "--quiet",
            "--lib",
            "--profile",
            "check",
            "--package",
            package,
        ])
        .arg("--target-dir")
        .arg(target)
        .args(["--", "-Zunpretty=expanded"])
        .current_dir(folder)
        // Or else a stable compiler refuses the option.
        .env("RUSTC_BOOTSTRAP", "1")
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    anyhow::ensure!(
        output.status.success(),
        "could not expand the macros of {package} in {}; see the compiler's messages above",
        folder.display()
    );
    String::from_utf8(output.stdout).with_context(|| format!("the source of {package} is no text"))
}
