//! Deadlocks that rayon's users met, in their published form: found by their seeds, repeated a
//! hundred times, made shorter; and as many seeds where none may be found as no gate has time for.
//!
//! The bridge over an iterator that joins (rayon's issue 1142) is on rayon's own iterators, as
//! published, over heist's workers.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use xtask::build::target_folder;
use xtask::steps::{Outcome, Runner};

use crate::published::{set_runtime, write, Runtime, RAYON};

/// How often a schedule is repeated, and how many seeds are tried.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// How often each schedule is repeated.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
    /// How many seeds find nothing where waits run their own jobs only.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
}

/// With this one, and so many workers, the bridge hangs.
const SEED: &str = "6408";
const WORKERS: &str = "6";

/// The seeds that are tried if that one finds nothing any more, because a point was added or one is
/// gone.
const SEEDS: &str = "20000";

/// The manifest of the bridge.
const MANIFEST: &str = "\
[package]
name = \"bridge\"
version = \"0.0.0\"
edition = \"2021\"

[workspace]

[dependencies]
rayon = \"=VERSION\"
";

/// Runs all, and returns whether all was as it should be.
///
/// # Errors
///
/// Fails if the programs cannot be built.
pub(crate) fn run(root: &Path, args: Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let folder = target_folder(root, "schedules");
    let bridge = bridge(root, &folder)?;
    cargo(
        root,
        &[
            "build",
            "--package",
            "heist-cli",
            "--bin",
            "heist",
            "--example",
            "lock",
        ],
    )?;
    let debug = target_folder(root, "debug");
    let (heist, lock) = (debug.join("heist"), debug.join("examples/lock"));
    let schedule = |words: &[&str], program: &Path| {
        let mut command = Command::new(&heist);
        command.arg("schedule").args(words).arg("--").arg(program);
        command
    };
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (found, shrunk) = (file("bridge.schedule"), file("bridge.shrunk"));
    let times = args.times.to_string();
    let mut runner = Runner::new(root, out);
    let search = ["search", "--save", &found, "--workers", WORKERS];
    let mut first = schedule(
        &[&search[..], &["--seed", SEED, "-n", "1"]].concat(),
        &bridge,
    );
    let mut all = schedule(&[&search[..], &["-n", SEEDS]].concat(), &bridge);
    runner.step("seed", |_| find(&mut first, &mut all))?;
    let replay = ["replay", "--times", &times, "--workers", WORKERS];
    let of_found = [&replay[..], &[&found]].concat();
    runner.command("replay", &mut schedule(&of_found, &bridge))?;
    let shorter = ["shrink", "--save", &shrunk, "--workers", WORKERS, &found];
    runner.command("shrink", &mut schedule(&shorter, &bridge))?;
    let of_shrunk = [&replay[..], &[&shrunk]].concat();
    runner.command("replay shrunk", &mut schedule(&of_shrunk, &bridge))?;
    let seeds = args.seeds.to_string();
    let mut strict = schedule(&["search", "-n", &seeds], &lock);
    // A process that asks for the other barrier begins some milliseconds later.
    strict.arg("strict").env("HEIST_BARRIER", "fence");
    runner.command("strict", &mut strict)?;
    let mut tests = Command::new("cargo");
    tests.args([
        "test",
        "--release",
        "--package",
        "rayon-core",
        "--test",
        "schedule",
    ]);
    runner.command("tests release", &mut tests)?;
    Ok(runner.finish()?)
}

/// The program that hangs, built on rayon as published over heist's workers.
fn bridge(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let package = folder.join("bridge");
    write(
        &package.join("Cargo.toml"),
        &MANIFEST.replace("VERSION", RAYON),
    )?;
    write(
        &package.join("src/main.rs"),
        include_str!("../shims/bridge.rs"),
    )?;
    // The versions may be others than those of the last time.
    let _ = fs::remove_file(package.join("Cargo.lock"));
    set_runtime(&package, &Runtime::core(root), &[])?;
    let target = folder.join("target");
    let flags = ["build", "--release", "--target-dir"];
    let flags = flags.into_iter().map(AsRef::as_ref);
    let flags: Vec<_> = flags.chain([target.as_os_str()]).collect();
    cargo(&package, &flags)?;
    Ok(target.join("release/bridge"))
}

fn cargo(folder: &Path, arguments: &[impl AsRef<std::ffi::OsStr>]) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    let status = cargo.args(arguments).current_dir(folder).status();
    let status = status.context("could not start cargo")?;
    anyhow::ensure!(status.success(), "could not build in {}", folder.display());
    Ok(())
}

/// The seed finds the deadlock. If it does not any more, another one may.
fn find(first: &mut Command, all: &mut Command) -> std::io::Result<Outcome> {
    // Of a search, one that has found something.
    const FOUND: Option<i32> = Some(1);
    if first.status()?.code() == FOUND {
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::Failed(match all.status()?.code() {
        FOUND => format!("it is no longer {SEED}: note the one above in lab/src/schedules.rs"),
        _ => format!("no seed of {SEEDS} finds it"),
    }))
}
